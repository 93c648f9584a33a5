package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// approvalLife is how long a step's approval may wait for its use.
const approvalLife = 24 * time.Hour

// Admit turns an input into facts, or refuses it with a [*Refusal]. It changes
// nothing: the caller appends and applies what it returns. Results of effects
// that are no longer wanted are refused; late, foreign and impossible inputs
// are never corruption.
func (s *State) Admit(in Input, now time.Time) ([]Event, error) {
	switch in := in.(type) {
	case Begin:
		return []Event{in.EpochBegan}, nil
	case Open:
		return s.admitOpen(in)
	case Prepared:
		return s.admitPrepared(in, now)
	case Ended:
		return s.admitEnded(in)
	case Checked:
		return s.admitChecked(in)
	case Order:
		return s.admitOrder(in.Command)
	case Reply:
		return s.admitReply(in.ItemAnswered)
	}
	return nil, refuse(Invalid, fmt.Sprintf("%T is not for a task", in), "")
}

func (s *State) admitOpen(in Open) ([]Event, error) {
	p := in.Run.Compiled
	switch {
	case s.task == "" && in.Task == nil:
		return nil, refuse(NotFound, "the run has no task", "")
	case s.task != "" && in.Task != nil:
		return nil, refuse(Conflict, "task "+s.task+" is open already", "")
	case s.run.Live:
		return nil, refuse(Conflict, "run "+s.run.Opened.Run+" has not ended", "resume it, or cancel it first")
	case p == nil || p.Hash() != in.Run.Program || in.Run.Run == "":
		return nil, refuse(Invalid, "the run has no program", "")
	}
	var es []Event
	if in.Task != nil {
		es = append(es, *in.Task)
	}
	return append(es, in.Run), nil
}

// wanted finds the step whose present wish the key is.
func (s *State) wanted(k Key) (int, error) {
	if s.prog == nil || !s.run.Live || k.Run != s.run.Opened.Run || k.Task != s.task {
		return 0, refuse(Conflict, "run "+k.Run+" is not open", "")
	}
	i, ok := s.prog.Index(k.Step)
	if !ok {
		return 0, refuse(NotFound, fmt.Sprintf("run %s has no step %q", k.Run, k.Step), "")
	}
	if !s.steps[i].Active {
		return 0, refuse(Conflict, k.String()+" is not wanted", "")
	}
	if e, ok := s.wants(i); !ok || e.Key != k {
		return 0, refuse(Conflict, k.String()+" is not wanted", "")
	}
	return i, nil
}

func (s *State) admitPrepared(in Prepared, now time.Time) ([]Event, error) {
	i, err := s.wanted(in.Key)
	if err != nil {
		return nil, err
	}
	st, p := &s.steps[i], s.prog.Step(i)
	w, _ := s.wants(i)
	var es []Event
	if w.Baseline && in.Err == "" {
		if es, err = s.evidence(i, in.Checks, Baseline, 0); err != nil {
			return nil, err
		}
	}
	d := in.Dispatch
	d.Step, d.Attempt, d.N = p.ID, st.Attempt, in.Key.N
	d.Kind, d.Role = AgentWork, p.Role
	if p.Kind == Script {
		d.Kind = ScriptWork
	}
	switch {
	case in.Err != "":
		return []Event{d, WorkEnded{Step: d.Step, Attempt: d.Attempt, N: d.N, Kind: d.Kind, How: NoStart, Reason: in.Err}}, nil
	case len(in.Strays) > 0:
		return append(es, StepSettled{Step: p.ID, Attempt: st.Attempt, Status: Waiting, Verdict: OutOfScope,
			Reason: "while its work was cut off, files outside its writes changed: " + paths(in.Strays)}), nil
	case p.Approval != "" && now.Sub(st.Granted) > approvalLife:
		return []Event{StepSettled{Step: p.ID, Attempt: st.Attempt, Status: Pending, Reason: "the approval is older than 24 hours", By: Harness}}, nil
	case w.Baseline && !asExpected(p.Expect, es):
		return es, nil // the core settles it
	}
	return append(es, d), nil
}

func asExpected(x Expect, es []Event) bool {
	checks := make([]CheckEnded, len(es))
	for n, e := range es {
		checks[n] = e.(CheckEnded)
	}
	v, _ := verdictOf(checks)
	return x == ExpectAny || x == ExpectRed && v == Fail || x == ExpectGreen && v == Pass
}

