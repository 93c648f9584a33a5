package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// What a person may choose where an item waits.
const (
	ChooseApprove = "approve"
	ChooseDeny    = "deny"
	ChooseRetry   = "retry"
	ChooseSkip    = "skip"
	ChooseWaive   = "waive"
	ChooseAbort   = "abort"
)

// infraWaits are the pauses before this machine's faults are tried again.
var infraWaits = [...]time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

// Decide returns the next fact that follows from the state at now, or nothing.
// It changes nothing: the caller appends what it returns, applies it, and asks
// again until nothing follows.
func (s *State) Decide(now time.Time) []Event {
	if s.prog == nil || !s.run.Live && len(s.must.in) == 0 {
		return nil
	}
	if i, ok := s.must.first(); ok {
		return []Event{s.follows(i, now)}
	}
	if d, ok := s.due.first(); ok && !d.when.After(now) && !s.stopping() {
		return []Event{StepSettled{Step: s.prog.Step(d.step).ID, Attempt: s.steps[d.step].Attempt, Status: Pending, Verdict: s.steps[d.step].Verdict, Reason: s.steps[d.step].Reason}}
	}
	if i, ok := s.ask.first(); ok && s.free() {
		return []Event{s.approval(i)}
	}
	if e := s.ends(); e != nil {
		return []Event{*e}
	}
	return nil
}

// Wake says when Decide should be asked again though nothing happened.
func (s *State) Wake() (time.Time, bool) {
	d, ok := s.due.first()
	return d.when, ok && s.run.Live
}

// Pending returns what should be running now. Its cost is that of the steps
// under way.
func (s *State) Pending() []Effect {
	if !s.run.Live {
		return nil
	}
	var fx []Effect
	for _, i := range s.active {
		if e, ok := s.wants(i); ok {
			fx = append(fx, e)
		}
	}
	return fx
}

// wants is the effect a step under way needs, a function of this step and of
// what holds for the whole run.
func (s *State) wants(i int) (Effect, bool) {
	st, p := &s.steps[i], s.prog.Step(i)
	if st.Order != nil || s.stopping() {
		return Effect{}, false
	}
	e := Effect{
		Step: p, Title: s.prog.Title(), Base: s.run.Opened.Base, Moved: s.run.Moved,
		Shared: len(s.active) > 1,
		Key:    Key{Task: s.task, Run: s.run.Opened.Run, Step: p.ID, Attempt: st.Attempt, N: st.N},
	}
	switch {
	case st.Phase == Baseline && !s.run.Paused && st.Ended == nil && (!st.HasBase || s.expected(i)):
		e.Key.Kind, e.Key.N = Prepare, st.N+1
		e.Baseline = !st.HasBase && s.run.Opened.Policy.Baseline && p.Rerunnable
		e.Feedback, e.Note, e.Restore, e.Tree = st.Feedback, st.Note, st.Restore, st.Tree
	case st.Phase == Working && st.Live && st.Epoch == s.epoch:
		e.Key.Kind, e.Work, e.Prompt, e.Tree = Work, st.Kind, st.Prompt, st.Tree
	case st.Phase == Verifying && s.checksWanted(i):
		e.Key.Kind, e.Tree = Verify, st.Tree
		if st.Live {
			e.Work = st.Kind
		}
	case st.Phase == Flaky && len(st.Reruns) < 2:
		e.Key.Kind, e.Key.N, e.Tree = Again, len(st.Reruns)+1, st.Tree
	case st.Phase == Ratchet && len(st.Checks) == 0:
		e.Key.Kind, e.Key.N = Prove, s.run.Round
	default:
		return Effect{}, false
	}
	return e, true
}

// checksWanted: the work came to an end that only its checks can judge.
func (s *State) checksWanted(i int) bool {
	st := &s.steps[i]
	if st.Ended == nil || len(st.Checks) > 0 || endVerdict(st.Ended) != NoVerdict {
		return false
	}
	return s.prog.Step(i).Rerunnable || st.Live && st.Kind == ContractWork && st.Epoch == s.epoch
}

