package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// reconcile starts what the state wants and is not running, and stops what
// runs and is not wanted: everything, once the task is not active. While
// something is still being stopped nothing new starts for the task, so that two
// efforts never meet in one tree.
func (h *Host) reconcile(stream string) {
	t := h.stream(stream)
	if t == nil {
		return
	}
	h.giveUp(stream, t)
	for key, r := range t.running {
		if !t.wants(key) {
			r.stop()
		}
	}
	h.startAll(stream, t, func(engine.Effect) bool { return true })
}

// inquire starts the inquiries that the state wants, and nothing else; nothing
// at all where something has to be stopped first.
func (h *Host) inquire(stream string) {
	t := h.stream(stream)
	for key := range t.running {
		if !t.wants(key) {
			return
		}
	}
	h.startAll(stream, t, func(e engine.Effect) bool { return !e.Waits() })
}

// wants reports whether an effect should be running: none, once the task is not
// active.
func (t *task) wants(k engine.Key) bool { return t.active && t.Wants(k) }

// startAll starts what may start and does not run yet, unless something is still
// ending.
func (h *Host) startAll(stream string, t *task, may func(engine.Effect) bool) {
	if !t.active {
		return
	}
	for _, r := range t.running {
		if r.stopped {
			return
		}
	}
	for _, k := range t.Pending() {
		if t.running[k] != nil || t.state != nil && t.state.Delegated(k) {
			continue
		}
		if e := t.Effect(k); may(e) {
			h.start(stream, t, e)
		}
	}
}

// giveUp ends work that was dispatched, is not started and is wanted no more: a
// command, or a failure that ends the run, came in the same turn. Nobody else
// will ever say that it ended.
func (h *Host) giveUp(stream string, t *task) {
	t.unstarted = slices.DeleteFunc(t.unstarted, func(k engine.Key) bool {
		if t.wants(k) {
			return false
		}
		h.put(envelope{stream: stream, in: end(k, engine.Stopped, "was not started"), key: &k})
		return true
	})
}

func end(k engine.Key, how engine.How, reason string) engine.Input {
	return engine.Ended{Key: k, WorkEnded: engine.WorkEnded{How: how, Reason: reason}}
}

func (h *Host) start(stream string, t *task, e engine.Effect) {
	ctx, cancel := context.WithCancel(context.Background())
	t.running[e.Key] = &running{cancel: cancel}
	t.unstarted = slices.DeleteFunc(t.unstarted, func(k engine.Key) bool { return k == e.Key })
	h.point("effect before start " + string(e.Key.Kind))
	h.effects.Go(func() {
		defer cancel()
		a := h.cfg.Do(ctx, e, &Reporter{host: h, effect: e})
		cut := ctx.Err() != nil
		h.point("effect after end " + string(e.Key.Kind))
		h.put(result(stream, e, a, cut))
	})
}

// result makes of an answer what a turn takes in; cut says that the effect was
// told to stop before it answered. One that may not be repeated has an end even
// where Do gives none.
func result(stream string, e engine.Effect, a Answer, cut bool) envelope {
	r := envelope{stream: stream, in: a.Input, objects: a.Objects, key: &e.Key, cut: cut, err: a.Err}
	switch {
	case a.Err != nil && !e.Key.Kind.Known():
	case a.Err != nil:
		r.in, r.err = e.Fails(engine.NoStart, a.Err.Error()), nil
	case e.Repeats() && cut:
		r.in, r.objects = nil, nil
	case a.Input == nil && cut:
		r.in = e.Fails(engine.Stopped, "was stopped and gave no answer")
	case a.Input == nil && !e.Repeats():
		r.in = e.Fails(engine.NoStart, "gave no answer")
	case !e.Takes(a.Input):
		r.err = fmt.Errorf("%T is no answer to it", a.Input)
	}
	return r
}

func (r *running) stop() {
	r.stopped = true
	r.cancel()
}

// note keeps the list of work that is dispatched and not started.
func (t *task) note(stream string, e engine.Event) {
	switch e := e.(type) {
	case engine.WorkDispatched:
		if e.Kind == engine.ChildWork {
			return // its run is opened with it
		}
		k := engine.Key{Task: stream, Step: e.Step, Attempt: e.Attempt, Kind: e.Kind.Effect(), N: e.N}
		if t.state != nil {
			k.Run = t.state.Run().Run
		}
		t.unstarted = append(t.unstarted, k)
	case engine.WorkEnded:
		t.unstarted = slices.DeleteFunc(t.unstarted, func(k engine.Key) bool { return k.Step == e.Step })
	}
}
