package engine_test

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against settlings, questions and answers.

func (a *auditor) settled(e engine.StepSettled, r engine.Record) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	if f.live != nil {
		return fmt.Errorf("its work is under way")
	}
	answer := f.question && f.reply != nil && f.order == nil
	if e.Proven && (e.Status != engine.Done || !f.red && !f.byChild()) && !answer && !f.lands() {
		return fmt.Errorf("it counts as proven, and was never seen to fail")
	}
	if e.Proven && f.rests && !answer && !f.byChild() && !f.lands() {
		return fmt.Errorf("it counts as proven, and its checks opened what it changed")
	}
	if e.Proven && (f.same || f.flaky) && !answer && !f.lands() {
		return fmt.Errorf("it counts as proven, and its checks are flaky")
	}
	if e.By != "" && e.By != engine.Harness {
		return a.settledByPerson(f, e)
	}
	if e.Status == engine.Done && e.Verdict == engine.Pass && f.rests && a.strict() && !f.byChild() && !f.lands() {
		return fmt.Errorf("it is done, its checks opened what it changed, and the policy accepts no such proof")
	}
	if f.def.When != "" && e.By == engine.Harness && f.status == engine.Pending && f.live == nil &&
		(f.granted.IsZero() || r.At.Sub(f.granted) < 24*time.Hour) {
		f.status, f.counts = e.Status, e.Satisfies
		return nil
	}
	if stays := f.lands() && f.stays && f.end.How == engine.Exited; stays && (e.Status == engine.Done || e.Status == engine.Skipped) {
		if e.Status != engine.Skipped || !e.Satisfies || e.Proven || f.end.Attempt != e.Attempt {
			return fmt.Errorf("its work stays on its branch, and it is %s", e.Status)
		}
		f.status, f.verdict, f.counts, f.waits, f.lease, f.complete = e.Status, e.Verdict, true, nil, 0, nil
		return nil
	}
	if e.Satisfies || e.Status == engine.Waived {
		return fmt.Errorf("the harness settles it as %s", e.Status)
	}
	if f.waits != nil && e.RetryAt == nil {
		if e.Status != f.status || r.At.Before(*f.waits) {
			return fmt.Errorf("it waits until %s as %s", f.waits, f.status)
		}
		f.waits = nil
		return nil
	}
	if err := a.judged(f, e, r); err != nil {
		return err
	}
	if e.By == "" {
		a.tried(f, e)
	}
	if err := a.heeds(f, e); err != nil {
		return err
	}
	f.status, f.verdict, f.counts, f.waits, f.base = e.Status, e.Verdict, false, nil, ""
	f.kept = f.kept && e.Status == engine.Running
	if e.RetryAt == nil {
		f.lease = 0
	}
	if e.RetryAt != nil && e.RetryAt.After(r.At) {
		f.waits = e.RetryAt
	}
	if e.Verdict != engine.Infra {
		f.complete = nil
	}
	return nil
}

// byChild reports whether the run that did the step, which has no checks, proved
// all it did.
func (f *file) byChild() bool {
	return len(f.def.Checks) == 0 && f.end != nil && f.end.Ending != nil && f.end.Ending.Status == engine.Done &&
		f.end.Ending.Proven > 0 && f.end.Ending.Unproven+f.end.Ending.Waived == 0
}

