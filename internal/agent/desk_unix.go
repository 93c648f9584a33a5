//go:build unix

package agent

import "syscall"

// openFlags refuse a link and do not wait for a pipe's other side.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// homeVariables say where an isolated home is.
func homeVariables(dir string) map[string]string {
	return map[string]string{"HOME": dir}
}
