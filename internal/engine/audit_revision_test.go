package engine_test

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against a revision in the middle of a run.

// left is work of a step that a revision changed or took out.
type left struct {
	def   *engine.Step
	work  engine.WorkDispatched
	epoch uint64
}

func (a *auditor) revised(e engine.RunOpened) error {
	switch {
	case e.Run != a.run.Run || e.Revises != a.run.Plan || e.Plan == a.run.Plan:
		return fmt.Errorf("%s revises %s, and the run %s is of %s", e.Plan, e.Revises, a.run.Run, a.run.Plan)
	case !a.open && !a.failed || a.open && a.stopping:
		return fmt.Errorf("the run is over, or being stopped")
	}
	if err := a.adopts(e); err != nil {
		return err
	}
	if !a.open {
		a.paused, a.stopping = false, false
	}
	a.turned()
	old := a.steps
	before := a.run
	a.steps, a.stays = map[string]*file{}, false
	all := stepsOf(old, e)
	for _, p := range all {
		a.stays = a.stays || p.Leave
		f := old[p.ID]
		switch {
		case slices.Contains(e.Carried, p.ID):
			if err := a.mayCarry(old, e, f, p); err != nil {
				return fmt.Errorf("%q is carried over, and %w", p.ID, err)
			}
			f.proved, f.kept = -1, f.status == engine.Running
			if f.status == engine.Done { // a proof that was being given again is given anew
				f.waits, f.infra = nil, 0
			}
		case f != nil:
			limits := p.Budget
			if f.def.Budget == p.Budget {
				limits = f.purse.limits
			}
			word := ""
			if f.def.Target == p.Target {
				word = f.forced
			}
			f = &file{status: engine.Pending, attempt: f.attempt, n: -1, proved: -1, purse: f.purse, forced: word}
			f.purse.limits = limits
		default:
			f = &file{status: engine.Pending, attempt: a.past[p.ID], n: -1, proved: -1, purse: purse{limits: p.Budget}}
		}
		a.steps[p.ID] = f
	}
	a.leave(old, e, all)
	if was := before.Compiled.Budget(); was != e.Compiled.Budget() {
		a.purse.limits = e.Compiled.Budget()
		a.unask(e)
	}
	for _, p := range all { // after leave, which wants to know the old definitions
		a.steps[p.ID].def = p
	}
	a.adopt()
	a.room = max(a.room, roomOf(before))
	a.run, a.open, a.failed = e, true, false
	return nil
}

// configured is another configuration, to which a person said yes: every step stays as
// it stands.
func (a *auditor) configured(e engine.RunConfigured) error {
	switch {
	case e.By == engine.ByPolicy || e.By == engine.Harness || a.actor != e.By:
		return fmt.Errorf("the configuration is approved by %q, in the name of %q", a.actor, e.By)
	case e.Run != a.run.Run || e.Was != a.run.Config || e.Config == e.Was:
		return fmt.Errorf("run %s goes from %q to %q, and run %s has %q", e.Run, e.Was, e.Config, a.run.Run, a.run.Config)
	case !a.open && !a.failed || a.open && a.stopping:
		return fmt.Errorf("the run is over, or being stopped")
	}
	a.room = max(a.room, roomOf(a.run))
	frames := a.run.Policy.Frames
	a.run.Config, a.run.Agents, a.run.Policy, a.run.Base = e.Config, e.Agents, e.Policy, e.Base
	a.run.Policy.Frames = frames
	if !a.open {
		return nil
	}
	for _, f := range a.steps {
		f.proved, f.kept = -1, f.status == engine.Running
		if f.status == engine.Done { // as in a revision
			f.waits, f.infra = nil, 0
		}
	}
	return nil
}