// judged holds what the harness made of an attempt against the evidence.
func (a *auditor) judged(f *file, e engine.StepSettled, r engine.Record) error {
	if e.Verdict == engine.Infra && e.RetryAt != nil {
		if f.infra++; f.infra > 3 {
			return fmt.Errorf("a fault of this machine is tried again for the %dth time", f.infra)
		}
		if e.Status != f.status && e.Status != engine.Running {
			return fmt.Errorf("it goes from %s to %s", f.status, e.Status)
		}
		return nil
	}
	f.infra = 0
	if again, err := f.lap(e); again || err != nil {
		return err
	}
	switch e.Status {
	case engine.Done:
		return f.proof(e)
	case engine.Running:
		if f.retries++; f.retries > f.def.OnFail.Retries {
			return fmt.Errorf("retry %d without a person's word, %d are allowed", f.retries, f.def.OnFail.Retries)
		}
		if f.def.Backoff > 0 && !e.RetryAt.After(r.At) {
			return fmt.Errorf("it is tried again at once, and its backoff is %s", f.def.Backoff)
		}
	case engine.Regressed:
		if f.regressed++; f.regressed > 1 || f.status != engine.Done {
			return fmt.Errorf("a step that is %s regresses for the %dth time", f.status, f.regressed)
		}
		f.retries, f.laps, f.tokens = 0, 0, 0
	case engine.Failed:
		a.stopping = a.stopping || f.def.Critical
	case engine.Pending:
		if e.By == engine.Harness && e.Verdict == engine.OverBudget {
			return nil
		}
		if e.By != engine.Harness || f.granted.IsZero() {
			return fmt.Errorf("nobody said so")
		}
		f.granted = time.Time{}
	}
	return nil
}

// proof is the promise: an agent can never make a step done.
func (f *file) proof(e engine.StepSettled) error {
	n := len(f.complete)
	switch {
	case f.end == nil || f.end.How != engine.Exited || f.end.Attempt != e.Attempt || f.attempt != e.Attempt:
		return fmt.Errorf("it is done without the end of attempt %d: %+v", e.Attempt, f.end)
	case len(f.end.Tampered)+len(f.end.OutOfScope) > 0:
		return fmt.Errorf("it is done, and changed what it may not")
	case f.def.Strong > 0 && !f.doubted.passed:
		return fmt.Errorf("it is done, and was not seen to need what it changed: %+v", f.doubted)
	case f.end.Unfit != "":
		return fmt.Errorf("it is done, and its output is not what it has to be")
	case f.def.Worktree && !f.merged:
		return fmt.Errorf("it is done, and its worktree was not merged")
	case f.def.Kind == engine.Landing:
		return nil
	case f.end.Kind == engine.ChildWork && (f.end.Ending == nil || f.end.Ending.Status != engine.Done):
		return fmt.Errorf("it is done, and its run is not: %+v", f.end)
	case len(f.def.Checks) == 0 && f.end.Kind == engine.ChildWork:
		return nil
	case f.end.Kind == engine.ToolWork && f.end.Exit != 0:
		return fmt.Errorf("it is done, and the call failed: %+v", f.end)
	case len(f.def.Checks) == 0 && f.def.Kind == engine.Tool && !e.Proven:
		return nil
	case n == 0 || !f.complete[n-1].pass:
		return fmt.Errorf("it is done, and its checks say %+v", f.complete)
	case f.complete[n-1].phase != engine.Verifying:
		return fmt.Errorf("it is done, and its checks say %+v", f.complete)
	}
	return nil
}

