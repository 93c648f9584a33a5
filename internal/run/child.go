package run

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// delegate lets an input that was admitted reach the runs of sub-plans, and the
// workspace, in the same transaction. A dispatch opens a run. What a person tells a run
// to do holds for those that carry out its steps. A revision is recorded.
func (h *Host) delegate(e *envelope, t *task, touched map[string]bool) error {
	switch in := e.in.(type) {
	case engine.Prepared:
		if d, ok := dispatched(t, in); ok {
			return h.openChild(e.stream, t, d, *in.Child, touched)
		}
	case engine.Ended:
		return h.record(t, in, touched)
	case engine.Reply:
		if in.Judged != nil {
			return h.judged(*in.Judged, touched)
		}
	case engine.Order:
		if in.Verb == engine.DoPause || in.Verb == engine.DoResume {
			return h.passOn(t, in, touched)
		}
	}
	return nil
}

// dispatched is the dispatch that opens the run which an answer made ready.
func dispatched(t *task, in engine.Prepared) (engine.WorkDispatched, bool) {
	if in.Child == nil || t.batch == nil {
		return engine.WorkDispatched{}, false
	}
	for _, r := range slices.Backward(t.batch.records) {
		if d, ok := r.Event.(engine.WorkDispatched); ok && d.Child == in.Child.Run && d.Step == in.Key.Step {
			return d, true
		}
	}
	return engine.WorkDispatched{}, false
}

// openChild opens the run of a step's sub-plan. Where it cannot be, the step's
// work has ended before it began.
func (h *Host) openChild(stream string, t *task, d engine.WorkDispatched, o engine.Opening, touched map[string]bool) error {
	draft, open := t.state.Opens(d, o)
	e := envelope{stream: open.Task.Task, wake: t.active}
	child, err := h.load(e.stream)
	if err != nil {
		return err
	}
	if child.state.Task() != "" {
		open.Task = nil
	}
	draft, fresh := h.plans.Undrafted(draft)
	open.Run.Plan, e.in = draft.Plan, open
	if fresh {
		w := envelope{stream: engine.WorkspaceStream, in: draft}
		touched[w.stream] = true
		if err := h.admitTo(&w, h.work); err != nil {
			return err
		}
		e.err = w.err
	}
	touched[e.stream] = true
	if t.active {
		h.carry(e.stream, child)
	}
	if e.err == nil {
		if err := h.admitTo(&e, child); err != nil {
			return err
		}
	}
	if e.err == nil {
		return nil
	}
	k := engine.Key{Task: stream, Run: t.state.Run().Run, Step: d.Step, Attempt: d.Attempt, Kind: engine.Work, N: d.N}
	return h.admitTo(&envelope{stream: stream, in: end(k, engine.NoStart, "its run cannot be opened: "+e.err.Error())}, t)
}

// passOn lets the runs below do what a person told a run to do. One that does so
// already refuses, which is as good.
func (h *Host) passOn(t *task, in engine.Order, touched map[string]bool) error {
	for _, d := range t.state.Delegations() {
		child, err := h.load(d.Task)
		if err != nil {
			return err
		}
		touched[d.Task] = true
		order := engine.Order{Command: in.Command, Run: d.Run}
		if err := h.admitTo(&envelope{stream: d.Task, in: order}, child); err != nil {
			return err
		}
		if err := h.passOn(child, order, touched); err != nil {
			return err
		}
	}
	return nil
}

// foster brings the runs of sub-plans in line with the steps that they carry
// out: one that has ended ends the step's work, one that is not wanted is
// recalled, and one that is wanted is carried out where the run above is. It
// reports whether there is anything new to decide.
func (h *Host) foster(touched map[string]bool) (bool, error) {
	changed := false
	for _, stream := range slices.Sorted(maps.Keys(touched)) {
		t := h.tasks[stream]
		if t == nil {
			continue
		}
		if up := t.state.Run().Parent; up.Task != "" && !t.state.Live() && !touched[up.Task] {
			if _, err := h.load(up.Task); err != nil {
				return false, err
			}
			touched[up.Task], changed = true, true
		}
		for _, d := range t.state.Delegations() {
			moved, err := h.match(stream, t, d, touched)
			if err != nil {
				return false, err
			}
			changed = changed || moved
		}
	}
	return changed, nil
}

// match brings one run in line with the step that it carries out.
func (h *Host) match(stream string, t *task, d engine.Delegation, touched map[string]bool) (bool, error) {
	child, err := h.load(d.Task)
	if err != nil {
		return false, err
	}
	e := envelope{stream: d.Task, in: engine.Recall{Why: fmt.Sprintf("step %q of run %s does not want it any more", d.Key.Step, d.Key.Run)}}
	to := child
	switch {
	case child.state.Run().Run != d.Run:
		return false, fmt.Errorf("run %s of step %q is not the newest of task %s", d.Run, d.Key.Step, d.Task)
	case !child.state.Live():
		e, to = child.end(stream, d, h.cfg.Store), t
	case d.Wanted && (child.active || !t.active || h.stopping):
		return false, nil
	case d.Wanted:
		h.carry(d.Task, child)
		touched[d.Task] = true
		return true, h.beginAndDecide(d.Task, child)
	}
	if err := h.admitTo(&e, to); err != nil || e.err != nil {
		return false, err
	}
	touched[e.stream] = true
	return true, h.decide(e.stream)
}

func (h *Host) beginAndDecide(stream string, t *task) error {
	if err := h.begin(stream, t); err != nil {
		return err
	}
	return h.decide(stream)
}

// end is what the end of a run means for the step that it carries out.
func (t *task) end(stream string, d engine.Delegation, st store.Store) envelope {
	e := t.state.Ended()
	summary := store.NewObject(t.state.Summary(func(hash string) ([]byte, bool) { return t.object(st, hash) }))
	e.Output, e.Size, e.Value = summary.Hash, int64(len(summary.Body)), summary.Body
	if !d.Wanted && e.Ending.Status == engine.Cancelled {
		e.How = engine.Stopped
	}
	return envelope{stream: stream, in: engine.Ended{Key: d.Key, WorkEnded: e}, objects: []store.Object{summary}}
}

// object finds an object of the task, of this turn too.
func (t *task) object(st store.Store, hash string) ([]byte, bool) {
	if t.batch != nil {
		for _, o := range t.batch.objects {
			if o.Hash == hash {
				return o.Body, true
			}
		}
	}
	body, err := st.Object(context.Background(), hash)
	return body, err == nil
}

// Idle reports whether a run that is carried out elsewhere can move only when a
// person acts, with the runs that carry out its steps.
func Idle(ctx context.Context, st store.Store, s *engine.State) (bool, error) {
	if !s.Idle() {
		return false, nil
	}
	return IdleBelow(ctx, st, s.Delegations())
}

// IdleBelow is [Idle] for the runs that carry out steps of one that is idle itself.
func IdleBelow(ctx context.Context, st store.Store, below []engine.Delegation) (bool, error) {
	for _, d := range below {
		child, err := Load(ctx, st, d.Task)
		if err != nil {
			return false, err
		}
		idle, err := Idle(ctx, st, child)
		if err != nil || !idle { // one that has ended lets the run above move, as it has not seen yet
			return false, err
		}
	}
	return true, nil
}
