//go:build unix

package sqlite

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes a lock that a child does not inherit, or tells its holder as far as
// that can be seen from here.
func tryLock(f *os.File) (holder int, err error) {
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
		switch {
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EAGAIN):
			_ = unix.FcntlFlock(f.Fd(), unix.F_GETLK, &whole) // without an answer there is no number
			return int(whole.Pid), errHeld
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}

// tryGuard locks a file or a directory that may be open for reading only. On a file
// system without such locks it does nothing.
func tryGuard(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		case errors.Is(err, unix.ENOLCK), errors.Is(err, errors.ErrUnsupported):
			return nil
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}
