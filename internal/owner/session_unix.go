//go:build unix

package owner

import "syscall"

// ownSession makes a process one that no terminal's hangup or Ctrl-C reaches.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
