package engine

import (
	"slices"
	"time"
)

// queue holds the steps of one class that may start.
type queue struct {
	in      set  // by rank
	blocked bool // a step under way conflicts, and will release it
}

// stopping: live work is to end, and nothing may start.
func (s *State) stopping() bool { return s.run.Cancelled || s.run.Aborted }

// free: new work may start.
func (s *State) free() bool { return s.unhindered() && s.exceeded() == "" }

// unhindered: nothing keeps new work from starting, but that the run may get nowhere.
func (s *State) unhindered() bool {
	return s.goesOn() && s.run.Replans.Advised == nil
}

// goesOn: nothing keeps the run from going on with its plan.
func (s *State) goesOn() bool {
	return s.run.Live && !s.run.Paused && !s.stopping() && s.run.Critical == 0 && len(s.run.Leaving) == 0 && s.run.Replan == nil && s.run.Futile.Over == ""
}

// room is how many steps may be at work at once.
func (s *State) room() int {
	return max(1, min(s.prog.Parallel(), s.run.Opened.Policy.MaxParallel))
}

// full: no other step may begin. Where steps run beside each other at all, one
// more is made ready while another is being checked: else its place would stand
// idle for as long as its checks take, and those of the next step's baseline.
func (s *State) full() bool {
	room := s.room()
	ahead := room > 1 && len(s.active) == room && slices.ContainsFunc(s.active, s.checked)
	return len(s.active) >= room && !ahead
}

// checked: the step's work is over, and its checks are under way.
func (s *State) checked(i int) bool {
	st := &s.steps[i]
	return st.Phase == Verifying && endVerdict(st.Ended) == NoVerdict
}

// eligible reports whether the step could start if there were room.
func (s *State) eligible(i int) bool {
	st := &s.steps[i]
	if s.pattern(i) && (st.Expanded || s.prog.Step(i).Each.Glob == "") || !s.pattern(i) && s.prog.Step(i).Kind == Ask {
		return false
	}
	if !s.run.Live || st.Active || st.Item != "" || st.Order != nil || st.open > 0 || s.waits(i) || !s.granted(i) || s.undecided(i) {
		return false
	}
	if s.lands(i) && (s.undone() > 0 || s.owes()) {
		return false
	}
	return st.Status == Pending || st.Status == Regressed || st.Status == Running
}

func (s *State) granted(i int) bool {
	p := s.prog.Step(i)
	return p.Approval == "" || p.shows() || p.Each != nil || !s.steps[i].Granted.IsZero()
}

// asks reports whether the step waits for nothing but a person's yes.
func (s *State) asks(i int) bool {
	st := &s.steps[i]
	return s.run.Live && (!s.granted(i) || s.prog.Step(i).Kind == Ask && !s.pattern(i)) && st.Status == Pending && st.open == 0 && st.Item == "" && st.Order == nil && !s.undecided(i)
}

// enqueue puts the step among the ready ones if it may start, else takes it out.
func (s *State) enqueue(i int) {
	c := s.prog.classes.of[i]
	if c == free {
		s.makeReady(i, s.eligible(i))
		return
	}
	s.offer(c, false)
	s.queues[c].in.put(s.prog.classes.rank[i], s.eligible(i))
	s.offer(c, true)
}

// offer puts a class's first step among the ready ones, or takes it away.
func (s *State) offer(c int, in bool) {
	q := &s.queues[c]
	if rank, ok := q.in.first(); ok {
		s.makeReady(s.prog.classes.members[c][rank], in && !q.blocked)
	}
}

// makeReady puts the step among the ready ones, or takes it away.
func (s *State) makeReady(i int, in bool) {
	s.ready.put(i, in)
	s.thrifty.put(i, in && !s.prog.Step(i).spends())
}

// fill starts what is ready while there is room: first by the order in the
// plan, and never two steps that conflict. It depends on the records alone, so
// a replay fills alike.
func (s *State) fill(now time.Time) {
	if !s.run.Live {
		return
	}
	if s.stopping() {
		s.drop()
		return
	}
	if s.round() {
		return
	}
	for s.hide(); s.free() && !s.full(); s.hide() {
		i, ok := s.startable(now)
		if !ok {
			return
		}
		s.start(i, s.opening(i))
	}
}

// opening is the phase that a step begins with.
func (s *State) opening(i int) Phase {
	switch {
	case s.pattern(i):
		return Expanding
	case s.lands(i):
		return Merging
	}
	return Baseline
}

// drop takes back what is under way, less what is still being stopped and what
// has passed already.
func (s *State) drop() {
	for _, i := range slices.Clone(s.active) {
		if !s.steps[i].Live && s.rule(i) == nothing {
			s.stop(i)
		}
	}
}

// hide takes steps that conflict with one under way from among the ready ones,
// until the first of them conflicts with none: so what keeps back others is the
// same however the state came about. A class that conflicts is not looked at
// again before that step is released.
func (s *State) hide() {
	for _, of := range [...]*set{&s.ready, &s.thrifty} {
		for i, ok := of.first(); ok; i, ok = of.first() {
			holder, blocked := s.conflict(i)
			if !blocked {
				break
			}
			c := s.prog.classes.of[i]
			s.offer(c, false)
			s.queues[c].blocked = true
			s.steps[holder].waiters = append(s.steps[holder].waiters, c)
		}
	}
}

// conflict finds a step under way beside which step i must not run.
func (s *State) conflict(i int) (int, bool) {
	if s.prog.classes.of[i] == free {
		return 0, false
	}
	for _, a := range s.active {
		if !s.prog.Step(a).Worktree && s.prog.Step(i).conflicts(s.prog.Step(a)) {
			return a, true
		}
	}
	return 0, false
}

// start puts the step under way.
func (s *State) start(i int, phase Phase) {
	at, _ := slices.BinarySearch(s.active, i)
	s.active = slices.Insert(s.active, at, i)
	s.change(i, func(st *step) {
		st.become(phase)
		st.Active = true
		st.Used.Work.run(true, s.last)
		if phase != Ratchet {
			st.Status = Running
		}
		if phase == Baseline || phase == Merging {
			st.Attempt = max(1, st.Attempt)
		}
		if phase == Baseline {
			s.goOnResolved(i, st)
		}
	})
}

// stop takes a step back that was under way and came to no end.
func (s *State) stop(i int) {
	s.release(i)
	s.unwait(i)
	s.change(i, func(st *step) {
		if st.Ended != nil && endVerdict(st.Ended) != Inconclusive {
			st.Restore, st.Ended = restore(st), nil
		}
		st.become(NoPhase)
		st.Merged = false
		if st.Status == Running {
			st.Status, st.Cut = Pending, st.Cut || st.N > 0
		}
	})
}

// release ends the step's hold of its scope and of its place.
func (s *State) release(i int) {
	st := &s.steps[i]
	if !st.Active {
		return
	}
	st.Active, st.Lease, st.Behind = false, 0, nil
	st.Used.Work.run(false, s.last)
	at, _ := slices.BinarySearch(s.active, i)
	s.active = slices.Delete(s.active, at, at+1)
	for _, c := range st.waiters {
		s.queues[c].blocked = false
		s.offer(c, true)
	}
	st.waiters = nil
}
