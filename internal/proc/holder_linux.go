package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A holderKind is a way to start a holder.
type holderKind struct {
	level Level
	name  string
	role  role
	attr  syscall.SysProcAttr
}

// ownPids are the namespaces of a tree that dies as one.
const ownPids = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS

// holderKinds lists the ways there are for a user, the best first.
func holderKinds(uid int) (kinds []holderKind) {
	if uid == 0 {
		kinds = append(kinds, holderKind{Namespace, "pid namespace", role{name: roleNamespace}, syscall.SysProcAttr{
			Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: ownPids,
		}})
	}
	own := asOneself(uid, os.Getegid())
	own.Setsid, own.Pdeathsig, own.Cloneflags = true, syscall.SIGKILL, own.Cloneflags|ownPids
	own.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	return append(kinds,
		holderKind{Namespace, "pid namespace in a user namespace", role{name: roleNamespace}, own},
		holderKind{Subreaper, "subreaper", role{name: roleGuard}, syscall.SysProcAttr{
			Setsid: true, Pdeathsig: syscall.SIGTERM, // also if the holder below it cannot see the harness's end
		}},
	)
}

// needs are the capabilities of a holder that makes a network, or views of the file system.
var needs = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER}

// kindFor is the way to start a holder for children that are kept from more than those
// of a level are. Who is offline is always in a user namespace, root too: root of the
// machine's own could go back to the machine's network.
func kindFor(w ward, level Level, uid int) (holderKind, error) {
	if w.sealed && level != Namespace {
		return holderKind{}, fmt.Errorf("there are no mount namespaces at level %s", level)
	}
	attr := asOneself(uid, os.Getegid())
	attr.AmbientCaps = needs
	if uid == 0 { // has them as it is
		attr.AmbientCaps = nil
		if err := asEverybody(&attr); err != nil {
			return holderKind{}, err
		}
	}
	name := "sealed"
	if w.offline {
		name, attr.Cloneflags = "network namespace", attr.Cloneflags|syscall.CLONE_NEWNET
	}
	attr.Setsid = true
	if level == Subreaper {
		attr.Pdeathsig = syscall.SIGTERM
		return holderKind{level, name, role{name: roleGuard, offline: w.offline}, attr}, nil
	}
	attr.Pdeathsig, attr.Cloneflags = syscall.SIGKILL, attr.Cloneflags|ownPids
	return holderKind{level, name, role{roleNamespace, w.offline, w.sealed}, attr}, nil
}

// asOneself makes a user namespace that knows one user and one group, as they are.
func asOneself(uid, gid int) syscall.SysProcAttr {
	return syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
	}
}

// asEverybody lets root keep all the users and groups that it has here, so that
// files belong to whom they belonged.
func asEverybody(attr *syscall.SysProcAttr) (err error) {
	if attr.UidMappings, err = ownIDs("/proc/self/uid_map"); err != nil {
		return err
	}
	attr.GidMappings, err = ownIDs("/proc/self/gid_map")
	attr.GidMappingsEnableSetgroups = true
	return err
}

// ownIDs maps every id of this process's user namespace to itself.
func ownIDs(file string) (ids []syscall.SysProcIDMap, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read which users there are: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var first, outside, size int
		if _, err := fmt.Sscan(line, &first, &outside, &size); err != nil {
			return nil, fmt.Errorf("read which users there are: %w", err)
		}
		ids = append(ids, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
	}
	return ids, nil
}

// A holder is a holder process as the harness sees it.
type holder struct {
	kind    holderKind
	process *os.Process
	conn    socket
	replies *bufio.Reader
	gone    chan struct{} // closed when the process is dead and reaped
}

// start starts a holder and waits until it is ready.
func (hs *holders) start() (*holder, error) {
	conn, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("make holder's socket: %w", err)
	}
	defer theirs.Close()
	attr := hs.kind.attr
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{holderName}, Dir: "/", Env: hs.kind.role.environ(),
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &attr,
	}
	started := make(chan error)
	hs.thread <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		conn.Close()
		return nil, fmt.Errorf("start holder: %w", err)
	}
	theirs.Close()
	h := &holder{kind: hs.kind, process: cmd.Process, conn: conn, gone: make(chan struct{})}
	h.replies = bufio.NewReaderSize(h.conn, 1<<10)
	go func() {
		cmd.Wait()
		close(h.gone)
	}()
	if err := h.ready(hs.patience); err != nil {
		h.destroy(hs.patience)
		return nil, err
	}
	return h, nil
}

