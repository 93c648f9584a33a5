//go:build !unix

package api

import (
	"context"
	"net"
	"os"
)

func listen(p Place) (net.Listener, error) {
	l, err := net.Listen("unix", p.Socket())
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, os.Chmod(p.Socket(), 0o600)
}

func dialSocket(ctx context.Context, p Place) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", p.Socket())
}
