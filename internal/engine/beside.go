package engine

import "time"

// Start is a moment at which work begins, or has ended, and the owner that does it.
type Start struct {
	At    time.Time
	Epoch uint64
}

// starts is when work that r dispatches could begin to change files: from then on
// a change may be its own, or that of whoever is at work beside it. The workspace
// was looked at before that, though not before the step had its lease, and not
// while the work before it went on.
func (st *step) starts(r Record) Start {
	start := Start{At: st.Leased, Epoch: r.Epoch}
	if st.Left.At.After(start.At) {
		start.At = st.Left.At
	}
	if start.At.IsZero() {
		start.At = r.At
	}
	return start
}

// Beside lists the scopes of this run's steps that were at work since the start
// that was cut off and that e prepares again, in the same tree: what they changed
// is theirs. An empty scope is the whole workspace. Call it for every run of the
// workspace that was open meanwhile; the run of e has it in e.Beside.
//
// What a step changed that is delegated, the steps of its own run did. It looks
// at every step, which only a crash or a stop makes worth it.
func (s *State) Beside(e Effect) [][]string {
	if e.Worktree {
		return nil // nobody else is in there
	}
	var scopes [][]string
	for i := range s.steps {
		p := s.prog.Step(i)
		own := s.run.Opened.Run == e.Key.Run && p.ID == e.Key.Step
		if !own && p.Kind != Delegate && s.steps[i].met(e.Began) && !s.apart(i) && s.tree(i) == e.tree() {
			scopes = append(scopes, p.Writes)
		}
	}
	return scopes
}

// tree names the run in whose worktree it all happens, "" for the workspace.
func (e *Effect) tree() string {
	if len(e.Within) == 0 {
		return ""
	}
	return e.Within[len(e.Within)-1]
}

// met reports whether the step's work, or a check of it, went on after a start
// that was cut off. What was under way when its owner died did, unless another
// owner came after that one before ours began.
func (st *step) met(cut Start) bool {
	if st.Live || st.Status == Running && (st.Phase == Verifying || st.Phase == Flaky) {
		return max(st.Epoch, st.Lease) >= cut.Epoch
	}
	return st.Left.Epoch > cut.Epoch || st.Left.Epoch == cut.Epoch && st.Left.At.After(cut.At)
}
