package engine

import (
	"fmt"
	"time"
)

// approvalLife is how long a step's approval may wait for its use.
const approvalLife = 24 * time.Hour

// Admit turns an input into facts, or refuses it with a [*Refusal]. It changes
// nothing: the caller appends and applies what it returns. Results of effects
// that are no longer wanted are refused; late, foreign and impossible inputs
// are never corruption.
func (s *State) Admit(in Input, now time.Time) ([]Event, error) {
	es, err := s.admit(in, now)
	return s.promise(es), err
}

func (s *State) admit(in Input, now time.Time) ([]Event, error) {
	switch in := in.(type) {
	case Begin:
		return []Event{in.EpochBegan}, nil
	case Open:
		return s.admitOpen(in)
	case Revise:
		es, err := s.admitRevise(in)
		if no := s.mayAdopt(in.Run, in.By); err == nil && no != nil {
			return nil, refuse(Conflict, no.Error())
		}
		return es, err
	case Configure:
		return s.admitConfigure(in)
	case Prepared:
		return s.admitPrepared(in, now)
	case Ended:
		return s.admitEnded(in)
	case Heard:
		return s.admitHeard(in)
	case Reported:
		return s.admitReported(in)
	case Asks:
		return s.admitAsks(in, now)
	case Unasked:
		return s.admitUnasked(in)
	case Checked:
		return s.admitChecked(in)
	case Voted:
		return s.admitVoted(in)
	case Tried:
		return s.admitTried(in)
	case Reverted:
		return s.admitReverted(in)
	case Ruled:
		return s.admitRuled(in)
	case Surveyed:
		return s.admitSurveyed(in)
	case Expanded:
		return s.admitExpanded(in)
	case Lease:
		return s.admitLease(in)
	case Recall:
		return s.admitRecall(in)
	case Order:
		return s.admitOrder(in)
	case Reply:
		return s.admitReply(in, now)
	}
	return nil, refuse(Invalid, fmt.Sprintf("%T is not for a task", in))
}

func (s *State) admitOpen(in Open) ([]Event, error) {
	switch {
	case s.task == "" && (in.Task == nil || in.Task.Task == ""):
		return nil, refuse(NotFound, "the run has no task")
	case s.task != "" && in.Task != nil:
		return nil, refuse(Conflict, "task "+s.task+" is open already")
	case in.Run.Revises != "":
		return nil, refuse(Invalid, "a run that opens revises none")
	}
	if err := s.mayOpen(in.Run); err != nil {
		return nil, err
	}
	var es []Event
	if in.Task != nil {
		es = append(es, *in.Task)
	}
	return append(es, in.Run), nil
}

// mayOpen reports why a run cannot be opened.
func (s *State) mayOpen(e RunOpened) error {
	switch {
	case s.run.Live:
		return refuse(Conflict, "run "+s.run.Opened.Run+" has not ended", EndRunFirst)
	case e.Compiled == nil || e.Compiled.Hash() != e.Program:
		return refuse(Invalid, "the run has no program")
	case e.Run == "" || e.Run == s.run.Opened.Run:
		return refuse(Invalid, "the run has no id of its own")
	case len(e.Carried) > 0:
		return refuse(Invalid, "a run that opens carries nothing over")
	}
	return nil
}

// wanted finds the step whose present wish the key is.
func (s *State) wanted(k Key) (int, error) {
	i, err := s.known(k)
	if err != nil {
		return 0, err
	}
	if is, ok := s.wants(i); !ok || is != k {
		return 0, refuse(Conflict, k.String()+" is not wanted")
	}
	return i, nil
}

// known finds the step of a key that is of the open run.
func (s *State) known(k Key) (int, error) {
	if !s.run.Live || k.Run != s.run.Opened.Run || k.Task != s.task {
		return 0, refuse(Conflict, "run "+k.Run+" is not open")
	}
	return s.find(k.Step)
}

func (s *State) admitPrepared(in Prepared, now time.Time) ([]Event, error) {
	i, err := s.wanted(in.Key)
	if err != nil {
		return nil, err
	}
	st, p := &s.steps[i], s.prog.Step(i)
	d := in.Dispatch
	who := s.picks(i, now)
	d.Step, d.Attempt, d.N, d.Kind, d.Role, d.Why = p.ID, st.Attempt, in.Key.N, p.work(), who.role, s.because(i, who)
	d.Reserve, d.Child = s.reserve(i, now), ""
	switch {
	case in.Key.Kind != Prepare:
		return nil, refuse(Conflict, in.Key.String()+" prepares nothing")
	case !s.knowable(d.Frames):
		return nil, refuse(Invalid, fmt.Sprintf("%s was told of the frames %v", in.Key, d.Frames))
	case p.Approval != "" && !p.shows() && now.Sub(st.Granted) >= approvalLife:
		return []Event{StepSettled{Step: p.ID, Attempt: st.Attempt, Status: Pending, Reason: "the approval is older than 24 hours", By: Harness}}, nil
	case len(in.Strays) > 0 && st.Cut:
		return []Event{StepSettled{
			Step: p.ID, Attempt: st.Attempt, Status: Waiting, Verdict: OutOfScope,
			Reason: "while its work was cut off, files outside its writes changed: " + text(paths(in.Strays)),
		}}, nil
	case s.exceeded() != "":
		return []Event{s.held(i)}, nil
	case s.fit(i, now) != ample:
		return []Event{s.noRoom(i)}, nil
	case in.Err != "":
		if p.shows() {
			d.Prompt = "" // nothing can be called
		}
		return []Event{d, WorkEnded{Step: d.Step, Attempt: d.Attempt, N: d.N, Kind: d.Kind, How: NoStart, Reason: text(in.Err), Absent: in.Absent}}, nil
	case !s.baselines(i):
		return s.starts(i, in, d, now)
	}
	checks, err := s.evidence(i, in.Checks, Baseline, 0)
	if err != nil {
		return nil, err
	}
	es := events(checks)
	if bars(p.Expect, baselineOf(checks)) != NoVerdict {
		return es, nil
	}
	then, err := s.starts(i, in, d, now)
	if err != nil {
		return nil, err
	}
	return append(es, then...), nil
}

