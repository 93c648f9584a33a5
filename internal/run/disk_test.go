package run_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

var errDisk = errors.New("the disk is gone")

// A strike is an accident at the n-th call of a life's store.
type strike struct {
	call  int  // the first is 1; 0 = none
	after bool // what was asked has been done, and nobody learns of it
	dies  bool // the process dies; else the call fails and the process goes on
}

// disk is the one store as a single process sees it: it may fail or take the
// process with it at any call, and hold a suspended process in mid-call.
type disk struct {
	store.Store
	life   *life
	strike strike

	mu      sync.Mutex
	calls   int
	broken  bool
	since   time.Time // when an append failed
	owned   bool
	heads   map[string]uint64 // what this life has written, by stream
	release func() error
	gate    chan struct{} // closed when the process may go on; nil = it is not suspended
}

// call runs f as one call of the store.
func (d *disk) call(f func() error) error {
	d.mu.Lock()
	d.calls++
	call, struck := d.calls, d.calls == d.strike.call
	d.mu.Unlock()
	if slow := d.life.fate.slow; slow > 0 {
		time.Sleep(noisy(d.life.world.draw("disk", d.life.n, call), 0, slow))
	}
	d.hold()
	switch {
	case d.life.isGone():
		runtime.Goexit()
	case struck && !d.strike.after:
		return d.suffer()
	}
	err := f()
	if struck && d.strike.after {
		return d.suffer()
	}
	return err
}

func (d *disk) suffer() error {
	if d.strike.dies {
		d.life.kill()
		runtime.Goexit()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = true
	return errDisk
}

func (d *disk) hold() {
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

// suspend stops the process as SIGSTOP would, and takes the workspace from it
// as if its lease had run out.
func (d *disk) suspend() error {
	d.mu.Lock()
	d.gate = make(chan struct{})
	d.mu.Unlock()
	return d.giveBack()
}

func (d *disk) wake() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate != nil {
		close(d.gate)
		d.gate = nil
	}
}

func (d *disk) giveBack() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.owned {
		return nil
	}
	d.owned = false
	return d.release()
}

func (d *disk) owns() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.owned
}

func (d *disk) head(stream string) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.heads[stream]
}

func (d *disk) Own(ctx context.Context, workspace string) (epoch uint64, release func() error, err error) {
	err = d.call(func() error {
		epoch, release, err = d.Store.Own(ctx, workspace)
		if err == nil {
			d.mu.Lock()
			d.owned, d.release = true, release
			d.mu.Unlock()
		}
		return err
	})
	return epoch, d.giveBack, err
}

func (d *disk) Append(ctx context.Context, batches ...store.Batch) error {
	err := d.call(func() error {
		d.mu.Lock()
		broken := d.broken
		d.mu.Unlock()
		if broken {
			return errDisk
		}
		return d.write(ctx, batches)
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && d.since.IsZero() {
		d.since = time.Now()
	}
	return err
}

// write appends, and now and then keeps a snapshot, so that the next life
// begins with one.
func (d *disk) write(ctx context.Context, batches []store.Batch) error {
	if err := d.Store.Append(ctx, batches...); err != nil {
		return err
	}
	for _, b := range batches {
		d.mu.Lock()
		d.heads[b.Stream] = b.Last()
		d.mu.Unlock()
		d.life.world.committed(b)
		body := d.life.world.mirror(b)
		if body == nil {
			continue
		}
		if err := d.Store.Append(ctx, store.Batch{Stream: b.Stream, After: b.Last(), Epoch: b.Epoch, Snapshot: body}); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		if err := d.call(func() error { return nil }); err != nil {
			yield(engine.Record{}, err)
			return
		}
		d.Store.Read(ctx, stream, after)(yield)
	}
}

func (d *disk) Snapshot(ctx context.Context, stream string) (seq uint64, body []byte, err error) {
	err = d.call(func() error {
		seq, body, err = d.Store.Snapshot(ctx, stream)
		return err
	})
	return seq, body, err
}

func (d *disk) Object(ctx context.Context, hash string) (body []byte, err error) {
	err = d.call(func() error {
		body, err = d.Store.Object(ctx, hash)
		return err
	})
	return body, err
}
