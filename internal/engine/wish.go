package engine

// Pending names what should be running now. Its cost is that of the steps
// under way.
func (s *State) Pending() []Key {
	if !s.run.Live {
		return nil
	}
	keys := make([]Key, 0, len(s.active))
	for _, i := range s.active {
		if k, ok := s.wants(i); ok {
			keys = append(keys, k)
		}
	}
	if k, ok := s.surveys(); ok {
		keys = append(keys, k)
	}
	if k, ok := s.draws(); ok {
		keys = append(keys, k)
	}
	return keys
}

// Wants reports whether the effect of this key should be running now: whether
// it is among [State.Pending].
func (s *State) Wants(k Key) bool {
	if k.Kind == Draw {
		is, ok := s.draws()
		return ok && s.run.Live && is == k
	}
	i, err := s.known(k)
	if err != nil {
		return false
	}
	is, ok := s.wants(i)
	if k.Kind == Survey {
		is, ok = s.surveys()
	}
	return ok && is == k
}

// Effect is what is to be done for a key that [State.Wants]. For any other it
// is undefined.
func (s *State) Effect(k Key) Effect {
	if k.Kind == Draw {
		return s.drawEffect(k)
	}
	i, _ := s.prog.Index(k.Step)
	return s.effect(i, k)
}

// wants is the effect that a step under way needs, a function of this step and
// of what holds for the whole run.
func (s *State) wants(i int) (Key, bool) {
	st := &s.steps[i]
	if !st.Active || st.Order != nil || s.stopping() || s.waits(i) || s.foreign(st) {
		return Key{}, false
	}
	kind, n := s.wish(i)
	if s.consults(i) {
		kind, n = Consult, max(1, st.N)
	}
	if kind == "" || kind != Consult && s.awaits(i) {
		return Key{}, false
	}
	return Key{Task: s.task, Run: s.run.Opened.Run, Step: s.prog.Step(i).ID, Attempt: st.Attempt, Kind: kind, N: n}, true
}

func (s *State) effect(i int, k Key) Effect {
	st, p := &s.steps[i], s.prog.Step(i)
	e := Effect{
		Step: p, Title: s.prog.Title(), Context: s.prog.def.Context, Constraints: s.prog.def.Constraints, Tags: s.prog.def.Tags, Permissions: s.prog.def.Permissions, Document: s.run.Opened.Path,
		Guards: s.guards(), Protects: s.run.Opened.Protects, Base: s.run.Opened.Base, Moved: s.run.Moved, Judges: s.run.Judges,
		Tree: st.Tree, Since: st.Since, Began: st.Began, Seen: st.Seen,
		Unsealed: s.run.Opened.Unsealed != "", Held: s.run.Opened.Policy.Approve == LowRisk && p.Held(), Shared: len(s.active) > 1, Within: s.within(), Worktree: s.apart(i),
		Item: s.item(i), Outputs: s.outputs(p), Lists: s.lists(p),
		Key: k,
	}
	if n, ok := s.prog.Landing(); ok {
		e.Landing, e.Begun, e.Loose = s.prog.Step(n), s.run.Effort.Attempts > 0, s.run.Loose
	}
	switch k.Kind {
	case Survey:
		e.Tree, e.After, e.Worktree = s.run.Proof.Tree, s.run.Proof.Stage == after, false
		e.News = s.run.News && !e.After
	case Prove:
		e.Watch = s.run.Proof.Watch
	case Prepare:
		e.Baseline = s.baselines(i)
		e.Early = s.run.Effort.Attempts == 0 && s.run.Opened.Parent == Parent{}
		e.News = s.run.News && len(s.active) == 1
		e.Cut = st.Cut
		e.Renew = st.Renew
		e.Edited = st.Edited
		e.Frames = s.consumes(i)
		e.Feedback, e.Note, e.Restore = st.Feedback, st.note(), st.Restore
		if e.Finished = s.finished(false); len(e.Finished) > 0 {
			e.Strays = s.scopes(s.strays.all())
		}
		if e.Step.loops() {
			e.Iteration, e.Heard, e.Last = st.Laps+1, st.Heard, st.Output
		}
	case Consult:
		s.consultation(i, &e)
	case Revert:
		e.First, e.Parts = st.First, st.Parts
	case Work:
		e.First = st.First
		e.Work, e.Role, e.Prompt, e.Value = st.Kind, st.Role, st.Prompt, s.prog.inline[i]
		if st.Preview != nil {
			e.Shown = st.Preview.Targets
		}
	case Merge:
		e.Work, e.Round, e.Conflicts = st.Kind, st.Round, st.Clashes
		if s.lands(i) {
			e.Finished, e.Worked, e.Leave = s.finished(true), s.worked.count, st.Apart
			if e.Strays = s.scopes(s.strays.all()); len(e.Strays) > 0 {
				e.Kept = s.scopes(s.worked.all())
			}
		}
	case Verify:
		e.First, e.Before = st.First, st.Before
		if e.Poll = st.Poll; st.Live {
			e.Work = st.Kind
		}
	}
	return e
}

// baselines reports whether the checks are to run before the step's work.
func (s *State) baselines(i int) bool {
	p := s.prog.Step(i)
	return !s.steps[i].HasBase && s.run.Opened.Policy.Baseline && p.Rerunnable && p.Checkable()
}

// wish is the kind and number of the effect that the step's phase needs.
func (s *State) wish(i int) (EffectKind, int) {
	st := &s.steps[i]
	_, asked := s.inquiry(i)
	switch {
	case st.Phase == Baseline && !s.run.Paused && s.verdict(i) == NoVerdict && !s.presents(i):
		return Prepare, st.N + 1
	case st.Phase == Expanding && !s.run.Paused:
		return Expand, 1
	case st.Phase == Working && st.Live:
		return Work, st.N
	case st.Phase == Merging && st.Live:
		return Merge, st.N
	case st.Phase == Verifying && asked:
		return Verify, st.N
	case s.reverts(i):
		return Revert, st.N
	case st.Phase == Ratchet && asked:
		return Prove, s.run.Proof.Round
	}
	return "", 0
}

// note is what the agent is told of the last attempt beside the evidence.
func (st *step) note() string {
	switch {
	case !st.Cut:
		return st.Note
	case st.Note == "":
		return cutNote
	}
	return st.Note + "\n" + cutNote
}
