package owner

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession makes a process that the end of this console does not reach.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
