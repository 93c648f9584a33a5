package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// infraWaits are the pauses before this machine's faults in a row are tried again.
var infraWaits = [...]time.Duration{time.Second, 5 * time.Second, 25 * time.Second}

// maxBackoff bounds what a growing backoff can come to.
const maxBackoff = 30 * 24 * time.Hour

// Decide returns the next fact that follows from the state at now, or nothing.
// It changes nothing: the caller appends what it returns, applies it, and asks
// again until nothing follows.
func (s *State) Decide(now time.Time) []Event {
	if !s.run.Live {
		return nil
	}
	if f, ok := s.owed(); ok {
		return []Event{f}
	}
	return s.promise(s.decide(now))
}

func (s *State) decide(now time.Time) []Event {
	if e, ok := s.lostLeaving(); ok {
		return []Event{e}
	}
	i, must := s.must.first()
	if rule := s.ruleOf(i, must); s.diverging() && (rule == escalates || rule == revises) {
		if e, ok := s.ends(); ok {
			return []Event{e} // nobody is asked what nobody could answer
		}
	}
	if must {
		return []Event{s.follows(i, now)}
	}
	if e, ok := s.expires(now); ok {
		return []Event{e}
	}
	if len(s.due) > 0 && !s.stopping() && !s.due[0].when.After(now) {
		return []Event{s.awake(s.due[0].step)}
	}
	if e, ok := s.advised(); ok {
		return []Event{e}
	}
	if i, ok := s.ask.first(); ok && s.free() {
		return []Event{s.asked(i)}
	}
	if e, ok := s.replanning(); ok {
		return []Event{e}
	}
	if e, ok := s.begs(now); ok {
		return []Event{e}
	}
	if e, ok := s.halts(); ok {
		return []Event{e}
	}
	if e, ok := s.ends(); ok {
		return []Event{e}
	}
	return nil
}

// Wake says when Decide should be asked again though nothing happened.
func (s *State) Wake() (time.Time, bool) {
	if !s.run.Live {
		return time.Time{}, false
	}
	it, waits := s.overdue()
	if s.stopping() || len(s.due) == 0 || waits && it.Expires.Before(s.due[0].when) {
		return it.Expires, waits
	}
	return s.due[0].when, true
}

// rule says which kind of fact follows for a step.
type rule int

const (
	nothing   rule = iota
	loses          // its work's owner is gone
	obeys          // a person commanded
	heeds          // a person answered
	revises        // the plan is to be revised for it
	escalates      // a person must be asked
	settles        // there is a verdict
	chooses        // its condition is the next thing to look at
	expands        // its items are
	joins          // its instances give it another status
	merges         // its worktree is next
	presents       // a person must be asked about a call
	runsOnce       // the checks, which may run only once, are next
)

// rule is a function of this step and of what holds for the whole run.
func (s *State) rule(i int) rule {
	st := &s.steps[i]
	switch {
	case !s.run.Live:
		return nothing
	case s.foreign(st):
		return loses
	case st.Live:
		return nothing
	case st.Order != nil:
		return obeys
	case st.Answer != nil:
		return heeds
	case s.joins(i):
		return joins
	case s.stopping():
		if s.verdict(i) == Pass {
			return settles // what is proved stays proved
		}
		return nothing
	case s.replans(i) && !s.lastRound():
		if s.run.Replan != nil {
			return nothing
		}
		return revises
	case st.Status == Waiting && st.Item == "" && !s.lastRound() && !s.revisedFor(i): // else it is asked once the round is over, and the run goes on
		return escalates
	case s.undecided(i):
		return chooses
	case s.expands(i):
		return expands
	case !st.Active:
		return nothing
	case s.consults(i):
		return nothing
	case s.verdict(i) != NoVerdict:
		return settles
	case st.Phase == Merging && !s.awaits(i) && !s.waits(i):
		return merges
	case s.presents(i):
		return presents
	case st.Phase == Verifying && !s.prog.Step(i).Rerunnable && len(st.Checks) == 0 && !s.awaits(i):
		return runsOnce
	}
	return nothing
}

// ruleOf is the rule of a step for which a fact must follow.
func (s *State) ruleOf(i int, must bool) rule {
	if !must {
		return nothing
	}
	return s.rule(i)
}

// follows is the fact of the step's rule.
func (s *State) follows(i int, now time.Time) Event {
	st, p := &s.steps[i], s.prog.Step(i)
	switch s.rule(i) {
	case loses:
		return WorkEnded{Step: p.ID, Attempt: st.Attempt, N: st.N, Kind: st.Kind, How: Lost, Usage: st.Said, Claims: st.Claimed, Reason: "its owner stopped"}
	case obeys:
		return s.obeyed(i)
	case heeds:
		return s.heeded(i)
	case revises:
		return s.calls(i, now)
	case escalates:
		return s.escalation(i)
	case settles:
		return s.judged(i, now)
	case chooses:
		return s.choice(i)
	case expands:
		return s.expansion(i)
	case joins:
		return s.join(i)
	case merges:
		return WorkDispatched{Step: p.ID, Attempt: st.Attempt, N: st.N + 1, Kind: MergeWork, Leave: s.unmerged(i)}
	case presents:
		return s.presentation(i)
	case runsOnce:
		return WorkDispatched{Step: p.ID, Attempt: st.Attempt, N: st.N + 1, Kind: ContractWork}
	}
	return nil
}

