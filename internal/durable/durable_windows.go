package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// SyncDir does nothing: a directory cannot be synced here, and its journal
// keeps the order of renames.
func SyncDir(string) error { return nil }

// SyncRoot is SyncDir for a directory that is open.
func SyncRoot(*os.Root) error { return nil }

// IsFull reports whether err is that a disk, or what an account may use of it, is
// full.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
