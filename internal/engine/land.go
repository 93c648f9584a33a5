package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Landing is the last step of a run in a worktree of its own, which the plan
// does not write: it waits for all others, and brings what they did into the
// workspace that the worktree was made from. Nothing that was not proved
// together with what that workspace holds gets there: where it holds anything
// new, the worktree gets that first, and all that was proved is proved again in
// the worktree.

// Landing finds the step that merges the worktree of the run, where the run has one.
func (p *Program) Landing() (int, bool) { return p.landing - 1, p.landing > 0 }

// Records reports whether a run of the program makes commits.
func (p *Program) Records() bool { return p.commits() != CommitNone }

// commits is what a run of the program records.
func (p *Program) commits() Commits {
	i, ok := p.Landing()
	if !ok {
		return CommitNone
	}
	return p.Step(i).Commit
}

// leaves reports whether the plan leaves the work on the branch of the run.
func (p *Program) leaves() bool {
	i, ok := p.Landing()
	return ok && p.Step(i).Leave
}

// validLanding checks what the step that merges the run's worktree may have.
func (s *Step) validLanding() error {
	switch {
	case !s.Commit.known():
		return fmt.Errorf("records %q", s.Commit)
	case s.Leave && s.Commit == CommitNone:
		return errors.New("leaves the work on a branch, and records none")
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

// leftReason says of the merge of a run's worktree that there was none.
const leftReason = "the work stays on the branch of the run"

// Branch is what became of the branch of a run in a worktree of its own.
type Branch struct {
	Name   string    `json:"name,omitempty"`   // "" while nothing is recorded
	Commit string    `json:"commit,omitempty"` // the newest
	Waits  bool      `json:"waits,omitempty"`  // the run is done, and not merged: somebody may land it
	By     string    `json:"by,omitempty"`     // who wants it merged, or wanted it, after the run had ended
	At     time.Time `json:"at,omitzero"`      // when it was merged
}

func (s *State) branch() Branch {
	i, ok := s.prog.Landing()
	if !ok {
		return Branch{}
	}
	b := Branch{
		Name: s.run.Tip.Branch, Commit: s.run.Tip.Commit, By: s.run.LandBy,
		Waits: !s.run.Live && s.run.Status == Done && s.stays(),
	}
	if s.landed() {
		b.At = s.steps[i].Finished
	}
	return b
}

// unmerged reports whether step i is to leave the work of the run on its branch.
func (s *State) unmerged(i int) bool { return s.lands(i) && s.run.Leave }

// stays reports whether the work of the run was left on its branch.
func (s *State) stays() bool {
	i, ok := s.prog.Landing()
	return ok && s.steps[i].Status == Skipped
}

// refuseLand refuses to merge the worktree of a run that has none, has not ended, or has
// anything left to do but that.
func (s *State) refuseLand() error {
	i, ok := s.prog.Landing()
	name := "run " + s.run.Opened.Run
	switch {
	case !ok:
		return refuse(Conflict, name+" worked in the workspace itself, so there is nothing to land")
	case s.landed():
		return refuse(Conflict, name+" has landed already")
	case s.run.Live && s.steps[i].Item != "":
		return refuse(Conflict, name+" has not ended: its merge waits for a person", AnswerItem, s.steps[i].Item)
	case s.run.Live:
		return refuse(Conflict, name+" has not ended", AwaitEnd, s.run.Opened.Run)
	case s.run.Status != Done && s.run.Status != Failed:
		return refuse(Conflict, fmt.Sprintf("%s is %s", name, s.run.Status), MergeBranch)
	case s.undone() > 0:
		return refuse(Conflict, fmt.Sprintf("%s has failed, and not all of its steps are done: %d left", name, s.undone()), ResumeRun, s.run.Opened.Run)
	}
	return nil
}

// applyLand takes a run up again for the merge of its worktree alone.
func (s *State) applyLand(c Command) error {
	if err := s.refuseLand(); err != nil {
		return err
	}
	s.reopen()
	s.run.Leave, s.run.LandBy = false, c.By
	i, _ := s.prog.Landing()
	s.order(i, c)
	return nil
}

// refuseGivenUp refuses to do without the merge of the run's worktree: the plan would be
// done in a workspace that does not hold the work.
func (s *State) refuseGivenUp(i int, v Verb) error {
	id := s.prog.Step(i).ID
	text := fmt.Sprintf("step %q brings the work of the run into the workspace: nobody can %s it", id, v)
	switch it := s.items[s.steps[i].Item]; {
	case slices.Contains(it.Choices, ChooseLeave):
		return refuse(Conflict, text, LeaveWork, it.Item)
	case s.run.Live || s.undone() > 0:
		return refuse(Conflict, text, WaitOrCancel)
	}
	return refuse(Conflict, text, LandRun, s.run.Opened.Run)
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
		next[is].Round, next[is].Clashes, next[is].Site = s.steps[was].Round, s.steps[was].Clashes, s.steps[was].Site
	}
}

// endLanding takes the end of the merge of the run's worktree. One that brought
// something into the worktree is followed by the proof of it all, and another one.
func (s *State) endLanding(i int, st *step, e WorkEnded) {
	if e.How == Exited && s.commits() != CommitNone {
		s.run.Loose = false
	}
	clashes := st.Clashes
	st.endMerge(e)
	if st.Apart && st.Clashes == nil {
		st.Clashes = clashes // the worktree still has both sides of them
	}
	if !e.Behind || e.How != Exited {
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
func (s *State) commits() Commits { return s.prog.commits() }

// works reports whether the step leaves something that can be recorded.
func (s *State) works(i int) bool {
	k := s.prog.Step(i).Kind
	return !s.pattern(i) && k != Landing && k != Ask
}

// finish notes a step whose work counts and is to be recorded.
func (s *State) finish(i int) {
	id := s.prog.Step(i).ID
	s.run.Loose = s.run.Loose || s.works(i)
	if s.commits() == CommitStep && s.works(i) && !slices.Contains(s.run.Unrecorded, id) {
		s.run.Unrecorded = append(s.run.Unrecorded, id)
	}
}

// recorded notes what was recorded.
func (s *State) recorded(commits []Commit) {
	for _, c := range commits {
		if c.Commit != "" {
			s.run.Tip = c
		}
		s.run.Unrecorded = slices.DeleteFunc(s.run.Unrecorded, func(id string) bool { return id == c.Step })
	}
	if len(commits) > 0 && s.commits() == CommitStep {
		s.run.Loose = len(s.run.Unrecorded) > 0
	}
}

// scopes are the globs of what steps may write, of those that say it.
func (s *State) scopes(is []int) (globs []string) {
	for _, i := range is {
		globs = append(globs, s.prog.Step(i).Writes...)
	}
	return globs
}

// MaxFinished is how many steps are named in one commit for all of them.
const MaxFinished = 50

// finished lists the steps that are to be recorded now, in the order in which they were done;
// those of one commit for all in the order of the plan, and the first of them only.
func (s *State) finished(end bool) []Finished {
	var all []Finished
	if end && s.commits() != CommitStep {
		for _, i := range s.worked.least(MaxFinished) {
			all = append(all, Finished{s.prog.Step(i), s.steps[i].Attempt})
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
