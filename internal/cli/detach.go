package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/piton-dev/piton/internal/api"
)

// detach starts this program again to carry the run on by itself.
func (s *session) detach(opened api.Opened, f runFlags) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(s.Place.State, "detached.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of detached runs: %w", err)
	}
	defer log.Close()
	args := []string{"resume", opened.Run}
	if !f.noWait {
		args = append(args, "--wait")
	}
	c := exec.Command(self, args...)
	c.Dir, c.Env, c.Stdout, c.Stderr, c.SysProcAttr = s.Place.Dir, s.app.env, log, log, ownSession()
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the run in the background: %w", err)
	}
	s.app.did("run", opened.Run, fmt.Sprintf("run %s goes on in the background; piton watch %s follows it", opened.Run, opened.Run))
	return c.Process.Release()
}
