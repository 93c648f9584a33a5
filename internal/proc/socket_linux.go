package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// A socket is this process's end of a pair, over which files can go. Package net has one
// too, and is not used here: it would be initialised in every holder and stage.
type socket struct{ *os.File }

// socketPair makes one, and the end that is for another process, which blocks there.
func socketPair() (ours socket, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ours, nil, err
	}
	theirs = os.NewFile(uintptr(pair[1]), "socket")
	if err := unix.SetNonblock(pair[0], true); err != nil {
		unix.Close(pair[0])
		theirs.Close()
		return ours, nil, err
	}
	return socket{os.NewFile(uintptr(pair[0]), "socket")}, theirs, nil
}

// send writes all of the bytes, with files attached to the first.
func (s socket) send(b []byte, fds []int) error {
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	n := 0
	var failed error
	err = raw.Write(func(fd uintptr) (done bool) {
		for failed = unix.EINTR; failed == unix.EINTR; {
			n, failed = unix.SendmsgN(int(fd), b, rights, nil, 0)
		}
		return failed != unix.EAGAIN
	})
	if err == nil {
		err = failed
	}
	if err == nil && n < len(b) {
		_, err = s.Write(b[n:])
	}
	return err
}

// files reads one byte and the message about files that came with it, of n bytes.
func (s socket) files(oob []byte) (n int, err error) {
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Read(func(fd uintptr) (done bool) {
		for failed = unix.EINTR; failed == unix.EINTR; {
			_, n, _, _, failed = unix.Recvmsg(int(fd), make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
		}
		return failed != unix.EAGAIN
	})
	if err == nil {
		err = failed
	}
	return n, err
}

// closeWrite tells the other end that nothing more comes.
func (s socket) closeWrite() {
	if raw, err := s.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.Shutdown(int(fd), unix.SHUT_WR) }) //nolint:errcheck // the other end is gone
	}
}
