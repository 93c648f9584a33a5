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
	var wants []engine.Effect
	if t.active {
		wants = t.state.Pending()
	}
	wanted := make(map[engine.Key]bool, len(wants))
	for _, e := range wants {
		wanted[e.Key] = true
	}
	h.giveUp(stream, t, wanted)
	ending := false
	for key, r := range t.running {
		if !wanted[key] {
			r.stop()
		}
		ending = ending || r.stopped
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

// giveUp ends work that was dispatched, is not started and is wanted no more: a
// command, or a failure that ends the run, came in the same turn. Nobody else
// will ever say that it ended.
func (h *Host) giveUp(stream string, t *task, wanted map[engine.Key]bool) {
	t.unstarted = slices.DeleteFunc(t.unstarted, func(k engine.Key) bool {
		if wanted[k] {
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
		k := engine.Key{Task: t.state.Task(), Run: t.state.Run().Run, Step: e.Step, Attempt: e.Attempt, Kind: e.Kind.Effect(), N: e.N}
		t.unstarted = append(t.unstarted, k)
	case engine.WorkEnded:
		t.unstarted = slices.DeleteFunc(t.unstarted, func(k engine.Key) bool { return k.Step == e.Step })
	}
}
