package engine

// standing is what a step counts for in the run's sums and with its dependents.
type standing struct {
	satisfied, hopeless, critical, done, proven, waived, skipped, failed bool

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
		waived:    st.Status == Waived,
		skipped:   st.Status == Skipped,
		failed:    st.Status == Failed && st.lapsed(),
		apart:     (divided || s.lands(i)) && st.Status != Waived && st.Status != Skipped,
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
		s.run.Unsat -= one(is.satisfied)
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
	if x.critical {
		s.run.Critical += by
	}
	if x.apart {
		s.run.Apart += by
	}
	if x.apart && x.satisfied {
		s.run.ApartMet += by
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
			s.blame(d, i, dead)
			if s.steps[d].hopeless() != was.hopeless {
				s.part(d, was, s.standing(d))
				stack = append(stack, d)
			}
		}
	}
}

// blame counts a dead need of the step and keeps one of them for people.
func (s *State) blame(i, need int, dead bool) {
	st := &s.steps[i]
	st.dead += one(dead)
	switch {
	case dead && st.dead == 1:
		st.Blocker = need
	case dead || st.Blocker != need:
		return
	default:
		for _, n := range s.prog.Step(i).Needs {
			if st.dead > 0 && s.steps[n].hopeless() {
				st.Blocker = n
				break
			}
		}
	}
	s.show(i)
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
	s.enqueue(i)
}

// index makes the indexes empty, for as many steps as there are.
func (s *State) index() {
	n := len(s.steps)
	s.active, s.due = nil, nil
	s.must, s.ask, s.ready, s.thrifty = newSet(n), newSet(n), newSet(n), newSet(n)
	s.queues = make([]queue, len(s.prog.classes.members))
	for c := range s.queues {
		s.queues[c].in = newSet(len(s.prog.classes.members[c]))
	}
}
