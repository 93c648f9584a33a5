package proc

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A holder is known by its name and by the variable that tells it its role.
// Nobody else's process has both.
const (
	holderName = "piton-hold"
	roleVar    = "PITON_HOLD"
	offlineVar = "PITON_HOLD_OFFLINE" // set to anything: with a network of its own
	sealingVar = "PITON_HOLD_SEALING" // set to anything: starts sealed children only
	holderSock = 3
)

const (
	roleNamespace = "namespace"
	roleSubreaper = "subreaper"
	roleGuard     = "guard" // starts a subreaper holder and outlives it
)

// A role is what a holder is to be.
type role struct {
	name    string
	offline bool // in a network namespace that was made for it
	sealing bool // every child of it goes through a stage that seals it
}

// environ is the whole environment of a holder. It reads its socket and waits
// for children in blocking calls, and needs a scheduler slot for each.
func (r role) environ() []string {
	env := []string{roleVar + "=" + r.name, "GOMAXPROCS=4"}
	if r.offline {
		env = append(env, offlineVar+"=1")
	}
	if r.sealing {
		env = append(env, sealingVar+"=1")
	}
	return env
}

// init turns this process into a holder if a [Pool] started it as one. It does so
// before main, and before most packages are initialised, which would cost more
// than all else a holder does.
func init() {
	r := role{os.Getenv(roleVar), os.Getenv(offlineVar) != "", os.Getenv(sealingVar) != ""}
	if r.name == "" || len(os.Args) != 1 || os.Args[0] != holderName {
		return
	}
	runtime.LockOSThread() // children are tied to the life of this thread
	os.Exit(hold(r))
}

func hold(r role) int {
	shed()
	if r.name == roleGuard {
		return guard(r)
	}
	k := newKeeper(r)
	refusal := ""
	err := k.settle()
	if err != nil {
		refusal = err.Error()
	}
	if k.send(pack(kindReady, refusal)) != nil || err != nil {
		return 1
	}
	go k.watchParent()
	go k.report()
	k.serve()
	return 0
}

// A keeper is the holder at work. The main thread reads requests and starts
// children; another goroutine waits for them and reports. Both use plain
// blocking calls, so that nothing but the kernel stands between them and the
// harness.
type keeper struct {
	role   role
	sock   *os.File // to the harness
	brood  brood
	work   chan struct{} // a child was started
	doomed chan struct{} // closed when the harness or the guard is gone
	traits traits
}

func newKeeper(r role) *keeper {
	k := &keeper{role: r, sock: os.NewFile(holderSock, "harness"), work: make(chan struct{}, 1), doomed: make(chan struct{})}
	k.brood.strike = killChildren
	if r.name == roleNamespace {
		k.brood.strike = killNamespace
	}
	return k
}

// serve obeys the harness until it is gone.
func (k *keeper) serve() {
	for {
		kind, body, files, err := k.receive()
		if err != nil {
			break
		}
		switch kind {
		case kindOrder, kindGated:
			err = k.start(body, files, kind == kindGated)
		case kindTerminate:
			k.brood.signal(unix.SIGTERM)
		case kindKill:
			k.brood.kill()
		default:
			err = errNonsense
		}
		if err != nil {
			break
		}
	}
	k.abandon()
}

// abandon ends everything because nobody listens any more.
func (k *keeper) abandon() {
	if k.role.name == roleNamespace {
		os.Exit(0) // the kernel kills the namespace
	}
	close(k.doomed)
	if !k.brood.kill() {
		os.Exit(0)
	}
	select {} // report exits
}

// report waits for each child and tells its end.
func (k *keeper) report() {
	for range k.work {
		r := k.brood.wait()
		r.spent = k.traits.changed()
		select {
		case <-k.doomed:
			os.Exit(0) // the end of the socket says it
		default:
		}
		if k.send(packReport(r)) != nil {
			os.Exit(0)
		}
	}
}

// start starts a child with the files as its input, output and error output; of
// two files the input is the null device. The last file of one with a gate is its door.
// An error means that the harness is gone or talks nonsense, not that the child is refused.
func (k *keeper) start(body []byte, files []int, gated bool) error {
	defer closeFDs(files)
	o, err := unpackOrder(body)
	if err == nil && gated && len(files) > 0 {
		door := files[len(files)-1]
		files = files[:len(files)-1]
		address, err := openDoor(door)
		if err != nil {
			return k.refuse(err)
		}
		o.env = proxied(o.env, address)
	}
	if err != nil || len(o.argv) == 0 || len(files) < 2 || len(files) > 3 {
		return errNonsense
	}
	if len(files) == 2 {
		null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return k.refuse(err)
		}
		defer unix.Close(null)
		files = []int{null, files[0], files[1]}
	}
	pid, err := spawn(o, files)
	if err != nil {
		return k.refuse(err)
	}
	k.brood.begin(pid)
	err = k.send(pack(kindRunning))
	k.work <- struct{}{}
	return err
}

func (k *keeper) refuse(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		errno = syscall.EINVAL
	}
	return k.send(pack(kindRefused, strconv.Itoa(int(errno))))
}

// spawn starts a program in a session of its own.
func spawn(o order, files []int) (pid int, err error) {
	return syscall.ForkExec(o.path, o.argv, &syscall.ProcAttr{
		Dir:   o.dir,
		Env:   o.env,
		Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// send writes a frame; only one goroutine at a time has something to say.
func (k *keeper) send(frame []byte) error {
	_, err := k.sock.Write(frame)
	return err
}

// receive reads a frame and the descriptors that came with it.
func (k *keeper) receive() (kind, []byte, []int, error) {
	var head [frameHeader]byte
	files, err := k.receiveHead(&head)
	if err != nil {
		return 0, nil, nil, err
	}
	kind, size, err := parseHeader(head, maxOrder)
	if err != nil {
		return 0, nil, nil, err
	}
	body := make([]byte, size)
	_, err = io.ReadFull(k.sock, body)
	return kind, body, files, err
}

// receiveHead reads a header; descriptors come with its first byte.
func (k *keeper) receiveHead(head *[frameHeader]byte) ([]int, error) {
	oob := make([]byte, unix.CmsgSpace(4*4))
	for {
		n, used, _, _, err := unix.Recvmsg(holderSock, head[:], oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		}
		files, err := parseRights(oob[:used])
		if err == nil {
			_, err = io.ReadFull(k.sock, head[n:])
		}
		return files, err
	}
}

func parseRights(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, errNonsense
	}
	return unix.ParseUnixRights(&messages[0])
}

func closeFDs(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
