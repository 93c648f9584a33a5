package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// leaving is work that was under way for a step when a revision changed the
// step or took it out. Nobody wants it any more: its host stops it, and nothing
// new starts before it has ended.
type leaving struct {
	Step    string
	Attempt int
	N       int
	Kind    WorkKind
	Epoch   uint64
	Role    string `json:",omitzero"`
	Reserve Amount `json:",omitzero"`
	Child   string `json:",omitzero"`
	Heard   Usage  `json:",omitzero"` // what the answers used that it told of

	Here   bool     `json:",omitzero"` // it is in a tree that others are in
	Tree   string   `json:",omitzero"`
	Writes []string `json:",omitempty"`
}

func (l leaving) is(e WorkEnded) bool {
	return l.Step == e.Step && l.Attempt == e.Attempt && l.N == e.N && l.Kind == e.Kind
}

// ended is the end of the work by how.
func (l leaving) ended(how How, reason string) WorkEnded {
	return WorkEnded{Step: l.Step, Attempt: l.Attempt, N: l.N, Kind: l.Kind, How: how, Reason: reason}
}

// admitRevise takes an approved revision in, if it is the next one of the text
// that the difference was shown against.
func (s *State) admitRevise(in Revise) ([]Event, error) {
	e, now := in.Run, s.run.Opened
	if err := named(in.By); err != nil {
		return nil, err
	}
	if now.Parent != (Parent{}) {
		return nil, refuse(Conflict, fmt.Sprintf("run %s is of a plan that was approved together with that of run %s", now.Run, now.Parent.Run), AwaitNextRun)
	}
	if err := s.mayRevise(e); err != nil {
		return nil, err
	}
	if in.Was != now.Program {
		return nil, refuse(Conflict, fmt.Sprintf("run %s has gone on to revision %d since the difference was shown", now.Run, now.Version), LookAgain)
	}
	e.Revises = now.Plan
	e.Carried = s.carries(e.Compiled, in.Stale)
	return []Event{e}, nil
}

// mayRevise reports why the run cannot go on with the revision.
func (s *State) mayRevise(e RunOpened) error {
	now := s.run.Opened
	name := "run " + now.Run
	switch {
	case s.prog == nil || e.Run != now.Run:
		return refuse(NotFound, fmt.Sprintf("run %s is not the newest of its plan", e.Run), ListRuns)
	case !s.run.Live && s.run.Status != Failed:
		return refuse(Conflict, fmt.Sprintf("%s is %s", name, s.run.Status), OpenRun)
	case s.run.Live && s.stopping():
		return refuse(Conflict, name+" is being stopped")
	case e.Compiled == nil || e.Compiled.Hash() != e.Program:
		return refuse(Invalid, "the revision has no program")
	case (s.prog.landing > 0) != (e.Compiled.landing > 0):
		return refuse(Conflict, name+" cannot go on in another tree: `**Workspace:**` says where it works", RunAnew)
	case e.Plan == "" || e.Plan == now.Plan:
		return refuse(Invalid, "the revision has no id of its own")
	}
	return nil
}

// carries lists the steps that a revision takes over as they stand, in its
// order: what was begun, did not fail, is defined alike, and needs nothing but
// what is taken over too.
func (s *State) carries(p *Program, stale []string) []string {
	fits := s.fits(p, stale)
	grown, lost := s.grown(p, func(id string) bool { i, ok := p.Index(id); return ok && fits[i] })
	if len(lost) > 0 {
		return s.carries(p, append(lost, stale...))
	}
	p = grown
	var carried []string
	for i, fits := range s.fits(p, stale) {
		if fits && s.begun(p.Step(i).ID) {
			carried = append(carried, p.Step(i).ID)
		}
	}
	return carried
}

// grown is a revision's program with what those steps for each item became that
// are kept: their items are the same, because all that gives them is. It lists
// those that the revision has no room for.
func (s *State) grown(p *Program, kept func(id string) bool) (grown *Program, lost []string) {
	for _, e := range s.run.Expanded {
		if !kept(e.Step) {
			continue
		}
		more, err := regrow(p, []StepExpanded{e})
		if err != nil {
			lost = append(lost, e.Step)
			continue
		}
		p = more
	}
	return p, lost
}

// fits says of each step of p whether it, and all that it needs, may be left as
// it stands.
func (s *State) fits(p *Program, stale []string) []bool {
	old := make(map[string]bool, len(stale))
	for _, id := range stale {
		old[id] = true
	}
	fits := make([]bool, p.Len())
	for _, i := range p.order() {
		anew := slices.ContainsFunc(p.Step(i).Needs, func(n int) bool { return !fits[n] })
		fits[i] = !anew && !old[p.Step(i).ID] && s.alike(p, i)
	}
	return fits
}