// starts is what follows when nothing bars the work.
func (s *State) starts(i int, in Prepared, d WorkDispatched, now time.Time) ([]Event, error) {
	if s.prog.Step(i).shows() {
		return s.previewed(i, in, d, now)
	}
	return []Event{d}, nil
}

// evidence checks that the answers are those of all the step's checks, in order.
func (s *State) evidence(i int, checks []CheckEnded, phase Phase, round int) ([]CheckEnded, error) {
	st, p := &s.steps[i], s.prog.Step(i)
	if want := len(p.asked(phase)); len(checks) != want {
		return nil, refuse(Invalid, fmt.Sprintf("step %q has %d checks, and %d answers came", p.ID, want, len(checks)))
	}
	said := make([]CheckEnded, len(checks))
	for n, c := range checks {
		c.Step, c.Attempt, c.Phase, c.Round = p.ID, st.Attempt, phase, round
		c.Required, c.Want = p.Checks[n].Required, p.Checks[n].Exit
		c.Reason, c.Stdout, c.Stderr = text(c.Reason), text(c.Stdout), text(c.Stderr)
		if phase != Baseline && st.lacksTests(n, c) {
			c.unsure(st.Tests[n])
		}
		if err := p.answers(n, c); err != nil {
			return nil, refuse(Invalid, err.Error())
		}
		if err := st.reran(p, c); err != nil {
			return nil, refuse(Invalid, err.Error())
		}
		if !st.polled(c) {
			return nil, refuse(Invalid, fmt.Sprintf("the judge of step %q answers by votes that nobody heard", p.ID))
		}
		said[n] = c
	}
	return said, nil
}

func events(checks []CheckEnded) []Event {
	es := make([]Event, len(checks), len(checks)+1)
	for n, c := range checks {
		es[n] = c
	}
	return es
}

func (s *State) admitEnded(in Ended) ([]Event, error) {
	k := in.Key
	l, leaves := s.left(k)
	if k.Kind == Draw && !leaves {
		return s.admitDrawn(in)
	}
	i, err := 0, error(nil)
	if !leaves {
		if i, err = s.known(k); err != nil {
			return nil, err
		}
		l.Kind = s.steps[i].Kind
	}
	switch {
	case !leaves && !s.underWay(i, k):
		return nil, refuse(Conflict, k.String()+" is not under way")
	case !in.How.known() || in.How == Lost: // only the core says that work is lost
		return nil, refuse(Invalid, fmt.Sprintf("%s cannot end by %q", k, in.How))
	case in.How == Exited && l.Kind == ContractWork:
		return nil, refuse(Invalid, k.String()+" ends with the answers of its checks")
	case !leaves && !endsRightly(in.WorkEnded, l.Kind):
		return nil, refuse(Invalid, k.String()+" ends with the end of its run, and no other work does")
	}
	e := in.WorkEnded
	e.Step, e.Attempt, e.N, e.Kind, e.Drawn = k.Step, k.Attempt, k.N, l.Kind, nil
	if e.Unfit = text(e.Unfit); !leaves && e.Ending == nil {
		e.Usage = s.steps[i].reported(e.Usage)
	}
	if leaves {
		e.Usage = e.Usage.least(l.Heard)
	}
	e.Idle = !leaves && s.idled(i, e)
	e.Reason, e.Claims, e.Notes, e.Words = text(e.Reason), e.plain(), texts(e.Notes), text(e.Words)
	if e.Cause = e.Cause.plain(); e.Kind != AgentWork {
		e.Cause = nil
	}
	e.Stdout, e.Stderr = text(e.Stdout), text(e.Stderr)
	if e.Value, err = Canonical(e.Value); err != nil || leaves || !s.prog.inline[i] {
		e.Value = nil
	}
	return []Event{e}, nil
}

// endsRightly reports whether work that a run of its own did, and only that, says
// how that run ended.
func endsRightly(e WorkEnded, kind WorkKind) bool {
	return (e.Ending != nil) == (kind == ChildWork && e.How != NoStart)
}

// underWay reports whether k is the key of work that this owner dispatched and
// that has not ended, wanted or not.
func (s *State) underWay(i int, k Key) bool {
	st := &s.steps[i]
	kind := st.Kind.Effect()
	return st.Live && !s.foreign(st) && k.Attempt == st.Attempt && k.N == st.N && k.Kind == kind
}

func (s *State) admitChecked(in Checked) ([]Event, error) {
	if l, leaves := s.left(in.Key); leaves {
		return []Event{l.ended(Exited, "")}, nil
	}
	i, err := s.known(in.Key)
	if err == nil && !(s.steps[i].Kind == ContractWork && s.underWay(i, in.Key)) {
		i, err = s.wanted(in.Key)
	}
	if err != nil {
		return nil, err
	}
	phase, round := in.Key.Kind.Phase(), in.Key.N
	switch phase {
	case NoPhase:
		return nil, refuse(Conflict, in.Key.String()+" asks no checks")
	case Verifying:
		round = 0
	}
	checks, err := s.evidence(i, in.Checks, phase, round)
	if err != nil {
		return nil, err
	}
	es := events(checks)
	if st := &s.steps[i]; st.Live {
		es = append(es, WorkEnded{Step: in.Key.Step, Attempt: st.Attempt, N: st.N, Kind: st.Kind, How: Exited})
	}
	return es, nil
}
