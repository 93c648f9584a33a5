package engine

import (
	"fmt"
	"time"
)

func (s *State) applySettled(e StepSettled, at time.Time) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	if !s.lawful(i, e) {
		st := &s.steps[i]
		return fmt.Errorf("step %q attempt %d settles as %q (%s) by %q out of %s, %s, attempt %d", e.Step, e.Attempt, e.Status, e.Verdict, e.By, st.Status, st.Phase, st.Attempt)
	}
	switch {
	case s.undecided(i):
		s.choose(i, e, at)
		return nil
	case s.joins(i):
		s.applyJoined(i, e, at)
		s.haltAfter(i, e)
		return nil
	}
	keeps := s.keeps(i, e)
	if !keeps {
		s.release(i)
	}
	s.change(i, func(st *step) {
		st.Verdict, st.Reason = e.Verdict, e.Reason
		switch waited := s.waits(i); {
		case e.RetryAt != nil && keeps:
			s.askLater(i, *e.RetryAt)
		case e.RetryAt != nil:
			s.retry(i, st, e, at)
		case waited && e.By == "":
			s.unwait(i)
		default:
			s.settleAs(i, st, e, at)
		}
	})
	if s.steps[i].Expanded && e.Status == Pending {
		s.collapse(i)
	}
	s.haltAfter(i, e)
	return nil
}

// haltAfter lets a failure that ends the run do so.
func (s *State) haltAfter(i int, e StepSettled) {
	if e.Status == Failed && (e.aborts() || s.prog.Step(i).Critical) {
		s.halt(&s.run.Aborted)
	}
}

// aborts reports whether a person failed the step, and the run with it.
func (e StepSettled) aborts() bool {
	return e.Status == Failed && e.By != "" && e.By != Harness && e.Verdict != OverBudget
}

// lawful reports whether the step may settle so. It holds the laws that no
// journal may break, whatever the policy was when it was written: a step
// becomes done by checks that all passed, is proven if they failed before, and
// a person's word needs a record of what the person said.
func (s *State) lawful(i int, e StepSettled) bool {
	st := &s.steps[i]
	switch {
	case s.undecided(i):
		return lawfulChoice(st, e)
	case s.joins(i):
		want := s.join(i)
		return e.Proven == want.Proven && e.By == want.By && e.Status == want.Status && e.Attempt == want.Attempt && e.RetryAt == nil && !e.Satisfies
	case s.lawfulUnfit(i, e):
		return true
	}
	if st.hasAnswer(s.prog.Step(i), e) {
		return e.Attempt == st.Attempt && e.By == st.Answer.By
	}
	if st.Live || e.Attempt != st.Attempt || e.Proven && !s.proves(i) {
		return false
	}
	if e.By != "" && e.By != Harness {
		return s.said(i, e)
	}
	v := s.verdict(i)
	failed := v != NoVerdict && v != Pass
	switch e.Status {
	case Done:
		return v == Pass && st.Phase != Ratchet && e.RetryAt == nil || st.Phase == Ratchet && s.pauses(i, e)
	case Running:
		return st.Phase != Ratchet && (s.pauses(i, e) || failed && e.RetryAt != nil)
	case Regressed:
		return failed && st.Phase == Ratchet && e.RetryAt == nil
	case Waiting, Failed, Skipped:
		return (failed || st.strays(e)) && e.RetryAt == nil && !e.Satisfies
	case Pending: // the approval grew too old, or the budget has no room any more
		return e.By == Harness && st.Active && st.Phase == Baseline && e.RetryAt == nil &&
			(e.Verdict == OverBudget && s.bounded(i) || !st.Granted.IsZero())
	}
	return false
}

// strays reports whether e asks a person because work that was cut off left
// changes outside its scope behind.
func (st *step) strays(e StepSettled) bool {
	return st.Active && st.Phase == Baseline && st.Cut && e.Status == Waiting && e.Verdict == OutOfScope
}

// pauses reports whether e only makes the step wait, or ends its wait: its
// status stays.
func (s *State) pauses(i int, e StepSettled) bool {
	if s.waits(i) {
		return e.By == "" && e.RetryAt == nil && e.Status == s.steps[i].Status
	}
	return e.RetryAt != nil && s.verdict(i) == Infra
}

// said reports whether the settling is what a person commanded or answered.
func (s *State) said(i int, e StepSettled) bool {
	st := &s.steps[i]
	var want Status
	var counts bool
	switch {
	case st.Order != nil:
		want, counts = st.Order.Verb.gives()
	case st.Answer != nil:
		want, counts = s.gives(i, st.Answer.Choice)
	}
	return want != "" && e.Status == want && e.Satisfies == counts && e.RetryAt == nil && !e.Proven
}

// gives is the status that a command gives a step, and whether the step then
// counts for what needs it though it was skipped.
func (v Verb) gives() (Status, bool) {
	switch v {
	case DoSkip:
		return Skipped, true
	case DoWaive:
		return Waived, false
	}
	return Pending, false
}

