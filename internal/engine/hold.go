package engine

import (
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
	Item     string    // what a person has to answer first: for the step, its agent at work, or more of the run's budget
	Budget   bool      // the budget has no room for it beside what is under way
	Paused   bool      // the run is
	Proving  bool      // what is done is proved again before it begins
	Critical []int     // failed steps after which nothing begins, unless it is blocked
}

// Bond is what the row of a step says of what keeps it, beside its status and what it
// needs. Most steps have none.
type Bond struct {
	Open    bool      `json:"open,omitempty"`    // it has not come to its end, though its status is that of one which has
	Live    bool      `json:"live,omitempty"`    // it is at work, or at its end under another status
	Ordered bool      `json:"ordered,omitempty"` // a person takes it back
	Unmet   bool      `json:"unmet,omitempty"`   // done or skipped, and does not count for what needs it
	Fatal   bool      `json:"fatal,omitempty"`   // after its failure nothing begins
	Parts   bool      `json:"parts,omitempty"`   // its instances are there
	Active  bool      `json:"active,omitempty"`  // it is under way
	Queued  bool      `json:"queued,omitempty"`  // it could begin if there were room
	Behind  *Holder   `json:"behind,omitempty"`  // whose lease it waits for
	Leans   bool      `json:"leans,omitempty"`   // nothing but files that it changed keeps it from its proof: a person may vouch for them
	Retry   time.Time `json:"retry_at,omitzero"` // when it is tried again
	Item    string    `json:"item,omitempty"`    // what a person has to answer first
}

// Bar is what the row of a run says of what keeps its steps.
type Bar struct {
	Paused  bool   `json:"paused,omitempty"`
	Shut    bool   `json:"shut,omitempty"`    // no new work may start
	Full    bool   `json:"full,omitempty"`    // no other step may begin beside those in Active
	Active  []int  `json:"active,omitempty"`  // steps under way
	Proving bool   `json:"proving,omitempty"` // what is done is proved again
	Asking  string `json:"asking,omitempty"`  // the item that asks for more of the budget
	Fatal   int    `json:"fatal,omitempty"`   // failed steps after which nothing begins
}

// bond says what keeps a step beyond what the rest of its row says, which has it as shown.
func (s *State) bond(i int, shown Status) Bond {
	st := &s.steps[i]
	over, rests := atEnd(shown), st.settled() || st.Live
	return Bond{
		Leans: s.vouchable(i),
		Open:  over && !rests, Live: !over && rests, Ordered: st.Order != nil,
		Unmet:  st.Order == nil && !st.satisfied() && (shown == Done || shown == Skipped),
		Fatal:  st.Status == Failed && s.prog.Step(i).Critical,
		Parts:  st.Expanded,
		Active: st.Active && !rests, Queued: shown != Ready && !st.Active && s.eligible(i),
		Behind: st.Behind, Retry: st.RetryAt, Item: st.Item,
	}
}

// bar says of the run what keeps its steps.
func (s *State) bar() Bar {
	if !s.run.Live {
		return Bar{Fatal: s.run.Critical}
	}
	_, lands := s.prog.Landing()
	return Bar{
		Paused: s.run.Paused, Shut: !s.free(), Full: s.full(), Active: append([]int(nil), s.active...), Asking: s.run.Asking, Fatal: s.run.Critical,
		Proving: s.run.Proof.Stage != noRound || lands && s.undone() == 0 && s.owes(),
	}
}

func atEnd(s Status) bool { return s == Done || s == Waived || s == Skipped || s == Failed }

// met reports whether a step counts for what needs it.
func (r StepRow) met() bool {
	return !r.Bond.Ordered && !r.Bond.Unmet && (r.Status == Done || r.Status == Waived || r.Status == Skipped)
}

// hopeless reports whether what needs the step is blocked by it.
func (r StepRow) hopeless() bool {
	lapsed := !r.Bond.Ordered && !r.Bond.Open && (r.Status == Failed || r.Status == Skipped && r.Bond.Unmet)
	return lapsed || r.Status == Blocked
}

// Rests reports whether nothing keeps the step.
func (r StepRow) Rests() bool { return r.Bond.Live || atEnd(r.Status) && !r.Bond.Open }

// Around is what has to be known of a run to say what keeps one of its steps: rows alone.
type Around struct {
	Head  HeadRow
	Row   StepRow
	Step  *Step     // as the program has it; of an instance as its item makes it
	Needs []StepRow // what it needs, or its instances where these are there; in their order
	Fatal []StepRow // failed steps, where the head counts any after which nothing begins

	Beside []*Step // those that the head has as under way, in their order
}

// Lacks lists the steps that have to count before this one can begin; of a step that is
// blocked, only the one that blocks it. needs are the rows of what it needs, in their order.
func (r StepRow) Lacks(needs []StepRow) (left []StepRow) {
	if r.Rests() {
		return nil
	}
	for _, n := range needs {
		if r.Status == Blocked && n.hopeless() {
			return []StepRow{n}
		}
		if !n.met() {
			left = append(left, n)
		}
	}
	return left
}

// Hold says what keeps the step.
func (a Around) Hold() Hold {
	run, k := a.Head.Bar, a.Row.Bond
	if a.Row.Rests() {
		return Hold{Item: k.Item} // what an agent at work asks
	}
	h := Hold{Blocked: a.Row.Status == Blocked}
	for _, r := range a.Row.Lacks(a.Needs) {
		h.Needs = append(h.Needs, r.Index)
	}
	if !h.Blocked {
		for _, r := range a.Fatal {
			if r.Bond.Fatal {
				h.Critical = append(h.Critical, r.Index)
			}
		}
	}
	if a.Head.Ended {
		return h
	}
	h.Behind, h.Retry, h.Item, h.Paused = k.Behind, k.Retry, k.Item, run.Paused
	h.Proving = run.Proving && !k.Active
	if a.Row.Queues() && !run.Shut {
		a.queued(&h)
	}
	return h
}

// Queues reports whether the step could begin if there were room.
func (r StepRow) Queues() bool { return r.Bond.Queued || r.Status == Ready && !r.Bond.Active }

// queued says what keeps a step that could start. It starts with the next record
// where the budget has room for it.
func (a Around) queued(h *Hold) {
	for n, b := range a.Beside {
		if a.Step.class() != "" && !b.Worktree && a.Step.conflicts(b) {
			h.Beside = []int{a.Head.Bar.Active[n]}
			return
		}
	}
	switch {
	case a.Head.Bar.Full:
		h.Full, h.Beside = true, a.Head.Bar.Active
	case !h.Proving:
		h.Budget, h.Item = true, a.Head.Bar.Asking
	}
}
