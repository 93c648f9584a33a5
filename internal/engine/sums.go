package engine

import "slices"

// standing is what a step counts for in the run's sums and with its dependents.
type standing struct {
	satisfied, hopeless, critical, done, proven, waived, skipped, failed bool

	missed bool // an optional check did not pass
	flaky  bool

	apart bool // counted by its instances, or by none of the sums
}

func (s *State) standing(i int) standing {
	st := &s.steps[i]
	divided := st.Expanded && (st.Proven || !s.empty(i))
	return standing{
		satisfied: st.satisfied(),
		hopeless:  st.hopeless(),
		critical:  st.Status == Failed && s.prog.Step(i).Critical,
		done:      st.Status == Done && !divided && !s.lands(i),
		proven:    st.Proven,
		missed:    st.Missed,
		flaky:     st.Flaky && !divided,
		waived:    st.Status == Waived,
		skipped:   st.Status == Skipped && !s.lands(i),
		failed:    st.Status == Failed && st.lapsed(),
		apart:     divided && st.Status != Waived && st.Status != Skipped || s.lands(i),
	}
}

// change is the only way to a step's status: it brings sums, dependents and
// indexes in line with what to does.
func (s *State) change(i int, to func(st *step)) {
	was := s.standing(i)
	to(&s.steps[i])
	is := s.standing(i)
	s.tally(was, -1)
	s.tally(is, 1)
	if is.satisfied != was.satisfied {
		for _, d := range s.prog.Dependents(i) {
			s.need(d, -one(is.satisfied))
		}
		s.mayLand()
	}
	if is.hopeless != was.hopeless {
		s.spread(i, is.hopeless)
	}
	s.part(i, was, is)
	s.show(i)
	s.touch(i)
}

// tally counts a step in or out.
func (s *State) tally(x standing, by int) {
	if !x.satisfied {
		s.run.Unsat += by
	}
	if x.critical {
		s.run.Critical += by
	}
	if x.apart {
		s.run.Apart += by
	}
	if x.apart && x.satisfied {
		s.run.ApartMet += by
	}
	if x.done && x.missed {
		s.run.Missed += by
	}
	if x.flaky {
		s.run.Flaky += by
	}
	switch {
	case x.done && x.proven:
		s.run.Proven += by
	case x.done:
		s.run.Unproven += by
	case x.waived:
		s.run.Waived += by
	case x.skipped:
		s.run.Skipped += by
	}
}

// need changes how many needs of the step are open.
func (s *State) need(i, by int) {
	was := s.eligible(i)
	s.steps[i].open += by
	if s.eligible(i) != was {
		s.show(i)
	}
	s.touch(i)
}

// spread tells dependents, and theirs, that a need cannot be met any more, or
// can be again. Each step is told once, so a run pays for its edges only.
func (s *State) spread(i int, dead bool) {
	for stack := []int{i}; len(stack) > 0; {
		i, stack = stack[len(stack)-1], stack[:len(stack)-1]
		for _, d := range s.prog.Dependents(i) {
			was := s.standing(d)
			s.steps[d].dead += one(dead)
			s.show(d)
			if s.steps[d].hopeless() != was.hopeless {
				s.part(d, was, s.standing(d))
				stack = append(stack, d)
			}
		}
	}
}

// blocker is a need of the step that cannot be satisfied, of one that has any.
func (s *State) blocker(i int) int {
	needs := s.prog.Step(i).Needs
	return needs[slices.IndexFunc(needs, func(n int) bool { return s.steps[n].hopeless() })]
}

func one(up bool) int {
	if up {
		return 1
	}
	return -1
}

func ones(up bool) int {
	if up {
		return 1
	}
	return 0
}

// touch renews the step's place in the indexes.
func (s *State) touch(i int) {
	s.must.put(i, s.rule(i) != nothing)
	s.ask.put(i, s.asks(i))
	counts := s.steps[i].Status == Done || s.steps[i].Status == Waived
	s.worked.put(i, s.works(i) && counts)
	s.strays.put(i, s.works(i) && !counts && s.steps[i].Attempt > 0)
	s.enqueue(i)
}

// rebuild derives the indexes and the sums from the steps: the full scan that no
// event in the course of a run costs.
func (s *State) rebuild() {
	n := len(s.steps)
	s.active, s.due = nil, nil
	s.must, s.ask, s.ready, s.thrifty, s.worked, s.strays = newSet(n), newSet(n), newSet(n), newSet(n), newSet(n), newSet(n)
	s.queues = make([]queue, len(s.prog.classes.members))
	for c := range s.queues {
		s.queues[c].in = newSet(len(s.prog.classes.members[c]))
	}
	s.run.sums = sums{}
	for i := range s.steps {
		s.steps[i].needs, s.steps[i].instances = needs{}, instances{}
	}
	for i := range s.steps {
		if pattern, ok := s.prog.Pattern(i); ok {
			s.steps[pattern].left += ones(!s.steps[i].satisfied())
		}
	}
	for _, i := range s.prog.order() {
		s.weigh(i)
	}
	for i := range s.steps {
		is := s.standing(i)
		s.tally(is, 1)
		if pattern, ok := s.prog.Pattern(i); ok {
			s.steps[pattern].spoilt += ones(is.hopeless)
			s.steps[pattern].failed += ones(is.failed)
		}
		if s.steps[i].Active {
			s.active = append(s.active, i)
		}
		if s.waits(i) {
			s.wait(i, s.steps[i].RetryAt)
		}
	}
	for i := range s.steps {
		s.touch(i)
	}
	s.hide()
}

// weigh counts the needs of a step of which nothing was counted yet.
func (s *State) weigh(i int) {
	for _, n := range s.prog.Step(i).Needs {
		s.steps[i].open += ones(!s.steps[n].satisfied())
		s.steps[i].dead += ones(s.steps[n].hopeless())
	}
}
