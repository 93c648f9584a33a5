package engine_test

import (
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against what an arbiter says: it is asked about attempts that
// did not pass, once each, and only where the plan leaves something open. It gives a
// step no attempt that the plan does not, makes none done, and names only who is
// listed, for a step that names nobody.

func (a *auditor) ruled(e engine.ArbiterRuled) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	then := f.def.OnFail.Then
	planned := a.run.Policy.Planner && a.run.Parent.Run == ""
	wishes := e.Say == engine.SayReplan && planned && a.replans < a.run.Compiled.Replans() // of a step that is done; see heeds
	passed := e.Say == engine.SayContinue || e.Say == engine.SayComplete || wishes
	more := f.retries < f.def.OnFail.Retries
	allowed := map[engine.Say]bool{
		engine.SayRetry: more, engine.SayEscalate: true,
		engine.SayContinue: true, engine.SayComplete: true,
		engine.SayReplan: then == engine.Replan && a.run.Policy.Planner && a.run.Compiled.Replans() > 0,
	}[e.Say]
	switch {
	case !a.run.Policy.Arbiter || f.ruling != nil || f.live != nil || a.stopping || e.Attempt < f.attempt || f.def.Iterations > 0 && !passed:
		return fmt.Errorf("nobody asked the arbiter about %q now", e.Step)
	case passed:
	case !allowed || then != engine.Replan && then != engine.Escalate || e.Why == "":
		return fmt.Errorf("it says %q because %q, and the plan says retry(%d), of which %d are used, then %s", e.Say, e.Why, f.def.OnFail.Retries, f.retries, then)
	case len(f.complete) > 0 && f.complete[len(f.complete)-1].pass && !(f.rests && a.strict()) && !(f.def.Strong > 0 && !f.doubted.passed) && f.end != nil && f.end.How == engine.Exited && len(f.end.Tampered)+len(f.end.OutOfScope) == 0 && f.end.Unfit == "" && f.end.Ending == nil && f.def.Kind != engine.Tool && !f.def.Worktree:
		return fmt.Errorf("it is asked about an attempt of %q that passed", e.Step)
	case e.Role != "" && (e.Say != engine.SayRetry || !a.listed(e.Role) || f.def.Target != "" && f.def.Target != "any" || f.def.Fallback != ""):
		return fmt.Errorf("it gives %q to %q", e.Step, e.Role)
	}
	f.ruling = &e
	a.paid(nil, engine.WorkDispatched{}, engine.WorkEnded{How: engine.Exited, Usage: e.Usage, Ms: e.Ms})
	if e.Prompt != "" {
		a.hushed(e.Usage, engine.Amount{}, a.purse.limits, engine.Amount{})
	}
	return nil
}

// voted holds that a judge is heard only while the checks of a step are asked whose work is
// over, one vote after the other, and no more than its majority needs.
func (a *auditor) voted(e engine.JudgeVoted) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	if e.Round == 1 {
		f.votes = nil
	}
	_, judged := f.def.Judge()
	_, over := engine.Majority(f.votes)
	if !judged || f.end == nil || f.end.How != engine.Exited || e.Round != len(f.votes)+1 || over || e.Reason == "" || e.Prompt == "" {
		return fmt.Errorf("vote %d of the judge of %q is not wanted after %v", e.Round, e.Step, f.votes)
	}
	f.votes = append(f.votes, e.Vote)
	a.advised(&f.purse, e.Usage, true)
	return nil
}

// heeds holds a settling against the ruling that it follows.
func (a *auditor) heeds(f *file, e engine.StepSettled) error {
	r := f.ruling
	f.ruling, f.asked = nil, e.Ask
	switch {
	case e.Ask && (r == nil || r.Say != engine.SayEscalate || e.Status != engine.Waiting):
		return fmt.Errorf("a person is asked in the place of the planner, and the arbiter said %+v", r)
	case r == nil || e.By != "":
	case r.Say == engine.SayContinue || r.Say == engine.SayComplete:
		if e.Status != engine.Done {
			return fmt.Errorf("it is %s, and the arbiter was asked what follows when it is done", e.Status)
		}
		a.complete = a.complete || r.Say == engine.SayComplete // until a person has spoken
	case e.Status == engine.Done && r.Say == engine.SayReplan:
		if a.replans < a.run.Compiled.Replans() && a.replan == nil && a.run.Policy.Planner {
			a.advice = map[string]string{e.Step: r.Why}
		}
	case r.Say == engine.SayReplan && f.def.OnFail.Then != engine.Replan:
		return fmt.Errorf("it is %s, and the arbiter wants a revision that its plan does not give", e.Status)
	case e.Status == engine.Done, r.Say == engine.SayRetry && e.Status != engine.Running, r.Say != engine.SayRetry && e.Status != engine.Waiting:
		return fmt.Errorf("it is %s, and the arbiter said %q", e.Status, r.Say)
	}
	return nil
}
