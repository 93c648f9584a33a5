package engine

import (
	"cmp"
	"fmt"
	"time"
)

func (s *State) applySettled(e StepSettled, at time.Time) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	rule := s.rule(i)
	if !s.lawful(i, e) {
		st := &s.steps[i]
		return fmt.Errorf("step %q attempt %d settles as %q (%s) by %q out of %s, %s, attempt %d", e.Step, e.Attempt, e.Status, e.Verdict, e.By, st.Status, st.Phase, st.Attempt)
	}
	if err := s.yields(i, e); err != nil {
		return err
	}
	switch rule {
	case chooses:
		s.change(i, func(st *step) {
			st.stand(e, at)
			st.Chosen = e.Status == Pending
		})
		return nil
	case joins:
		s.change(i, func(st *step) {
			st.Finished = time.Time{}
			st.stand(e, at)
		})
		s.haltAfter(i, e)
		return nil
	}
	if e.By == "" && !s.waits(i) {
		s.reckons(i, e)
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
	if e.Status == Done || e.Status == Waived {
		s.finish(i)
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
	st, v := &s.steps[i], s.verdict(i)
	if !s.leavesLoop(i, v, e) {
		return false
	}
	plain := e.RetryAt == nil && !e.Proven && !e.Satisfies
	given := e.Status == Waiting || e.Status == Failed || e.Status == Skipped
	switch rule := s.rule(i); {
	case s.consults(i) && rule == nothing, e.Ask && !st.Ruling.asks():
		return false
	case st.Live || e.Attempt != st.Attempt:
		return false
	case rule == obeys || rule == heeds || rule == joins:
		want := s.follows(i, time.Time{}).(StepSettled)
		want.Reason, want.Produced = e.Reason, e.Produced
		return e == want
	case rule == chooses:
		known := e.Status == Waiting && e.Verdict == Inconclusive || (e.Status == Pending || e.Status == Skipped) && e.Verdict == NoVerdict
		return e.By == Harness && e.RetryAt == nil && !e.Proven && e.Satisfies == (e.Status == Skipped) && known
	case rule == expands || st.Active && st.Phase == Expanding: // its items cannot be used
		return e.By == Harness && e.Verdict == Inconclusive && plain && given
	case s.waits(i): // and does no longer
		return e.By == "" && plain && e.Status == st.Status
	case v == Pass && st.Apart:
		return e.By == "" && e.Status == Skipped && e.Satisfies && e.RetryAt == nil && !e.Proven
	case v == Pass:
		return e.By == "" && e.Status == Done && st.Phase != Ratchet && e.RetryAt == nil && !e.Satisfies && (!e.Proven || s.proves(i))
	case e.Proven || e.Satisfies:
		return false
	case v == Infra && e.RetryAt != nil:
		return e.By == "" && e.Status == st.Status
	case v != NoVerdict && e.RetryAt != nil:
		return e.By == "" && e.Status == Running && st.Phase != Ratchet
	case v != NoVerdict:
		return e.By == "" && (given || e.Status == Regressed && st.Phase == Ratchet)
	case !st.Active || st.Phase != Baseline || e.RetryAt != nil:
		return false
	case e.Status == Waiting: // work that was cut off left changes outside its scope behind
		return e.By == "" && e.Verdict == OutOfScope && st.Cut
	}
	// The approval grew too old, or the budget has no room any more.
	return e.By == Harness && e.Status == Pending && (e.Verdict == OverBudget && (s.bounded(i) || s.exceeded() != "") || !st.Granted.IsZero())
}

// keeps reports whether the step keeps its place and its scope while it waits:
// this machine could not ask the checks, so the work itself stands.
func (s *State) keeps(i int, e StepSettled) bool {
	st := &s.steps[i]
	if s.waits(i) {
		return e.By == "" && st.Active
	}
	return e.RetryAt != nil && e.Verdict == Infra && !s.hindered(i) && (len(st.Checks) > 0 || st.Phase == Merging)
}

// askLater asks the same checks again when the time has come.
func (s *State) askLater(i int, when time.Time) {
	st := &s.steps[i]
	st.Infra++
	poll := st.Poll
	st.become(st.Phase)
	if st.Poll = poll; st.Phase != Merging { // what was proved before the merge stays so
		st.Reverted = nil
	}
	s.wait(i, when)
}

// retry begins the next attempt, at once or when its time has come.
func (s *State) retry(i int, st *step, e StepSettled, at time.Time) {
	infra, tries := 0, st.Tries
	if e.Verdict != Infra {
		st.Named = st.Ruling.names()
	}
	switch {
	case e.Verdict == Infra:
		infra = st.Infra + 1
	case s.prog.Step(i).loops() && e.Exit == "":
		st.Laps++
	default:
		tries++
		st.anew()
	}
	st.collect()
	st.fresh()
	st.Attempt++
	st.Tries, st.Infra, st.Note = tries, infra, ""
	st.become(Retrying)
	st.Status = Running
	if e.RetryAt.After(at) {
		s.wait(i, *e.RetryAt)
	}
}

// collect keeps of an attempt what the next one needs to know.
func (st *step) collect() {
	if st.Ended == nil && len(st.Checks) == 0 {
		return
	}
	st.Feedback, st.Restore, st.Cause = nil, restore(st), nil
	if len(st.Checks) > 0 {
		st.Touched = nil
	}
	for _, c := range st.Checks {
		if len(c.Moved) > 0 {
			st.Touched = overlaid(st.Touched, c.Moved)
		}
	}
	if st.Ended != nil {
		st.Claims, st.Cause = st.Ended.Claims, st.Ended.Cause
	}
	if st.Barred == NoVerdict {
		st.Feedback = feedback(st)
	}
	st.Ended = nil
}

// fresh forgets the attempt under way.
func (st *step) fresh() {
	st.N, st.Lost, st.Cut, st.Infra, st.Ended = 0, 0, false, 0, nil
	st.worktree = worktree{Renew: st.Renew, Round: st.Round, Clashes: st.Clashes, Site: st.Site}
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
		for _, c := range st.Checks {
			s.move(c.Moved)
		}
		s.credits(i, e)
		st.Missed = e.Verdict == Pass && missed(st.Checks) != ""
		st.Ended, st.Feedback, st.Restore, st.Touched, st.Note = nil, nil, nil, nil, ""
		st.Merged = false
	default:
		if st.Phase == Ratchet {
			s.run.Proof.Regressed++
		}
		st.collect()
	}
	st.Stuck = st.Merge != nil && e.Status == Waiting && e.Verdict == Clash
	st.become(NoPhase)
	st.stand(e, at)
}

// stand is how a step stands from now on.
func (st *step) stand(e StepSettled, at time.Time) {
	st.Status, st.Verdict, st.Reason = e.Status, e.Verdict, e.Reason
	st.Proven, st.Counts, st.Aborted, st.Ask, st.Exit = e.Proven, e.Satisfies, e.aborts(), e.Ask, cmp.Or(e.Exit, st.Exit)
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
	st.become(NoPhase)
	st.Status, st.Started, st.Finished = Pending, time.Time{}, time.Time{}
	st.Proven, st.Counts, st.Aborted, st.Missed, st.Ask, st.Named = false, false, false, false, false, nil
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
	if order == nil && len(answer.Args) > 0 {
		st.Edited = digest(answer.Args) // the failed call is tried again with these
	}
	if st.resolves(order) || st.vouchedFor(order, answer) {
		return
	}
	st.anew()
	if st.N > 0 {
		st.Attempt++
	}
	st.fresh()
}
