//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

// SyncDir makes the names in a directory durable, as far as its file system
// knows how to.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return syncOpen(d)
}

// SyncRoot is SyncDir for a directory that is open.
func SyncRoot(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return syncOpen(d)
}

func syncOpen(d *os.File) error {
	err := d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// IsFull reports whether err is that a disk, or what an account may use of it, is
// full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
