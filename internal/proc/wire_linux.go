package proc

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"
)

// Harness and holder talk over a stream socket in frames: four bytes of length,
// one of kind, and the body. Descriptors ride on an order's first byte.
const frameHeader = 5

// Bounds of a frame's body. The kernel takes at most 6 MiB of arguments and
// environment.
const (
	maxOrder = 16 << 20
	maxReply = 64 << 10
)

type kind byte

const (
	// of the holder
	kindReady   kind = 'R' // set up; the body says why not, if not
	kindRunning kind = 'r' // the child runs
	kindRefused kind = 'x' // the child could not be started: errno
	kindEnded   kind = 'e' // nothing of the tree lives: a report
	// of the harness
	kindOrder     kind = 'o' // start a child
	kindTerminate kind = 't' // ask the child's group to end
	kindKill      kind = 'k' // kill the tree
)

var errNonsense = errors.New("nonsense on the holder's socket")

// A packer builds a frame.
type packer []byte

func newFrame(k kind) packer { return packer{0, 0, 0, 0, byte(k)} }

func (p packer) num(n uint64) packer { return binary.AppendUvarint(p, n) }
func (p packer) str(s string) packer { return append(p.num(uint64(len(s))), s...) }

func (p packer) strs(list []string) packer {
	p = p.num(uint64(len(list)))
	for _, s := range list {
		p = p.str(s)
	}
	return p
}

// frame fills in the length.
func (p packer) frame() []byte {
	binary.BigEndian.PutUint32(p, uint32(len(p)-frameHeader))
	return p
}

// parseHeader reads a frame's header; the body may have at most limit bytes.
func parseHeader(h [frameHeader]byte, limit int) (kind, int, error) {
	n := binary.BigEndian.Uint32(h[:4])
	if int64(n) > int64(limit) {
		return 0, 0, errNonsense
	}
	return kind(h[4]), int(n), nil
}

// An unpacker reads a body. After the first thing that is not there all it
// reads is zero and err is set.
type unpacker struct {
	rest []byte
	err  error
}

func (u *unpacker) num() uint64 {
	n, size := binary.Uvarint(u.rest)
	if size <= 0 {
		u.rest, u.err = nil, errNonsense
		return 0
	}
	u.rest = u.rest[size:]
	return n
}

func (u *unpacker) str() string {
	n := u.num()
	if n > uint64(len(u.rest)) {
		u.rest, u.err = nil, errNonsense
		return ""
	}
	s := string(u.rest[:n])
	u.rest = u.rest[n:]
	return s
}

func (u *unpacker) strs() []string {
	n := u.num()
	if n > uint64(len(u.rest)) { // each takes a byte at least
		u.rest, u.err = nil, errNonsense
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, u.str())
	}
	return list
}

func (u *unpacker) end() error {
	if u.err == nil && len(u.rest) > 0 {
		u.err = errNonsense
	}
	return u.err
}

func packOrder(o order) []byte {
	l := o.limits
	return newFrame(kindOrder).str(o.path).str(o.dir).strs(o.argv).strs(o.env).
		num(l.Memory).num(l.FileSize).num(l.Processes).num(l.Files).frame()
}

func unpackOrder(body []byte) (order, error) {
	u := unpacker{rest: body}
	o := order{path: u.str(), dir: u.str(), argv: u.strs(), env: u.strs()}
	o.limits = Limits{Memory: u.num(), FileSize: u.num(), Processes: u.num(), Files: u.num()}
	return o, u.end()
}

// A report is a tree's end as the holder saw it.
type report struct {
	status   syscall.WaitStatus // of the child
	cpu      time.Duration
	rss      int64 // bytes
	leftover int
	spent    bool // the holder is not fit to run another child
}

func packReport(r report) []byte {
	spent := uint64(0)
	if r.spent {
		spent = 1
	}
	return newFrame(kindEnded).num(uint64(r.status)).num(uint64(r.cpu)).num(uint64(r.rss)).
		num(uint64(r.leftover)).num(spent).frame()
}

func unpackReport(body []byte) (report, error) {
	u := unpacker{rest: body}
	r := report{status: syscall.WaitStatus(u.num()), cpu: time.Duration(u.num()), rss: int64(u.num())}
	r.leftover, r.spent = int(u.num()), u.num() != 0
	if err := u.end(); err != nil {
		return report{}, err
	}
	if !r.status.Exited() && !r.status.Signaled() {
		return report{}, errNonsense
	}
	return r, nil
}
