package engine

import (
	"slices"
	"strings"
	"time"
)

// Start is a moment at which work begins, or has ended, and the owner that does it.
type Start struct {
	At    time.Time
	Epoch uint64
}

// after reports whether work that left at this moment was under way after start.
func (left Start) after(start Start) bool {
	return left.Epoch > start.Epoch || left.Epoch == start.Epoch && left.At.After(start.At)
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

// A Neighbour is a step that was at work in the same tree as another one: what
// lies in its scope is its doing.
type Neighbour struct {
	Run    string
	Step   string
	Writes []string // its scope; none is the whole workspace
	Live   bool     // it is at work now
	Strays []Change // what it changed outside of every scope: nobody can tell whose doing that is
}

// presence is work in a tree, or its checks, that has ended.
type presence struct {
	Neighbour
	Tree string // the run in whose worktree it was, "" for the workspace
	Left Start
}

// leaves notes that work of step i, or a check of it, has ended. What a step
// changed that is delegated, the steps of its own run did.
func (s *State) leaves(i int, at Start, strays []Change) {
	if s.enters(i) {
		s.note(presence{s.neighbour(i), s.tree(i), at}, strays)
	}
}

// note adds to what has ended. Strays that another one was found to have made
// before are not this one's.
func (s *State) note(p presence, strays []Change) {
	if len(strays) > 0 {
		p.Strays = s.unknown(p.Tree, strays[:min(len(strays), maxStrays)])
	}
	s.past = append(s.past, p)
}

// maxStrays bounds what one attempt leaves to be shared with its neighbours.
const maxStrays = 1000

// unknown leaves out the strays that were found before.
func (s *State) unknown(tree string, strays []Change) (fresh []Change) {
	known := map[string]bool{}
	for _, p := range s.past {
		for _, c := range p.Strays {
			known[c.Path] = known[c.Path] || p.Tree == tree
		}
	}
	for _, c := range strays {
		if !known[c.Path] {
			fresh = append(fresh, c)
		}
	}
	return fresh
}

func (s *State) neighbour(i int) Neighbour {
	p := s.prog.Step(i)
	return Neighbour{Run: s.run.Opened.Run, Step: p.ID, Writes: p.Writes}
}

// Beside lists the steps of this task that are at work in the tree of e, and
// those that were since its work began, or since the start that was cut off. Call
// it for every task of the workspace.
//
// Its cost is that of the steps at work meanwhile. After a cut it looks at every
// step: what ended under an owner before this one may be in a snapshot only.
func (s *State) Beside(e Effect) []Neighbour {
	if e.Worktree {
		return nil // nobody else is in there
	}
	all := neighbours{of: e, at: map[string]int{}}
	for _, i := range s.active {
		if n := s.neighbour(i); s.enters(i) && s.steps[i].meets(e.Began) {
			n.Live = true
			all.add(n, s.tree(i))
		}
	}
	for _, l := range s.run.Leaving {
		if l.Here && l.Epoch >= e.Began.Epoch {
			all.add(Neighbour{Run: s.run.Opened.Run, Step: l.Step, Writes: l.Writes, Live: true}, l.Tree)
		}
	}
	if e.Began.At.IsZero() {
		return all.list
	}
	for _, p := range slices.Backward(s.past) {
		if !p.Left.after(e.Began) {
			break
		}
		all.add(p.Neighbour, p.Tree)
	}
	for i := range s.steps {
		if !e.Cut {
			break
		}
		if s.enters(i) && s.steps[i].Left.after(e.Began) {
			all.add(s.neighbour(i), s.tree(i))
		}
	}
	return all.list
}

// neighbours gathers who is beside one effect, each step once for each scope it had.
type neighbours struct {
	of   Effect
	list []Neighbour
	at   map[string]int
}

func (all *neighbours) add(n Neighbour, tree string) {
	if tree != all.of.tree() || n.Run == all.of.Key.Run && n.Step == all.of.Key.Step {
		return
	}
	name := strings.Join(append([]string{n.Run, n.Step}, n.Writes...), "\x00")
	if at, twice := all.at[name]; twice {
		all.list[at].Strays = slices.Concat(all.list[at].Strays, n.Strays)
		return
	}
	all.at[name] = len(all.list)
	all.list = append(all.list, n)
}

// enters reports whether what step i does, it does in a tree that others are in.
func (s *State) enters(i int) bool { return s.prog.Step(i).Kind != Delegate && !s.apart(i) }

// tree names the run in whose worktree it all happens, "" for the workspace.
func (e *Effect) tree() string {
	if len(e.Within) == 0 {
		return ""
	}
	return e.Within[len(e.Within)-1]
}

// meets reports whether the step's work, or a check of it, is under way. What was
// under way when its owner died counts, unless another owner came after that one
// before the start.
func (st *step) meets(start Start) bool {
	return (st.Live || st.Status == Running && st.Phase == Verifying) && max(st.Epoch, st.Lease) >= start.Epoch
}
