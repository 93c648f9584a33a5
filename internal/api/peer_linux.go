package api

import (
	"bytes"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel which process is at the other end, and whose it is.
func peerOf(c net.Conn) peer {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return peer{}
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return peer{}
	}
	var cred *unix.Ucred
	if err := raw.Control(func(fd uintptr) {
		cred, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil || cred == nil {
		return peer{}
	}
	return peer{known: true, pid: int(cred.Pid), uid: int(cred.Uid)}
}

// Foreign reports whether process pid is an agent's or a contract's: it descends from this
// process, or is in a pid namespace below this one's, as all are that any owner seals.
func Foreign(pid int) bool { return Descends(pid) || nested(pid) }

func nested(pid int) bool { return depth(strconv.Itoa(pid)) != depth("self") }

// depth is in how many pid namespaces a process is, of those that can be seen from here.
func depth(pid string) int {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return len(strings.Fields(ids))
		}
	}
	return 0 // this system has none
}

// Descends reports whether process pid has this process among its ancestors:
// then it is an agent's or a contract's, for the owner starts nothing else. A
// process that is gone, or lives in a namespace from where its number cannot be
// seen (0), counts as such too.
func Descends(pid int) bool {
	me := os.Getpid()
	if pid == me {
		return false
	}
	for range 1000 {
		parent, ok := parentOf(pid)
		switch {
		case !ok:
			return true
		case parent == me:
			return true
		case parent <= 1:
			return false
		}
		pid = parent
	}
	return true
}

func parentOf(pid int) (int, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// A process chooses its own name, which stands in brackets and may hold
	// brackets itself: only what follows the last one is the kernel's.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(f[1])
	return parent, err == nil
}
