//go:build unix

package api

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// A socket's path may have about 100 bytes. Longer ones are reached through a
// short symbolic link to their directory.

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
	link, err := os.MkdirTemp("", "piton-")
	if err != nil {
		return "", nil, err
	}
	done := func() { os.RemoveAll(link) }
	at := filepath.Join(link, "s")
	if err := os.Symlink(filepath.Dir(path), at); err != nil {
		done()
		return "", nil, fmt.Errorf("shorten the socket's path: %w", err)
	}
	return filepath.Join(at, filepath.Base(path)), done, nil
}