// endVerdict judges the end of the work itself; none means the checks decide.
func endVerdict(e *WorkEnded) Verdict {
	switch {
	case len(e.Tampered) > 0:
		return Tampered
	case len(e.OutOfScope) > 0:
		return OutOfScope
	case e.How == TimedOut:
		return Timeout
	case e.How == NoStart:
		return Infra
	case e.How == Lost:
		return Inconclusive
	}
	return NoVerdict
}

// follows is the fact that now follows for one step, a function of that step
// and of what holds for the whole run; nil if there is none.
func (s *State) follows(i int, now time.Time) Event {
	st, p := &s.steps[i], s.prog.Step(i)
	switch {
	case st.Live && st.Epoch < s.epoch:
		return WorkEnded{Step: p.ID, Attempt: st.Attempt, N: st.N, Kind: st.Kind, How: Lost, Reason: "its owner stopped"}
	case st.Live && st.Kind != ContractWork || !s.run.Live:
		return nil
	case st.Order != nil && !st.Live:
		return s.ordered(i)
	case st.Answer != nil:
		return s.answered(i)
	case s.stopping():
		return nil
	case st.Status == Waiting && st.Item == "":
		return s.escalation(i)
	case !st.Active || st.Live:
		return nil
	}
	if v, reason := s.outcome(i); v != NoVerdict {
		return s.settle(i, v, reason, now)
	}
	if st.Phase == Verifying && !p.Rerunnable && st.Ended != nil && len(st.Checks) == 0 {
		return WorkDispatched{Step: p.ID, Attempt: st.Attempt, N: st.N + 1, Kind: ContractWork}
	}
	return nil
}

// outcome is the verdict on the attempt under way, once there is one.
func (s *State) outcome(i int) (Verdict, string) {
	st, p := &s.steps[i], s.prog.Step(i)
	switch st.Phase {
	case Baseline:
		if st.Ended != nil {
			return Inconclusive, fmt.Sprintf("the work was cut off %d times by the end of its owner", st.Lost)
		}
		if st.HasBase && !s.expected(i) {
			return Inconclusive, fmt.Sprintf("the plan expects the contract to be %s before the work, and it was not: %s", p.Expect, st.Baseline)
		}
		return NoVerdict, ""
	case Verifying, Flaky, Ratchet:
	default:
		return NoVerdict, ""
	}
	if st.Phase == Verifying && st.Ended != nil {
		if v := endVerdict(st.Ended); v != NoVerdict {
			return v, endReason(st.Ended, v, p)
		}
	}
	if len(st.Checks) < len(p.Checks) || st.Phase == Flaky && len(st.Reruns) < 2 {
		return NoVerdict, ""
	}
	v, reason := verdictOf(st.Checks)
	if st.Phase == Flaky && st.Reruns[0] != st.Reruns[1] {
		return FlakyCheck, "the checks answered differently on the same tree, again and again"
	}
	if st.Phase == Ratchet && v == Pass {
		return NoVerdict, ""
	}
	return v, reason
}

func endReason(e *WorkEnded, v Verdict, p *Step) string {
	switch v {
	case Tampered:
		return "changed protected files: " + paths(e.Tampered)
	case OutOfScope:
		return "changed files outside its writes: " + paths(e.OutOfScope)
	case Timeout:
		return fmt.Sprintf("took longer than %s", p.Timeout)
	case Infra:
		return "could not be run: " + e.Reason
	}
	return "the checks, which may run only once, were cut off by the end of their owner"
}

func paths(cs []Change) string {
	var names []string
	for n, c := range cs {
		if n == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(cs)-n))
			break
		}
		names = append(names, c.Path+" ("+c.What+")")
	}
	return strings.Join(names, ", ")
}

// verdictOf judges all checks of one phase: a change of protected files first,
// then this machine's faults, then the first required check that did not pass.
func verdictOf(checks []CheckEnded) (Verdict, string) {
	for _, c := range checks {
		if len(c.Tampered) > 0 {
			return Tampered, c.Check + " changed protected files: " + paths(c.Tampered)
		}
	}
	for _, c := range checks {
		if c.Required && c.Verdict == Infra {
			return Infra, c.Check + " could not be run: " + c.Reason
		}
	}
	for _, c := range checks {
		if c.Required && c.Verdict != Pass {
			return c.Verdict, checkReason(c)
		}
	}
	return Pass, ""
}

