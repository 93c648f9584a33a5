package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// snapshotEvery is the least number of records between two snapshots of a task.
const snapshotEvery = 2000

// turn drains, decides, commits once, reconciles, shows and answers. Only an
// inquiry may begin before the commit has returned.
func (h *Host) turn() error {
	h.seen = h.cfg.Now().UTC().Truncate(time.Microsecond)
	inputs := h.drain()
	touched, err := h.gather(inputs)
	if err == nil {
		h.inform()
		err = h.settle(touched)
	}
	for _, e := range inputs {
		if e.release && err == nil && e.err == nil {
			h.releases[e.stream] = append(h.releases[e.stream], e.ack)
			continue
		}
		e.answer(cmp.Or(err, e.err))
	}
	h.failed = err
	h.released()
	return err
}

// gather takes all inputs and what follows from them into the states and the
// batches. It returns the streams that may have something to commit or to
// reconcile, in order.
func (h *Host) gather(inputs []envelope) ([]string, error) {
	touched := map[string]bool{}
	for i := range inputs {
		if err := h.admit(&inputs[i], touched); err != nil {
			return nil, err
		}
	}
	for stream, t := range h.tasks {
		if at, ok := t.state.Wake(); ok && !at.After(h.seen) {
			touched[stream] = true
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(touched)) {
		if err := h.decide(stream); err != nil {
			return nil, err
		}
	}
	for more := true; more; {
		if err := h.lease(touched); err != nil {
			return nil, err
		}
		var err error
		if more, err = h.foster(touched); err != nil {
			return nil, err
		}
	}
	if err := h.extract(touched); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(touched)), nil
}

