package engine_test

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against revisions that are made because of what failed.

// drawing is a revision that is being made.
type drawing struct {
	step  string // whose failure it answers
	own   bool   // the harness asked for it
	free  bool   // because of an arbiter: no step failed
	draw  int
	n     int
	lost  int
	heard int // answers, in all dispatches
	live  *engine.WorkDispatched
	epoch uint64
	drawn *engine.Drawn
	item  string
	over  bool // none may be made
}

// wanted is a revision that a person chose where a step failed.
type wanted struct{ step, by string }

// aPlanner stands for the step that the making of a revision is not.
var aPlanner = &engine.Step{Kind: engine.Script, Worktree: true}

// replannable reports whether the step failed so that its plan asks for a revision.
func (a *auditor) replannable(f *file) bool {
	if f.status != engine.Waiting || f.asked || f.def.OnFail.Then != engine.Replan || !a.run.Policy.Planner || a.run.Compiled.Replans() == 0 || a.run.Parent.Run != "" {
		return false
	}
	for _, it := range a.items {
		if it.Step == f.def.ID && it.Kind != engine.Proposal && it.Kind != engine.Weakened {
			return false
		}
	}
	switch f.verdict {
	case engine.Fail, engine.Timeout, engine.Tampered, engine.OutOfScope:
		return true
	}
	return false
}

func (a *auditor) replanned(e engine.Command) error {
	own := e.By == engine.Harness
	why, advised := a.advice[e.Step]
	advised = advised && own && e.Why == why && a.open && !a.paused && !a.stopping
	switch f := a.steps[e.Step]; {
	case e.By == "" || a.replan != nil:
		return fmt.Errorf("nobody asked for it, or there is one: %+v", a.replan)
	case e.Only && (own || f == nil):
		return fmt.Errorf("only step %q is to change, for %q", e.Step, e.By)
	case !own && (!e.Only && (e.Step != a.wants.step || e.Step != "" && e.By != a.wants.by) || strings.TrimSpace(e.Why) == "" || !a.run.Policy.Planner):
		return fmt.Errorf("a person asks for it for step %q, because of %q", e.Step, e.Why)
	case advised:
	case own && (f == nil || !a.open || a.stopping || f.order != nil || !a.replannable(f)):
		return fmt.Errorf("step %q did not fail so that its plan asks for it", e.Step)
	case own && f.away == f.attempt+1:
		return fmt.Errorf("no planner could be asked for attempt %d of %q, and nobody has spoken since", f.attempt, e.Step)
	case !a.open && !a.failed:
		return fmt.Errorf("the run cannot be taken up")
	}
	if !a.open {
		a.open, a.failed, a.paused, a.stopping = true, false, false, false
	}
	a.replan, a.wants, a.advice = &drawing{step: e.Step, own: own, free: advised}, wanted{}, nil
	if e.Only || advised {
		a.replan.step = ""
	}
	return nil
}

func (a *auditor) drawn(e engine.WorkDispatched, r engine.Record) error {
	d := a.replan
	switch {
	case d == nil || d.live != nil || d.drawn != nil || e.N != d.n+1 || e.Step != "":
		return fmt.Errorf("nobody wants revision %d.%d", e.Attempt, e.N)
	case a.paused || a.stopping || !a.open || len(a.leaving) > 0:
		return fmt.Errorf("the run is paused (%v), being stopped (%v), or over, or left work has not ended", a.paused, a.stopping)
	case e.N == 1 && e.Attempt <= a.draws || e.N > 1 && e.Attempt != d.draw:
		return fmt.Errorf("revision %d.%d follows %d.%d", e.Attempt, e.N, a.draws, d.n)
	}
	for id, f := range a.steps {
		if f.live != nil {
			return fmt.Errorf("%q is at work", id)
		}
	}
	if e.N == 1 {
		a.draws, d.draw = e.Attempt, e.Attempt
		if d.own {
			a.replans++
		}
	}
	if a.replans > a.run.Compiled.Replans() && d.own {
		return fmt.Errorf("it is number %d, and the plan allows %d", a.replans, a.run.Compiled.Replans())
	}
	d.live, d.n, d.epoch = &e, e.N, r.Epoch
	return nil
}