func checkReason(c CheckEnded) string {
	switch {
	case c.Verdict == Timeout:
		return c.Check + " did not end in time"
	case c.Signal != "":
		return c.Check + " died of signal " + c.Signal
	case c.Verdict == Inconclusive && c.Reason != "":
		return c.Check + " says nothing: " + c.Reason
	}
	return fmt.Sprintf("%s exited %d, wanted %d", c.Check, c.Exit, c.Want)
}

// expected reports whether the baseline was what the plan asks for.
func (s *State) expected(i int) bool {
	st := &s.steps[i]
	switch s.prog.Step(i).Expect {
	case ExpectRed:
		return st.Baseline == Fail
	case ExpectGreen:
		return st.Baseline == Pass
	}
	return true
}

// settle turns the verdict on an attempt into the step's next status.
func (s *State) settle(i int, v Verdict, reason string, now time.Time) StepSettled {
	st, p := &s.steps[i], s.prog.Step(i)
	e := StepSettled{Step: p.ID, Attempt: st.Attempt, Verdict: v, Reason: reason, Status: Waiting}
	switch {
	case v == Pass:
		e.Status, e.Proven = Done, st.Baseline == Fail
	case st.Phase == Ratchet && !st.Again && v != Infra:
		e.Status, e.Reason = Regressed, "no longer holds on the final tree: "+reason
	case st.Phase == Ratchet:
		e.Reason = "does not hold on the final tree: " + reason
	case v == Infra && st.Infra < len(infraWaits):
		e.Status, e.RetryAt = Running, new(now.Add(infraWaits[st.Infra]))
	case v == Infra || v == FlakyCheck || v == Inconclusive:
	case st.Tries < p.OnFail.Retries:
		e.Status, e.RetryAt = Running, new(now.Add(time.Duration(st.Tries+1)*p.Backoff))
	case p.OnFail.Then == Abort:
		e.Status = Failed
	case p.OnFail.Then == Skip:
		e.Status = Skipped
	}
	return e
}

// ordered settles what a person commanded.
func (s *State) ordered(i int) Event {
	st, p := &s.steps[i], s.prog.Step(i)
	e := StepSettled{Step: p.ID, Attempt: st.Attempt, By: st.Order.By, Reason: st.Order.Why}
	switch st.Order.Verb {
	case DoSkip:
		e.Status, e.Satisfies = Skipped, true
	case DoWaive:
		e.Status = Waived
	default:
		e.Status = Pending
	}
	return e
}

// answered settles what a person answered.
func (s *State) answered(i int) Event {
	st, p := &s.steps[i], s.prog.Step(i)
	a := st.Answer
	e := StepSettled{Step: p.ID, Attempt: st.Attempt, By: a.By, Reason: a.Text, Verdict: st.Verdict}
	switch a.Choice {
	case ChooseApprove, ChooseRetry:
		e.Status = Pending
	case ChooseDeny:
		e.Status, e.Reason = Skipped, strings.TrimSuffix("denied by "+a.By+": "+a.Text, ": ")
	case ChooseSkip:
		e.Status, e.Satisfies = Skipped, true
	case ChooseWaive:
		e.Status = Waived
	default:
		e.Status = Failed
	}
	return e
}

// asks reports whether the step waits for nothing but a person's yes.
func (s *State) asks(i int) bool {
	st := &s.steps[i]
	return s.prog.Step(i).Approval != "" && st.Granted.IsZero() && st.Status == Pending &&
		st.open == 0 && st.Item == "" && st.Order == nil
}

func (s *State) approval(i int) Event {
	p := s.prog.Step(i)
	return ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: s.steps[i].Attempt, Kind: Approval,
		Question: fmt.Sprintf("May step %s %q run? %s", p.Number, p.Title, p.Approval),
		Context:  p.Task, Hash: p.digest(), Choices: []string{ChooseApprove, ChooseDeny},
	}
}

