package proc

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// guard starts a subreaper holder and outlives it: a child that kills its parent
// kills the holder, and then its tree falls to the guard. When told to end it
// ends the holder and all below it.
func guard(r role) int {
	told := make(chan os.Signal, 1)
	signal.Notify(told, unix.SIGTERM)
	if adoptOrphans() != nil {
		return 1
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{holderName}, &syscall.ProcAttr{
		Env:   role{name: roleSubreaper, offline: r.offline}.environ(),
		Files: []uintptr{0, 1, 2, holderSock},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM},
	})
	if err != nil {
		return 1
	}
	unix.Close(holderSock) // the harness must see the holder's end
	hide()
	r.dropCapabilities()
	b := brood{strike: killChildren}
	b.begin(pid)
	go func() {
		for range told {
			b.kill()
		}
	}()
	b.wait()
	return 0
}

// watchParent ends all when the guard of a subreaper holder is gone; other
// reasons to be told are children that try to end their parent.
func (k *keeper) watchParent() {
	if k.role.name != roleSubreaper {
		return
	}
	guard := os.Getppid()
	told := make(chan os.Signal, 1)
	signal.Notify(told, unix.SIGTERM)
	for range told {
		if os.Getppid() != guard {
			// serve takes it from here. The harness must see nothing yet: it
			// takes the socket's end as the end of all.
			unix.Shutdown(holderSock, unix.SHUT_RD)
			return
		}
	}
}
