package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Do carries one effect out and returns its answer. It runs in a goroutine of
// its own. When ctx ends the effect is not wanted any more: Do must stop
// everything it started, prove it gone, and return. Work that was cut short
// answers with engine.Ended and How Stopped; an inquiry may answer nothing.
type Do func(ctx context.Context, e engine.Effect) Answer

// Answer is the result of an effect with the objects it names. A nil Input
// says nothing.
type Answer struct {
	Input   engine.Input
	Objects []store.Object
}

// Config is what a [Host] needs. All fields but Show and Point are required.
type Config struct {
	Store     store.Store
	Do        Do
	Now       func() time.Time
	Workspace string // its identity, for the ownership
	Machine   string // name of this host, for the record
	Version   string
	Isolation string // level in force, as probed

	// Show is called in the loop with records that are durable now. It must
	// return at once.
	Show func([]engine.Record)
	// Point is called at every boundary of a durable write or an effect. It is
	// for crash tests.
	Point func(name string)
}

// Host owns a workspace and runs its tasks. Submit and Stop are safe for
// concurrent use; Loop is called once.
type Host struct {
	cfg     Config
	epoch   uint64
	release func() error

	// Of the loop alone.
	work   workspace
	tasks  map[string]*task
	failed error

	mu     sync.Mutex
	inbox  []envelope
	closed bool
	signal chan struct{} // capacity 1: something is in the inbox

	effects sync.WaitGroup
}

// workspace is the workspace stream's state, and whether this owner has begun it.
type workspace struct {
	state engine.Workspace
	begun bool
	batch *batch
}

// task is one task's state and what runs for it.
type task struct {
	state   *engine.State
	active  bool // effects are started for it
	begun   bool // this owner's epoch is in its stream
	running map[engine.Key]*running
	since   int // records since the last snapshot
	batch   *batch
}

type running struct {
	cancel    context.CancelFunc
	cancelled bool
}

// batch gathers what a turn adds to one stream.
type batch struct {
	after   uint64
	records []engine.Record
	objects []store.Object
}

// envelope is one input on its way into a turn.
type envelope struct {
	stream  string
	in      engine.Input // nil: activate only, or an effect that said nothing
	objects []store.Object
	key     *engine.Key // of the effect that ended
	wake    bool        // run the task from now on
	ack     chan error
	err     error
}

// ErrStopped is returned by Submit once the host takes no more inputs.
var ErrStopped = errors.New("the owner of this workspace is stopping")

// Open takes the ownership of the workspace and reads its stream. Close gives
// it back. Tasks are read when they are first needed.
func Open(ctx context.Context, cfg Config) (*Host, error) {
	epoch, release, err := cfg.Store.Own(ctx, cfg.Workspace)
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, epoch: epoch, release: release, tasks: map[string]*task{}, signal: make(chan struct{}, 1)}
	for r, err := range cfg.Store.Read(ctx, engine.WorkspaceStream, 0) {
		if err == nil {
			err = h.work.state.Apply(r)
		}
		if err != nil {
			return nil, errors.Join(err, release())
		}
	}
	return h, nil
}

// Epoch is the number of this ownership.
func (h *Host) Epoch() uint64 { return h.epoch }

