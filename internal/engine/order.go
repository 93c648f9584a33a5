package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

func (s *State) admitOrder(in Order) ([]Event, error) {
	if s.prog == nil {
		return nil, refuse(NotFound, "no run was opened yet")
	}
	c := in.Command
	if in.Run != "" && in.Run != s.run.Opened.Run {
		return nil, refuse(Conflict, fmt.Sprintf("run %s has ended, and run %s is the newest of this plan", in.Run, s.run.Opened.Run), NameRun)
	}
	err := named(c.By)
	if err == nil {
		err = s.refuseChild()
	}
	if err != nil {
		return nil, err
	}
	switch c.Verb {
	case DoPause, DoResume, DoCancel:
		err = s.refuseRunOrder(c)
	case DoSkip, DoWaive:
		err = s.refuseVerdict(c)
	case DoVouch:
		err = s.refuseVouch(c)
	case DoRetry:
		err = s.refuseRetry(c)
	case DoForce:
		err = s.refuseForce(c)
	case DoLand:
		err = s.refuseLand()
	case DoReplan:
		err = s.refuseReplan(c)
		if _, known := s.prog.Index(c.Step); err == nil && c.Only != (c.Step != "") || c.Only && !known {
			err = refuse(Invalid, "a replan is of the whole run, or of one step alone")
		}
	default:
		err = refuse(Invalid, fmt.Sprintf("unknown command %q", c.Verb))
	}
	if err != nil {
		return nil, err
	}
	c.Why, c.By = text(c.Why), text(c.By)
	return []Event{c}, nil
}

// named refuses words that no person stands behind.
func named(by string) error {
	if by == "" || by == Harness {
		return refuse(Invalid, "a command or an answer needs the name of the person who gave it")
	}
	return nil
}

func (s *State) refuseRunOrder(c Command) error {
	name := "run " + s.run.Opened.Run
	switch {
	case c.Verb == DoResume && !s.run.Live && s.run.Status == Failed:
		return s.refuseAborted()
	case !s.run.Live:
		return refuse(Conflict, fmt.Sprintf("%s is %s", name, s.run.Status))
	case s.run.Cancelled:
		return refuse(Conflict, name+" is being cancelled")
	case c.Verb == DoPause && s.run.Paused:
		return refuse(Conflict, name+" is paused already")
	case c.Verb == DoResume && !s.run.Paused:
		return refuse(Conflict, name+" is not paused")
	}
	return nil
}

// refuseAborted refuses to take a run up that cannot go on before somebody
// retries a step that was aborted. It looks at all steps.
func (s *State) refuseAborted() error {
	for i := range s.steps {
		if p := s.prog.Step(i); s.steps[i].Aborted && p.Critical {
			return refuse(Conflict, fmt.Sprintf("step %q was aborted, and nothing goes on without it", p.ID), RetryStep, p.ID, s.run.Opened.Run)
		}
	}
	return nil
}

// refuseStep refuses commands on a step that can take none.
func (s *State) refuseStep(c Command) (int, error) {
	i, err := s.find(c.Step)
	if err != nil {
		return 0, err
	}
	st := &s.steps[i]
	switch {
	case s.run.Live && s.stopping():
		return 0, refuse(Conflict, fmt.Sprintf("run %s is being stopped", s.run.Opened.Run))
	case !s.openTo(c.Verb):
		return 0, refuse(Conflict, fmt.Sprintf("run %s is %s", s.run.Opened.Run, s.run.Status))
	case st.Order != nil:
		return 0, refuse(Conflict, fmt.Sprintf("step %q was told to %s already", c.Step, st.Order.Verb))
	case st.Answer != nil:
		return 0, refuse(Conflict, fmt.Sprintf("step %q has its answer already: %s", c.Step, st.Answer.Choice))
	}
	return i, nil
}

// openTo reports whether the run, as far as it has got, takes a command of the kind.
func (s *State) openTo(v Verb) bool {
	if s.run.Live {
		return true
	}
	switch v {
	case DoLand, DoVouch:
		return s.run.Status == Done || s.run.Status == Failed
	case DoPause, DoCancel:
		return false
	}
	return s.run.Status == Failed
}