// mayCarry reports why a step must not be taken over as it stands.
func (a *auditor) mayCarry(old map[string]*file, e engine.RunOpened, f *file, p *engine.Step) error {
	switch {
	case !a.alike(e, f, p):
		return fmt.Errorf("is not what it was")
	case f.order == nil && f.each == nil && (f.status == engine.Failed || f.status == engine.Skipped && !f.counts):
		return fmt.Errorf("is %s", f.status)
	}
	for id := range idsOf(e, p) {
		n := old[id]
		if slices.Contains(e.Carried, id) || n == nil {
			continue
		}
		asked := n.status == engine.Waiting && !a.open // what was asked ends with the run
		if n.attempt > 0 || n.status != engine.Pending && !asked {
			return fmt.Errorf("needs %q, which is not", id)
		}
	}
	return nil
}

// alike reports whether step p of the revision e is defined as it was.
func (a *auditor) alike(e engine.RunOpened, f *file, p *engine.Step) bool {
	if f == nil {
		return false
	}
	was, is := *f.def, *p
	was.Number, is.Number = "", ""
	was.Needs, is.Needs = nil, nil
	return reflect.DeepEqual(was, is) && reflect.DeepEqual(idsOf(a.run, f.def), idsOf(e, p))
}

// idsOf is what a step of a revision needs.
func idsOf(r engine.RunOpened, p *engine.Step) map[string]bool {
	all := map[string]bool{}
	for _, n := range p.Needs {
		all[r.Compiled.Step(n).ID] = true
	}
	return all
}

// takeOver is a revision for who reads nothing but proofs: what is carried over
// is defined as it was, and everything else begins.
func (a *auditor) takeOver(e engine.RunOpened) error {
	steps := map[string]*file{}
	for _, p := range stepsOf(a.steps, e) {
		f := a.steps[p.ID]
		switch {
		case slices.Contains(e.Carried, p.ID):
			if !a.alike(e, f, p) {
				return fmt.Errorf("%q is carried over, and is not what it was", p.ID)
			}
			f.def = p
		default:
			f = &file{def: p, status: engine.Pending, n: -1, proved: -1}
		}
		steps[p.ID] = f
	}
	a.steps, a.run, a.open = steps, e, true
	a.adopt()
	return nil
}

// leave writes down the work of what is not carried over.
func (a *auditor) leave(old map[string]*file, e engine.RunOpened, all []*engine.Step) {
	for id, f := range old {
		if slices.Contains(e.Carried, id) {
			continue
		}
		if f.live != nil {
			a.leaving = append(a.leaving, left{f.def, *f.live, f.liveEpoch})
		}
		if !slices.ContainsFunc(all, func(p *engine.Step) bool { return p.ID == id }) {
			if a.past == nil {
				a.past = map[string]int{}
			}
			a.past[id] = max(a.past[id], f.attempt)
		}
	}
	for item, it := range a.items {
		if !slices.Contains(e.Carried, it.Step) {
			delete(a.items, item)
			if item == a.asking {
				a.asking = ""
			}
		}
	}
}

// unask takes back what was asked of a budget that is set anew.
func (a *auditor) unask(e engine.RunOpened) {
	it, open := a.items[a.asking]
	if !open {
		return
	}
	delete(a.items, a.asking)
	a.asking = ""
	if f := a.steps[it.Step]; f != nil {
		f.status, f.reply = engine.Pending, nil
	}
}

// leftEnded takes the end of work that a revision left.
func (a *auditor) leftEnded(e engine.WorkEnded, r engine.Record) (bool, error) {
	at := slices.IndexFunc(a.leaving, func(l left) bool {
		return l.work.Step == e.Step && l.work.Attempt == e.Attempt && l.work.N == e.N && l.work.Kind == e.Kind
	})
	if at < 0 {
		return false, nil
	}
	if err := ends(e, a.leaving[at].epoch, r.Epoch); err != nil {
		return true, err
	}
	l := a.leaving[at]
	a.leaving = slices.Delete(a.leaving, at, at+1)
	var p *purse
	if f := a.steps[e.Step]; f != nil {
		p = &f.purse
	}
	a.paid(p, l.work, e)
	a.work++
	return true, nil
}
