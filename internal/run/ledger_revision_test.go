package run_test

import (
	"maps"
	"reflect"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against a run that goes on with another text.

// leaving is work of a step that a revision changed or took out.
type leaving struct {
	step engine.Step
	work engine.Record
}

// revise takes the next text of the run: what is carried over keeps its
// account, everything else begins anew with the attempts that were counted.
func (g *ledger) revise(e engine.RunOpened, next text) {
	switch {
	case e.Run != g.opened.Run || e.Revises != g.opened.Plan || e.Plan == g.opened.Plan:
		g.find("revision", "%s of %s revises %s, and %s is carried out on %s", e.Plan, e.Run, e.Revises, g.opened.Run, g.opened.Plan)
	case !g.live && !g.failed || g.cancel:
		g.find("revision", "%s revises %s, which has ended or is being cancelled", e.Plan, e.Run)
	}
	if e.Revises != next.base {
		g.find("shown", "%s revises %s; the difference was shown against %s", e.Plan, e.Revises, next.base)
	}
	g.mustCarry(e, next)
	if !g.live {
		g.live, g.failed, g.paused = true, false, false
	}
	old := g.steps
	g.steps = map[string]*account{}
	for i := range next.plan.Steps {
		s := &next.plan.Steps[i]
		a := old[s.ID]
		switch {
		case slices.Contains(e.Carried, s.ID) && a != nil:
			g.carry(a, s, old, e, next.plan)
		default:
			a = newAccount(s)
			if was := old[s.ID]; was != nil {
				a.attempt, a.n = was.attempt, never
			} else if n, before := g.past[s.ID]; before {
				a.attempt, a.n = n, never
			}
		}
		g.steps[s.ID] = a
	}
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if !slices.Contains(e.Carried, id) {
			g.leave(old[id])
		}
	}
	g.opened, g.plan = e, next.plan
	g.complete = g.unsatisfied() == 0
}

// never is no number of a dispatch: the next one is of another attempt.
const never = -2

// carry judges a step that is taken over as it stands.
func (g *ledger) carry(a *account, s *engine.Step, old map[string]*account, e engine.RunOpened, next engine.Definition) {
	if !alike(g.plan, *a.step, next, *s) {
		g.find("carried", "%s is carried over, and is not what it was:\n%+v\n%+v", s.ID, *a.step, *s)
	}
	if !a.ordered && (a.status == engine.Failed || a.status == engine.Skipped && !a.satisfies) {
		g.find("carried", "%s is carried over, and is %s", s.ID, a.status)
	}
	for _, id := range needsOf(next, *s) {
		if need := old[id]; need != nil && need.attempt > 0 && !slices.Contains(e.Carried, id) {
			g.find("carried", "%s is carried over, and needs %s, which is not", s.ID, id)
		}
	}
	a.step = s
	if a.status == engine.Done { // a proof that was being given is given anew
		a.round, a.infra, a.waits = nil, 0, false
	}
}

// mustCarry: what is proved, defined alike, and rests on nothing else, is not
// done again.
func (g *ledger) mustCarry(e engine.RunOpened, next text) {
	fits := map[string]bool{}
	for range next.plan.Steps { // as often as it takes for the last one
		for _, s := range next.plan.Steps {
			a := g.steps[s.ID]
			rests := !slices.ContainsFunc(needsOf(next.plan, s), func(id string) bool { return !fits[id] })
			fits[s.ID] = rests && a != nil && a.satisfied() && !slices.Contains(next.stale, s.ID) && alike(g.plan, *a.step, next.plan, s)
		}
	}
	for _, s := range next.plan.Steps {
		if fits[s.ID] && !slices.Contains(e.Carried, s.ID) {
			g.find("carried", "%s is %s and what it was, and is not carried over", s.ID, g.steps[s.ID].status)
		}
	}
}

// alike reports whether two steps are the same for all but the number.
func alike(p engine.Definition, a engine.Step, q engine.Definition, b engine.Step) bool {
	an, bn := needsOf(p, a), needsOf(q, b)
	a.Number, b.Number, a.Needs, b.Needs = "", "", nil, nil
	return reflect.DeepEqual(a, b) && slices.Equal(an, bn)
}

// needsOf are the ids of what a step needs, in order.
func needsOf(d engine.Definition, s engine.Step) (ids []string) {
	for _, n := range s.Needs {
		ids = append(ids, d.Steps[n].ID)
	}
	slices.Sort(ids)
	return ids
}

// leave closes the account of a step that is not taken over.
func (g *ledger) leave(a *account) {
	g.past[a.step.ID] = max(g.past[a.step.ID], a.attempt)
	if a.live != nil {
		g.leaving = append(g.leaving, leaving{*a.step, *a.live})
	}
	if a.item != "" {
		delete(g.items, a.item)
	}
}

// left takes the end of work that a revision left. It reports whether e is one.
func (g *ledger) left(e engine.WorkEnded, r engine.Record) bool {
	at := slices.IndexFunc(g.leaving, func(l leaving) bool {
		d, _ := l.work.Event.(engine.WorkDispatched)
		return d.Step == e.Step && d.Attempt == e.Attempt && d.N == e.N && d.Kind == e.Kind
	})
	if g.wasLeft = at >= 0; !g.wasLeft {
		return false
	}
	if epoch := g.leaving[at].work.Epoch; (e.How == engine.Lost) != (epoch < r.Epoch) {
		g.find("epoch", "left work of %s was dispatched in epoch %d and ended by %q in %d", e.Step, epoch, e.How, r.Epoch)
	}
	g.leaving = slices.Delete(g.leaving, at, at+1)
	return true
}
