//go:build unix

package sqlite

import (
	"errors"
	"syscall"
)

// IsFull reports whether err is that a disk, or what an account may use of it, is
// full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
