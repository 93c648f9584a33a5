package sqlite

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// A sum is a link of a stream's chain. The zero sum stands before the first
// record.
type sum = [sha256.Size]byte

// An entry is a record as it is stored.
type entry struct {
	id     int64 // place among all streams' events
	stream string
	seq    uint64
	at     int64 // microseconds since 1970
	actor  string
	epoch  uint64
	typ    string
	body   []byte
}

// A chain computes links. It is not safe for concurrent use.
type chain struct {
	digest  hash.Hash
	scratch []byte
}

func newChain() *chain { return &chain{digest: sha256.New()} }

// link hashes e and all before it: prev ‖ seq ‖ at ‖ stream ‖ actor ‖ epoch ‖
// type ‖ body, numbers as eight bytes, the highest first, texts after their
// length. The id is not in it; it follows from there being no gaps.
func (c *chain) link(prev sum, e *entry) sum {
	b := append(c.scratch[:0], prev[:]...)
	b = binary.BigEndian.AppendUint64(b, e.seq)
	b = binary.BigEndian.AppendUint64(b, uint64(e.at))
	b = appendText(b, e.stream)
	b = appendText(b, e.actor)
	b = binary.BigEndian.AppendUint64(b, e.epoch)
	b = appendText(b, e.typ)
	b = binary.BigEndian.AppendUint64(b, uint64(len(e.body)))
	c.scratch = b
	c.digest.Reset()
	c.digest.Write(b)
	c.digest.Write(e.body)
	var out sum
	c.digest.Sum(out[:0])
	return out
}

func appendText(b []byte, text string) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(text)))
	return append(b, text...)
}
