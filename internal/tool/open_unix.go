//go:build unix

package tool

import "syscall"

// nonBlocking keeps an open from waiting when a file became a pipe meanwhile.
const nonBlocking = syscall.O_NONBLOCK
