package proc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

// holders start children through holder processes: one that waits if there is
// one, else a new one, which costs some 15 ms.
type holders struct {
	kind     holderKind
	reason   string
	patience time.Duration
	keep     int
	thread   chan func() // runs on the one thread that starts holders

	mu     sync.Mutex
	idle   []*holder // the last one used is the last
	closed bool
	ending sync.WaitGroup // holders that are being ended
}

// newHost takes the first kind of holder that works.
func newHost(c Config) (host, error) {
	if os.Getenv(roleVar) != "" {
		return nil, fmt.Errorf("%s is set: this process was started as a holder, but its main did not begin with proc.HoldIfAsked", roleVar)
	}
	if c.Level == Group {
		return groupHost{reason: "level group is configured"}, nil
	}
	kinds := slices.DeleteFunc(holderKinds(os.Geteuid()), func(k holderKind) bool {
		return c.Level != "" && k.level != c.Level
	})
	if len(kinds) == 0 {
		return nil, fmt.Errorf("no such level: %q", c.Level)
	}
	hs := &holders{patience: c.Patience, keep: c.Idle, thread: make(chan func())}
	go hs.run()
	var reasons error
	for _, kind := range kinds {
		hs.kind = kind
		h, err := hs.start()
		if err == nil {
			hs.idle = append(hs.idle, h)
			if kind.level != Namespace && reasons != nil {
				hs.reason = reasons.Error()
			}
			return hs, nil
		}
		reasons = errors.Join(reasons, fmt.Errorf("%s: %w", kind.name, err))
	}
	close(hs.thread)
	return nil, reasons
}

// run keeps one thread for starting holders: the kernel kills them when the
// thread that started them ends, which must not be before the harness does.
func (hs *holders) run() {
	runtime.LockOSThread()
	for f := range hs.thread {
		f()
	}
}

func (hs *holders) level() Level { return hs.kind.level }
func (hs *holders) why() string  { return hs.reason }

func (hs *holders) begin(o order, in, out, errs *os.File) (tree, error) {
	files := []*os.File{out, errs}
	if in != nil {
		files = []*os.File{in, out, errs}
	}
	frame := packOrder(o)
	if len(frame) > maxOrder {
		return nil, startError(o, errTooLong)
	}
	for h := hs.take(); h != nil; h = hs.take() {
		if h.send(frame, files) == nil {
			return hs.lease(h, o), nil
		}
		hs.end(h) // died while idle: an order cut short starts nothing
	}
	h, err := hs.start()
	if err == nil {
		err = h.send(frame, files)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	return hs.lease(h, o), nil
}

var errTooLong = errors.New("arguments and environment are too long")

// take returns an idle holder, or nil.
func (hs *holders) take() *holder {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for n := len(hs.idle); n > 0; n = len(hs.idle) {
		h := hs.idle[n-1]
		hs.idle = hs.idle[:n-1]
		if h.alive() {
			return h
		}
		hs.end(h)
	}
	return nil
}

// put takes back a holder that is fit for another child.
func (hs *holders) put(h *holder) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if hs.closed || len(hs.idle) >= hs.keep {
		hs.end(h)
		return
	}
	hs.idle = append(hs.idle, h)
}

// end ends a holder below which nothing lives; nobody waits for it but close.
func (hs *holders) end(h *holder) {
	hs.ending.Go(func() { h.destroy(hs.patience) })
}

func (hs *holders) close() {
	hs.mu.Lock()
	if hs.closed {
		hs.mu.Unlock()
		hs.ending.Wait()
		return
	}
	hs.closed = true
	for _, h := range hs.idle {
		hs.end(h)
	}
	hs.idle = nil
	hs.mu.Unlock()
	hs.ending.Wait()
	close(hs.thread)
}
