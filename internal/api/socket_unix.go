//go:build unix

package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// A socket's path may have about 100 bytes. Longer ones are reached through their
// directory, which is opened, or where the system does not have those as files,
// through a short symbolic link to it.

func listen(p Place) (net.Listener, error) {
	path, done, err := short(p.Socket())
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the owner's lock says who owns, not the file
	return l, os.Chmod(p.Socket(), 0o600)
}

func dialSocket(ctx context.Context, p Place) (net.Conn, error) {
	path, done, err := short(p.Socket())
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

func short(path string) (string, func(), error) {
	const most = 100
	if len(path) <= most {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("shorten the socket's path: %w", err)
	}
	at := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	if _, err := os.Stat(at); err == nil {
		return filepath.Join(at, filepath.Base(path)), func() { dir.Close() }, nil
	}
	dir.Close()
	at, err = linkTo(filepath.Dir(path))
	return filepath.Join(at, filepath.Base(path)), func() {}, err
}

// linkTo returns a link to a directory. It has the same name each time and stays:
// whoever is killed leaves no more than one.
func linkTo(dir string) (string, error) {
	sum := sha256.Sum256([]byte(dir))
	at := filepath.Join(os.TempDir(), fmt.Sprintf("piton-%d-%x", os.Getuid(), sum[:8]))
	if err := os.Symlink(dir, at); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("shorten the socket's path: %w", err)
	}
	info, err := os.Lstat(at)
	leads, readErr := os.Readlink(at)
	if err = errors.Join(err, readErr); err != nil {
		return "", fmt.Errorf("shorten the socket's path: %w", err)
	}
	if by, ok := info.Sys().(*syscall.Stat_t); !ok || int(by.Uid) != os.Getuid() || leads != dir {
		return "", fmt.Errorf("shorten the socket's path: %s is somebody else's; remove it", at)
	}
	return at, nil
}
