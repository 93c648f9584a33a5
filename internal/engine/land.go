package engine

import (
	"errors"
	"fmt"
	"slices"
)

// Landing is the last step of a run in a worktree of its own, which the plan
// does not write: it waits for all others, and brings what they did into the
// workspace that the worktree was made from. Nothing that was not proved
// together with what that workspace holds gets there: where it holds anything
// new, the worktree gets that first, and all that was proved is proved again in
// the worktree.

// Landing finds the step that merges the worktree of the run, where the run has one.
func (p *Program) Landing() (int, bool) { return p.landing - 1, p.landing > 0 }

// validLanding checks what the step that merges the run's worktree may have.
func (s *Step) validLanding() error {
	switch {
	case !s.Commit.known():
		return fmt.Errorf("records %q", s.Commit)
	case !s.Worktree || len(s.Checks) > 0 || s.Holds || !s.Rerunnable:
		return errors.New("merges the run's worktree, and does anything else")
	case s.Each != nil || s.When != "" || s.Approval != "" || len(s.Writes) > 0 || s.OnFail != (OnFail{Then: Escalate}):
		return errors.New("merges the run's worktree, and is more than the end of the run")
	}
	return nil
}

// lands finds the step that merges the run's worktree, and checks that it is the
// end: it needs every other step.
func (p *Program) lands() error {
	for i := range p.def.Steps {
		s := &p.def.Steps[i]
		if s.Kind != Landing {
			continue
		}
		needs := slices.Compact(slices.Sorted(slices.Values(s.Needs)))
		if i != len(p.def.Steps)-1 || len(needs) != i {
			return fmt.Errorf("step %q merges the run's worktree, and is not behind all other steps", s.ID)
		}
		p.landing = i + 1
	}
	return nil
}

// lands reports whether step i merges the run's worktree.
func (s *State) lands(i int) bool { return s.prog.Step(i).Kind == Landing }

// landed reports whether the run's worktree is in the workspace.
func (s *State) landed() bool {
	i, ok := s.prog.Landing()
	return ok && s.steps[i].Status == Done
}

// within lists the runs in whose worktrees the run works, the outermost first:
// each was made from the one before it, and the first from the workspace.
func (s *State) within() []string {
	runs := s.run.Opened.Within
	if _, own := s.prog.Landing(); own {
		runs = append(slices.Clip(runs), s.run.Opened.Run)
	}
	return runs
}

// tree names the run in whose worktree the step changes files, "" for the workspace.
func (s *State) tree(i int) string {
	runs := s.within()
	if s.lands(i) {
		runs = runs[:len(runs)-1]
	}
	if len(runs) == 0 {
		return ""
	}
	return runs[len(runs)-1]
}

// owes reports whether all that was proved has to be proved again, before the
// run may end or its worktree may be merged.
func (s *State) owes() bool {
	return !s.run.Proof.Holds && (s.run.Opened.Policy.Ratchet || s.run.Proof.Brought)
}

// undone is how many steps of the plan are not satisfied.
func (s *State) undone() int {
	if i, ok := s.prog.Landing(); ok && !s.steps[i].satisfied() {
		return s.run.Unsat - 1
	}
	return s.run.Unsat
}

// provenAll says whether everything was proved as it is now.
func (s *State) provenAll(all bool) {
	s.run.Proof.Holds = all
	s.mayLand()
}

// mayLand renews the place of the merge of the run's worktree once the last step
// is satisfied, or is not any more: it waits for the instances of steps too, of
// which it needs none.
func (s *State) mayLand() {
	if i, ok := s.prog.Landing(); ok && s.undone() <= 1 {
		s.show(i)
		s.touch(i)
	}
}

// keepLanding lets the next revision know what came of merges of the worktree
// that the run keeps.
func (s *State) keepLanding(p *Program, next []step) {
	was, ok := s.prog.Landing()
	if is, _ := p.Landing(); ok {
		next[is].Round, next[is].Clashes = s.steps[was].Round, s.steps[was].Clashes
	}
}