// extract asks what is worth keeping of runs that have ended in this turn, in the same
// transaction: nothing is asked for twice, or forgotten.
func (h *Host) extract(touched map[string]bool) error {
	for _, stream := range slices.Sorted(maps.Keys(touched)) {
		t := h.tasks[stream]
		if t == nil || t.batch == nil {
			continue
		}
		for _, r := range t.batch.records {
			ended, is := r.Event.(engine.RunEnded)
			if !is {
				continue
			}
			if in, wanted := t.state.Run().Extracts(ended, r.Seq); wanted {
				touched[engine.WorkspaceStream] = true
				e := envelope{stream: engine.WorkspaceStream, in: in}
				if err := h.admitTo(&e, h.work); err != nil {
					return err
				}
				if e.err != nil {
					return e.err
				}
				if err := h.decide(engine.WorkspaceStream); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// settle makes it all durable, and only then lets it have consequences. An
// inquiry that follows from answers of effects alone is none: it may be repeated,
// and what it says is taken in a later turn. So it begins while the disk syncs.
func (h *Host) settle(streams []string) error {
	early := slices.DeleteFunc(slices.Clone(streams), h.firm)
	batches, records := h.batches(streams)
	for _, stream := range early {
		h.inquire(stream)
	}
	h.yield() // the disk has time
	if err := h.commit(batches); err != nil {
		return err
	}
	h.heed()
	for _, stream := range streams {
		h.reconcile(stream)
	}
	h.yield()
	if h.cfg.Show != nil && (h.spoke() || len(records) > 0) {
		h.cfg.Show(records)
	}
	return nil
}

// yield lets what was just started go first, unless more waits for a turn.
func (h *Host) yield() {
	if !h.inboxed() {
		runtime.Gosched()
	}
}

// admit takes one input through the core. A refusal goes back to whoever
// asked; an error means that the journal or this program is broken.
func (h *Host) admit(e *envelope, touched map[string]bool) error {
	t, err := h.task(e)
	if err != nil || t == nil {
		return err
	}
	if e.look != nil && t.state == nil {
		e.err = &engine.Refusal{Code: engine.Invalid, Message: e.stream + " is no task"}
		return nil
	}
	if e.look != nil {
		e.look(t.state)
		return nil
	}
	if e.done && t.Live() {
		e.err = ErrLive
		return nil
	}
	touched[e.stream] = true
	if e.key != nil {
		delete(t.running, *e.key)
	}
	if e.wake && !h.stopping {
		h.carry(e.stream, t)
	}
	if e.release {
		h.letGo(e.stream, t, touched)
		return nil
	}
	switch _, dispatches := e.in.(engine.Prepared); {
	case e.err != nil:
		return fmt.Errorf("effect %v: %w", e.key, e.err)
	case e.in == nil && e.key != nil && !e.cut:
		return fmt.Errorf("effect %v gave no answer", e.key)
	case e.in == nil && e.wake && t.Live():
		return h.begin(e.stream, t)
	case e.in == nil, dispatches && !t.active:
		return nil
	}
	if err := h.bury(e, t); err != nil {
		return err
	}
	h.renumber(e)
	if err := h.admitTo(e, t); err != nil || e.err != nil {
		return err
	}
	return h.delegate(e, t, touched)
}

// bury ends the work of an owner that is gone before somebody answers what it asked: there
// is nobody left who could hear that.
func (h *Host) bury(e *envelope, t *task) error {
	r, replies := e.in.(engine.Reply)
	if !replies || t.begun || t.state == nil || !t.state.Begs(r.Item) {
		return nil
	}
	if err := h.begin(e.stream, t); err != nil {
		return err
	}
	return h.decide(e.stream)
}

func (h *Host) admitTo(e *envelope, t *task) error {
	events, err := t.Admit(e.in, h.seen)
	if err != nil {
		e.err = err
		if e.key != nil && refused(err, engine.Invalid) {
			return fmt.Errorf("take the answer of effect %v: %w", e.key, err)
		}
		h.forget(e.stream, t)
		return nil
	}
	if err := h.begin(e.stream, t); err != nil {
		return err
	}
	if err := h.apply(e.stream, t, e.in.Actor(), events); err != nil {
		return err
	}
	t.batch.objects = append(t.batch.objects, e.objects...)
	t.batch.firm = t.batch.firm || e.key == nil || len(e.objects) > 0
	return nil
}

// firm reports a stream in which something must be durable before anything
// rests on it: what a person said, or an object that an effect may read.
func (h *Host) firm(stream string) bool {
	t := h.stream(stream)
	return t == nil || t.batch == nil || t.batch.firm
}

func refused(err error, code engine.Code) bool {
	refusal, ok := errors.AsType[*engine.Refusal](err)
	return ok && refusal.Code == code
}

func (h *Host) began() engine.EpochBegan {
	return engine.EpochBegan{Host: h.cfg.Machine, Version: h.cfg.Version}
}

// task finds the task of an input, reading it first if need be.
func (h *Host) task(e *envelope) (*task, error) {
	t, err := h.load(e.stream)
	if err != nil {
		return nil, err
	}
	if _, opens := e.in.(engine.Open); !opens && h.forget(e.stream, t) {
		e.err = &engine.Refusal{Code: engine.NotFound, Message: "no task " + e.stream}
		return nil, nil
	}
	return t, nil
}

// forget drops a task that does not exist; true says that it does not.
func (h *Host) forget(stream string, t *task) bool {
	if t.state == nil || t.state.Task() != "" {
		return false
	}
	delete(h.tasks, stream)
	return true
}

// stream finds what was loaded of a stream; nil if nothing was.
func (h *Host) stream(name string) *task {
	if name == engine.WorkspaceStream {
		return h.work
	}
	return h.tasks[name]
}

// load finds a task, and reads it the first time.
func (h *Host) load(stream string) (*task, error) {
	if t := h.stream(stream); t != nil {
		return t, nil
	}
	state, err := Load(context.Background(), h.cfg.Store, stream)
	if err != nil {
		return nil, err
	}
	t := &task{fold: state, state: state, running: map[engine.Key]*running{}}
	h.tasks[stream] = t
	return t, nil
}

// begin puts this owner's epoch into the stream before anything else of it.
func (h *Host) begin(stream string, t *task) error {
	if t.begun {
		return nil
	}
	t.begun = true
	if err := h.apply(stream, t, engine.Harness, []engine.Event{h.began()}); err != nil {
		return fmt.Errorf("begin epoch %d: %w: %w", h.epoch, store.ErrFenced, err)
	}
	t.batch.firm = true
	return nil
}

func (h *Host) apply(stream string, t *task, actor string, events []engine.Event) error {
	if t.batch == nil {
		t.batch = &batch{after: t.Seq()}
	}
	for _, ev := range events {
		r := engine.Record{Stream: stream, Seq: t.Seq() + 1, At: h.seen, Actor: actor, Epoch: h.epoch, Event: ev}
		if err := t.Apply(r); err != nil {
			return err
		}
		t.note(stream, ev)
		t.batch.records = append(t.batch.records, r)
	}
	return nil
}

// decide adds what follows, until nothing does. Work is not dispatched for a
// task that is not active, because nobody would start it.
func (h *Host) decide(stream string) error {
	t := h.stream(stream)
	if t == nil || !t.begun {
		return nil
	}
	for {
		events := t.Decide(h.seen)
		if len(events) == 0 || !t.active && slices.ContainsFunc(events, dispatch) {
			return nil
		}
		if err := h.apply(stream, t, engine.Harness, events); err != nil {
			return err
		}
	}
}

func dispatch(e engine.Event) bool {
	_, ok := e.(engine.WorkDispatched)
	return ok
}

// batches takes what the turn gathered, stream by stream.
func (h *Host) batches(streams []string) ([]store.Batch, []engine.Record) {
	var bs []store.Batch
	var records []engine.Record
	for _, stream := range streams {
		if b, ok := h.take(stream); ok {
			bs = append(bs, b)
			records = append(records, b.Records...)
		}
	}
	return bs, records
}

// take empties the batch of a stream; false says that nothing was in it.
func (h *Host) take(stream string) (store.Batch, bool) {
	t := h.stream(stream)
	if t == nil || t.batch == nil {
		return store.Batch{}, false
	}
	b := t.batch
	t.batch = nil
	out := store.Batch{Stream: stream, After: b.after, Epoch: h.epoch, Records: b.records, Objects: b.objects, Rows: t.Rows()}
	out.Snapshot = t.snapshot(len(out.Records))
	return out, true
}

// snapshot is taken so seldom that all snapshots together cost no more than
// the records they stand for.
func (t *task) snapshot(records int) []byte {
	if t.state == nil {
		return nil
	}
	t.since += records
	p := t.state.Program()
	if p == nil || t.since < max(snapshotEvery, p.Len()/2) {
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
