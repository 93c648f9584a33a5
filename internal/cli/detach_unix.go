//go:build unix

package cli

import "syscall"

// ownSession makes a process that the end of this terminal does not reach.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
