//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// front is the process that the shell waits for, as the one sees it that it has
// started to do its work: at a terminal who owns a run has a session of its own,
// so that it can go on without either.
type front struct {
	line *os.File // ends when the front does
	left atomic.Bool
}

// frontLine names the descriptor of the line to the front.
const frontLine = "PITON_FRONT"

// behindFront is the front that this process was started by; nil for none. Where that
// ends before it was told to, this process ends as with its terminal.
func behindFront() *front {
	fd, err := strconv.Atoi(os.Getenv(frontLine))
	os.Unsetenv(frontLine) //nolint:errcheck // it is a name
	if err != nil || fd < 3 {
		return nil
	}
	syscall.CloseOnExec(fd)
	f := &front{line: os.NewFile(uintptr(fd), "front")}
	go func() {
		f.line.Read(make([]byte, 1)) //nolint:errcheck // nothing is said: it ends
		if !f.left.Load() {
			signal.Reset(syscall.SIGHUP)
			syscall.Kill(os.Getpid(), syscall.SIGHUP) //nolint:errcheck // it is this process
		}
	}()
	return f
}

// leave lets the front end, and the shell go on, and writes to the file what this
// process prints from now on.
func (f *front) leave(log *os.File) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	for to, from := range map[int]*os.File{0: null, 1: log, 2: log} {
		if err := unix.Dup2(int(from.Fd()), to); err != nil {
			return fmt.Errorf("leave the terminal: %w", err)
		}
	}
	f.left.Store(true)
	_, err = f.line.Write([]byte{'\n'})
	return err
}

// gone reports whether this process goes on without the front.
func (f *front) gone() bool { return f.left.Load() }

// mayFront reports whether this process is the one at its terminal: a job in the
// background shall not take it from the shell.
func (a *app) mayFront() bool {
	in, ok := a.in.(*os.File)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// inFront starts this program again to do the work, at this terminal and in a session of
// its own, and ends with it, or when it is left. It passes on the signals of the
// terminal, which reach nobody else.
func (a *app) inFront() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	mine, its, err := line()
	if err != nil {
		return err
	}
	c := exec.Command(self, a.args...)
	c.Env = append(a.env, frontLine+"=3")
	c.Stdin, c.Stdout, c.Stderr, c.ExtraFiles, c.SysProcAttr = a.in, a.out, a.err, []*os.File{its}, ownSession()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT)
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the process that owns the run: %w", err)
	}
	its.Close()
	go func() {
		for sig := range signals {
			a.pass(c.Process, sig.(syscall.Signal))
		}
	}()
	if n, _ := mine.Read(make([]byte, 1)); n > 0 {
		return nil
	}
	err = c.Wait()
	status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case err == nil:
		return nil
	case ok && status.Signaled():
		return dieOf(status.Signal())
	case ok && status.Exited():
		return ended(status.ExitStatus())
	}
	return err
}

// dieOf ends this process as the other one did: a shell takes a program that died of
// Ctrl-C for another than one that ended by itself.
func dieOf(sig syscall.Signal) error {
	if sig == syscall.SIGINT || sig == syscall.SIGTERM || sig == syscall.SIGHUP {
		signal.Reset(sig)
		syscall.Kill(os.Getpid(), sig) //nolint:errcheck // it is this process
		time.Sleep(time.Second)        // it reaches any of its threads
	}
	return ended(128 + int(sig))
}

// pass passes a signal on. What stops this process stops the other one too, which
// goes on when this one is at the terminal again.
func (a *app) pass(to *os.Process, sig syscall.Signal) {
	switch {
	case sig == syscall.SIGTSTP:
		to.Signal(syscall.SIGSTOP)                 //nolint:errcheck // it has ended
		syscall.Kill(os.Getpid(), syscall.SIGSTOP) //nolint:errcheck // it is this process
	case sig != syscall.SIGCONT || a.mayFront():
		to.Signal(sig) //nolint:errcheck // it has ended
	}
}

// line is a connection of which each end hears when the other one ends.
func line() (mine, its *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, errors.Join(errors.New("connect to the process that owns the run"), err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return os.NewFile(uintptr(fds[0]), "line"), os.NewFile(uintptr(fds[1]), "line"), nil
}