func (s *State) escalation(i int) Event {
	st, p := &s.steps[i], s.prog.Step(i)
	e := ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: st.Attempt, Kind: Escalation, Cause: st.Verdict,
		Question: fmt.Sprintf("Step %s %q did not pass after attempt %d: %s. What now?", p.Number, p.Title, st.Attempt, st.Reason),
		Choices:  []string{ChooseRetry, ChooseSkip, ChooseWaive, ChooseAbort},
	}
	for _, f := range st.Feedback {
		e.Context += fmt.Sprintf("%s: %s, exit %d\n%s%s", f.Check, f.Verdict, f.Exit, f.Stdout, f.Stderr)
	}
	sum := sha256.Sum256([]byte(e.Question + "\x00" + e.Context))
	e.Hash = hex.EncodeToString(sum[:])
	return e
}

func (s *State) itemName() string {
	return fmt.Sprintf("%s/%d", s.run.Opened.Run, s.run.Items+1)
}

// digest identifies the step by its definition.
func (p *Step) digest() string {
	body, _ := json.Marshal(p) // plain data: it always marshals
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// ends is the end of the run, once nothing can move.
func (s *State) ends() *RunEnded {
	live := false
	for _, i := range s.active {
		live = live || s.steps[i].Live
	}
	switch {
	case !s.run.Live:
		return nil
	case s.stopping():
		if live {
			return nil
		}
		if s.run.Cancelled {
			return s.ended(Cancelled, 1, "cancelled by "+s.run.Reason)
		}
		return s.ended(Failed, 1, s.firstFailure())
	case s.run.Paused:
		return nil
	case s.diverging() && !s.run.Proving && !live:
		return s.ended(Failed, 6, "not converging: what was proved keeps breaking, round after round")
	case len(s.active) > 0:
		return nil
	case s.run.Critical > 0:
		return s.ended(Failed, 1, s.firstFailure())
	case s.run.Unsat == 0 && (s.run.Proved || !s.run.Opened.Policy.Ratchet):
		return s.ended(Done, 0, "")
	case !s.ready.empty() || s.due.Len() > 0 || len(s.items) > 0 || s.run.Unsat == 0:
		return nil
	}
	return s.ended(Failed, 1, s.firstFailure())
}

func (s *State) ended(status Status, exit int, reason string) *RunEnded {
	return &RunEnded{Status: status, Exit: exit, Reason: reason, Left: s.run.Unsat, Proven: s.run.Proven, Unproven: s.run.Unproven}
}

// firstFailure says why the run cannot go on, for people. It looks at all
// steps, once, at the run's end.
func (s *State) firstFailure() string {
	for _, want := range []Status{Failed, Skipped} {
		for i := range s.steps {
			if st := &s.steps[i]; st.Status == want && !st.satisfied() {
				return fmt.Sprintf("step %s %q is %s: %s", s.prog.Step(i).Number, s.prog.Step(i).Title, st.Status, st.Reason)
			}
		}
	}
	return "no step can move"
}

// feedback is what the next attempt is told of this one.
func feedback(st *step) []Feedback {
	var fs []Feedback
	if st.Ended != nil && endVerdict(st.Ended) != NoVerdict {
		fs = append(fs, Feedback{Check: "work", Verdict: endVerdict(st.Ended), Exit: st.Ended.Exit, Reason: st.Reason})
	}
	for _, c := range st.Checks {
		if c.Verdict != Pass || len(c.Tampered) > 0 {
			fs = append(fs, Feedback{Check: c.Check, Verdict: c.Verdict, Exit: c.Exit, Want: c.Want, Reason: c.Reason, Stdout: c.Stdout, Stderr: c.Stderr})
		}
	}
	return fs
}

// restore lists what has to be put back before the next attempt.
func restore(st *step) []Change {
	var cs []Change
	if st.Ended != nil {
		cs = append(append(cs, st.Ended.Tampered...), st.Ended.OutOfScope...)
	}
	for _, c := range st.Checks {
		cs = append(cs, c.Tampered...)
	}
	return cs
}