// judged turns the verdict on an attempt into the step's next status.
func (s *State) judged(i int, now time.Time) StepSettled {
	st, p := &s.steps[i], s.prog.Step(i)
	v := s.verdict(i)
	e := StepSettled{Step: p.ID, Attempt: st.Attempt, Verdict: v, Reason: s.reason(i, v), Status: Waiting}
	other := s.relieved(i, now)
	more := st.Infra < len(infraWaits) && (other || !st.lasts())
	switch {
	case v == Pass && st.Apart:
		e.Status, e.Satisfies, e.Reason = Skipped, true, leftReason
	case v == Pass:
		e.Status, e.Proven, e.Reason = Done, s.proves(i), cmp.Or(e.Reason, s.remark(i))
	case v == Infra && more && other:
		e.Status, e.RetryAt = st.Status, new(now)
	case v == Infra && more && (p.Rerunnable || len(st.Checks) == 0 || s.hindered(i)):
		e.Status, e.RetryAt = st.Status, new(now.Add(infraWaits[st.Infra]))
	case v == Infra || v == Flaky || v == Inconclusive || v == Clash:
	case st.Phase == Ratchet && !st.Again:
		e.Status = Regressed
	case st.Phase == Ratchet:
	case p.loops() && s.exits(i, v, true) == "":
		e.Status, e.RetryAt = Running, new(now.Add(p.backoff(st.Laps+1)))
	case s.retries(i) && !st.Ruling.early():
		e.Status, e.RetryAt = Running, new(now.Add(p.backoff(st.Tries+1)))
	case p.OnFail.Then == Abort:
		e.Status = Failed
	case p.OnFail.Then == Skip:
		e.Status = Skipped
	}
	if v != Pass && st.Ruling.early() && st.Tries < p.OnFail.Retries {
		e.Reason += "; the arbiter gave up the attempts that were left: " + st.Ruling.Why
	}
	if s.repeats(i) {
		e.Reason += again
	}
	e.Ask = st.Ruling.asks() && p.OnFail.Then == Replan && e.Status == Waiting
	e.Exit = s.exits(i, v, e.RetryAt != nil)
	e.Reason = s.exhausted(i, e.Exit, e.Reason)
	return e
}

// retries reports whether the plan has another attempt for a step that did not pass.
func (s *State) retries(i int) bool {
	st := &s.steps[i]
	return st.Tries < s.prog.Step(i).OnFail.Retries && st.refused() == "" && !s.repeats(i)
}

// again is said of an attempt that [State.repeats].
const again = ", as the attempt before did"

// repeats reports whether the work changed the very files that judge it, in the same way, as in
// the attempt before: it was told, and a further attempt would do so too.
func (s *State) repeats(i int) bool {
	st := &s.steps[i]
	return st.Ended != nil && endVerdict(st.Ended) == Tampered && slices.ContainsFunc(st.Feedback, func(f Feedback) bool {
		return f.Check == workItself && f.Verdict == Tampered && strings.TrimSuffix(f.Reason, again) == endReason(st, s.prog.Step(i))
	})
}

// backoff is the pause before the n-th retry.
func (p *Step) backoff(n int) time.Duration {
	if p.Backoff > maxBackoff/time.Duration(n) {
		return maxBackoff
	}
	return time.Duration(n) * p.Backoff
}

// awake ends a step's wait: it keeps the status it had.
func (s *State) awake(i int) StepSettled {
	st := &s.steps[i]
	return StepSettled{Step: s.prog.Step(i).ID, Attempt: st.Attempt, Status: st.Status, Verdict: st.Verdict, Reason: st.Reason}
}

// obeyed settles what a person commanded.
func (s *State) obeyed(i int) StepSettled {
	st := &s.steps[i]
	e := StepSettled{Step: s.prog.Step(i).ID, Attempt: st.Attempt, By: st.Order.By, Reason: st.Order.Why, Status: Pending}
	switch st.Order.Verb {
	case DoSkip:
		e.Status, e.Satisfies = Skipped, true
	case DoWaive:
		e.Status = Waived
	}
	return e
}

// heeded settles what a person answered. Where more of a budget is denied, the
// step ends as its plan says for one that failed.
func (s *State) heeded(i int) StepSettled {
	st, p := &s.steps[i], s.prog.Step(i)
	a, it := st.Answer, s.items[st.Item]
	e := StepSettled{Step: p.ID, Attempt: st.Attempt, By: a.By, Reason: a.Text, Verdict: st.Verdict}
	if it.Kind == Question {
		e.Status, e.Proven = Done, true
		return e
	}
	switch a.Choice {
	case ChooseApprove, ChooseRetry, ChooseFallback, ChooseLeave, ChooseVouch:
		e.Status = Pending
	case ChooseSkip:
		e.Status, e.Satisfies = Skipped, true
	case ChooseWaive:
		e.Status = Waived
	case ChooseDeny:
		e.Status, e.Reason = Skipped, worded("denied by", a.By, a.Text)
		if it.Shortage != nil {
			e.Verdict = OverBudget
			if p.OnFail.Then != Skip {
				e.Status = Failed
			}
		}
	case ChooseAbort:
		e.Status, e.Reason = Failed, worded("aborted by", a.By, a.Text)
	}
	return e
}

// worded says who did what, and why if they said so.
func worded(did, who, why string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s: %s", did, who, why), ": ")
}