// begun reports whether there is anything of a step to take over.
func (s *State) begun(id string) bool {
	j, ok := s.prog.Index(id)
	return ok && (s.steps[j].begun() || s.steps[j].Expanded)
}

// alike reports whether step i of p is defined as the step of that id is now,
// number apart, and may be taken over.
func (s *State) alike(p *Program, i int) bool {
	j, ok := s.prog.Index(p.Step(i).ID)
	return ok && (s.steps[j].keeps() || s.steps[j].Expanded) && same(s.prog, j, p, i)
}

// keeps reports whether a revision may leave the step as it stands. What came
// to an end that does not count begins again.
func (st *step) keeps() bool { return st.Order != nil || !st.settled() || st.satisfied() }

// begun reports whether there is anything to take over.
func (st *step) begun() bool {
	return st.Status != Pending || st.Attempt > 0 || st.Order != nil || !st.Granted.IsZero()
}

// same reports whether two steps are defined alike: everything but the number
// that people see, and needs by their ids.
func same(p *Program, i int, q *Program, j int) bool {
	a, b := *p.Step(i), *q.Step(j)
	a.Number, b.Number, a.Needs, b.Needs = "", "", nil, nil
	return a.digest() == b.digest() && slices.Equal(sorted(p.names[i]), sorted(q.names[j]))
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// applyRevision lets the run go on with another revision of its plan. It looks
// at all steps, as the only event in the course of a run that people see no end
// of. What it costs is linear in both revisions.
func (s *State) applyRevision(e RunOpened, actor string) error {
	kept := make(map[string]bool, len(e.Carried))
	for _, id := range e.Carried {
		kept[id] = true
	}
	if err := s.mayRevise(e); err != nil {
		return fmt.Errorf("revision %s of run %s: %w", e.Plan, e.Run, err)
	}
	if e.Revises != s.run.Opened.Plan {
		return fmt.Errorf("revision %s of run %s: it revises %s, and the run has gone on to %s", e.Plan, e.Run, e.Revises, s.run.Opened.Plan)
	}
	if err := s.mayAdopt(e, actor); err != nil {
		return err
	}
	if can := s.carries(e.Compiled, s.besides(kept)); !slices.Equal(e.Carried, can) {
		return fmt.Errorf("revision %s of run %s: it carries over %v, and can carry over %v", e.Plan, e.Run, e.Carried, can)
	}
	if err := s.sees(e); err != nil {
		return err
	}
	replan := s.run.Replan
	s.giveUpReplan()
	s.turned(actor)
	s.opensWith(e, s.stood())
	prog, _ := s.grown(e.Compiled, func(id string) bool { return kept[id] })
	next := make([]step, prog.Len())
	for i := range next {
		next[i].Status = Pending
	}
	if e.Compiled.Budget() != s.prog.Budget() {
		s.withdraw()
	}
	past := maps.Clone(s.run.Past)
	for j := range s.steps {
		id := s.prog.Step(j).ID
		i, stays := prog.Index(id)
		if kept[id] {
			next[i] = s.steps[j].carried()
			continue
		}
		s.leave(j)
		switch st := &s.steps[j]; {
		case stays:
			if next[i] = st.revised(); s.prog.Step(j).Budget == prog.Step(i).Budget {
				next[i].Raised = st.Raised
			}
			if s.prog.Step(j).Target == prog.Step(i).Target {
				next[i].Forced = st.Forced
			}
			if same(s.prog, j, prog, i) {
				next[i].Feedback = st.Feedback
			}
		case st.Attempt > 0:
			if past == nil {
				past = map[string]int{}
			}
			past[id] = st.Attempt
		}
	}
	for id, attempt := range past {
		if i, back := prog.Index(id); back && next[i].Attempt == 0 {
			next[i].Attempt = attempt + 1
		}
	}
	s.keepLanding(prog, next)
	s.run.Expanded = slices.DeleteFunc(slices.Clone(s.run.Expanded), func(x StepExpanded) bool { return !kept[x.Step] })
	s.goOn(e, prog, next, past)
	s.adopted(e, replan)
	return nil
}

// besides lists what was begun, and is not kept.
func (s *State) besides(kept map[string]bool) (left []string) {
	for j := range s.steps {
		if id := s.prog.Step(j).ID; !kept[id] && s.begun(id) {
			left = append(left, id)
		}
	}
	return left
}

// carried is the step as the next revision takes it over. A proof that was
// being given again is given anew with all the others, and what was being
// prepared takes its turn again.
func (st *step) carried() (c step) {
	c = *st
	defer func() {
		if !c.Active {
			c.Lease, c.Behind = 0, nil
		}
	}()
	switch {
	case c.Phase == Ratchet:
		c.become(NoPhase)
		c.Active, c.Infra, c.RetryAt = false, 0, time.Time{}
	case !c.Active || c.Live || c.Phase != Baseline:
	case c.RetryAt.IsZero():
		c.become(NoPhase)
		c.Active, c.Status, c.Cut = false, Pending, c.Cut || c.N > 0
	default:
		c.become(Retrying)
		c.Active = false
	}
	return c
}

// revised is what is left of a step that the next revision defines anew: its
// attempts go on counting, so that no late answer is taken for a new one, and
// what the last one changed against the rules is put back.
func (st *step) revised() step {
	next := step{outcome: outcome{Status: Pending}}
	if st.Attempt == 0 {
		return next
	}
	next.attempt = attempt{
		Attempt: st.Attempt + 1, Cut: st.Cut || st.Live && st.Kind != ContractWork, Restore: slices.Concat(st.Restore, restore(st)),
	}
	next.dispatch = dispatch{Tree: st.Tree, Since: st.Since, Began: st.Began, Left: st.Left}
	next.worktree, next.Used = worktree{Renew: true, Round: st.Round}, st.Used
	return next
}

// leave takes leave of a step: nobody is asked about it any more, and work that
// is under way has to end.
func (s *State) leave(j int) {
	st := &s.steps[j]
	s.closeItem(j)
	if st.Live {
		p := s.prog.Step(j)
		s.run.Leaving = append(s.run.Leaving, leaving{
			Step: p.ID, Attempt: st.Attempt, N: st.N, Kind: st.Kind, Epoch: st.Epoch, Role: st.Role, Reserve: st.Reserve, Child: st.Child,
			Here: s.enters(j), Tree: s.tree(j), Writes: p.Writes,
		})
	}
}

// goOn puts the revision in the place of the text before. Counts, sums of what
// was spent and numbers of rounds and items go on.
func (s *State) goOn(e RunOpened, prog *Program, steps []step, past map[string]int) {
	r := &s.run
	s.allot(s.prog, prog)
	r.Opened, r.Past, r.Leave = e, past, prog.leaves()
	if !r.Live {
		r.reopen()
		s.showItems()
	}
	s.settleIn(prog, steps)
}

// settleIn gives the run other steps. A round of proving begins anew.
func (s *State) settleIn(prog *Program, steps []step) {
	s.prog, s.steps = prog, steps
	r := &s.run
	if len(r.Past) > 0 {
		maps.DeleteFunc(r.Past, func(id string, _ int) bool { _, back := s.prog.Index(id); return back })
	}
	r.Proof.reset()
	r.Proof.stale()
	for i := range steps {
		steps[i].Used.Work.run(steps[i].Active, s.last)
	}
	s.rebuild()
	s.dirty.all, s.dirty.steps = true, nil
}

// applyLeft takes the end of work that nobody wanted any more. It reports
// whether e is one.
func (s *State) applyLeft(e WorkEnded, at time.Time) bool {
	n := slices.IndexFunc(s.run.Leaving, func(l leaving) bool { return l.is(e) })
	if n < 0 {
		return false
	}
	l := s.run.Leaving[n]
	if l.Here {
		s.note(presence{Neighbour{Run: s.run.Opened.Run, Step: l.Step, Writes: l.Writes}, l.Tree, Start{at, l.Epoch}}, e.OutOfScope)
	}
	s.run.Leaving = slices.Delete(slices.Clone(s.run.Leaving), n, n+1)
	if len(s.run.Leaving) == 0 {
		s.run.Leaving = nil
	}
	s.account(e, l.Role, l.Reserve)
	return true
}

// left finds the work of a key among what is leaving and of this owner.
func (s *State) left(k Key) (leaving, bool) {
	for _, l := range s.run.Leaving {
		kind := l.Kind.Effect()
		if k == (Key{Task: s.task, Run: s.run.Opened.Run, Step: l.Step, Attempt: l.Attempt, Kind: kind, N: l.N}) && (l.Epoch == s.epoch || l.Kind == ChildWork) {
			return l, true
		}
	}
	return leaving{}, false
}

// lostLeaving is the end of leaving work whose owner is gone.
func (s *State) lostLeaving() (WorkEnded, bool) {
	for _, l := range s.run.Leaving {
		if l.Epoch < s.epoch && l.Kind != ChildWork {
			end := l.ended(Lost, "its owner stopped")
			end.Usage = l.Heard
			return end, true
		}
	}
	return WorkEnded{}, false
}
