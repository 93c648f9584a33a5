package engine

import (
	"fmt"
	"slices"
	"time"
)

// Scan compares every index and sum of the state with a look at all steps: the
// slow and obvious way to know what the indexes claim.
func (s *State) Scan() error {
	if s.prog == nil {
		return nil
	}
	for i := range s.steps {
		if err := s.scanStep(i); err != nil {
			return fmt.Errorf("step %q: %w", s.prog.Step(i).ID, err)
		}
	}
	if err := s.scanQueues(); err != nil {
		return err
	}
	return s.scanSums()
}

func (s *State) scanStep(i int) error {
	st := &s.steps[i]
	open, dead := 0, 0
	for _, n := range s.prog.Step(i).Needs {
		if !s.steps[n].satisfied() {
			open++
		}
		if s.steps[n].hopeless() {
			dead++
		}
	}
	left, spoilt, failed := 0, 0, 0
	for _, n := range s.prog.Instances(i) {
		x := s.standing(n)
		left, spoilt, failed = left+ones(!x.satisfied), spoilt+ones(x.hopeless), failed+ones(x.failed)
	}
	switch {
	case [3]int{left, spoilt, failed} != [3]int{st.left, st.spoilt, st.failed}:
		return fmt.Errorf("of its instances %d are left, %d spoilt and %d failed, a scan finds %d, %d and %d", st.left, st.spoilt, st.failed, left, spoilt, failed)
	case s.prog.Step(i).Each != nil && (st.Live || st.Active && st.Phase != Expanding || st.Attempt > 0):
		return fmt.Errorf("is a pattern and works: %s, attempt %d", st.Phase, st.Attempt)
	case st.open != open || st.dead != dead:
		return fmt.Errorf("open %d and dead %d, a scan finds %d and %d", st.open, st.dead, open, dead)
	case s.must.has(i) != (s.rule(i) != nothing):
		return fmt.Errorf("must is %v, a scan finds rule %d", s.must.has(i), s.rule(i))
	case s.rule(i) != nothing && s.follows(i, s.run.Started) == nil:
		return fmt.Errorf("rule %d gives no event", s.rule(i))
	case s.ask.has(i) != s.asks(i):
		return fmt.Errorf("ask is %v, a scan finds %v", s.ask.has(i), s.asks(i))
	case slices.Contains(s.active, i) != st.Active:
		return fmt.Errorf("is active %v, which the list denies", st.Active)
	case st.Live && !st.Active:
		return fmt.Errorf("is live and not active")
	case (st.Item != "") != (s.items[st.Item].Step == s.prog.Step(i).ID):
		return fmt.Errorf("item %q is not its own", st.Item)
	case s.waits(i) && !slices.Contains(s.due, due{st.RetryAt, i}):
		return fmt.Errorf("waits until %s and is not due", st.RetryAt)
	}
	return s.scanReady(i)
}

// scanReady: the first eligible step of a class is ready, unless the class
// waits for a step under way that it conflicts with.
func (s *State) scanReady(i int) error {
	c := s.prog.classes.of[i]
	want := s.eligible(i)
	if c != free {
		q := &s.queues[c]
		if got := q.in.has(s.prog.classes.rank[i]); got != want {
			return fmt.Errorf("its class holds it: %v, a scan finds %v", got, want)
		}
		first := slices.IndexFunc(s.prog.classes.members[c], s.eligible)
		want = want && !q.blocked && s.prog.classes.members[c][first] == i
	}
	if got := s.thrifty.has(i); got != (want && !s.prog.Step(i).spends()) {
		return fmt.Errorf("thrifty is %v, and it is ready: %v", got, want)
	}
	if got := s.ready.has(i); got != want {
		return fmt.Errorf("ready is %v, a scan finds %v", got, want)
	}
	return nil
}

func (s *State) scanQueues() error {
	holders := make([]int, len(s.queues))
	for i := range s.steps {
		for _, c := range s.steps[i].waiters {
			holders[c]++
			if !s.steps[i].Active || !s.prog.Step(s.prog.classes.members[c][0]).conflicts(s.prog.Step(i)) {
				return fmt.Errorf("class %d waits for step %d without cause", c, i)
			}
		}
	}
	for c := range s.queues {
		if s.queues[c].blocked != (holders[c] == 1) || holders[c] > 1 {
			return fmt.Errorf("class %d is blocked: %v, by %d steps", c, s.queues[c].blocked, holders[c])
		}
	}
	if !slices.IsSorted(s.active) {
		return fmt.Errorf("active is not in order: %v", s.active)
	}
	if len(s.due) > 0 && !s.steps[s.due[0].step].RetryAt.Equal(s.due[0].when) {
		return fmt.Errorf("the first due entry is stale")
	}
	return nil
}

func (s *State) scanSums() error {
	var unsat, critical, proven, unproven int
	var held Amount
	for _, l := range s.run.Leaving {
		held.Tokens, held.CostMicros = held.Tokens+l.Reserve.Tokens, held.CostMicros+l.Reserve.CostMicros
	}
	for i := range s.steps {
		r := s.steps[i].Reserve
		if !s.steps[i].Live && r != (Amount{}) {
			return fmt.Errorf("step %d sets %+v aside, and does not work", i, r)
		}
		held.Tokens, held.CostMicros = held.Tokens+r.Tokens, held.CostMicros+r.CostMicros
	}
	if held != s.run.Used.Held {
		return fmt.Errorf("%+v are set aside, a scan finds %+v", s.run.Used.Held, held)
	}
	if _, open := s.items[s.run.Asking]; s.run.Asking != "" && !open {
		return fmt.Errorf("item %q asks for more, and is not open", s.run.Asking)
	}
	for i := range s.steps {
		st := &s.steps[i]
		switch {
		case s.prog.Step(i).Kind == Landing:
		case st.Status == Done && st.Proven && !st.Expanded:
			proven++
		case st.Status == Done && (!st.Expanded || len(s.prog.Instances(i)) == 0 && !st.Proven):
			unproven++
		}
		if !st.satisfied() {
			unsat++
		}
		if st.Status == Failed && s.prog.Step(i).Critical {
			critical++
		}
	}
	if got, want := [4]int{s.run.Unsat, s.run.Critical, s.run.Proven, s.run.Unproven}, [4]int{unsat, critical, proven, unproven}; got != want {
		return fmt.Errorf("unsatisfied, critical, proven and unproven are %v, a scan finds %v", got, want)
	}
	return nil
}

// Room is how many steps may be under way at once.
func (s *State) Room() int { return s.room() }

// Active lists the steps under way.
func (s *State) Active() []int { return slices.Clone(s.active) }

// Effects is all that should be running.
func (s *State) Effects() []Effect {
	var all []Effect
	for _, k := range s.Pending() {
		all = append(all, s.Effect(k))
	}
	return all
}

// Hold says what keeps the i-th step at now, as the state knows it.
func (s *State) Hold(i int, now time.Time) Hold {
	st := &s.steps[i]
	if st.settled() || st.Live {
		return Hold{Item: st.Item} // what its agent asks
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
