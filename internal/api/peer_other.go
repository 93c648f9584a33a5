//go:build !linux

package api

import (
	"context"
	"net"
)

type peerKey struct{}

// withPeer cannot know the other end's process here.
func withPeer(ctx context.Context, _ net.Conn) context.Context { return ctx }

// Descends cannot tell on this system; what marks a run's processes is then
// their environment alone.
func Descends(int) bool { return false }
