package proc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// shed rids this process of what it inherited and its children must not:
// ignored and blocked signals, descriptors, core dumps. Its own signals are
// caught and dropped, so that no child ends it with a kill of its parent.
func shed() {
	caught := make(chan os.Signal, 1)
	for sig := syscall.Signal(1); sig < 65; sig++ {
		switch sig {
		case unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGURG:
		default:
			signal.Notify(caught, sig) // a caught signal is at its default in a child
		}
	}
	unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{}, nil)
	closeInherited()
	unix.CloseOnExec(holderSock)
	unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
}

// closeInherited closes what the harness itself had inherited and passed on
// unknowingly: all that is not marked close-on-exec, which whatever this process
// opened is.
func closeInherited() {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		unix.CloseRange(holderSock+1, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
		return
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= holderSock {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}

// settle takes the place from which a tree can be killed as a whole, or says
// why that place is not to be had.
func (k *keeper) settle() error {
	own := adoptOrphans
	if k.role.name == roleNamespace {
		own = ownNamespace
	}
	err := own()
	if err == nil && k.role.offline {
		err = ownNetwork()
	}
	if err == nil {
		err = k.role.dropCapabilities()
	}
	if err != nil {
		return err
	}
	k.traits, err = readTraits()
	if err != nil {
		return err
	}
	return hide()
}

// ownNamespace gives the new namespaces a /proc of their own. What the harness's
// system mounts later shows up here; what is mounted here does not show there.
func ownNamespace() error {
	if pid := os.Getpid(); pid != 1 {
		return fmt.Errorf("have pid %d in what should be a new namespace", pid)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("separate mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// ownNetwork brings up the loopback of the new network namespace, and sees that
// it is one: the loopback of a new one is down, and nothing else can be reached.
func ownNetwork() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err == nil {
		err = unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, lo)
	}
	if err != nil {
		return fmt.Errorf("look at loopback: %w", err)
	}
	if lo.Uint16()&unix.IFF_UP != 0 {
		return errors.New("have the machine's loopback in what should be a new network namespace")
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring up loopback: %w", err)
	}
	away := unix.SockaddrInet4{Port: 9, Addr: [4]byte{192, 0, 2, 1}} // of nobody; a datagram socket sends nothing to connect
	if err := unix.Connect(s, &away); !errors.Is(err, unix.ENETUNREACH) {
		return fmt.Errorf("have a way out of what should be a new network namespace: %w", cmp.Or(err, errConnected))
	}
	return nil
}

var errConnected = errors.New("another machine can be reached")

// dropCapabilities gives up what children must not have, for this thread, which
// is the one that starts them: of an ordinary user what it has gained by making a
// user namespace, of root what would change the network for the next child. The
// stage of a sealed child does it itself.
func (r role) dropCapabilities() error {
	switch root := os.Geteuid() == 0; {
	case root && r.offline && !r.sealing:
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_NET_ADMIN, 0, 0, 0); err != nil {
			return fmt.Errorf("drop a capability: %w", err)
		}
		return nil
	case root, r.name != roleNamespace && !r.offline, r.sealing:
		return nil
	}
	return holdOnly(0)
}

// holdOnly gives up the capabilities that this thread holds but for some of the first 32.
func holdOnly(caps uint32) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop ambient capabilities: %w", err)
	}
	left := [2]unix.CapUserData{{Effective: caps, Permitted: caps}}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&header, &left[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// hide keeps children of the same user from tracing this process and from
// reading its memory, and so from speaking to the harness in its place.
func hide() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid tracing: %w", err)
	}
	return nil
}

// traits are what a child inherits from its holder and could have changed for
// the next one: a holder whose traits have changed runs no other child.
type traits struct {
	thread int // the one that starts children
	limits [16]unix.Rlimit
	sched  unix.SchedAttr
	cpus   unix.CPUSet
	mounts int // descriptor that polls as changed when a mount is
}

// readTraits must be called by the thread that starts children.
func readTraits() (traits, error) {
	t := traits{thread: unix.Gettid()}
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return t, fmt.Errorf("watch mounts: %w", err)
	}
	t.mounts = mounts
	return t, t.read()
}

func (t *traits) read() error {
	for i := range t.limits {
		if err := unix.Prlimit(0, i, nil, &t.limits[i]); err != nil {
			return fmt.Errorf("read limits: %w", err)
		}
	}
	sched, err := unix.SchedGetAttr(t.thread, 0)
	if err != nil {
		return fmt.Errorf("read scheduling: %w", err)
	}
	t.sched = *sched
	if err := unix.SchedGetaffinity(t.thread, &t.cpus); err != nil {
		return fmt.Errorf("read processor set: %w", err)
	}
	return nil
}

// changed costs about twenty system calls, some microseconds.
func (t *traits) changed() bool {
	now := traits{thread: t.thread, mounts: t.mounts}
	if now.read() != nil || now != *t {
		return true
	}
	poll := []unix.PollFd{{Fd: int32(t.mounts), Events: unix.POLLPRI}}
	n, err := unix.Poll(poll, 0)
	return err != nil || n > 0
}
