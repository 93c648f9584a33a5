package run

import (
	"maps"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// holdings is who uses, or wants to use, which part of the workspace: the claims
// of all tasks that this owner carries out, in the order they came. Those of a
// higher priority come before those that wait with a lower one. It belongs to the
// loop, is never written down, and is made anew by every owner.
//
// A claim is looked at when it comes, and again when the one that it waits for
// has gone: nothing is polled, and only a higher priority overtakes what it conflicts with.
type holdings struct {
	all      []*holding
	byStream map[string]map[string]*holding // and by step
}

// holding is one claim of a step.
type holding struct {
	stream, run string
	claim       engine.Claim
	held        bool
	gone        bool
	behind      *holding // whom it waits for; nil: nobody has looked yet, or it holds
	first       bool     // that one did not hold it yet when the core was told
}

// lease brings the holdings in line with the tasks that were touched, gives what
// can be given and tells the others whom they wait for, until nothing changes.
// Streams that get something are touched too.
func (h *Host) lease(touched map[string]bool) error {
	changed := maps.Clone(touched)
	for len(changed) > 0 {
		for _, stream := range slices.Sorted(maps.Keys(changed)) {
			if t := h.tasks[stream]; t != nil {
				h.holdings.match(stream, t, h.claims(t))
			}
		}
		clear(changed)
		for _, x := range h.holdings.next() {
			if err := h.answer(x); err != nil {
				return err
			}
			changed[x.stream], touched[x.stream] = true, true
		}
		for _, stream := range slices.Sorted(maps.Keys(changed)) {
			if err := h.decide(stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// claims are those of a task that is carried out.
func (h *Host) claims(t *task) []engine.Claim {
	if !t.active || h.stopping {
		return nil
	}
	return t.state.Claims()
}

// answer tells the core what became of a claim. A refusal only says that the
// core knows it already.
func (h *Host) answer(x *holding) error {
	t := h.tasks[x.stream]
	in := engine.Lease{Step: x.claim.Step.ID, Attempt: x.claim.Attempt}
	if !x.held {
		in.Behind = &engine.Holder{Run: x.behind.run, Step: x.behind.claim.Step.ID, Scope: x.behind.claim.Step.Writes, First: x.first}
	}
	return h.admitTo(&envelope{stream: x.stream, in: in}, t)
}

// match makes the holdings of a stream what its task claims now. What is claimed
// no more is held until nothing of its step runs.
func (hs *holdings) match(stream string, t *task, claims []engine.Claim) {
	mine := hs.byStream[stream]
	if mine == nil && len(claims) == 0 {
		return
	}
	if mine == nil {
		mine = map[string]*holding{}
		if hs.byStream == nil {
			hs.byStream = map[string]map[string]*holding{}
		}
		hs.byStream[stream] = mine
	}
	claimed := map[string]bool{}
	for _, c := range claims {
		claimed[c.Step.ID] = true
		x := mine[c.Step.ID]
		if x != nil && !slices.Equal(x.claim.Step.Writes, c.Step.Writes) && !t.runs(c.Step.ID) {
			hs.drop(x) // a revision gave the step another scope
			x = nil
		}
		if x == nil {
			x = &holding{stream: stream}
			mine[c.Step.ID] = x
			hs.enter(x, c)
		}
		x.run, x.claim, x.held = t.state.Run().Run, c, c.Held
		if x.held {
			x.behind = nil
		}
	}
	for id, x := range mine {
		if !claimed[id] && !(x.held && t.runs(id)) {
			delete(mine, id)
			hs.drop(x)
		}
	}
}

// enter puts a claim into the queue. What is held already has no place in it.
func (hs *holdings) enter(x *holding, c engine.Claim) {
	at := slices.IndexFunc(hs.all, func(y *holding) bool { return !y.held && c.Priority.Above(y.claim.Priority) })
	if at < 0 || c.Held {
		at = len(hs.all)
	}
	hs.all = slices.Insert(hs.all, at, x)
}

// runs reports whether an effect of the step is under way, wanted or not.
func (t *task) runs(step string) bool {
	for k := range t.running {
		if k.Step == step {
			return true
		}
	}
	return false
}

func (hs *holdings) drop(x *holding) {
	x.gone = true
	hs.all = slices.DeleteFunc(hs.all, func(y *holding) bool { return y == x })
}

// next looks at the claims that nobody has answered, or that wait for one that
// has gone, in the order they came. It returns them with their answers.
func (hs *holdings) next() []*holding {
	var answers []*holding
	for at, x := range hs.all {
		if x.held || x.waits() {
			continue
		}
		x.behind = hs.before(at)
		x.held = x.behind == nil
		x.first = !x.held && !x.behind.held
		answers = append(answers, x)
	}
	return answers
}

// waits reports whether it waits for the one that the core was told of.
func (x *holding) waits() bool {
	return x.behind != nil && !x.behind.gone && x.first == !x.behind.held && x.behind.claim.Conflicts(x.claim)
}

// before finds whom a claim has to wait for: one that holds what conflicts, or
// asked for it first.
func (hs *holdings) before(at int) *holding {
	for n, x := range hs.all {
		if n != at && (x.held || n < at) && x.claim.Conflicts(hs.all[at].claim) {
			return x
		}
	}
	return nil
}
