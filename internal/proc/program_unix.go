//go:build unix

package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// findProgram looks a bare name up in PATH of the child's environment.
func findProgram(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := absolutePath(lookupEnv(env, "PATH"))
	var denied error
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			denied = err
		}
	}
	if denied != nil {
		return "", fmt.Errorf("find program: %w", denied)
	}
	return "", fmt.Errorf("find program: %q is in no directory of PATH (%s): %w", name, path, fs.ErrNotExist)
}

func executable(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "run", Path: file, Err: syscall.EACCES}
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return &fs.PathError{Op: "run", Path: file, Err: err}
	}
	return nil
}
