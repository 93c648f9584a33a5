package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// LeaseGranted says that nobody else uses what the step may write, in any run
// of the workspace, until the step is released or its owner ends.
type LeaseGranted struct {
	Step    string   `json:"step"`
	Attempt int      `json:"attempt"`
	Scope   []string `json:"scope,omitempty"` // none: the whole workspace
	Reads   bool     `json:"reads,omitempty"` // it only proves, and others may prove beside it
}

// LeaseAwaited says that the step has to wait for another one to release what
// both use.
type LeaseAwaited struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Behind  Holder `json:"behind"`
}

// Holder is the step that another one waits for.
type Holder struct {
	Run   string   `json:"run"`
	Step  string   `json:"step"`
	Scope []string `json:"scope,omitempty"` // none: the whole workspace
	First bool     `json:"first,omitempty"` // it does not hold it yet, and is before it in the queue
}

// String says for people whom the step waits for.
func (h Holder) String() string {
	scope := "the whole workspace"
	if len(h.Scope) > 0 {
		scope = strings.Join(h.Scope, ", ")
	}
	verb := "holds"
	if h.First {
		verb = "is first in the queue for"
	}
	return fmt.Sprintf("waits for step %s of run %s, which %s %s", h.Step, h.Run, verb, scope)
}

// Lease is the owner's answer to a step that wants to use its scope: a grant,
// or whom it waits for.
type Lease struct {
	Step    string
	Attempt int
	Behind  *Holder // nil grants it
}

// Priority orders claims that wait for the same part of the workspace. Empty is normal.
type Priority string

// The priorities, the highest first.
const (
	Critical Priority = "critical"
	High     Priority = "high"
	Normal   Priority = ""
	Low      Priority = "low"
	Idle     Priority = "idle"
)

// Above reports whether p goes before q, which is not the case for equals.
func (p Priority) Above(q Priority) bool {
	return p.rank() < q.rank()
}

func (p Priority) rank() int {
	return slices.Index([]Priority{Critical, High, Normal, Low, Idle}, p)
}

// A Claim is the use of a scope that a step has, or wants before anything of it
// may run.
type Claim struct {
	Step     *Step
	Attempt  int
	Reads    bool // it only proves
	Held     bool
	Priority Priority // of the run
	Tree     string   // the run in whose worktree the scope is, "" for the workspace
}

// Conflicts reports whether two steps must not use their scopes at once.
func (c Claim) Conflicts(other Claim) bool {
	return c.Tree == other.Tree && !(c.Reads && other.Reads) && (c.anywhere() || other.anywhere() || c.Step.conflicts(other.Step))
}

// anywhere reports a merge that may change any file.
func (c Claim) anywhere() bool { return c.Step.Worktree && len(c.Step.Writes) == 0 }

// Claims returns what the steps under way hold or want. Its cost is that of the
// steps under way.
func (s *State) Claims() []Claim {
	if !s.run.Live {
		return nil
	}
	var all []Claim
	for _, i := range s.active {
		st := &s.steps[i]
		if !s.claims(i) || st.Lease != s.epoch && s.withdrawn(i) {
			continue
		}
		all = append(all, Claim{
			Step: s.prog.Step(i), Attempt: st.Attempt, Reads: st.Phase == Ratchet, Tree: s.tree(i),
			Held: st.Lease == s.epoch, Priority: s.prog.Priority(),
		})
	}
	return all
}

// claims reports whether the step, which is under way, uses a scope that
// another step might use too.
func (s *State) claims(i int) bool {
	if s.prog.Step(i).Worktree {
		return !s.apart(i) && !s.pattern(i)
	}
	return s.prog.classes.of[i] != free
}

// awaits reports whether the step lacks the lease it needs. One of another
// owner is none.
func (s *State) awaits(i int) bool {
	st := &s.steps[i]
	return st.Active && s.claims(i) && st.Lease != s.epoch
}

// withdrawn reports whether the step does not want its lease now: its run is
// paused and its work has not begun, or the run is being stopped.
func (s *State) withdrawn(i int) bool {
	return s.stopping() || s.run.Paused && s.steps[i].Phase == Baseline || s.steps[i].Order != nil
}

func (s *State) admitLease(in Lease) ([]Event, error) {
	i, err := s.mayLease(in.Step, in.Attempt)
	switch {
	case err != nil:
		return nil, err
	case s.withdrawn(i):
		return nil, refuse(Conflict, fmt.Sprintf("step %q wants no lease now", in.Step))
	case in.Behind == nil:
		return []Event{LeaseGranted{Step: in.Step, Attempt: in.Attempt, Scope: s.prog.Step(i).Writes, Reads: s.steps[i].Phase == Ratchet}}, nil
	case s.steps[i].Behind != nil && s.steps[i].Behind.same(*in.Behind):
		return nil, refuse(Conflict, fmt.Sprintf("step %q is known to wait", in.Step))
	}
	return []Event{LeaseAwaited{Step: in.Step, Attempt: in.Attempt, Behind: *in.Behind}}, nil
}

func (h Holder) same(o Holder) bool {
	return h.Run == o.Run && h.Step == o.Step && h.First == o.First && slices.Equal(h.Scope, o.Scope)
}

func (s *State) applyGranted(e LeaseGranted, at time.Time) error {
	i, err := s.mayLease(e.Step, e.Attempt)
	if err != nil {
		return err
	}
	s.steps[i].Lease, s.steps[i].Leased, s.steps[i].Behind = s.epoch, at, nil
	s.show(i)
	s.touch(i)
	return nil
}

func (s *State) applyAwaited(e LeaseAwaited) error {
	i, err := s.mayLease(e.Step, e.Attempt)
	if err != nil {
		return err
	}
	s.steps[i].Behind = &e.Behind
	s.show(i)
	return nil
}

// mayLease finds the step that a lease is for.
func (s *State) mayLease(id string, attempt int) (int, error) {
	i, err := s.at(id)
	if err == nil && (!s.awaits(i) || s.steps[i].Attempt != attempt) {
		err = refuse(Conflict, fmt.Sprintf("step %q wants no lease", id))
	}
	return i, err
}

// unlease takes the leases back of steps whose work has not begun: the run is
// paused, and nobody shall wait for it.
func (s *State) unlease() {
	for _, i := range s.active {
		if st := &s.steps[i]; st.Phase == Baseline && !st.Live {
			st.Lease, st.Behind = 0, nil
			s.show(i)
			s.touch(i)
		}
	}
}

// forgetLeases: a new owner gives its own, and whom a step waits for is asked
// anew.
func (s *State) forgetLeases() {
	for _, i := range s.active {
		if st := &s.steps[i]; st.Behind != nil {
			st.Behind = nil
			s.show(i)
		}
		s.touch(i)
	}
}
