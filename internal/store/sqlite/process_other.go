//go:build unix && !linux && !darwin

package sqlite

import "syscall"

// startOf cannot tell when a process started here, only whether it runs.
func startOf(pid int) (string, bool) {
	err := syscall.Kill(pid, 0)
	return "", err == nil || err == syscall.EPERM
}