// refuseVerdict refuses a skip or a waive.
func (s *State) refuseVerdict(c Command) error {
	i, err := s.refuseStep(c)
	switch {
	case err != nil:
		return err
	case s.lands(i):
		return s.refuseGivenUp(i, c.Verb)
	case strings.TrimSpace(c.Why) == "":
		return refuse(Invalid, fmt.Sprintf("a %s needs a reason", c.Verb), GiveReason)
	case s.steps[i].satisfied():
		return refuse(Conflict, fmt.Sprintf("step %q is %s", c.Step, s.steps[i].Status))
	}
	return nil
}

func (s *State) refuseRetry(c Command) error {
	i, err := s.refuseStep(c)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	switch {
	case c.From && slices.ContainsFunc(s.downstream(i), func(d int) bool { return s.steps[d].Active }):
		return refuse(Conflict, fmt.Sprintf("step %q, or one that needs it, is running", c.Step), WaitOrCancel)
	case st.Expanded && !c.From && len(s.meant(i, c.Verb)) == 0:
		return refuse(Conflict, fmt.Sprintf("no instance of step %q has failed", c.Step), NameInstance, InstanceID(c.Step, 1))
	case st.Expanded && !c.From:
		return nil
	case c.From && len(s.redone(i)) == 0, !c.From && st.Status == Pending:
		return refuse(Conflict, fmt.Sprintf("step %q has not run yet", c.Step))
	case c.From:
		return nil
	case st.Active:
		return refuse(Conflict, fmt.Sprintf("step %q is running", c.Step))
	case st.satisfied():
		return refuse(Conflict, fmt.Sprintf("step %q is %s", c.Step, st.Status), RetryFrom, c.Step, s.run.Opened.Run)
	case s.items[st.Item].Kind.early():
		return refuse(Conflict, fmt.Sprintf("step %q waits for an %s", c.Step, map[ItemKind]string{Approval: "approval", Question: "answer"}[s.items[st.Item].Kind]), AnswerItem, st.Item)
	}
	return nil
}

// redone lists what retry --from does again: what has run of the step and of
// all that need it. The pattern of an instance follows by itself, and instances
// go with their pattern, which begins anew.
func (s *State) redone(i int) []int {
	own, instance := s.prog.Pattern(i)
	return slices.DeleteFunc(s.downstream(i), func(d int) bool {
		st := &s.steps[d]
		_, part := s.prog.Pattern(d)
		return st.Status == Pending && !st.Expanded || st.Active || part && d != i || instance && d == own
	})
}

// downstream returns step i and all that need it, directly or not.
func (s *State) downstream(i int) []int {
	seen := map[int]bool{i: true}
	all := []int{i}
	own, instance := s.prog.Pattern(i)
	for n := 0; n < len(all); n++ {
		next := s.needing(all[n])
		if !instance || all[n] != own {
			next = slices.Concat(next, s.prog.Instances(all[n]))
		}
		for _, d := range next {
			if !seen[d] {
				seen[d] = true
				all = append(all, d)
			}
		}
	}
	return all
}

func (s *State) admitReply(in Reply, now time.Time) ([]Event, error) {
	a := in.ItemAnswered
	err := named(a.By)
	if err != nil {
		return nil, err
	}
	it, open := s.items[a.Item]
	switch {
	case !open || !s.run.Live:
		return nil, refuse(NotFound, fmt.Sprintf("no item %q is open", a.Item), ListItems)
	case !slices.Contains(it.Choices, a.Choice):
		return nil, refuse(Invalid, fmt.Sprintf("item %s cannot be answered with %q", a.Item, a.Choice), Choose, strings.Join(it.Choices, ", "))
	}
	if it.Kind.proposes() {
		a.Text, a.By = text(a.Text), text(a.By)
		return s.admitProposed(Reply{ItemAnswered: a, Revise: in.Revise})
	}
	if it.Kind == Limit {
		a.Text, a.By = text(a.Text), text(a.By)
		return s.admitBounds(it, a)
	}
	if i, _ := s.prog.Index(it.Step); s.steps[i].Answer != nil || s.steps[i].Order != nil {
		return nil, refuse(Conflict, fmt.Sprintf("item %s is answered already", a.Item))
	}
	a.Text, a.By = text(a.Text), text(a.By)
	if err := refuseAnswer(it, a); err != nil {
		return nil, err
	}
	if a.Choice == ChooseReplan && it.Kind == Escalation {
		return s.admitReplan(it, a)
	}
	if it.Kind == Permission && len(a.Args) > 0 {
		return nil, refuse(Invalid, fmt.Sprintf("%q of item %s takes no arguments", a.Choice, a.Item), NoArgs)
	}
	if it.Kind == Permission {
		return []Event{a}, nil
	}
	if it.Kind == Question {
		i, _ := s.prog.Index(it.Step)
		if a, err = s.prog.Step(i).admitAnswer(a); err != nil {
			return nil, err
		}
	} else if a.Args, err = s.admitArgs(it, a, now); err != nil {
		return nil, err
	}
	return []Event{a}, nil
}

