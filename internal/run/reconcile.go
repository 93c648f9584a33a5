package run

import (
	"context"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// reconcile starts what the state wants and is not running, and stops what
// runs and is not wanted: everything, once the task is not active. While
// something is still being stopped nothing new starts for the task, so that two
// efforts never meet in one tree.
func (h *Host) reconcile(stream string) {
	t := h.tasks[stream]
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
	t := h.tasks[stream]
	for key := range t.running {
		if !t.wants(key) {
			return
		}
	}
	h.startAll(stream, t, func(e engine.Effect) bool { return !waits(e) })
}

// waits reports an effect that begins only when what it rests on is durable:
// work, and an inquiry that after a crash would be taken for somebody else's
// doing, because it puts files back, makes a worktree, or leaves files of its
// own outside a scope.
func waits(e engine.Effect) bool {
	return e.Work != "" || e.Key.Kind == engine.Merge || e.Worktree || len(e.Within) > 0 || len(e.Restore) > 0 || len(e.Step.Writes) > 0
}

// wants reports whether an effect should be running: none, once the task is not
// active.
func (t *task) wants(k engine.Key) bool { return t.active && t.state.Wants(k) }

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
	for _, k := range t.state.Pending() {
		if t.running[k] != nil || t.state.Delegated(k) {
			continue
		}
		if e := t.state.Effect(k); may(e) {
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
		e.Beside = append(e.Beside, beside(ctx, h.cfg.Store, e)...)
		a := h.cfg.Do(ctx, e)
		cut := ctx.Err() != nil
		h.point("effect after end " + string(e.Key.Kind))
		h.put(result(stream, e, a, cut))
	})
}

// result makes of an answer what a turn takes in; cut says that the effect was
// told to stop before it answered. Work has an end even where Do gives none.
func result(stream string, e engine.Effect, a Answer, cut bool) envelope {
	r := envelope{stream: stream, in: a.Input, objects: a.Objects, key: &e.Key, cut: cut}
	switch {
	case e.Work == "" && cut:
		r.in, r.objects = nil, nil
	case e.Work != "" && a.Input == nil && cut:
		r.in = end(e.Key, engine.Stopped, "was stopped and gave no answer")
	case e.Work != "" && a.Input == nil:
		r.in = end(e.Key, engine.NoStart, "gave no answer")
	}
	return r
}

func (r *running) stop() {
	r.stopped = true
	r.cancel()
}

// note keeps the list of work that is dispatched and not started.
func (t *task) note(e engine.Event) {
	switch e := e.(type) {
	case engine.WorkDispatched:
		if e.Kind == engine.ChildWork {
			return // its run is opened with it
		}
		k := engine.Key{Task: t.state.Task(), Run: t.state.Run().Run, Step: e.Step, Attempt: e.Attempt, Kind: e.Kind.Effect(), N: e.N}
		t.unstarted = append(t.unstarted, k)
	case engine.WorkEnded:
		t.unstarted = slices.DeleteFunc(t.unstarted, func(k engine.Key) bool { return k.Step == e.Step })
	}
}
