//go:build linux || darwin

package tree

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// move renames base in dir to a name in another directory. moved is false where
// the two are on different file systems.
func move(dir *os.Root, base, toDir, to string) (moved bool, err error) {
	from, err := dir.Open(".")
	if err != nil {
		return false, err
	}
	defer from.Close()
	into, err := os.Open(toDir)
	if err != nil {
		return false, err
	}
	defer into.Close()
	err = unix.Renameat(int(from.Fd()), base, int(into.Fd()), to)
	if errors.Is(err, unix.EXDEV) {
		return false, nil
	}
	return err == nil, err
}
