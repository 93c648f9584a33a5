package engine

import "time"

// round ends the round that is over and begins the next one where it is due. It
// reports whether there is one that goes on.
func (s *State) round() bool {
	s.endRound()
	if !s.free() {
		return false
	}
	s.beginRound()
	return s.run.Proving
}

// beginRound begins proving everything again once all steps are satisfied, and
// so nothing runs. It looks at all steps, once a round.
func (s *State) beginRound() {
	if s.undone() > 0 || s.run.Proving || !s.owes() {
		return
	}
	s.run.Round++
	s.run.Regressed, s.run.ProveLeft = 0, nil
	for i := range s.steps {
		if p := s.prog.Step(i); s.steps[i].Status == Done && p.Each == nil && p.Holds && p.Rerunnable && p.Checkable() {
			s.run.ProveLeft = append(s.run.ProveLeft, i)
		}
	}
	s.run.Proving = len(s.run.ProveLeft) > 0
	s.provenAll(!s.run.Proving)
}

func (s *State) fillRound() {
	for len(s.active) < s.room() && len(s.run.ProveLeft) > 0 {
		i := s.run.ProveLeft[0]
		s.run.ProveLeft = s.run.ProveLeft[1:]
		if s.steps[i].Status == Done && s.steps[i].Order == nil {
			s.steps[i].Infra = 0
			s.start(i, Ratchet)
		}
	}
}

// proved takes the answer of a step in a round. One that still holds was done
// and stays done; for any other its settling follows.
func (s *State) proved(i int, v Verdict) {
	if v != Pass {
		return
	}
	st := &s.steps[i]
	s.release(i)
	st.Phase, st.Checks, st.Verdict, st.Reason = NoPhase, nil, Pass, ""
}

func (s *State) endRound() {
	if !s.run.Proving || len(s.run.ProveLeft) > 0 || len(s.active) > 0 {
		return
	}
	s.run.Proving = false
	s.provenAll(s.run.Regressed == 0)
	if s.run.Proved {
		return
	}
	s.run.Regression = append(s.run.Regression, s.run.Regressed)
	for i := range s.steps {
		if s.steps[i].Status == Waiting { // it may be asked about now
			s.touch(i)
		}
	}
}

// diverging: three rounds on end did not bring the regressions down.
func (s *State) diverging() bool {
	n := len(s.run.Regression)
	return n >= 3 && s.run.Regression[n-1] >= s.run.Regression[n-2] && s.run.Regression[n-2] >= s.run.Regression[n-3]
}

// lastRound reports whether a round is under way that the run may end with as
// not converging: what a person would be asked of it nobody could answer.
func (s *State) lastRound() bool {
	n := len(s.run.Regression)
	return s.run.Proving && n >= 2 && s.run.Regression[n-1] >= s.run.Regression[n-2]
}

// regress lets a step that was done begin again. What the round saw stands for
// the baseline of the new attempt.
func (s *State) regress(st *step, e StepSettled) {
	st.Feedback, st.Restore = feedback(st), restore(st)
	st.fresh()
	st.Attempt++
	st.Tries, st.Again = 0, true
	st.HasBase = true
	if e.Verdict == Fail {
		st.Baseline = Fail
	}
	st.Status, st.Phase, st.Proven, st.Finished = Regressed, NoPhase, false, time.Time{}
	s.run.Regressed++
}
