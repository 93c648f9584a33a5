package proc

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A brood is what lives below this process: one child, and whatever of its
// descendants has become an orphan and fallen to us. That is complete, because
// this process is the first of its namespace or a subreaper: when the kernel
// says that there is no child left, no descendant is left.
//
// One goroutine waits; others may signal and kill meanwhile. A child is reaped
// under the lock only, so no pid that is signalled can have a new owner.
type brood struct {
	strike func() int // kills what it can see and says how many that were

	mu      sync.Mutex
	head    int // pid of the child, 0 once it is reaped
	active  bool
	killing bool
	tally   report
}

// begin takes over a child that was just started.
func (b *brood) begin(pid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.head, b.active, b.killing, b.tally = pid, true, false, report{}
}

// signal sends a signal to the child's process group, if the child is there.
func (b *brood) signal(sig syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.head != 0 {
		unix.Kill(-b.head, sig)
	}
}

// kill makes wait return soon. It reports whether there was anything to kill.
func (b *brood) kill() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.active {
		return false
	}
	b.killing = true
	for b.strike() == 0 && b.head != 0 {
		// a scan can miss a child that is there
	}
	return true
}

// wait returns when the child has ended and nothing of its tree lives. It kills
// what the child leaves behind.
func (b *brood) wait() report {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil || errors.Is(err, unix.ECHILD) {
			if r, over := b.collect(); over {
				return r
			}
		}
	}
}

// collect reaps what has ended, and strikes at the rest if the child is not
// among it any more.
func (b *brood) collect() (r report, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.reap() {
			b.active, b.killing = false, false
			return b.tally, true
		}
		if !b.killing || b.strike() > 0 {
			return report{}, false
		}
	}
}

// reap reaps all that can be reaped now and reports whether nothing is left.
func (b *brood) reap() (none bool) {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.ECHILD) {
			return true
		}
		if err == nil && pid <= 0 {
			return false
		}
		if err == nil {
			b.count(pid, ws)
		}
	}
}

func (b *brood) count(pid int, ws syscall.WaitStatus) {
	switch {
	case pid == b.head:
		b.head, b.killing, b.tally.status = 0, true, ws
	case b.killing && ws.Signaled() && ws.Signal() == syscall.SIGKILL:
		b.tally.leftover++
	}
}

// killNamespace kills everything in the namespace but its first process, in one
// call that no fork can slip through.
func killNamespace() int {
	unix.Kill(-1, unix.SIGKILL)
	return 1 // dead or dying: the kernel missed none
}

// killChildren kills the descendants it finds, and says how many children that
// were. What it misses loses its parent and is our child at the next call.
//
// It kills their process groups too, which is what catches a process that forks
// and exits without end: its group outlives it, and no fork slips through a kill
// of a group. A child here was started in a session of its own, so no group of
// its descendants reaches beyond them. Pids are given out in turn, so that one
// read a moment ago names no other process.
func killChildren() int {
	found := children(os.Getpid())
	own := unix.Getpgrp()
	for next := found; len(next) > 0; {
		var below []int
		for _, pid := range next {
			below = append(below, children(pid)...)
			if group, err := unix.Getpgid(pid); err == nil && group > 1 && group != own {
				unix.Kill(-group, unix.SIGKILL)
			}
			unix.Kill(pid, unix.SIGKILL)
		}
		next = below
	}
	return len(found)
}

// children lists the children of a process. One that appears or goes meanwhile
// may be missed.
func children(parent int) (pids []int) {
	threads := "/proc/" + strconv.Itoa(parent) + "/task/"
	tasks, err := os.ReadDir(threads)
	if err != nil {
		return nil // gone
	}
	for _, t := range tasks {
		list, err := os.ReadFile(threads + t.Name() + "/children")
		if err != nil {
			if _, gone := os.Stat(threads + t.Name()); gone == nil {
				return childrenByParent(parent) // a kernel without these lists
			}
		}
		for field := range strings.FieldsSeq(string(list)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// childrenByParent does the same by asking every process for its parent.
func childrenByParent(parent int) (pids []int) {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, p := range procs {
		if pid, err := strconv.Atoi(p.Name()); err == nil && parentOf(pid) == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parentOf returns the parent of a process, or 0 if it is gone.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, after, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}