// evidence checks that the answers are those of all the step's checks, in order.
func (s *State) evidence(i int, checks []CheckEnded, phase Phase, round int) ([]Event, error) {
	st, p := &s.steps[i], s.prog.Step(i)
	if len(checks) != len(p.Checks) {
		return nil, refuse(Invalid, fmt.Sprintf("step %q has %d checks, and %d answers came", p.ID, len(p.Checks), len(checks)), "")
	}
	es := make([]Event, len(checks))
	for n, c := range checks {
		want := p.Checks[n]
		if c.Check != want.Name || c.Verdict == NoVerdict || c.Verdict == Pass && (c.Exit != want.Exit || c.Signal != "") {
			return nil, refuse(Invalid, fmt.Sprintf("answer %d of step %q is not one of check %q", n+1, p.ID, want.Name), "")
		}
		c.Step, c.Attempt, c.Phase, c.Round = p.ID, st.Attempt, phase, round
		c.Required, c.Want = want.Required, want.Exit
		es[n] = c
	}
	return es, nil
}

func (s *State) admitEnded(in Ended) ([]Event, error) {
	if s.prog == nil {
		return nil, refuse(NotFound, "no run is open", "")
	}
	i, ok := s.prog.Index(in.Key.Step)
	if !ok {
		return nil, refuse(NotFound, fmt.Sprintf("no step %q", in.Key.Step), "")
	}
	st := &s.steps[i]
	k := in.Key
	switch {
	case !s.run.Live || k.Run != s.run.Opened.Run || !st.Live || k.Attempt != st.Attempt || k.N != st.N || st.Epoch != s.epoch:
		return nil, refuse(Conflict, k.String()+" is not under way", "")
	case in.How == Lost:
		return nil, refuse(Invalid, "only the core says that work is lost", "")
	}
	e := in.WorkEnded
	e.Step, e.Attempt, e.N, e.Kind = k.Step, k.Attempt, k.N, st.Kind
	return []Event{e}, nil
}

func (s *State) admitChecked(in Checked) ([]Event, error) {
	i, err := s.wanted(in.Key)
	if err != nil {
		return nil, err
	}
	phase, round := Verifying, 0
	switch in.Key.Kind {
	case Again:
		phase, round = Flaky, in.Key.N
	case Prove:
		phase, round = Ratchet, in.Key.N
	}
	es, err := s.evidence(i, in.Checks, phase, round)
	if err != nil {
		return nil, err
	}
	if st := &s.steps[i]; st.Live {
		es = append(es, WorkEnded{Step: in.Key.Step, Attempt: st.Attempt, N: st.N, Kind: st.Kind, How: Exited})
	}
	return es, nil
}

func (s *State) admitOrder(c Command) ([]Event, error) {
	if s.prog == nil {
		return nil, refuse(NotFound, "no run was opened yet", "")
	}
	if c.By == "" {
		return nil, refuse(Invalid, "a command needs the name of who gave it", "")
	}
	switch c.Verb {
	case DoPause, DoResume, DoCancel:
		return s.admitRunOrder(c)
	case DoSkip, DoWaive, DoRetry:
		return s.admitStepOrder(c)
	}
	return nil, refuse(Invalid, fmt.Sprintf("unknown command %q", c.Verb), "")
}

func (s *State) admitRunOrder(c Command) ([]Event, error) {
	name := "run " + s.run.Opened.Run
	switch {
	case c.Verb == DoResume && !s.run.Live && s.run.Status == Failed:
	case !s.run.Live:
		return nil, refuse(Conflict, fmt.Sprintf("%s is %s", name, s.run.Status), "")
	case s.run.Cancelled:
		return nil, refuse(Conflict, name+" is being cancelled", "")
	case c.Verb == DoPause && s.run.Paused:
		return nil, refuse(Conflict, name+" is paused already", "")
	case c.Verb == DoResume && !s.run.Paused:
		return nil, refuse(Conflict, name+" is not paused", "")
	}
	return []Event{c}, nil
}