// Submit hands an input to the next turn and returns when the facts it became
// are durable, or why it was refused: an *engine.Refusal, or what stopped the
// host. A cancelled ctx gives up waiting; the input may take effect all the same.
func (h *Host) Submit(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error {
	return h.send(ctx, envelope{stream: stream, in: in, objects: objects})
}

// Activate starts the effects of a task from now on. It fails if there is no
// such task.
func (h *Host) Activate(ctx context.Context, stream string) error {
	return h.send(ctx, envelope{stream: stream, wake: true})
}

func (h *Host) send(ctx context.Context, e envelope) error {
	e.ack = make(chan error, 1)
	if !h.put(e) {
		return ErrStopped
	}
	select {
	case err := <-e.ack:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Host) put(e envelope) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.inbox = append(h.inbox, e)
	h.Nudge()
	return true
}

// drain takes everything that waits: results first, then commands, each in the
// order they came.
func (h *Host) drain() []envelope {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.inbox
	h.inbox = nil
	var results, commands []envelope
	for _, e := range all {
		if e.key != nil {
			results = append(results, e)
		} else {
			commands = append(commands, e)
		}
	}
	return append(results, commands...)
}

// Traffic is what the loop has to do for its active tasks.
type Traffic struct {
	Moving  int // runs with something under way, ready or due
	Waiting int // runs that can move only when a person acts
}

// Loop runs turns until leave says that it may end: leave is asked whenever
// nothing waits, with what there is to do; [Host.Nudge] makes the loop ask
// again. A cancelled ctx stops all effects, records how they ended and returns
// ctx.Err(). Any other error is one after which the process must stop: what was
// acknowledged is safe, and nothing else is known.
func (h *Host) Loop(ctx context.Context, leave func(Traffic) bool) error {
	defer h.refuse()
	for {
		if t, quiet := h.traffic(); quiet && leave(t) {
			return nil
		}
		if stopped := h.await(ctx); stopped {
			return errors.Join(h.quit(), ctx.Err())
		}
		if err := h.turn(); err != nil {
			h.abandon()
			return err
		}
	}
}

// await returns when there is something for a turn, or true when ctx ended.
func (h *Host) await(ctx context.Context) (stopped bool) {
	alarm, stop := h.alarm()
	defer stop()
	select {
	case <-ctx.Done():
		return true
	case <-h.signal:
	case <-alarm:
	}
	return false
}

// Nudge makes the loop ask again whether it may end.
func (h *Host) Nudge() {
	select {
	case h.signal <- struct{}{}:
	default:
	}
}

// traffic counts what there is to do; quiet is false while inputs wait or
// something that was stopped has not ended.
func (h *Host) traffic() (t Traffic, quiet bool) {
	h.mu.Lock()
	quiet = len(h.inbox) == 0
	h.mu.Unlock()
	for _, x := range h.tasks {
		switch {
		case len(x.running) > 0 && !x.state.Live():
			quiet = false
		case !x.active || !x.state.Live():
		case len(x.running) == 0 && x.state.Idle():
			t.Waiting++
		default:
			t.Moving++
		}
	}
	return t, quiet
}

// alarm rings when the earliest due time of an active task has come.
func (h *Host) alarm() (<-chan time.Time, func()) {
	var first time.Time
	for _, t := range h.tasks {
		if at, ok := t.state.Wake(); ok && t.active && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(max(0, first.Sub(h.cfg.Now())))
	return timer.C, func() { timer.Stop() }
}

// quit stops what runs and records how it ended.
func (h *Host) quit() error {
	for _, t := range h.tasks {
		t.active = false
		for _, r := range t.running {
			r.stop()
		}
	}
	for h.anyRunning() {
		<-h.signal
		if err := h.turn(); err != nil {
			h.abandon()
			return err
		}
	}
	return nil
}

func (h *Host) anyRunning() bool {
	for _, t := range h.tasks {
		if len(t.running) > 0 {
			return true
		}
	}
	return false
}

// abandon stops what runs without recording anything: the journal is not to be
// written any more.
func (h *Host) abandon() {
	for _, t := range h.tasks {
		for _, r := range t.running {
			r.stop()
		}
	}
	h.effects.Wait()
}

func (r *running) stop() {
	r.cancelled = true
	r.cancel()
}

// refuse answers everybody who still waits, and takes nothing more.
func (h *Host) refuse() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, e := range h.drain() {
		e.answer(cmp.Or(h.failed, ErrStopped))
	}
}

func (e envelope) answer(err error) {
	if e.ack != nil {
		e.ack <- err
	}
}

// Close gives the ownership back. Loop must have returned.
func (h *Host) Close() error {
	h.refuse()
	h.effects.Wait()
	if err := h.release(); err != nil {
		return fmt.Errorf("release workspace: %w", err)
	}
	return nil
}
