package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

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
	if head.Status == engine.Paused {
		fmt.Fprintf(s.app.out, "run %s stays paused; go on with: piton resume %s\n", head.Run, head.Run)
		return nil
	}
	var args []string
	if !f.noWait {
		args = []string{"--wait"}
	}
	if err := s.background(opened.Run, args...); err != nil {
		return err
	}
	if s.app.json {
		if head, err = s.Find(context.Background(), opened.Run); err != nil {
			return err
		}
		return s.app.showStatus(context.Background(), s, head)
	}
	fmt.Fprintf(s.app.out, "run %s goes on in the background; piton watch %s follows it\n", opened.Run, opened.Run)
	return nil
}

// background starts this program again, in a session of its own, to carry a run
// on.
func (s *session) background(run string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(s.Place.State, "detached.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of detached runs: %w", err)
	}
	defer log.Close()
	c := exec.Command(self, append([]string{"resume", run}, args...)...)
	c.Dir, c.Env, c.Stdout, c.Stderr, c.SysProcAttr = s.Place.Dir, s.app.env, log, log, ownSession()
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the run in the background: %w", err)
	}
	return c.Process.Release()
}
