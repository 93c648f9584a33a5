package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
	"unicode/utf8"
)

const (
	defaultHead = 4 << 10
	defaultTail = 64 << 10
)

// A Capture is what is kept of one output stream.
type Capture struct {
	Head   []byte // the first bytes
	Tail   []byte // the last bytes that are not in Head
	Total  int64  // bytes written
	SHA256 string // of all bytes written, in hex
}

// Dropped is the number of bytes between Head and Tail that were not kept.
func (c Capture) Dropped() int64 {
	return c.Total - int64(len(c.Head)) - int64(len(c.Tail))
}

// String joins head and tail, with a line between them that says how much was
// left out, if any. The bytes are raw; see [Plain].
func (c Capture) String() string {
	if n := c.Dropped(); n > 0 {
		return fmt.Sprintf("%s\n… %d bytes left out …\n%s", c.Head, n, c.Tail)
	}
	return string(c.Head) + string(c.Tail)
}

// LastLines returns the last n lines as [Plain] text of at most maxBytes bytes,
// less at the front where both cannot be had. It is what a next attempt is told.
func (c Capture) LastLines(n, maxBytes int) string {
	if n <= 0 || maxBytes <= 0 {
		return ""
	}
	s := Plain([]byte(c.String()))
	start := len(s)
	for range n {
		i := strings.LastIndexByte(strings.TrimSuffix(s[:start], "\n"), '\n')
		start = i + 1
		if i < 0 {
			break
		}
	}
	return lastBytes(s[start:], maxBytes)
}

// lastBytes cuts s from the front to at most limit bytes, at a line if one
// begins there and else at a rune.
func lastBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := s[len(s)-limit:]
	if i := strings.IndexByte(cut, '\n'); s[len(s)-limit-1] != '\n' && i >= 0 && i+1 < len(cut) {
		return cut[i+1:]
	}
	for len(cut) > 0 && !utf8.RuneStart(cut[0]) {
		cut = cut[1:]
	}
	return cut
}

// A ring keeps the head and the tail of a stream, in memory bounded by their
// sizes; a write costs no more than its hash.
type ring struct {
	headCap, tailCap int
	head, tail       []byte
	next             int // where the next byte goes once tail is full
	total            int64
	sum              hash.Hash
}

func newRing(o Output) *ring {
	return &ring{
		headCap: bound(o.Head, defaultHead),
		tailCap: bound(o.Tail, defaultTail),
		sum:     sha256.New(),
	}
}

func bound(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return max(n, 0)
}

func (r *ring) write(p []byte) {
	r.total += int64(len(p))
	r.sum.Write(p)
	k := min(r.headCap-len(r.head), len(p))
	r.head = append(r.head, p[:k]...)
	p = p[k:]
	if over := len(p) - r.tailCap; over > 0 {
		p = p[over:]
	}
	k = min(r.tailCap-len(r.tail), len(p))
	r.tail = append(r.tail, p[:k]...)
	for p = p[k:]; len(p) > 0; p = p[k:] {
		k = copy(r.tail[r.next:], p)
		r.next = (r.next + k) % r.tailCap
	}
}

func (r *ring) capture() Capture {
	tail := append(r.tail[r.next:len(r.tail):len(r.tail)], r.tail[:r.next]...)
	return Capture{Head: r.head, Tail: tail, Total: r.total, SHA256: hex.EncodeToString(r.sum.Sum(nil))}
}
