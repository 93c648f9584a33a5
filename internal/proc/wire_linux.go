package proc

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
	kindGated     kind = 'g' // the same with a gate
	kindTerminate kind = 't' // ask the child's group to end
	kindKill      kind = 'k' // kill the tree
)

var errNonsense = errors.New("nonsense on the holder's socket")

// pack builds a frame of texts, none of which has a NUL.
func pack(k kind, texts ...string) []byte {
	body := strings.Join(texts, "\x00")
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	return append(append(frame, byte(k)), body...)
}

func unpack(body []byte) []string { return strings.Split(string(body), "\x00") }

// parseHeader reads a frame's header; the body may have at most limit bytes.
func parseHeader(h [frameHeader]byte, limit int) (kind, int, error) {
	n := binary.BigEndian.Uint32(h[:4])
	if int64(n) > int64(limit) {
		return 0, 0, errNonsense
	}
	return kind(h[4]), int(n), nil
}

func packOrder(o order) []byte {
	k := kindOrder
	if o.door != nil {
		k = kindGated
	}
	return pack(k, slices.Concat([]string{o.path, o.dir, strconv.Itoa(len(o.argv))}, o.argv, o.env)...)
}

func unpackOrder(body []byte) (order, error) {
	texts := unpack(body)
	if len(texts) < 3 {
		return order{}, errNonsense
	}
	n, err := strconv.Atoi(texts[2])
	rest := texts[3:]
	if err != nil || n < 0 || n > len(rest) {
		return order{}, errNonsense
	}
	return order{path: texts[0], dir: texts[1], argv: rest[:n], env: rest[n:]}, nil
}

// A report is a tree's end as the holder saw it.
type report struct {
	status   syscall.WaitStatus // of the child
	leftover int
	spent    bool // the holder is not fit to run another child
}

func packReport(r report) []byte {
	return pack(kindEnded, strconv.FormatUint(uint64(r.status), 10), strconv.Itoa(r.leftover), strconv.FormatBool(r.spent))
}

func unpackReport(body []byte) (report, error) {
	texts := unpack(body)
	if len(texts) != 3 {
		return report{}, errNonsense
	}
	status, err := strconv.ParseUint(texts[0], 10, 32)
	leftover, err2 := strconv.Atoi(texts[1])
	spent, err3 := strconv.ParseBool(texts[2])
	r := report{syscall.WaitStatus(status), leftover, spent}
	if errors.Join(err, err2, err3) != nil || !r.status.Exited() && !r.status.Signaled() {
		return report{}, errNonsense
	}
	return r, nil
}
