package run

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// snapshotEvery is the least number of records between two snapshots of a task.
const snapshotEvery = 2000

// turn drains, decides, commits once, reconciles, shows and answers.
func (h *Host) turn() error {
	now := h.cfg.Now().UTC().Truncate(time.Microsecond)
	touched := map[string]bool{}
	inputs := h.drain()
	for i := range inputs {
		if h.failed = h.admit(&inputs[i], now, touched); h.failed != nil {
			return h.fail(inputs)
		}
	}
	for stream, t := range h.tasks {
		if at, ok := t.state.Wake(); ok && !at.After(now) {
			touched[stream] = true
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(touched)) {
		if h.failed = h.decide(stream, now); h.failed != nil {
			return h.fail(inputs)
		}
	}
	batches, records := h.batches(touched)
	if h.failed = h.commit(batches); h.failed != nil {
		return h.fail(inputs)
	}
	for stream := range touched {
		h.reconcile(stream)
	}
	if h.cfg.Show != nil && len(records) > 0 {
		h.cfg.Show(records)
	}
	for _, e := range inputs {
		e.answer(e.err)
	}
	return nil
}

func (h *Host) fail(inputs []envelope) error {
	for _, e := range inputs {
		e.answer(h.failed)
	}
	return h.failed
}

// admit takes one input through the core. A refusal goes back to whoever
// asked; an error means that the journal or this program is broken.
func (h *Host) admit(e *envelope, now time.Time, touched map[string]bool) error {
	if e.stream == engine.WorkspaceStream {
		return h.admitWorkspace(e, now, touched)
	}
	t, err := h.task(e, now)
	if err != nil || t == nil {
		return err
	}
	touched[e.stream] = true
	if e.key != nil {
		delete(t.running, *e.key)
	}
	t.active = t.active || e.wake
	if e.in == nil {
		return nil
	}
	events, refusal := t.state.Admit(e.in, now)
	if refusal != nil {
		e.err = refusal
		return nil
	}
	t.batch.objects = append(t.batch.objects, e.objects...)
	return h.apply(e.stream, t, e.in.Actor(), now, events)
}

func (h *Host) admitWorkspace(e *envelope, now time.Time, touched map[string]bool) error {
	events, refusal := h.work.state.Admit(e.in)
	if refusal != nil {
		e.err = refusal
		return nil
	}
	touched[e.stream] = true
	if h.work.batch == nil {
		h.work.batch = &batch{after: h.work.state.Seq()}
	}
	if !h.work.begun {
		h.work.begun = true
		events = append([]engine.Event{h.began()}, events...)
	}
	for _, ev := range events {
		actor := e.in.Actor()
		if _, ok := ev.(engine.EpochBegan); ok {
			actor = engine.Harness
		}
		r := engine.Record{Stream: e.stream, Seq: h.work.state.Seq() + 1, At: now, Actor: actor, Epoch: h.epoch, Event: ev}
		if err := h.work.state.Apply(r); err != nil {
			return err
		}
		h.work.batch.records = append(h.work.batch.records, r)
	}
	h.work.batch.objects = append(h.work.batch.objects, e.objects...)
	return nil
}

func (h *Host) began() engine.EpochBegan {
	return engine.EpochBegan{Host: h.cfg.Machine, Version: h.cfg.Version, Isolation: h.cfg.Isolation}
}

// task finds the task of an input, reading it first if need be, and puts this
// owner's epoch into its stream before anything else.
func (h *Host) task(e *envelope, now time.Time) (*task, error) {
	t := h.tasks[e.stream]
	if t == nil {
		state, err := Load(context.Background(), h.cfg.Store, e.stream)
		if err != nil {
			return nil, err
		}
		if _, opens := e.in.(engine.Open); state.Task() == "" && !opens {
			e.err = &engine.Refusal{Code: engine.NotFound, Message: "no task " + e.stream}
			return nil, nil
		}
		t = &task{state: state, running: map[engine.Key]*running{}}
		h.tasks[e.stream] = t
	}
	if t.batch == nil {
		t.batch = &batch{after: t.state.Seq()}
	}
	if !t.begun {
		t.begun = true
		return t, h.apply(e.stream, t, engine.Harness, now, []engine.Event{h.began()})
	}
	return t, nil
}

func (h *Host) apply(stream string, t *task, actor string, now time.Time, events []engine.Event) error {
	for _, ev := range events {
		r := engine.Record{Stream: stream, Seq: t.state.Seq() + 1, At: now, Actor: actor, Epoch: h.epoch, Event: ev}
		if err := t.state.Apply(r); err != nil {
			return err
		}
		t.batch.records = append(t.batch.records, r)
	}
	return nil
}

// decide adds what follows, until nothing does.
func (h *Host) decide(stream string, now time.Time) error {
	t := h.tasks[stream]
	if t == nil {
		return nil
	}
	if t.batch == nil {
		t.batch = &batch{after: t.state.Seq()}
	}
	for events := t.state.Decide(now); len(events) > 0; events = t.state.Decide(now) {
		if err := h.apply(stream, t, engine.Harness, now, events); err != nil {
			return err
		}
	}
	return nil
}

// batches takes what the turn gathered, stream by stream.
func (h *Host) batches(touched map[string]bool) ([]store.Batch, []engine.Record) {
	var bs []store.Batch
	var records []engine.Record
	for _, stream := range slices.Sorted(maps.Keys(touched)) {
		b := h.take(stream)
		if len(b.Records) > 0 {
			bs = append(bs, b)
			records = append(records, b.Records...)
		}
	}
	return bs, records
}

func (h *Host) take(stream string) store.Batch {
	if stream == engine.WorkspaceStream {
		b := h.work.batch
		h.work.batch = nil
		return store.Batch{Stream: stream, After: b.after, Epoch: h.epoch, Records: b.records, Objects: b.objects}
	}
	t := h.tasks[stream]
	b := t.batch
	t.batch = nil
	out := store.Batch{Stream: stream, After: b.after, Epoch: h.epoch, Records: b.records, Objects: b.objects}
	if len(b.records) > 0 {
		out.Rows = t.state.Rows()
		out.Snapshot = t.snapshot(len(b.records))
	}
	return out
}

// snapshot is taken so seldom that all snapshots together cost no more than
// the records they stand for.
func (t *task) snapshot(records int) []byte {
	t.since += records
	p := t.state.Program()
	if p == nil || t.since < max(snapshotEvery, p.Len()) {
		return nil
	}
	t.since = 0
	body, err := t.state.Snapshot()
	if err != nil {
		return nil // a shortcut only: the journal has everything
	}
	return body
}

func (h *Host) commit(batches []store.Batch) error {
	if len(batches) == 0 {
		return nil
	}
	h.point("turn before append")
	if err := h.cfg.Store.Append(context.Background(), batches...); err != nil {
		return fmt.Errorf("append to the journal: %w", err)
	}
	h.point("turn after append")
	return nil
}

func (h *Host) point(name string) {
	if h.cfg.Point != nil {
		h.cfg.Point(name)
	}
}

// reconcile starts what the state wants and is not running, and stops what
// runs and is not wanted. While something is still being stopped nothing new
// starts for the task, so that two efforts never meet in one tree.
func (h *Host) reconcile(stream string) {
	t := h.tasks[stream]
	if t == nil || !t.active {
		return
	}
	wants := t.state.Pending()
	wanted := make(map[engine.Key]bool, len(wants))
	for _, e := range wants {
		wanted[e.Key] = true
	}
	ending := false
	for key, r := range t.running {
		if !wanted[key] && !r.cancelled {
			r.stop()
		}
		ending = ending || r.cancelled
	}
	if ending {
		return
	}
	for _, e := range wants {
		if t.running[e.Key] == nil {
			h.start(stream, t, e)
		}
	}
}

func (h *Host) start(stream string, t *task, e engine.Effect) {
	ctx, cancel := context.WithCancel(context.Background())
	t.running[e.Key] = &running{cancel: cancel}
	h.point("effect before start " + string(e.Key.Kind))
	h.effects.Go(func() {
		defer cancel()
		a := h.cfg.Do(ctx, e)
		h.point("effect after end " + string(e.Key.Kind))
		h.put(envelope{stream: stream, in: a.Input, objects: a.Objects, key: &e.Key})
	})
}

// Load replays a task's stream: from its newest snapshot where that can be
// used, else from the beginning. An unknown stream gives an empty state.
func Load(ctx context.Context, st store.Store, stream string) (*engine.State, error) {
	state := fromSnapshot(ctx, st, stream)
	for r, err := range Read(ctx, st, stream, state.Seq()) {
		if err == nil {
			err = state.Apply(r)
		}
		if err != nil {
			return nil, fmt.Errorf("replay task %s: %w", stream, err)
		}
	}
	state.Rows() // they are in the store already
	return state, nil
}

// Read yields a task's records after a sequence as the core applies them: with
// the programs that opened runs name. An error comes as the last pair.
func Read(ctx context.Context, st store.Store, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for r, err := range st.Read(ctx, stream, after) {
			if err == nil {
				r, err = compiled(ctx, st, r)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// fromSnapshot never fails: without a usable snapshot the journal is replayed.
func fromSnapshot(ctx context.Context, st store.Store, stream string) *engine.State {
	_, body, err := st.Snapshot(ctx, stream)
	if err != nil || body == nil {
		return &engine.State{}
	}
	hash, err := engine.SnapshotProgram(body)
	if err != nil {
		return &engine.State{}
	}
	p, err := program(ctx, st, hash)
	if err != nil {
		return &engine.State{}
	}
	state, err := engine.Restore(body, p)
	if err != nil {
		return &engine.State{}
	}
	return state
}

// compiled gives an opened run the program that its record names.
func compiled(ctx context.Context, st store.Store, r engine.Record) (engine.Record, error) {
	e, ok := r.Event.(engine.RunOpened)
	if !ok {
		return r, nil
	}
	p, err := program(ctx, st, e.Program)
	e.Compiled = p
	r.Event = e
	return r, err
}

func program(ctx context.Context, st store.Store, hash string) (*engine.Program, error) {
	body, err := st.Object(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", hash, err)
	}
	return engine.DecodeProgram(body)
}
