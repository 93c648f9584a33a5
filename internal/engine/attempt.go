package engine

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// maxLost is how often work may be lost with its owner before a person is
// asked: a step that kills the machine must not loop.
const maxLost = 3

// cutNote tells an agent what it may find.
const cutNote = "An earlier start of this attempt was cut off when Piton or the machine stopped. What it left behind may be half done: look before you go on."

func (s *State) applyDispatched(e WorkDispatched, r Record) error {
	if e.Kind == PlanWork {
		return s.applyDrawDispatched(e, r)
	}
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	if e.Kind == MergeWork {
		return s.applyMerge(i, e, r)
	}
	st, p := &s.steps[i], s.prog.Step(i)
	once := e.Kind == ContractWork
	switch {
	case !st.Active || st.Live || once != (st.Phase == Verifying) || !once && st.Phase != Baseline || once && p.Rerunnable:
		return fmt.Errorf("%s work of %q is dispatched while the step is %s (%s)", e.Kind, e.Step, st.Status, st.Phase)
	case s.awaits(i):
		return fmt.Errorf("%s work of %q is dispatched without a lease", e.Kind, e.Step)
	case p.shows() && !once && !st.callable(e):
		return fmt.Errorf("a call of %q is dispatched, which is not the one that was looked at", e.Step)
	case (p.Kind == Delegate && !once && e.Prompt != "") != (e.Child != ""):
		return fmt.Errorf("work of %q is dispatched, a step for %s, and opens run %q", e.Step, p.Kind, e.Child)
	case !once && !s.employs(i, e.Role):
		return fmt.Errorf("work of %q is dispatched to %q, who has no part in it", e.Step, e.Role)
	case !once && e.Kind != p.work():
		return fmt.Errorf("%s work of %q is dispatched, a step for %s", e.Kind, e.Step, p.Kind)
	case !s.knowable(e.Frames) || len(e.Frames) > 0 && e.Kind != AgentWork:
		return fmt.Errorf("%s work of %q is dispatched with the frames %v", e.Kind, e.Step, e.Frames)
	case !e.Reserve.valid() || once && e.Reserve != (Amount{}):
		return fmt.Errorf("work of %q is dispatched with a reserve below nothing, or for checks", e.Step)
	case e.Attempt != st.Attempt || e.N != st.N+1:
		return fmt.Errorf("work of %q is dispatched as attempt %d.%d after %d.%d", e.Step, e.Attempt, e.N, st.Attempt, st.N)
	}
	s.recorded(e.Commits)
	s.caughtUp(e.CaughtUp)
	s.change(i, func(st *step) {
		st.Live, st.Kind, st.N, st.Epoch = true, e.Kind, e.N, r.Epoch
		if once {
			return
		}
		st.become(Working)
		st.Role, st.Prompt, st.Tree, st.Began = e.Role, e.Prompt, e.Tree, st.starts(r)
		if st.Since.IsZero() || st.Renew {
			st.Since, st.First = e.Since, e.Tree
		}
		if st.Child = e.Child; p.shows() {
			st.called(e)
		}
		st.Restore, st.Ended, st.Cut, st.Rests, st.Gone, st.Unseen, st.Vouched, st.Parts, st.Reverted = nil, nil, false, nil, nil, "", Vouched{}, nil, nil
		if st.Renew {
			st.Renew, st.Clashes = false, nil
		}
		st.begin(r.At)
		st.Reserve = e.Reserve
		st.Used.hold(e.Reserve)
		s.run.Used.hold(e.Reserve)
		s.run.Proof.stale()
	})
	return nil
}

// work is the kind of work that does the step's task.
func (p *Step) work() WorkKind {
	switch p.Kind {
	case Script:
		return ScriptWork
	case Tool:
		return ToolWork
	case Delegate:
		return ChildWork
	}
	return AgentWork
}

// begin notes when the step was first worked on.
func (st *step) begin(at time.Time) {
	if st.Started.IsZero() {
		st.Started = at
	}
}

