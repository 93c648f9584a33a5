package proc

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A doorway leads from the loopback of a child to its gate: the holder makes the listener,
// which stays in the child's network wherever it is served.
type doorway struct {
	conn *net.UnixConn // on which the listener comes
	done chan struct{} // closed when nobody serves any more

	mu       sync.Mutex
	listener net.Listener
	shut     bool
}

// newDoorway gives an order the end that the holder answers on.
func newDoorway(o *order) (*doorway, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours := os.NewFile(uintptr(pair[0]), "doorway")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		unix.Close(pair[1])
		return nil, err
	}
	o.door = os.NewFile(uintptr(pair[1]), "door")
	return &doorway{conn: conn.(*net.UnixConn), done: make(chan struct{})}, nil
}

// serve lets the gate answer as soon as there is a listener.
func (d *doorway) serve(g Gate) {
	defer close(d.done)
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := d.conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return
	}
	fds, err := parseRights(oob[:n])
	if err != nil || len(fds) != 1 {
		return
	}
	file := os.NewFile(uintptr(fds[0]), "listener")
	l, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return
	}
	defer l.Close()
	d.mu.Lock()
	d.listener = l
	shut := d.shut
	d.mu.Unlock()
	if !shut {
		g.Serve(l)
	}
}

// close ends it, with all that is open there.
func (d *doorway) close() {
	d.mu.Lock()
	d.shut = true
	d.conn.Close()
	if d.listener != nil {
		d.listener.Close()
	}
	d.mu.Unlock()
	<-d.done
}

// openDoor makes the listener in the network of this process, sends it on a socket, and
// returns the address of the proxy that is to answer there.
func openDoor(door int) (address string, err error) {
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(l)
	if err := errors.Join(unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(l, 128)); err != nil {
		return "", err
	}
	at, err := unix.Getsockname(l)
	if err != nil {
		return "", err
	}
	bound, ok := at.(*unix.SockaddrInet4)
	if !ok {
		return "", syscall.EINVAL
	}
	if err := unix.Sendmsg(door, []byte{0}, unix.UnixRights(l), nil, 0); err != nil {
		return "", err
	}
	return "http://127.0.0.1:" + strconv.Itoa(bound.Port), nil
}

// proxied is an environment that sends programs to a proxy.
func proxied(env []string, address string) []string {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = with(env, name+"="+address)
	}
	return env
}