func (a *auditor) settledByPerson(f *file, e engine.StepSettled) error {
	if f.def.Kind == engine.Landing && e.Status != engine.Pending && e.Status != engine.Failed {
		return fmt.Errorf("a person makes the merge of the run's work %s", e.Status)
	}
	switch order, reply := f.order, f.reply; {
	case order != nil && order.By == e.By:
		want := map[engine.Verb]engine.Status{engine.DoSkip: engine.Skipped, engine.DoWaive: engine.Waived}[order.Verb]
		if want == "" {
			want = engine.Pending
		}
		if e.Status != want || e.Satisfies != (want == engine.Skipped) {
			return fmt.Errorf("%s makes it %s", order.Verb, e.Status)
		}
	case reply != nil && reply.By == e.By:
		want := map[string]engine.Status{
			"approve": engine.Pending, "retry": engine.Pending, "fallback": engine.Pending, "skip": engine.Skipped, "deny": engine.Skipped,
			"waive": engine.Waived, "abort": engine.Failed, "leave": engine.Pending, "vouch": engine.Pending,
		}[reply.Choice]
		a.stays = a.stays || reply.Choice == "leave"
		if f.question {
			want, reply.Choice = engine.Done, "answer"
		}
		if a.short(e.Step) && reply.Choice == "deny" && f.def.OnFail.Then != engine.Skip {
			want = engine.Failed
			a.stopping = a.stopping || f.def.Critical
		}
		if e.Status != want || e.Satisfies != (reply.Choice == "skip") {
			return fmt.Errorf("the answer %s makes it %s", reply.Choice, e.Status)
		}
		a.stopping = a.stopping || reply.Choice == "abort"
	default:
		return fmt.Errorf("%s said nothing of the kind", e.By)
	}
	if order, reply := f.order, f.reply; order != nil && order.Verb == engine.DoVouch || order == nil && reply.Choice == engine.ChooseVouch {
		if err := f.vouched(); err != nil {
			return err
		}
	}
	if f.satisfied() {
		f.retries = 0
	}
	if e.Status == engine.Pending && (f.reply == nil || f.reply.Choice != engine.ChooseApprove || f.order != nil) {
		f.laps, f.tokens = 0, 0 // begun anew
	}
	// A person's word grants one more try where none was left.
	f.retries = min(f.retries, f.def.OnFail.Retries)
	f.order, f.reply, f.waits, f.infra, f.base = nil, nil, nil, 0, ""
	f.ruling, f.asked = nil, false
	f.status, f.counts = e.Status, e.Satisfies
	f.merged = f.merged && !(f.def.Kind == engine.Landing && e.Status == engine.Pending)
	f.aborted = e.Status == engine.Failed && e.Verdict != engine.OverBudget
	if f.each != nil && e.Status == engine.Pending {
		a.collapsed(f)
	}
	for name, it := range a.items {
		if it.Step == e.Step {
			delete(a.items, name)
			if name == a.asking {
				a.asking = ""
			}
		}
	}
	return nil
}

// short reports whether a person is asked for more for the step.
func (a *auditor) short(id string) bool {
	for _, it := range a.items {
		if it.Step == id {
			return it.Shortage != nil
		}
	}
	return false
}

func (a *auditor) asked(e engine.ItemOpened) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	for name, it := range a.items {
		if it.Step == e.Step || name == e.Item {
			return fmt.Errorf("%s is open already", name)
		}
	}
	if e.Kind != engine.Escalation && (e.Kind == engine.Question) != (f.def.Kind == engine.Ask) {
		return fmt.Errorf("a %s of a step for %s", e.Kind, f.def.Kind)
	}
	if e.Kind == engine.Escalation && f.status != engine.Waiting {
		return fmt.Errorf("step %q is %s", e.Step, f.status)
	}
	if e.Shortage != nil {
		if err := a.begged(f, e); err != nil {
			return err
		}
	}
	if e.Kind == engine.Escalation && e.Tool != "" && e.Tool != f.def.Tool {
		return fmt.Errorf("it offers other arguments for %s", e.Tool)
	}
	if e.Kind != engine.Escalation && e.Tool != "" || e.Plan != "" {
		if f.look == nil || f.look.Asks == "" || e.Hash != f.look.Hash || e.Tool != "" && e.Args != f.look.Args {
			return fmt.Errorf("it shows %s of %s, and what was looked at is %+v", e.Hash, e.Args, f.look)
		}
		f.shown = f.look
	}
	a.items[e.Item] = e
	f.status = engine.Waiting
	return nil
}

func (a *auditor) answered(e engine.ItemAnswered, r engine.Record) error {
	it, ok := a.items[e.Item]
	if !ok || e.By == "" || e.By == engine.Harness {
		return fmt.Errorf("%q answers %q", e.By, e.Item)
	}
	f, err := a.step(it.Step)
	if err != nil {
		return err
	}
	if e.Choice == engine.ChooseReplan && it.Kind == engine.Escalation {
		delete(a.items, e.Item)
		a.wants = wanted{it.Step, e.By}
		return nil
	}
	if e.Choice == engine.ChooseFallback && it.Kind == engine.Escalation {
		f.forced = f.def.Fallback
	}
	f.reply, f.question = &e, it.Kind == engine.Question
	if e.Choice == engine.ChooseApprove && it.Shortage == nil {
		f.granted = r.At
		if it.Tool != "" && len(e.Args) > 0 {
			f.edited = fmt.Sprintf("%x", sha256.Sum256(e.Args))
		}
	}
	return a.raised(f, it, e)
}
