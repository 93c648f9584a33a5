package proc

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// A doorway leads from the loopback of a child to its gate: the holder makes the listener,
// which stays in the child's network wherever it is served.
type doorway struct {
	end  socket        // on which the listener comes
	stop chan struct{} // closed when nobody is to answer any more
	done chan struct{} // closed when nobody does
}

// newDoorway gives an order the end that the holder answers on.
func newDoorway(o *order) (*doorway, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	o.door = theirs
	return &doorway{ours, make(chan struct{}), make(chan struct{})}, nil
}

// serve lets the gate answer as soon as there is a listener.
func (d *doorway) serve(g Gate) {
	defer close(d.done)
	oob := make([]byte, unix.CmsgSpace(4))
	n, err := d.end.files(oob)
	if err != nil {
		return
	}
	fds, err := parseRights(oob[:n])
	if err != nil || len(fds) != 1 {
		return
	}
	g.Answer(os.NewFile(uintptr(fds[0]), "listener"), d.stop)
}

// close ends it, with all that is open there.
func (d *doorway) close() {
	close(d.stop)
	d.end.Close()
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
