package tree

import (
	"sync"
	"time"
)

// identity is what the file system says of a file. The time is that of its last
// change, which nobody can set: to set back the modification time moves it forward.
type identity struct {
	dev, ino uint64
	size     int64
	ctime    int64 // nanoseconds
	mode     uint32
}

// Time stamps are taken from a clock that ticks. A file that was changed within
// the tick in which it was read can be changed again and look the same, so what
// is younger than a tick is not remembered.
const (
	tick       = 20 * time.Millisecond // kernels tick every 1 to 10 ms
	coarseTick = 2 * time.Second       // file systems without fractions of a second
)

// settled reports whether a file with this identity, read from now on, would
// look different after any later change.
func (id identity) settled(now time.Time) bool {
	wait := tick
	if id.ctime%int64(time.Second) == 0 {
		wait = coarseTick
	}
	return now.UnixNano()-id.ctime > int64(wait)
}

// maxCached bounds the memory of a cache, about 200 bytes an entry.
const maxCached = 1 << 20

type cached struct {
	id     identity
	digest Digest
}

// cache remembers digests by path, for as long as the file looks the same. It
// is safe for concurrent use.
type cache struct {
	mu   sync.Mutex
	seen map[string]cached
}

func newCache() *cache { return &cache{seen: map[string]cached{}} }

func (c *cache) get(key string, id identity) (Digest, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.seen[key]
	return e.digest, ok && e.id == id
}

// put remembers a digest of bytes that were read not before at.
func (c *cache) put(key string, id identity, d Digest, at time.Time) {
	if !id.settled(at) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= maxCached {
		clear(c.seen)
	}
	c.seen[key] = cached{id, d}
}
