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

// holders start children through holder processes: one that is free, else a new
// one, which costs some 15 ms.
type holders struct {
	kind     holderKind
	patience time.Duration
	lull     time.Duration
	keep     int
	thread   chan func() // runs on the one thread that starts holders

	mu      sync.Mutex
	idle    []*holder // the last one used is the last
	busy    int       // holders at work, or about to be
	waiting []chan *holder
	moved   time.Time // when one last came free, or was started for who had waited
	closed  bool
	ending  sync.WaitGroup // holders that are being ended
}

// Once there are enough holders to keep the processors busy, an order waits for
// one that comes free rather than start another, which would cost more than most
// checks do: as long as one comes free every lull, and else one is started. Who
// came first is served first, so nobody waits for more lulls than there were
// orders before.
const lull = 20 * time.Millisecond

var enough = 2 * runtime.NumCPU() // holders

// newHost takes the first kind of holder that works.
func newHost(c Config) (host, error) {
	if os.Getenv(roleVar) != "" {
		return nil, fmt.Errorf("%s is set, which is for processes that Piton starts itself: unset it", roleVar)
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
	return newHolders(c, kinds)
}

// newHolders takes the first of the kinds that works.
func newHolders(c Config, kinds []holderKind) (host, error) {
	hs := &holders{patience: c.Patience, lull: lull, keep: c.Idle, thread: make(chan func())}
	go hs.run()
	var reasons error
	for _, kind := range kinds {
		hs.kind = kind
		h, err := hs.start()
		if err == nil {
			hs.idle = append(hs.idle, h)
			return hs, nil
		}
		reasons = errors.Join(reasons, fmt.Errorf("%s: %w", kind.name, err))
	}
	close(hs.thread)
	return nil, reasons
}

func (hs *holders) guarding(w ward) (host, error) {
	kind, err := kindFor(w, hs.kind.level, os.Geteuid())
	if err != nil {
		return nil, err
	}
	return newHolders(Config{Patience: hs.patience, Idle: hs.keep}, []holderKind{kind})
}

// warm starts holders until there are as many as children, up to two for each
// processor, and waits for none. One that cannot be started is missed by nobody: who needs
// it tries again.
func (hs *holders) warm(children int) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for range min(children, enough) - len(hs.idle) {
		hs.busy++
		hs.ending.Go(func() {
			h, err := hs.start()
			if err != nil {
				hs.lost()
				return
			}
			hs.put(h)
		})
	}
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

func (hs *holders) begin(o order, in, out, errs *os.File) (tree, error) {
	files := []*os.File{out, errs}
	if in != nil {
		files = []*os.File{in, out, errs}
	}
	if o.door != nil {
		files = append(files, o.door)
	}
	frame := packOrder(o)
	if len(frame) > maxOrder {
		return nil, startError(o, errTooLong)
	}
	for h := hs.take(); h != nil; h = hs.take() {
		if h.send(frame, files) == nil {
			return hs.lease(h, o), nil
		}
		hs.lost() // died while idle: an order cut short starts nothing
		hs.end(h)
	}
	h, err := hs.start()
	if err == nil {
		if err = h.send(frame, files); err != nil {
			hs.end(h)
		}
	}
	if err != nil {
		hs.lost()
		return nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	return hs.lease(h, o), nil
}

var errTooLong = errors.New("arguments and environment are too long")

// take returns a holder that is free, or nil where one is to be started. Both
// count as busy from now on.
func (hs *holders) take() *holder {
	h, free := hs.claim()
	if free == nil {
		return h
	}
	for pause := hs.lull; ; {
		select {
		case h := <-free:
			return h
		case <-time.After(pause):
		}
		if h, pause = hs.leave(free); pause <= 0 {
			return h
		}
	}
}

// claim returns what is to be had at once, or where to wait for it.
func (hs *holders) claim() (h *holder, free chan *holder) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for n := len(hs.idle); n > 0; n = len(hs.idle) {
		h := hs.idle[n-1]
		hs.idle = hs.idle[:n-1]
		if h.alive() {
			hs.busy++
			return h, nil
		}
		hs.end(h)
	}
	if hs.busy < enough && len(hs.waiting) == 0 {
		hs.busy++
		return nil, nil
	}
	free = make(chan *holder, 1)
	hs.waiting = append(hs.waiting, free)
	return nil, free
}

// leave ends the wait with nil, where one is to be started, or with a holder that
// has just come; or else it says how much longer to wait. It looks and leaves in
// one step: one wait at most ends for each lull.
func (hs *holders) leave(free chan *holder) (h *holder, pause time.Duration) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	i := slices.Index(hs.waiting, free)
	if i < 0 {
		return <-free, 0
	}
	if pause := time.Until(hs.moved.Add(hs.lull)); pause > 0 {
		return nil, pause
	}
	hs.waiting = slices.Delete(hs.waiting, i, i+1)
	hs.moved = time.Now()
	hs.busy++
	return nil, 0
}

// lost counts out a holder that is busy no more and will not be again.
func (hs *holders) lost() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.busy--
}

// put takes back a holder that is fit for another child.
func (hs *holders) put(h *holder) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.moved = time.Now()
	if len(hs.waiting) > 0 {
		hs.waiting[0] <- h
		hs.waiting = hs.waiting[1:]
		return
	}
	hs.busy--
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
