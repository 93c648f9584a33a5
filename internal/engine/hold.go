package engine

import (
	"slices"
	"time"
)

// Hold is what keeps a step from beginning or from going on. The zero Hold says
// that nothing does: the step has come to its end, is at work, or begins next.
type Hold struct {
	Needs    []int     // steps that have to count first: what it needs, or its instances
	Blocked  bool      // the one in Needs never will, as things stand
	Behind   *Holder   // whose lease it waits for
	Beside   []int     // the step under way that uses its scope, or, with Full, all that are under way
	Full     bool      // they have all the places there are
	Retry    time.Time // when it is tried again
	Item     string    // what a person has to answer first: for the step, or for more of the run's budget
	Budget   bool      // the budget has no room for it beside what is under way
	Paused   bool      // the run is
	Proving  bool      // what is done is proved again before it begins
	Critical []int     // failed steps after which nothing begins, unless it is blocked
}

// Hold says what keeps the i-th step at now. It costs a look at what the step
// needs, and for one after a critical failure at all steps.
func (s *State) Hold(i int, now time.Time) Hold {
	st := &s.steps[i]
	if st.settled() || st.Live {
		return Hold{}
	}
	h := Hold{Needs: s.lacking(i)}
	if h.Blocked = s.shown(i) == Blocked; h.Blocked {
		h.Needs = []int{s.blocker(i)}
	}
	if !h.Blocked && (s.run.Critical > 0 || s.run.Aborted) {
		h.Critical = s.fatal()
	}
	if !s.run.Live {
		return h
	}
	h.Behind, h.Retry, h.Item, h.Paused = st.Behind, st.RetryAt, st.Item, s.run.Paused
	if !st.Active && s.eligible(i) && s.free() {
		s.queued(i, now, &h)
	}
	h.Proving = !st.Active && (s.run.Proof.Stage != noRound || s.lands(i) && s.undone() == 0 && s.owes())
	return h
}

// queued says what keeps a step that could start.
func (s *State) queued(i int, now time.Time, h *Hold) {
	holder, conflicts := s.conflict(i)
	switch {
	case conflicts:
		h.Beside = []int{holder}
	case s.full():
		h.Full, h.Beside = true, slices.Clone(s.active)
	case s.fit(i, now) != ample:
		h.Budget, h.Item = true, s.run.Asking
	}
}

// lacking lists what has to count before step i: of a step for each item the
// instances.
func (s *State) lacking(i int) []int {
	of := s.prog.Step(i).Needs
	if s.steps[i].Expanded {
		of = s.prog.Instances(i)
	}
	var left []int
	for _, n := range of {
		if !s.steps[n].satisfied() {
			left = append(left, n)
		}
	}
	return left
}

// fatal lists the failed steps after which nothing begins.
func (s *State) fatal() []int {
	var all []int
	for i := range s.steps {
		if s.steps[i].Status == Failed && s.prog.Step(i).Critical {
			all = append(all, i)
		}
	}
	return all
}