func (s *State) admitStepOrder(c Command) ([]Event, error) {
	i, ok := s.prog.Index(c.Step)
	if !ok {
		return nil, refuse(NotFound, fmt.Sprintf("run %s has no step %q", s.run.Opened.Run, c.Step), "piton status lists them")
	}
	st := &s.steps[i]
	open := s.run.Live || s.run.Status == Failed
	switch {
	case !open || s.stopping() && s.run.Live:
		return nil, refuse(Conflict, fmt.Sprintf("run %s is %s", s.run.Opened.Run, s.run.Status), "")
	case c.Verb != DoRetry && c.Why == "":
		return nil, refuse(Invalid, fmt.Sprintf("a %s needs a reason", c.Verb), "give it with --why")
	case c.Verb != DoRetry && st.satisfied():
		return nil, refuse(Conflict, fmt.Sprintf("step %q is %s", c.Step, st.Status), "")
	case c.Verb == DoRetry && st.Status == Pending && !c.From:
		return nil, refuse(Conflict, fmt.Sprintf("step %q has not run yet", c.Step), "")
	case c.Verb == DoRetry && st.satisfied() && !c.From:
		return nil, refuse(Conflict, fmt.Sprintf("step %q is %s", c.Step, st.Status), "retry --from does it again, with all that needs it")
	case c.Verb == DoRetry && st.Active:
		return nil, refuse(Conflict, fmt.Sprintf("step %q is running", c.Step), "")
	case c.Verb == DoRetry && c.From && s.anyActive(i):
		return nil, refuse(Conflict, fmt.Sprintf("a step that needs %q is running", c.Step), "pause or cancel the run first")
	case st.Order != nil:
		return nil, refuse(Conflict, fmt.Sprintf("step %q was told to %s already", c.Step, st.Order.Verb), "")
	}
	return []Event{c}, nil
}

func (s *State) anyActive(i int) bool {
	return slices.ContainsFunc(s.downstream(i), func(d int) bool { return s.steps[d].Active })
}

// downstream returns step i and all that need it, directly or not.
func (s *State) downstream(i int) []int {
	seen := map[int]bool{i: true}
	all := []int{i}
	for n := 0; n < len(all); n++ {
		for _, d := range s.prog.Dependents(all[n]) {
			if !seen[d] {
				seen[d] = true
				all = append(all, d)
			}
		}
	}
	return all
}

func (s *State) admitReply(a ItemAnswered) ([]Event, error) {
	it, open := s.items[a.Item]
	switch {
	case !open:
		return nil, refuse(NotFound, fmt.Sprintf("no item %q is open", a.Item), "piton inbox lists what is")
	case a.By == "":
		return nil, refuse(Invalid, "an answer needs the name of who gave it", "")
	case !slices.Contains(it.Choices, a.Choice):
		return nil, refuse(Invalid, fmt.Sprintf("item %s cannot be answered with %q", a.Item, a.Choice), "choose one of: "+strings.Join(it.Choices, ", "))
	}
	if i, _ := s.prog.Index(it.Step); s.steps[i].Answer != nil || s.steps[i].Order != nil {
		return nil, refuse(Conflict, fmt.Sprintf("item %s is answered already", a.Item), "")
	}
	return []Event{a}, nil
}

// applyCommand folds a person's command.
func (s *State) applyCommand(c Command) error {
	switch c.Verb {
	case DoPause:
		s.run.Paused, s.run.Status = true, Paused
	case DoResume:
		return s.applyResume(c)
	case DoCancel:
		s.run.Cancelled, s.run.Reason = true, c.By
		for _, i := range s.active {
			s.touch(i)
		}
	case DoSkip, DoWaive, DoRetry:
		return s.applyStepOrder(c)
	default:
		return fmt.Errorf("unknown command %q", c.Verb)
	}
	return nil
}

func (s *State) applyResume(c Command) error {
	s.run.Paused = false
	if s.run.Live {
		s.run.Status = Running
		for _, i := range s.active {
			s.touch(i)
		}
		return nil
	}
	s.reopen()
	for i := range s.steps {
		if s.steps[i].Status == Failed {
			s.order(i, c)
		}
	}
	return nil
}

// reopen takes a failed run up again. It looks at all steps, once.
func (s *State) reopen() {
	r := &s.run
	r.Live, r.Paused, r.Aborted, r.Cancelled, r.Proved = true, false, false, false, false
	r.Status, r.Reason, r.Exit, r.Finished, r.Regression = Running, "", 0, time.Time{}, nil
	for i := range s.steps {
		s.enqueue(i)
		s.touch(i)
	}
}

func (s *State) applyStepOrder(c Command) error {
	i, err := s.at(c.Step)
	if err != nil {
		return err
	}
	if !s.run.Live {
		s.reopen()
	}
	if c.Verb == DoRetry && c.From {
		for _, d := range s.downstream(i) {
			if st := &s.steps[d]; st.settled() || st.Status == Waiting {
				s.order(d, c)
			}
		}
		return nil
	}
	s.order(i, c)
	return nil
}

func (s *State) order(i int, c Command) {
	s.steps[i].Order = &c
	s.touch(i)
}