func (h *holder) ready(patience time.Duration) error {
	h.conn.SetReadDeadline(time.Now().Add(patience))
	defer h.conn.SetReadDeadline(time.Time{})
	kind, body, err := h.receive()
	if err != nil {
		return fmt.Errorf("holder does not answer: %w", err)
	}
	if kind != kindReady {
		return errNonsense
	}
	if len(body) > 0 {
		return errors.New(string(body))
	}
	return nil
}

func (h *holder) alive() bool {
	select {
	case <-h.gone:
		return false
	default:
		return true
	}
}

// send writes a frame with files attached.
func (h *holder) send(frame []byte, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd()) // in blocking mode, as a child expects its streams
	}
	return h.conn.send(frame, fds)
}

func (h *holder) receive() (kind, []byte, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(h.replies, head[:]); err != nil {
		return 0, nil, err
	}
	kind, size, err := parseHeader(head, maxReply)
	if err != nil {
		return 0, nil, err
	}
	body := make([]byte, size)
	_, err = io.ReadFull(h.replies, body)
	return kind, body, err
}

// destroy ends a holder and all below it, and reports whether that worked.
// Everything is dead when the process it started is, and when the socket has
// ended, which a subreaper holder keeps until nothing is left below it.
func (h *holder) destroy(patience time.Duration) error {
	defer h.conn.Close()
	h.conn.closeWrite()
	if h.kind.level == Namespace {
		h.process.Kill()
	} else {
		h.process.Signal(unix.SIGTERM)
	}
	h.conn.SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, h.conn)
	if h.goneWithin(patience) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	h.process.Kill()
	if h.goneWithin(patience) && h.kind.level == Namespace {
		return nil
	}
	return errors.New("processes of the tree may still live: they did not die when killed")
}

func (h *holder) goneWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-h.gone:
		return true
	case <-t.C:
		return false
	}
}

// A lease is a tree below a holder.
type lease struct {
	hs    *holders
	h     *holder
	order order
	up    chan struct{}
	end   chan ending

	mu   sync.Mutex
	over bool // the holder is not ours any more
}

func (hs *holders) lease(h *holder, o order) *lease {
	l := &lease{hs: hs, h: h, order: o, up: make(chan struct{}), end: make(chan ending, 1)}
	go l.follow()
	return l
}

func (l *lease) started() chan struct{} { return l.up }
func (l *lease) done() chan ending      { return l.end }
func (l *lease) terminate()             { l.ask(kindTerminate) }
func (l *lease) kill()                  { l.ask(kindKill) }

// ask sends a request about this tree, while the holder has no other. From a
// kill on the holder must answer in time; if sending fails, so does follow.
func (l *lease) ask(k kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	soon := time.Now().Add(l.hs.patience)
	l.h.conn.SetWriteDeadline(soon)
	if k == kindKill {
		l.h.conn.SetReadDeadline(soon)
	}
	l.h.send(pack(k), nil)
}

func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.h.conn.SetDeadline(time.Time{})
}

// follow reads what the holder says of the child. A holder that dies or talks
// nonsense is ended with all below it before anybody hears of it.
func (l *lease) follow() {
	e, spent, err := l.listen()
	l.release()
	if err != nil {
		l.hs.lost()
		err = errors.Join(fmt.Errorf("%w: %w", ErrLost, err), l.h.destroy(l.hs.patience))
		l.end <- ending{exit: -1, err: err}
		return
	}
	if spent {
		l.hs.lost()
		l.hs.end(l.h)
	} else {
		l.hs.put(l.h)
	}
	l.end <- e
}

func (l *lease) listen() (e ending, spent bool, err error) {
	kind, body, err := l.h.receive()
	if err != nil {
		return e, false, err
	}
	if kind == kindRefused {
		errno, err := strconv.ParseUint(string(body), 10, 16)
		return ending{exit: -1, err: startError(l.order, syscall.Errno(errno))}, false, err
	}
	if kind != kindRunning {
		return e, false, errNonsense
	}
	close(l.up)
	kind, body, err = l.h.receive()
	if err == nil && kind != kindEnded {
		err = errNonsense
	}
	if err != nil {
		return e, false, err
	}
	r, err := unpackReport(body)
	return r.ending(), r.spent, err
}

func (r report) ending() ending {
	e := ending{exit: r.status.ExitStatus(), leftover: r.leftover}
	if r.status.Signaled() {
		e.signal = unix.SignalName(r.status.Signal())
	}
	return e
}