func (s *State) applyWorkEnded(e WorkEnded, at time.Time) error {
	if s.run.Live && e.How.known() && s.applyLeft(e, at) {
		return nil
	}
	if e.Kind == PlanWork {
		return s.applyDrawn(e)
	}
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if !st.Live || e.Attempt != st.Attempt || e.N != st.N || e.Kind != st.Kind {
		return fmt.Errorf("work %q %d.%d (%s) ended, which is not under way", e.Step, e.Attempt, e.N, e.Kind)
	}
	if !e.How.known() || s.prog.Step(i).shows() && e.Kind == s.prog.Step(i).work() && st.Prompt == "" && e.How == Exited {
		return fmt.Errorf("work %q %d.%d ended by %q", e.Step, e.Attempt, e.N, e.How)
	}
	if !endsRightly(e, e.Kind) {
		return fmt.Errorf("work %q %d.%d (%s) ended by %q, with the end of a run: %v", e.Step, e.Attempt, e.N, e.Kind, e.How, e.Ending != nil)
	}
	s.account(e, st.Role, st.Reserve)
	s.tried(st, e, at)
	s.leaves(i, Start{at, st.Epoch}, e.OutOfScope)
	s.recorded(e.Commits)
	s.change(i, func(st *step) {
		s.unask(i, at)
		st.Live, st.Reserve, st.Said, st.Claimed, st.Left = false, Amount{}, Usage{}, Claims{}, Start{at, st.Epoch}
		switch {
		case e.Kind == MergeWork && s.lands(i):
			s.endLanding(i, st, e)
		case e.Kind == MergeWork:
			st.endMerge(e)
		case e.Kind == ContractWork:
			st.endOnce(e, s.complete(i))
		case e.How == Lost || e.How == Stopped:
			if st.cutOff(e); st.Ended == nil {
				s.found(i, &e)
			}
		default:
			st.become(s.judges(i, &e))
			st.Ended, st.Output, st.Value = &e, e.Output, string(e.Value)
			st.Moved = st.Moved || s.prog.Step(i).loops() && len(e.Changed) > 0
			if e.How != NoStart && !e.Cause.Outside() {
				st.Infra, st.Lost = 0, 0 // its merge is counted anew
			}
		}
	})
	return nil
}

func (h How) known() bool {
	return slices.Contains([]How{Exited, Lost, TimedOut, NoStart, Stopped}, h)
}

// endOnce takes the end of checks that may run only once. Without all their
// answers nobody can know what they did.
func (st *step) endOnce(e WorkEnded, complete bool) {
	if e.How != Exited || !complete {
		st.Ended, st.Checks = &e, nil
	}
}

// cutOff prepares the same attempt again: its work came to no end of its own.
// Work that was stopped on purpose is not held against the step.
func (st *step) cutOff(e WorkEnded) {
	st.become(Baseline)
	st.Cut = true
	st.Restore = slices.Concat(e.Tampered, e.OutOfScope)
	if e.How != Lost {
		return
	}
	if st.Lost++; st.Lost >= maxLost {
		st.Ended = &e
	}
}

// spend adds up what agents claim to have used.
func (s *State) spend(u Usage) {
	add := func(sum *int64, v *int64) {
		if v != nil && *v > 0 {
			*sum += min(*v, math.MaxInt64-*sum)
		}
	}
	add(&s.run.TokensIn, u.In)
	add(&s.run.TokensOut, u.Out)
	add(&s.run.CostMicros, u.CostMicros)
}

func (s *State) applyCheck(e CheckEnded, at time.Time) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if phase, asked := s.inquiry(i); !asked || e.Phase != phase || e.Attempt != st.Attempt {
		return fmt.Errorf("check %q of %q ended (attempt %d, %s), which is not under way", e.Check, e.Step, e.Attempt, e.Phase)
	}
	p := s.prog.Step(i)
	if e.Check == p.Checks[0].Name {
		st.Checks = nil // of answers that were cut off with the journal's tail
	}
	if err := p.answers(len(st.Checks), e); err != nil {
		return err
	}
	if err := st.reran(p, e); err != nil {
		return err
	}
	if e.Phase != Baseline && st.lacksTests(len(st.Checks), e) {
		return fmt.Errorf("check %q of step %q passed with %d tests, and there were %d before the work", e.Check, p.ID, e.Tests, st.Tests[len(st.Checks)])
	}
	if !st.polled(e) {
		return fmt.Errorf("the judge of step %q answers by votes %v, and said %v", e.Step, e.Votes, st.Poll.Votes)
	}
	st.Checks = append(st.Checks, e)
	s.charge(i, e.Usage, e.Voteless)
	if e.Check == Judge && e.Verdict != Infra {
		st.Poll = Poll{}
	}
	if e.Phase == Verifying {
		st.Left = Start{at, s.epoch}
		s.leaves(i, st.Left, nil)
	}
	s.opens(e.Opened)
	if e.Phase == Ratchet {
		s.alter(i, e.Altered)
	}
	if s.complete(i) {
		s.change(i, func(st *step) { s.conclude(i, st, at) })
	}
	return nil
}

