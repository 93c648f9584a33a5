package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	dir, err := workingDir(s.Dir)
	if err != nil {
		return order{}, fmt.Errorf("enter working directory: %w", err)
	}
	path := s.Argv[0]
	switch {
	case IsBare(path):
		path, err = Find(path, SearchPath(s.Env))
	case !filepath.IsAbs(path):
		path = filepath.Join(dir, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return order{}, fmt.Errorf("%w: %w", ErrNoProgram, err)
	}
	if err != nil {
		return order{}, err
	}
	return order{path: path, argv: s.Argv, dir: dir, env: s.Env}, nil
}

// workingDir makes a directory absolute and sure to be one.
func workingDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir) // that of the harness if empty
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	return dir, err
}

func hasNUL(s string) bool { return strings.Contains(s, "\x00") }

// startError explains why a program that was found does not start.
func startError(o order, cause error) error {
	if path, ok := errors.AsType[*os.PathError](cause); ok {
		cause = path.Err
	}
	hint := ""
	if errors.Is(cause, fs.ErrNotExist) {
		if _, err := os.Stat(o.path); err != nil {
			return fmt.Errorf("%w: %w: run %s: %w", ErrNotStarted, ErrNoProgram, o.path, cause)
		}
		hint = " (the interpreter it names is missing)"
	}
	return fmt.Errorf("%w: run %s%s: %w", ErrNotStarted, o.path, hint, cause)
}
