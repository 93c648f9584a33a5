//go:build !linux

package api

import "net"

// peerOf cannot know the other end's process here: it is this user's, for nobody
// else can open the socket.
func peerOf(net.Conn) peer { return peer{} }

// Foreign cannot tell on this system; what marks a run's processes is then
// their environment alone.
func Foreign(int) bool { return false }
