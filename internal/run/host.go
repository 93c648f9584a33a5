package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Do carries one effect out and returns its answer. It runs in a goroutine of
// its own. When ctx ends the effect is not wanted any more: Do must stop
// everything it started, prove it gone, and return. Work that was cut short
// answers with engine.Ended and How Stopped. An inquiry may then answer nothing,
// and whatever it does answer is thrown away, for its child may have been killed
// half way. An answer that the core finds malformed ends the loop.
type Do func(ctx context.Context, e engine.Effect, r *Reporter) Answer

// Answer is the result of an effect with the objects it names. Input is nil
// only for an inquiry that was told to stop.
type Answer struct {
	Input   engine.Input
	Objects []store.Object
	Err     error // nobody here carries out effects of this kind
}

// Config is what a [Host] needs. All fields but Show and Point are required.
type Config struct {
	Store     store.Store
	Do        Do
	Now       func() time.Time
	Workspace string // its identity, for the ownership
	Machine   string // name of this host, for the record
	Version   string

	// Show is called in the loop with records that are durable now, and with none
	// when an effect has said something. It must return at once.
	Show func([]engine.Record)
	// Point is called at every boundary of a durable write or an effect. It is
	// for crash tests.
	Point func(name string)
}

// Host owns a workspace and runs its tasks. Submit, Activate and Carried are safe
// for concurrent use; Loop is called once.
type Host struct {
	cfg     Config
	epoch   uint64
	release func() error

	// Of the loop alone.
	plans    engine.Workspace
	work     *task // of the workspace's own stream, whose state is plans
	tasks    map[string]*task
	holdings holdings
	seen     time.Time // when the last turn was
	stopping bool      // nothing is started any more
	failed   error
	releases map[string][]chan error // by stream: who waits until nothing of it runs any more

	mu      sync.Mutex
	inbox   []envelope
	closed  bool
	carried map[string]bool // streams whose effects are started, until the loop has ended
	signal  chan struct{}   // capacity 1: something is in the inbox
	// inquiries are effects that ask who is beside them; said is that one has
	// said something.
	inquiries []inquiry
	said      bool
	questions []question    // of work that waits for people
	over      chan struct{} // closed when no turn comes any more

	effects sync.WaitGroup
}

// fold is the state of a stream: of a task, or of the workspace itself.
type fold interface {
	Seq() uint64
	Apply(engine.Record) error
	Admit(engine.Input, time.Time) ([]engine.Event, error)
	Decide(time.Time) []engine.Event
	Live() bool // something is to be done
	Pending() []engine.Key
	Wants(engine.Key) bool
	Effect(engine.Key) engine.Effect
	Rows() engine.Rows
}

// task is a stream's state and what runs for it.
type task struct {
	fold
	state     *engine.State // the fold of a task; nil for the workspace
	active    bool          // effects are started for it
	begun     bool          // this owner's epoch is in its stream
	running   map[engine.Key]*running
	unstarted []engine.Key // work that was dispatched by this owner and not started
	since     int          // records since the last snapshot
	batch     *batch
}

// running is an effect under way.
type running struct {
	cancel  context.CancelFunc
	stopped bool // it was told to stop
}

// batch gathers what a turn adds to one stream.
type batch struct {
	after   uint64
	records []engine.Record
	objects []store.Object
	firm    bool // nothing may rest on it before it is durable, not even an inquiry
}

// envelope is one input on its way into a turn.
type envelope struct {
	stream  string
	in      engine.Input // nil: activate only, or an inquiry that was told to stop
	objects []store.Object
	key     *engine.Key // of the effect that ended
	cut     bool        // it was told to stop before it answered
	wake    bool        // run the task from now on
	release bool        // do not run the task any more
	done    bool        // but only if nothing of it is to be done
	look    func(*engine.State)
	ack     chan error
	err     error
}

// ErrStopped is returned by Submit once the host takes no more inputs.
var ErrStopped = errors.New("the owner of this workspace is stopping")