// hears holds that answers come one by one, and only while the revision is made.
func (a *auditor) hears(e engine.WorkHeard) error {
	d := a.replan
	if d == nil || d.live == nil || d.live.Attempt != e.Attempt || d.n != e.N || e.Step != "" || e.Round != d.heard+1 || e.Answer == "" {
		return fmt.Errorf("answer %d of revision %d.%d is not due", e.Round, e.Attempt, e.N)
	}
	d.heard++
	return nil
}

func (a *auditor) drew(e engine.WorkEnded, r engine.Record) error {
	d := a.replan
	if d == nil || d.live == nil || d.live.Attempt != e.Attempt || d.n != e.N || e.Step != "" || e.Drawn != nil && e.How != engine.Exited {
		return fmt.Errorf("revision %d.%d is not under way", e.Attempt, e.N)
	}
	if err := ends(e, d.epoch, r.Epoch); err != nil {
		return err
	}
	a.paid(nil, *d.live, e)
	d.live = nil
	switch {
	case e.Drawn != nil && e.Drawn.Abort != "":
		if d.over = true; !d.own || d.free {
			a.replan = nil
		}
	case e.Drawn != nil:
		d.drawn = e.Drawn
	case e.How == engine.Stopped:
	case e.How == engine.Lost && d.lost < 2:
		d.lost++
	default:
		if e.How == engine.NoStart && d.own {
			a.replans--
			if f := a.steps[d.step]; f != nil {
				f.away = f.attempt + 1
			}
		}
		a.replan = nil
	}
	return nil
}

func (a *auditor) proposed(e engine.ItemOpened) error {
	d := a.replan
	switch {
	case d == nil || d.drawn == nil || d.item != "" || e.Plan != d.drawn.Plan || e.Step != map[bool]string{true: d.step}[d.own]:
		return fmt.Errorf("it asks about %s, and that was not drawn", e.Plan)
	case (e.Kind == engine.Weakened) != (len(d.drawn.Weakened) > 0):
		return fmt.Errorf("a %s of a revision that asks less in %v", e.Kind, d.drawn.Weakened)
	}
	d.item = e.Item
	a.items[e.Item] = e
	return nil
}

func (a *auditor) agreed(e engine.ItemAnswered) error {
	if e.By == "" || e.By == engine.Harness {
		return fmt.Errorf("nobody gave the answer")
	}
	delete(a.items, e.Item)
	switch d := a.replan; {
	case e.Choice == engine.ChooseApprove:
	case !d.own || d.free:
		a.replan = nil
	default:
		d.over = true
	}
	return nil
}

// adopts holds who said yes to what was drawn.
func (a *auditor) adopts(e engine.RunOpened) error {
	d := a.replan
	drawn := d != nil && d.drawn != nil && d.drawn.Plan == e.Plan
	policy := a.actor == engine.Harness || a.actor == engine.ByPolicy || e.ApprovedBy == engine.ByPolicy
	if policy && drawn && (d.over || len(d.drawn.Weakened) > 0 || a.run.Policy.Approve == "") || a.actor == engine.Harness && !drawn {
		return fmt.Errorf("%q says yes for the policy, to %+v", a.actor, d)
	}
	a.forgetReplan()
	a.advice = nil
	return nil
}

// decided says that a person decided about the step: no revision is made for it any
// more.
func (a *auditor) decided(f *file) {
	if a.replan != nil && a.replan.step == f.def.ID {
		a.forgetReplan()
	}
}

func (a *auditor) forgetReplan() {
	d := a.replan
	if d == nil {
		return
	}
	if d.live != nil {
		a.leaving = append(a.leaving, left{aPlanner, *d.live, d.epoch})
	}
	delete(a.items, d.item)
	a.replan = nil
}
