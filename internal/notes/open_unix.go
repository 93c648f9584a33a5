//go:build unix

package notes

import "syscall"

// nonBlocking keeps an open from waiting when a file became a pipe meanwhile.
const nonBlocking = syscall.O_NONBLOCK