// gives is the same for an answer. Where more of a budget is denied, the step
// ends as its plan says for one that failed.
func (s *State) gives(i int, choice string) (Status, bool) {
	switch choice {
	case ChooseApprove, ChooseRetry:
		return Pending, false
	case ChooseDeny:
		if s.items[s.steps[i].Item].Shortage != nil && s.prog.Step(i).OnFail.Then != Skip {
			return Failed, false
		}
		return Skipped, false
	case ChooseSkip:
		return Skipped, true
	case ChooseWaive:
		return Waived, false
	}
	return Failed, false
}

// keeps reports whether the step keeps its place and its scope while it waits:
// this machine could not ask the checks, so the work itself stands.
func (s *State) keeps(i int, e StepSettled) bool {
	st := &s.steps[i]
	if s.waits(i) {
		return e.By == "" && st.Active
	}
	return e.RetryAt != nil && e.Verdict == Infra && (len(st.Checks) > 0 || st.Phase == Merging)
}

// askLater asks the same checks again when the time has come.
func (s *State) askLater(i int, when time.Time) {
	st := &s.steps[i]
	st.Infra++
	st.Checks, st.Merge = nil, nil
	if st.Phase == Baseline {
		st.HasBase, st.Barred = false, NoVerdict
	}
	s.wait(i, when)
}

// retry begins the next attempt, at once or when its time has come.
func (s *State) retry(i int, st *step, e StepSettled, at time.Time) {
	infra, tries := 0, st.Tries+1
	if e.Verdict == Infra {
		infra, tries = st.Infra+1, st.Tries
	}
	st.collect()
	st.fresh()
	st.Attempt++
	st.Tries, st.Infra, st.Note = tries, infra, ""
	st.Status, st.Phase = Running, Retrying
	if e.RetryAt.After(at) {
		s.wait(i, *e.RetryAt)
	}
}

// collect keeps of an attempt what the next one needs to know.
func (st *step) collect() {
	if st.Ended == nil && len(st.Checks) == 0 {
		return
	}
	st.Feedback, st.Restore = nil, restore(st)
	if st.Ended != nil {
		st.Claims = st.Ended.Claims
	}
	if st.Barred == NoVerdict {
		st.Feedback = feedback(st)
	}
	st.Ended, st.Checks, st.Answers = nil, nil, nil
}

// fresh forgets the attempt under way, and a baseline that barred it.
func (st *step) fresh() {
	if st.Barred != NoVerdict {
		st.HasBase, st.Barred = false, NoVerdict
	}
	st.N, st.Lost, st.Cut, st.Infra, st.Looked = 0, 0, false, 0, false
	st.worktree = worktree{Renew: st.Renew, Round: st.Round, Clashes: st.Clashes}
	st.Ended, st.Checks, st.Answers = nil, nil, nil
}

// settleAs gives the step its new status.
func (s *State) settleAs(i int, st *step, e StepSettled, at time.Time) {
	order, answer := st.Order, st.Answer
	s.unwait(i)
	s.closeItem(i)
	st.Order, st.Answer = nil, nil
	switch e.Status {
	case Pending:
		st.collect()
		st.reenter(e, order, answer)
		return
	case Regressed:
		s.regress(st, e)
		return
	case Done:
		s.allow(st.Checks)
		st.Ended, st.Checks, st.Answers = nil, nil, nil
		st.Feedback, st.Restore, st.Note = nil, nil, ""
		st.Merged = false
	default:
		if st.Phase == Ratchet {
			s.run.Proof.Regressed++
		}
		st.collect()
	}
	st.Stuck = st.Merge != nil && e.Status == Waiting && e.Verdict == Clash
	st.Status, st.Phase, st.Merge = e.Status, NoPhase, nil
	st.Proven, st.Counts, st.Aborted = e.Proven, e.Satisfies, e.aborts()
	if st.settled() {
		st.Finished = at
	}
}

// reenter puts a step back to its start. A person's word gives a step whose
// tries are used up one more.
func (st *step) reenter(e StepSettled, order *Command, answer *ItemAnswered) {
	if st.satisfied() {
		st.Tries = 0
	}
	st.Status, st.Phase, st.Started, st.Finished = Pending, NoPhase, time.Time{}, time.Time{}
	st.Proven, st.Counts, st.Aborted = false, false, false
	switch {
	case e.By == Harness && e.Verdict == OverBudget:
		return
	case e.By == Harness: // the approval grew too old
		st.Granted = time.Time{}
		return
	case order != nil:
		// Who wants this very step again wants it whatever the condition says.
		st.Note, st.Chosen = order.Why, !order.From
	case answer.Choice == ChooseApprove:
		return
	default:
		st.Note = answer.Text
	}
	if st.Preview != nil {
		st.Preview, st.Edited, st.Granted = nil, "", time.Time{}
	}
	if st.resolves(order) {
		return
	}
	if st.N > 0 {
		st.Attempt++
	}
	st.fresh()
}
