//go:build unix

package proc

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// reins hold a process group; the child leads it, in a session of its own.
type reins struct{ pgid int }

func newReins(cmd *exec.Cmd) (reins, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return reins{}, nil
}

func (r *reins) start(cmd *exec.Cmd) error {
	err := cmd.Start()
	if err == nil {
		r.pgid = cmd.Process.Pid
	}
	return err
}

func (r *reins) terminate() { unix.Kill(-r.pgid, unix.SIGTERM) }
func (r *reins) kill()      { unix.Kill(-r.pgid, unix.SIGKILL) }
func (r *reins) release()   {}

// deathOf returns the signal that ended a process, if one did.
func deathOf(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return unix.SignalName(ws.Signal())
	}
	return ""
}
