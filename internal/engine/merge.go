package engine

import "fmt"

// Effect is the kind of the effect that carries the work out.
func (k WorkKind) Effect() EffectKind {
	switch k {
	case ContractWork:
		return Verify
	case MergeWork:
		return Merge
	case PlanWork, ReviewWork, ExtractWork:
		return Draw
	}
	return Work
}

// apart reports whether the step is in its own worktree: until that is merged,
// and not while it is proved again.
func (s *State) apart(i int) bool {
	st := &s.steps[i]
	return s.prog.Step(i).Worktree && !s.pattern(i) && !st.Merged && st.Phase != Merging && st.Phase != Ratchet
}

// judges is the phase after the work. Checks that may run only once look at
// nothing but the merged tree.
func (s *State) judges(i int, e *WorkEnded) Phase {
	if p := s.prog.Step(i); p.Worktree && !p.Rerunnable && endVerdict(e) == NoVerdict {
		return Merging
	}
	return Verifying
}

// bring lets a worktree whose checks passed be merged: the step is done only
// when they pass again on the merged tree.
func (s *State) bring(i int, st *step, v Verdict) {
	if v == Pass && s.prog.Step(i).Worktree && !st.Merged {
		st.become(Merging)
	}
}

func (s *State) applyMerge(i int, e WorkDispatched, r Record) error {
	st := &s.steps[i]
	switch {
	case !st.Active || st.Live || st.Phase != Merging || st.Merge != nil || s.awaits(i) || s.waits(i):
		return fmt.Errorf("the worktree of %q is merged while the step is %s (%s)", e.Step, st.Status, st.Phase)
	case e.Leave != s.unmerged(i):
		return fmt.Errorf("the worktree of %q is to stay on its branch (%v), and nobody said so", e.Step, e.Leave)
	case e.Attempt != st.Attempt || e.N != st.N+1:
		return fmt.Errorf("the worktree of %q is merged as %d.%d after %d.%d", e.Step, e.Attempt, e.N, st.Attempt, st.N)
	}
	s.change(i, func(st *step) {
		st.Live, st.Kind, st.N, st.Epoch = true, e.Kind, e.N, r.Epoch
		if s.lands(i) {
			st.begin(r.At)
			st.Apart = e.Leave
			return // what it merges is what was proved
		}
		s.run.Proof.stale()
	})
	return nil
}

// endMerge takes the end of a merge. One that was cut off is looked for, and
// then done again.
func (st *step) endMerge(e WorkEnded) {
	switch {
	case e.How == Stopped:
	case e.How == Lost:
		if st.Lost++; st.Lost >= maxLost {
			st.Merge = &e
		}
	case e.How == Exited && len(e.Tampered) > 0:
		st.Merge = &e
	case e.How == Exited && len(e.Conflicts) == 0:
		st.become(Verifying)
		st.Merged, st.Renew, st.Clashes = true, true, nil
		st.Infra, st.Lost, st.Seen = 0, 0, nil // another tree, other answers
	case e.How == Exited:
		st.Merge, st.Clashes, st.Site = &e, e.Conflicts, e.Worktree
		st.Round++
	default:
		st.Merge = &e
	}
}

// mergeVerdict judges a merge that did not come to its end.
func mergeVerdict(e *WorkEnded) Verdict {
	switch {
	case e == nil:
		return NoVerdict
	case len(e.Tampered) > 0:
		return Tampered
	case len(e.Conflicts) > 0:
		return Clash
	case e.How == Lost || e.Behind:
		return Inconclusive
	}
	return Infra
}

func mergeReason(st *step) string {
	switch e := st.Merge; mergeVerdict(e) {
	case Clash:
		return fmt.Sprintf("its worktree conflicts with the workspace: %s; resolve both sides in %s, then answer retry", paths(e.Conflicts), e.Worktree)
	case Tampered:
		return fmt.Sprintf("files that judge changed in the checkout while the run was under way: %s; answer retry, which shows the changes and takes them with your yes, or put the files back first", paths(e.Tampered))
	case Inconclusive:
		if e.Behind {
			return fmt.Sprintf("the workspace had something new %d times while all was proved with what it had before; leave it alone for as long as that takes, then answer retry", maxNews)
		}
		return fmt.Sprintf("its merge was cut off %d times by the end of its owner", st.Lost)
	default:
		return "its worktree could not be merged: " + e.Reason
	}
}

// resolves takes a person's word that the conflict is resolved: the same attempt
// goes on with the checks in the worktree. It reports whether that was the word.
func (st *step) resolves(order *Command) bool {
	if !st.Stuck || order != nil && order.From {
		return false
	}
	st.Stuck, st.Resolved, st.Infra, st.Lost = false, true, 0, 0
	st.Seen, st.Parts, st.Reverted = nil, nil, nil // the person changed what was judged
	return true
}

// goOnResolved begins where the conflict was: the work itself has ended.
func (s *State) goOnResolved(i int, st *step) {
	if !st.Resolved {
		return
	}
	st.Resolved = false
	st.begin(s.last)
	st.Ended = &WorkEnded{Step: s.prog.Step(i).ID, Attempt: st.Attempt, N: st.N, Kind: s.prog.Step(i).work(), How: Exited}
	st.become(s.judges(i, st.Ended))
}
