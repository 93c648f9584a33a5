package engine

import (
	"fmt"
	"slices"
)

// LoopExit says how a loop ended: a step with iterations.
type LoopExit string

const (
	AllChecksPassed LoopExit = "all_checks_passed"
	MaxIterations   LoopExit = "max_iterations"
	ContextLimit    LoopExit = "context_limit" // its attempts used as many tokens as it may
	LoopAborted     LoopExit = "aborted"       // a person ended it
	LoopError       LoopExit = "error"         // it could not go on: a fault of this machine, a check that says nothing, a budget
)

// Omission is a check that the plan asks for and that nobody can make, and why.
// It is on the checklist, and no run carries it out.
type Omission struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// loop is how far the loop of a step is. An iteration is what comes of one attempt;
// faults of this machine try the same iteration again.
type loop struct {
	Laps   int       `json:",omitzero"` // iterations that are over since it began anew
	Tokens int64     `json:",omitzero"` // that it used since then
	Moved  bool      `json:",omitzero"` // an attempt of the step has changed a file
	Exit   LoopExit  `json:",omitzero"`
	Heard  []Verdict `json:",omitempty"` // the newest of each check, after work; in the order of the checks
}

// anew begins the loop again at its first iteration. What was changed stays.
func (l *loop) anew() { *l = loop{Moved: l.Moved, Heard: l.Heard} }

// hears keeps what the checks of a loop said.
func (l *loop) hears(checks []CheckEnded) {
	l.Heard = make([]Verdict, len(checks))
	for n, c := range checks {
		l.Heard[n] = c.Verdict
	}
}

// loops reports whether the step is a loop.
func (p *Step) loops() bool { return p.Iterations > 0 }

func (s *Step) validLoop() error {
	switch {
	case s.Iterations == 0 && s.Context == 0:
		return nil
	case s.Iterations < 1 || s.Iterations > MaxAttempts || s.Context < 0:
		return fmt.Errorf("%d iterations of %d tokens; 1 to %d are allowed", s.Iterations, s.Context, MaxAttempts)
	case s.Kind != Agent || !s.Rerunnable:
		return fmt.Errorf("is a loop of %s; only agents whose checks may run again do one", s.Kind)
	}
	return nil
}

// exits is how the step's loop ends if its attempt is settled by v: "" where the
// same iteration is tried again, another one follows, or there is no loop.
func (s *State) exits(i int, v Verdict, again bool) LoopExit {
	st, p := &s.steps[i], s.prog.Step(i)
	switch {
	case !p.loops() || st.Phase == Ratchet || v == Infra && again:
		return ""
	case v == Pass:
		return AllChecksPassed
	case !v.costs():
		return LoopError
	case st.Laps+1 >= p.Iterations:
		return MaxIterations
	case p.Context > 0 && st.Tokens >= p.Context:
		return ContextLimit
	}
	return ""
}

// exhausted says of a loop that used up what it may use, and for which reason its last
// iteration did not pass.
func (s *State) exhausted(i int, x LoopExit, reason string) string {
	switch p := s.prog.Step(i); x {
	case MaxIterations:
		return fmt.Sprintf("not after %d iterations: %s", p.Iterations, reason)
	case ContextLimit:
		return fmt.Sprintf("not with %d of %d tokens, in %d of %d iterations: %s", s.steps[i].Tokens, p.Context, s.steps[i].Laps+1, p.Iterations, reason)
	}
	return reason
}

// leavesLoop reports whether e says rightly whether, and how, the step's loop ends. A
// loop that does not end goes on.
func (s *State) leavesLoop(i int, v Verdict, e StepSettled) bool {
	if s.rule(i) != settles || !s.prog.Step(i).loops() || s.steps[i].Phase == Ratchet {
		return e.Exit == ""
	}
	return e.Exit == s.exits(i, v, e.RetryAt != nil) && (e.Exit != "" || e.RetryAt != nil)
}

// costs reports a verdict that uses up an attempt.
func (v Verdict) costs() bool {
	return slices.Contains([]Verdict{Fail, Timeout, Tampered, OutOfScope}, v)
}

// loopExit is how the step's loop ended, "" where it did not. One that somebody
// ended, by a word on the step or with the run, is aborted.
func (s *State) loopExit(i int) LoopExit {
	st := &s.steps[i]
	switch {
	case st.Exit != "" || st.Started.IsZero() || s.run.Live && !st.settled():
		return st.Exit
	case st.Verdict == OverBudget:
		return LoopError
	}
	return LoopAborted
}

// idled reports whether the work left all as it was where the checks had passed
// before it: nobody can say then that anything was done.
func (s *State) idled(i int, e WorkEnded) bool {
	st := &s.steps[i]
	return s.prog.Step(i).loops() && e.How == Exited && st.HasBase && st.Baseline == Pass && !st.Moved && len(e.Changed) == 0
}

// idleReason is why such work did not pass.
const idleReason = "nothing was changed, and the checks passed before the work too"

// LoopRow is what lists show of a loop.
type LoopRow struct {
	Iteration  int       `json:"iteration"` // under way, or the last; 0 before the first
	Iterations int       `json:"iterations"`
	Tokens     int64     `json:"tokens"`
	Context    int64     `json:"context,omitempty"` // at most; 0 is without limit
	Exit       LoopExit  `json:"exit,omitempty"`
	Passed     int       `json:"passed"` // checks that passed when they were asked last
	Checks     int       `json:"checks"`
	Answers    []Verdict `json:"answers,omitempty"` // of each check, in order
	Omitted    int       `json:"omitted,omitempty"`
}

// loopRow is nil for a step that is no loop.
func (s *State) loopRow(i int) *LoopRow {
	st, p := &s.steps[i], s.prog.Step(i)
	if !p.loops() || p.Each != nil {
		return nil
	}
	row := &LoopRow{
		Iterations: p.Iterations, Tokens: st.Tokens, Context: p.Context, Exit: s.loopExit(i),
		Checks: len(p.Checks), Answers: st.Heard, Omitted: len(p.Omitted),
	}
	if st.Active || !st.Started.IsZero() || st.Exit != "" {
		row.Iteration = min(st.Laps+1, p.Iterations)
	}
	for _, v := range st.Heard {
		if v == Pass {
			row.Passed++
		}
	}
	return row
}