// ErrLive is returned by ReleaseDone where something is to be done.
var ErrLive = errors.New("something is to be done")

// Open takes the ownership of the workspace and reads its stream. Close gives
// it back. Tasks are read when they are first needed.
func Open(ctx context.Context, cfg Config) (*Host, error) {
	epoch, release, err := cfg.Store.Own(ctx, cfg.Workspace)
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, epoch: epoch, release: release, tasks: map[string]*task{}, releases: map[string][]chan error{}, carried: map[string]bool{}, signal: make(chan struct{}, 1), over: make(chan struct{})}
	h.work = &task{fold: &h.plans, running: map[engine.Key]*running{}}
	for r, err := range cfg.Store.Read(ctx, engine.WorkspaceStream, 0) {
		if err == nil {
			err = h.plans.Apply(r)
		}
		if err != nil {
			return nil, errors.Join(err, release())
		}
	}
	h.plans.Forget() // the rows are in the store already
	return h, nil
}

// Epoch is the number of this ownership.
func (h *Host) Epoch() uint64 { return h.epoch }

// Submit hands an input to the next turn and returns when the facts it became
// are durable, or why it was refused: an *engine.Refusal, or what stopped the
// host. A cancelled ctx gives up waiting; the input may take effect all the same.
//
// Only what people and programs may say is taken: answers of effects come from
// Do and from nowhere else.
func (h *Host) Submit(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error {
	switch in.(type) {
	case engine.Open, engine.Revise, engine.Configure, engine.Order, engine.Reply, engine.Draft, engine.Judgement, engine.Archive, engine.Errand, engine.Withdraw, engine.Filed, engine.Trust, engine.Written:
		return h.send(ctx, envelope{stream: stream, in: in, objects: objects})
	}
	return &engine.Refusal{Code: engine.Invalid, Message: fmt.Sprintf("%T cannot be submitted", in)}
}

// Activate starts the effects of a task, or of the workspace itself, from now on.
// It fails if there is no such task.
func (h *Host) Activate(ctx context.Context, stream string) error {
	return h.send(ctx, envelope{stream: stream, wake: true})
}

// Release stops the effects of a task, and of the runs that carry out its steps,
// or of the workspace itself, and starts no more of them. It returns when nothing of them runs any more, and
// how it ended is durable. The run stays open: Activate goes on with it.
func (h *Host) Release(ctx context.Context, stream string) error {
	return h.send(ctx, envelope{stream: stream, release: true})
}

// ReleaseDone is Release for a task of which nothing is to be done. Any other it leaves as
// it is, and returns [ErrLive].
func (h *Host) ReleaseDone(ctx context.Context, stream string) error {
	return h.send(ctx, envelope{stream: stream, release: true, done: true})
}

// Look lets somebody look at the state of a task in the loop. look keeps nothing of
// it, and returns at once.
func (h *Host) Look(ctx context.Context, stream string, look func(*engine.State)) error {
	return h.send(ctx, envelope{stream: stream, look: look})
}

// Carried names the streams whose effects are started: those that were activated,
// and those of the runs that carry out their steps. They are that while the loop
// stops what runs, too.
func (h *Host) Carried() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.carried))
}

// carry starts the effects of a task from now on.
func (h *Host) carry(stream string, t *task) {
	t.active = true
	if t.state == nil {
		return // it is no run
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.carried[stream] = true
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

// put takes an envelope in, unless it is a command that comes too late.
func (h *Host) put(e envelope) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed && e.key == nil {
		return false
	}
	h.inbox = append(h.inbox, e)
	h.Nudge()
	return true
}

// Nudge makes the loop ask again whether it may end.
func (h *Host) Nudge() {
	select {
	case h.signal <- struct{}{}:
	default:
	}
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

// inboxed reports whether anything waits for a turn.
func (h *Host) inboxed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.inbox) > 0
}

// shut lets no command in any more. Results still come in.
func (h *Host) shut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

// refuse answers everybody who still waits, and takes nothing more.
func (h *Host) refuse() {
	h.shut()
	h.released()
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