// endLanding takes the end of the merge of the run's worktree. One that brought
// something into the worktree is followed by the proof of it all, and another one.
func (s *State) endLanding(i int, st *step, e WorkEnded) {
	if st.endMerge(e); !e.Behind || e.How != Exited {
		if st.Merged {
			st.Tries = 0
			st.Ended = &WorkEnded{Step: e.Step, Attempt: e.Attempt, N: e.N, Kind: e.Kind, How: e.How, Worktree: e.Worktree}
		}
		return
	}
	st.Merged, st.Renew, st.Stuck, st.Resolved = false, false, false, false
	st.Round++
	s.run.Proof.Brought, s.run.Proof.Holds = true, false
	if st.Tries++; st.Tries >= maxNews {
		st.become(Merging)
		st.Tries, st.Merge = 0, &e
		return
	}
	s.release(i)
	st.become(NoPhase)
}

// expectNews notes that a person had the time to change the workspace: before work goes on,
// the run's worktree gets that.
func (s *State) expectNews() {
	_, apart := s.prog.Landing()
	s.run.News = apart
}

// caughtUp notes that the run's worktree has it.
func (s *State) caughtUp(e CaughtUp) {
	if e.News {
		s.run.News = false
	}
	if len(e.Brought) > 0 {
		s.run.Proof.Brought, s.run.Proof.Holds = true, false
	}
}

// maxNews is how often on end the workspace may have something new before a
// person is asked to leave it alone for a while.
const maxNews = 10

// Commits says what is recorded on the branch of a run in a worktree of its own.
type Commits string

const (
	CommitNone Commits = "none"
	CommitStep Commits = "step" // a commit for each step
	CommitRun  Commits = "run"  // one commit for all of them
)

func (c Commits) known() bool { return c == "" || c == CommitNone || c == CommitStep || c == CommitRun }

// A Commit is what was recorded of a step, or with that of the merge of what the run did.
type Commit struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Branch  string `json:"branch,omitempty"`
	Commit  string `json:"commit,omitempty"` // "" where nothing was new
}

// A Finished is a step whose work counts.
type Finished struct {
	Step    *Step
	Attempt int
}

// commits is what is recorded on the branch of the run.
func (s *State) commits() Commits {
	i, ok := s.prog.Landing()
	if !ok {
		return CommitNone
	}
	return s.prog.Step(i).Commit
}

// works reports whether the step leaves something that can be recorded.
func (s *State) works(i int) bool {
	k := s.prog.Step(i).Kind
	return !s.pattern(i) && k != Landing && k != Ask
}

// finish notes a step whose work counts and is to be recorded.
func (s *State) finish(i int) {
	id := s.prog.Step(i).ID
	if s.commits() == CommitStep && s.works(i) && !slices.Contains(s.run.Unrecorded, id) {
		s.run.Unrecorded = append(s.run.Unrecorded, id)
	}
}

// recorded notes what was recorded.
func (s *State) recorded(commits []Commit) {
	for _, c := range commits {
		s.run.Unrecorded = slices.DeleteFunc(s.run.Unrecorded, func(id string) bool { return id == c.Step })
	}
}

// finished lists the steps that are to be recorded now, in the order in which they were done.
func (s *State) finished(end bool) []Finished {
	var all []Finished
	if end && s.commits() == CommitRun {
		for i := range s.steps {
			if st := &s.steps[i]; s.works(i) && (st.Status == Done || st.Status == Waived) {
				all = append(all, Finished{s.prog.Step(i), st.Attempt})
			}
		}
		return all
	}
	for _, id := range s.run.Unrecorded {
		if i, ok := s.prog.Index(id); ok {
			all = append(all, Finished{s.prog.Step(i), s.steps[i].Attempt})
		}
	}
	return all
}
