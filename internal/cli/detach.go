package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

// detach leaves a run to a process in the background; one that a person has
// paused is left as it is.
func (s *session) detach(opened api.Opened, f runFlags) error {
	head, err := s.Find(context.Background(), opened.Run)
	if err != nil {
		return err
	}
	text := "run %[1]s stays paused; go on with: piton resume %[1]s\n"
	if head.Status != engine.Paused {
		if head, err = s.behind(head, f); err != nil {
			return err
		}
		text = behindText
	}
	if s.app.json {
		return s.app.showStatus(context.Background(), s, head)
	}
	fmt.Fprintf(s.app.out, text, head.Run)
	return nil
}

// behindText says that a run goes on without its terminal.
const behindText = "run %[1]s goes on in the background; piton watch %[1]s follows it\n"

// goOn leaves the terminal and the process in front of this one, which goes on with
// all that it has begun.
func (d *drive) goOn() error {
	log, err := d.openDetachedLog()
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(d.app.out, behindText, d.opened.Run)
	return d.app.front.leave(log)
}

// behind starts the process that carries a run on, and returns how the run stands
// then.
func (s *session) behind(head engine.HeadRow, f runFlags) (engine.HeadRow, error) {
	var args []string
	if !f.noWait {
		args = []string{"--wait"}
	}
	if err := s.background(head, args...); err != nil {
		return head, err
	}
	return s.Find(context.Background(), head.Run)
}

// background starts this program again, in a session of its own, to carry a run
// on, and returns when it does, or has ended.
func (s *session) background(head engine.HeadRow, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	log, err := s.openDetachedLog()
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(self, append([]string{"resume", head.Run}, args...)...)
	c.Dir, c.Env, c.Stdout, c.Stderr, c.SysProcAttr = s.Place.Dir, s.app.env, log, log, ownSession()
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the run in the background: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		c.Wait() //nolint:errcheck // how its run stands is in the journal
		close(ended)
	}()
	return s.untilCarried(head, ended)
}

// untilCarried returns when a process carries the run on, or the one that is to
// do so has ended.
func (s *session) untilCarried(head engine.HeadRow, ended <-chan struct{}) error {
	for began := time.Now(); time.Since(began) < ownerPatience; {
		if s.carried(context.Background()).stream(head.Stream) {
			return nil
		}
		select {
		case <-ended:
			return nil
		case <-time.After(ownerPause):
		}
	}
	return fmt.Errorf("the process that is to carry run %s on has not begun to after %s; what it says is in %s", head.Run, span(ownerPatience), s.detachedLog())
}

// detachedLog is where processes in the background say what they have to say.
func (s *session) detachedLog() string { return filepath.Join(s.Place.State, "detached.log") }

func (s *session) openDetachedLog() (*os.File, error) {
	log, err := os.OpenFile(s.detachedLog(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of detached runs: %w", err)
	}
	return log, nil
}
