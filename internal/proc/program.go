package proc

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// resolve checks a Spec and finds its program, so that the common mistakes are
// told apart: the operating system calls all of them "no such file".
func resolve(s Spec) (order, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return order{}, errNoArgv
	}
	if strings.Contains(s.Dir, "\x00") || slices.ContainsFunc(slices.Concat(s.Argv, s.Env), hasNUL) {
		return order{}, errNUL
	}
	path, err := findProgram(s.Argv[0], s.Env)
	if err != nil {
		return order{}, err
	}
	if s.Dir == "" {
		return order{path: path, argv: s.Argv, env: s.Env, limits: s.Limits}, nil
	}
	info, err := os.Stat(s.Dir)
	if err != nil {
		return order{}, fmt.Errorf("enter working directory: %w", err)
	}
	if !info.IsDir() {
		return order{}, fmt.Errorf("enter working directory: %w", &os.PathError{Op: "chdir", Path: s.Dir, Err: syscall.ENOTDIR})
	}
	return order{path: path, argv: s.Argv, dir: s.Dir, env: s.Env, limits: s.Limits}, nil
}

func hasNUL(s string) bool { return strings.Contains(s, "\x00") }

// startError explains why a program that was found does not start.
func startError(o order, cause error) error {
	hint := ""
	if errno, ok := cause.(syscall.Errno); ok && errno == syscall.ENOENT {
		if _, err := os.Stat(o.path); err == nil {
			hint = " (the interpreter it names is missing)"
		}
	}
	return fmt.Errorf("%w: run %s%s: %w", ErrNotStarted, o.path, hint, cause)
}
