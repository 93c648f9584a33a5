package proc

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	teeWaiting = 1 << 20         // bytes that may wait for a slow writer
	teeStall   = 2 * time.Second // how long a writer may take nothing of them
)

// A tee carries bytes to a writer that may be slow, broken or stuck, without
// ever holding up the side that feeds it for longer than teeStall in all.
type tee struct {
	feed chan struct{} // full while a stream waits for room, the other behind it
	more chan struct{} // there is something to carry, or closed
	room chan struct{} // waiting was taken
	done chan struct{} // the writer is finished with

	mu      sync.Mutex
	waiting []byte
	closed  bool
	err     error // set once; nothing is carried afterwards
}

// newTee returns nil for a nil writer; a nil tee takes everything.
func newTee(w io.Writer) *tee {
	if w == nil {
		return nil
	}
	t := &tee{
		feed: make(chan struct{}, 1), more: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go t.carry(w)
	return t
}

func (t *tee) carry(w io.Writer) {
	defer close(t.done)
	var batch []byte
	for range t.more {
		t.mu.Lock()
		batch, t.waiting = t.waiting, batch[:0]
		closed, err := t.closed, t.err
		t.mu.Unlock()
		poke(t.room)
		if len(batch) > 0 && err == nil {
			_, err = w.Write(batch)
			t.fail(err)
		}
		if closed || err != nil {
			return
		}
	}
}

// poke sets a flag kept in a channel of capacity one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (t *tee) fail(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = fmt.Errorf("copy output: %w", err)
	}
}

// offer queues p and reports whether there was no room for it.
func (t *tee) offer(p []byte) (full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return false
	}
	if len(t.waiting) > 0 && len(t.waiting)+len(p) > teeWaiting {
		return true
	}
	t.waiting = append(t.waiting, p...)
	poke(t.more)
	return false
}

func (t *tee) write(p []byte) {
	if t == nil {
		return
	}
	t.feed <- struct{}{}
	defer func() { <-t.feed }()
	for t.offer(p) && t.moves() {
	}
}

var errStalled = errors.New("the writer takes nothing")

// finish waits until all is written, as long as the writer moves, and says what
// went wrong.
func (t *tee) finish() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.closed = true
	stuck := errors.Is(t.err, errStalled)
	t.mu.Unlock()
	poke(t.more)
	if stuck {
		return t.err
	}
	for t.moves() {
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// moves waits for the writer to take something, and reports whether it has more
// to do. One that takes nothing for teeStall has failed.
func (t *tee) moves() bool {
	stall := time.NewTimer(teeStall)
	defer stall.Stop()
	select {
	case <-t.room:
		return true
	case <-t.done:
	case <-stall.C:
		t.fail(errStalled)
	}
	return false
}
