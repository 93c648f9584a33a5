//go:build unix

package proc

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// runnable returns the file if this process may run it.
func runnable(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "run", Path: file, Err: syscall.EACCES}
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return "", &fs.PathError{Op: "run", Path: file, Err: err}
	}
	return file, nil
}

func sameName(a, b string) bool { return a == b }