// inquiry is the phase whose checks the step waits for.
func (s *State) inquiry(i int) (Phase, bool) {
	st, p := &s.steps[i], s.prog.Step(i)
	if !st.Active || s.waits(i) || s.awaits(i) || s.complete(i) {
		return NoPhase, false
	}
	switch st.Phase {
	case Baseline:
		return Baseline, !st.HasBase && p.Rerunnable
	case Verifying:
		return Verifying, st.Ended != nil && endVerdict(st.Ended) == NoVerdict && st.Live == !p.Rerunnable
	case Ratchet:
		return Ratchet, true
	}
	return NoPhase, false
}

// answers reports why e cannot be the answer of the step's n-th check.
func (p *Step) answers(n int, e CheckEnded) error {
	want := p.Checks[n]
	switch {
	case e.Check != want.Name || e.Required != want.Required || e.Want != want.Exit:
		return fmt.Errorf("answer %d of step %q is not one of check %q", n+1, p.ID, want.Name)
	case e.Verdict == Pass && (e.Exit != want.Exit || e.Signal != ""):
		return fmt.Errorf("check %q of step %q passed with exit code %d %s, wanted %d", e.Check, p.ID, e.Exit, e.Signal, want.Exit)
	}
	if (e.Check == Judge) != (want.Question != "") || e.Check == Judge && !e.votedRightly() || e.Check != Judge && len(e.Votes) > 0 {
		return fmt.Errorf("check %q of step %q is %s by votes %v", e.Check, p.ID, e.Verdict, e.Votes)
	}
	if e.Verdict.answers() {
		return nil
	}
	return fmt.Errorf("check %q of step %q has the unknown verdict %q", e.Check, p.ID, e.Verdict)
}

// complete reports whether all checks of the phase under way have answered.
func (s *State) complete(i int) bool {
	return len(s.steps[i].Checks) == len(s.prog.Step(i).asked(s.steps[i].Phase))
}

// conclude takes the complete answers of one phase.
func (s *State) conclude(i int, st *step, at time.Time) {
	v, _ := verdictOf(st.Checks)
	st.Flaky = st.Flaky || slices.ContainsFunc(st.Checks, CheckEnded.flaky)
	if s.prog.Step(i).loops() && st.Phase != Baseline {
		st.hears(st.Checks)
	}
	switch st.Phase {
	case Baseline:
		v = baselineOf(st.Checks)
		st.begin(at)
		st.HasBase, st.Baseline, st.Barred = true, v, bars(s.prog.Step(i).Expect, v)
		st.remember("", v)
		st.remember(st.Checks[0].Tree, v)
		st.opensFirst()
		st.countsFirst()
		if st.Barred == NoVerdict {
			st.Checks = nil
		}
	case Verifying:
		s.rests(i)
		st.Same = contrary(st.Checks)
		st.remember(st.Checks[0].Tree, Said(st.Checks))
		s.bring(i, st, s.seen(i))
	case Ratchet:
		st.remember(st.Checks[0].Tree, v)
		s.proved(i, v)
	}
}

// maxSeen is how many trees are remembered: a long loop must cost no more at its end.
const maxSeen = 64

// remember keeps what the checks said of a tree, to know a flaky one.
func (st *step) remember(tree string, v Verdict) {
	if !v.tells() || tree == "" && st.Phase != Baseline {
		return
	}
	st.Seen = slices.DeleteFunc(st.Seen, func(a Seen) bool { return a.Tree == tree })
	st.Seen = append(st.Seen, Seen{tree, v == Pass})
	st.Seen = st.Seen[max(0, len(st.Seen)-maxSeen):]
}
