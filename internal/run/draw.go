package run

import (
	"cmp"

	"github.com/piton-dev/piton/internal/engine"
)

// renumber gives a revision that was made for a run its place behind the newest of
// its document, which may be another one than when it was begun. What cannot be
// recorded was not made.
func (h *Host) renumber(e *envelope) {
	in, ok := e.in.(engine.Ended)
	if !ok || in.Draft == nil || e.stream == engine.WorkspaceStream {
		return
	}
	draft := h.plans.Follows(*in.Draft)
	if _, err := h.plans.Admit(draft, h.seen); err != nil {
		e.in = engine.Ended{Key: in.Key, WorkEnded: engine.WorkEnded{How: engine.NoStart, Usage: in.Usage, Reason: "the revision cannot be recorded: " + err.Error()}}
		return
	}
	in.Draft = &draft
	if in.Drawn != nil {
		drawn := *in.Drawn
		drawn.Plan, drawn.Version = draft.Plan, draft.Version
		in.Drawn = &drawn
	}
	if in.Revise != nil {
		revise := *in.Revise
		revise.Run.Plan, revise.Run.Version = draft.Plan, draft.Version
		in.Revise = &revise
	}
	if in.Yes != nil {
		yes := *in.Yes
		yes.Plan = draft.Plan
		in.Yes = &yes
	}
	e.in = in
}

// record puts a revision that the core has just taken in into the workspace's
// stream, in the same transaction, with the policy's yes where the run goes on with
// it.
func (h *Host) record(t *task, in engine.Ended, touched map[string]bool) error {
	if in.Draft == nil || t.state == nil || !drawn(t, in.Draft.Plan) {
		return nil
	}
	touched[engine.WorkspaceStream] = true
	w := envelope{stream: engine.WorkspaceStream, in: *in.Draft}
	if err := h.admitTo(&w, h.work); err != nil || w.err != nil {
		return cmp.Or(err, w.err)
	}
	if in.Yes == nil || t.state.Run().Plan != in.Draft.Plan {
		return nil
	}
	return h.judged(*in.Yes, touched)
}

// judged records the answer to a revision in the transaction in which its run takes it.
func (h *Host) judged(a engine.PlanAnswered, touched map[string]bool) error {
	touched[engine.WorkspaceStream] = true
	e := envelope{stream: engine.WorkspaceStream, in: engine.Judgement{PlanAnswered: a}}
	err := h.admitTo(&e, h.work)
	return cmp.Or(err, e.err)
}

// drawn reports whether this turn took the revision in.
func drawn(t *task, plan string) bool {
	if t.batch == nil {
		return false
	}
	for _, r := range t.batch.records {
		if e, ok := r.Event.(engine.WorkEnded); ok && e.Drawn != nil && e.Drawn.Plan == plan {
			return true
		}
	}
	return false
}
