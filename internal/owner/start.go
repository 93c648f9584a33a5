package owner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/store"
)

// Verb is the hidden verb that owns the workspace and the state directory that
// follow it.
const Verb = "owner"

// beforeStart is the crash point of a client that is about to start an owner.
const beforeStart = "client before start"

// What an owner says to whoever started it, on its standard output.
const (
	listening = "listening"
	isOwned   = "owned"
)

// Starter returns what starts an owner: this program again, in a session of its own.
// It returns when the owner listens, or says why it cannot.
func Starter(p api.Place, env []string) func(context.Context) error {
	return func(context.Context) error {
		if Point != nil {
			Point(beforeStart)
		}
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		log, err := os.OpenFile(LogFile(p), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open the owner's log: %w", err)
		}
		defer log.Close()
		c := exec.Command(self, Verb, p.Dir, p.State)
		c.Args[0] = os.Args[0] // by the name that it was called
		c.Dir, c.Env, c.Stderr, c.SysProcAttr = p.Dir, env, log, ownSession()
		said, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return fmt.Errorf("start the owner of this workspace: %w", err)
		}
		err = heard(said, p)
		go c.Wait() //nolint:errcheck // how it ends, its log says
		return err
	}
}

// heard is what the owner says at first.
func heard(said io.Reader, p api.Place) error {
	line, err := bufio.NewReader(said).ReadString('\n')
	switch line = strings.TrimSpace(line); {
	case line == listening:
		return nil
	case line == isOwned:
		return store.ErrOwned
	case line != "":
		return api.DecodeProblem([]byte(line))
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it ended")
	}
	return api.Gone("the owner of this workspace did not start: "+err.Error(), "what it said is in "+LogFile(p))
}

// LogFile is where owners of a workspace write what they have to say.
func LogFile(p api.Place) string { return filepath.Join(p.State, "owner.log") }

// Main is the owner's process. It tells whoever started it on out whether it listens.
func Main(ctx context.Context, c Config, out io.WriteCloser) error {
	told := false
	tell := func(line string) {
		if !told {
			told = true
			fmt.Fprintln(out, line) //nolint:errcheck // whoever started it is gone
			out.Close()
		}
	}
	err := Serve(ctx, c, func() { tell(listening) })
	if err == nil {
		return nil
	}
	if errors.Is(err, store.ErrOwned) {
		tell(isOwned)
		return nil
	}
	tell(string(api.EncodeProblem(err)))
	return err
}
