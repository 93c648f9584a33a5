package sqlite

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsFull reports whether err is that a disk, or what an account may use of it, is
// full.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
