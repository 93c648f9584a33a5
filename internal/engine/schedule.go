package engine

import (
	"slices"
	"strings"
	"time"
)

// stopping: live work is to end, and nothing may start.
func (s *State) stopping() bool { return s.run.Cancelled || s.run.Aborted }

// free: new work may start.
func (s *State) free() bool {
	return s.run.Live && !s.run.Paused && !s.stopping() && s.run.Critical == 0
}

// room is how many steps may be under way at once.
func (s *State) room() int {
	return max(1, min(s.prog.Parallel(), s.run.Opened.Policy.MaxParallel))
}

// eligible reports whether the step could start if there were room.
func (s *State) eligible(i int) bool {
	st := &s.steps[i]
	if st.Active || st.Item != "" || st.Order != nil || st.open > 0 || !s.granted(i) {
		return false
	}
	switch st.Status {
	case Pending, Regressed:
		return true
	case Running:
		return st.Phase == Retrying && st.RetryAt.IsZero()
	}
	return false
}

func (s *State) granted(i int) bool {
	return s.prog.Step(i).Approval == "" || !s.steps[i].Granted.IsZero()
}

// enqueue puts the step among the ready ones if it may start.
func (s *State) enqueue(i int) {
	if st := &s.steps[i]; !st.queued && s.eligible(i) {
		st.queued = true
		s.ready.push(s.prog.Step(i), i)
	}
}

// fill starts what is ready while there is room: first by the order in the
// plan, never two agents without a scope in one tree, never two overlapping
// scopes. It depends on the records alone, so a replay fills alike.
func (s *State) fill() {
	if s.prog == nil || !s.run.Live {
		return
	}
	if s.stopping() {
		for _, i := range slices.Clone(s.active) {
			if !s.steps[i].Live {
				s.stop(i)
			}
		}
		return
	}
	s.endRound()
	if !s.free() {
		return
	}
	s.beginRound()
	if s.run.Proving {
		s.fillRound()
		return
	}
	for len(s.active) < s.room() {
		i, ok := s.next()
		if !ok {
			return
		}
		s.start(i, Baseline)
	}
}

func (s *State) start(i int, phase Phase) {
	st := &s.steps[i]
	st.Active, st.Phase = true, phase
	if phase == Baseline {
		st.Status = Running
		if st.Attempt == 0 {
			st.Attempt = 1
		}
	}
	at, _ := slices.BinarySearch(s.active, i)
	s.active = slices.Insert(s.active, at, i)
	s.touch(i)
}

// stop takes a step back that was under way and came to no end.
func (s *State) stop(i int) {
	st := &s.steps[i]
	s.release(i)
	if st.Phase != Ratchet && st.Status == Running {
		st.Status = Pending
	}
	st.Phase, st.Live, st.Checks = NoPhase, false, nil
	s.touch(i)
}

func (s *State) release(i int) {
	st := &s.steps[i]
	if !st.Active {
		return
	}
	st.Active = false
	at, _ := slices.BinarySearch(s.active, i)
	s.active = slices.Delete(s.active, at, at+1)
	waiters := st.waiters
	st.waiters = nil
	for _, w := range waiters {
		s.steps[w].queued = false
		s.enqueue(w)
	}
}

// next takes the first ready step that may run beside those under way.
func (s *State) next() (int, bool) {
	for {
		i, ok := s.ready.pop(!s.agentActive())
		if !ok {
			return 0, false
		}
		s.steps[i].queued = false
		if !s.eligible(i) {
			continue
		}
		if holder, blocked := s.conflict(i); blocked {
			s.steps[i].queued = true
			s.steps[holder].waiters = append(s.steps[holder].waiters, i)
			continue
		}
		return i, true
	}
}

func (s *State) agentActive() bool {
	return slices.ContainsFunc(s.active, func(i int) bool { return s.prog.Step(i).Kind == Agent })
}

// conflict finds a step under way whose scope step i may not share.
func (s *State) conflict(i int) (int, bool) {
	mine := s.prog.Step(i)
	for _, a := range s.active {
		other := s.prog.Step(a)
		if mine.Kind == Agent && other.Exclusive() || overlap(mine.Writes, other.Writes) {
			return a, true
		}
	}
	return 0, false
}

// overlap reports whether two lists of globs may name one path. It errs on the
// safe side: only the parts before the first wildcard are compared.
func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			x, y := fixed(x), fixed(y)
			if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
				return true
			}
		}
	}
	return false
}

func fixed(glob string) string {
	glob = strings.TrimPrefix(glob, "./")
	if i := strings.IndexAny(glob, "*?[{"); i >= 0 {
		return glob[:i]
	}
	return glob
}

// beginRound begins proving everything again once all steps are satisfied and
// nothing runs. It looks at all steps, once a round.
func (s *State) beginRound() {
	if s.run.Unsat > 0 || len(s.active) > 0 || s.run.Proving || s.run.Proved || !s.run.Opened.Policy.Ratchet {
		return
	}
	s.run.Round++
	s.run.Regressed, s.run.ProveLeft = 0, nil
	for i := range s.steps {
		if p := s.prog.Step(i); s.steps[i].Status == Done && p.Holds && p.Rerunnable {
			s.run.ProveLeft = append(s.run.ProveLeft, i)
		}
	}
	s.run.Proving, s.run.Proved = len(s.run.ProveLeft) > 0, len(s.run.ProveLeft) == 0
}

func (s *State) fillRound() {
	for len(s.active) < s.room() && len(s.run.ProveLeft) > 0 {
		i := s.run.ProveLeft[0]
		s.run.ProveLeft = s.run.ProveLeft[1:]
		s.steps[i].Checks, s.steps[i].Infra = nil, 0
		s.start(i, Ratchet)
	}
}

// proved takes the answer of a step in a round.
func (s *State) proved(i int, v Verdict) {
	st := &s.steps[i]
	switch {
	case v == Pass:
		s.release(i)
		st.Phase, st.Checks = NoPhase, nil
	case v == Infra && st.Infra < len(infraWaits):
		st.Infra++
		st.Checks = nil
	}
}

func (s *State) endRound() {
	if !s.run.Proving || len(s.run.ProveLeft) > 0 || len(s.active) > 0 {
		return
	}
	s.run.Proving = false
	if s.run.Proved = s.run.Regressed == 0; !s.run.Proved {
		s.run.Regression = append(s.run.Regression, s.run.Regressed)
	}
}

// diverging: three rounds on end did not bring the regressions down.
func (s *State) diverging() bool {
	n := len(s.run.Regression)
	return n >= 3 && s.run.Regression[n-1] >= s.run.Regression[n-2] && s.run.Regression[n-2] >= s.run.Regression[n-3]
}

// touch brings the step's places in the indexes up to date.
func (s *State) touch(i int) {
	s.dirty.steps[i] = true
	s.must.put(i, s.follows(i, time.Time{}) != nil)
	s.ask.put(i, s.asks(i))
}