// refuseAnswer wants a reason where somebody does without a proof.
func refuseAnswer(it ItemRow, a ItemAnswered) error {
	needs := a.Choice == ChooseSkip || a.Choice == ChooseWaive || a.Choice == ChooseReplan
	if it.Kind == Question || !needs || strings.TrimSpace(a.Text) != "" {
		return nil
	}
	return refuse(Invalid, fmt.Sprintf("a %s needs a reason", a.Choice), ExplainAnswer)
}

// applyCommand folds a person's command.
func (s *State) applyCommand(c Command) error {
	if s.prog == nil || !s.openTo(c.Verb) {
		return fmt.Errorf("%s of a run that is not open", c.Verb)
	}
	err := s.obey(c)
	if err == nil && c.By != Harness {
		s.recount()
	}
	return err
}

func (s *State) obey(c Command) error {
	s.expectNews()
	switch c.Verb {
	case DoPause:
		s.run.Paused, s.run.Status = true, Paused
		s.unlease()
	case DoResume:
		s.applyResume(c)
	case DoCancel:
		s.run.Reason = worded("cancelled by", c.By, c.Why)
		s.halt(&s.run.Cancelled)
	case DoSkip, DoWaive, DoRetry:
		return s.applyStepOrder(c)
	case DoVouch:
		return s.applyVouch(c)
	case DoLand:
		return s.applyLand(c)
	case DoForce:
		return s.applyForce(c)
	case DoReplan:
		return s.applyReplan(c)
	default:
		return fmt.Errorf("unknown command %q", c.Verb)
	}
	return nil
}

// applyResume goes on with a paused run, or does the failed steps of an ended
// one again, less those that a person aborted.
func (s *State) applyResume(c Command) {
	if s.run.Live {
		s.run.Paused, s.run.Status = false, s.run.goes()
		return
	}
	s.reopen()
	for i := range s.steps {
		if st := &s.steps[i]; s.replans(i) || st.Status == Failed && !st.Expanded && !st.Aborted {
			s.order(i, c)
		}
	}
}

func (s *State) applyStepOrder(c Command) error {
	i, err := s.find(c.Step)
	if err != nil {
		return err
	}
	if !s.run.Live {
		s.reopen()
	}
	switch {
	case c.From && c.Verb == DoRetry:
		for _, d := range s.redone(i) {
			s.order(d, c)
		}
		return nil
	case c.Verb != DoRetry || !s.steps[i].Expanded:
		s.order(i, c)
	}
	for _, n := range s.meant(i, c.Verb) {
		s.order(n, c)
	}
	return nil
}

// meant lists the instances of a step that a command on the step means: those
// that came to no good end, or, where it is given up, all that do not count yet.
func (s *State) meant(i int, v Verb) []int {
	var list []int
	for _, n := range s.prog.Instances(i) {
		st := &s.steps[n]
		if st.Order == nil && st.Answer == nil && (st.lapsed() || v != DoRetry && !st.satisfied()) {
			list = append(list, n)
		}
	}
	return list
}

func (s *State) order(i int, c Command) {
	if r := s.run.Replan; r != nil && r.Step == s.prog.Step(i).ID {
		s.giveUpReplan() // a person decides in its place
	}
	s.change(i, func(st *step) { st.Order, st.Answer = &c, nil })
}
