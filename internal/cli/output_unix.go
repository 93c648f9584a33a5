//go:build unix

package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// awaitLeave returns when the reader of a pipe has left, which else only the
// next write would show. For another file it does not return.
func awaitLeave(f *os.File) {
	for {
		at := []unix.PollFd{{Fd: int32(f.Fd())}}
		n, err := unix.Poll(at, -1)
		if n > 0 && at[0].Revents&unix.POLLNVAL == 0 {
			return
		}
		if !errors.Is(err, unix.EINTR) {
			select {}
		}
	}
}

// escapes lets a terminal heed escape sequences, and returns what ends that. Here all do.
func escapes(*os.File) (back func()) { return func() {} }
