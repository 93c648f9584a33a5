//go:build unix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// syncDir makes the names in a directory durable, as far as its file system
// knows how to.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
