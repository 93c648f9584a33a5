package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Vouched are files of which a person says that they are the work of a step, though its checks
// opened them and its plan does not name them. To the proof they are as if the step's writes did.
// The word is about the work that the person saw: the next attempt has none of it.
type Vouched struct {
	Files []string `json:",omitempty"`
	Gone  []string `json:",omitempty"` // that the checks opened before the work, and no more
	By    string   `json:",omitzero"`  // who said so last
}

func less(files, known []string) []string {
	return slices.DeleteFunc(files, func(f string) bool { return slices.Contains(known, f) })
}

func (v Vouched) String() string {
	var said []string
	if len(v.Files) > 0 {
		said = append(said, "that these are the work: "+few(v.Files))
	}
	if len(v.Gone) > 0 {
		said = append(said, "that the checks need these no more: "+few(v.Gone))
	}
	if len(said) == 0 {
		return ""
	}
	return v.By + " says " + strings.Join(said, ", and ")
}

// refuseVouch refuses a person's word that what keeps a step from its proof is its work.
func (s *State) refuseVouch(c Command) error {
	i, err := s.refuseStep(c)
	switch {
	case err != nil:
		return err
	case s.vouchable(i):
		return nil
	case s.steps[i].Active:
		return refuse(Conflict, fmt.Sprintf("step %q is running", c.Step))
	case s.steps[i].Expanded:
		return refuse(Conflict, fmt.Sprintf("step %q is done for each of its items", c.Step), NameInstance, InstanceID(c.Step, 1))
	case s.steps[i].Proven:
		return refuse(Conflict, fmt.Sprintf("step %q is proven", c.Step))
	case s.steps[i].Unseen != "":
		return refuse(Conflict, fmt.Sprintf("which files the checks of step %q opened is not known: %s", c.Step, s.steps[i].Unseen))
	}
	return refuse(Conflict, fmt.Sprintf("it is not what step %q changed, or not that alone, that keeps it from its proof", c.Step))
}

// vouchable reports whether files that the step changed are all that keeps it from its proof, or,
// of one that waits, from its end.
func (s *State) vouchable(i int) bool {
	st := &s.steps[i]
	switch {
	case len(st.Rests)+len(st.Gone) == 0 || st.Unseen != "":
		return false
	case st.Status == Waiting: // and the policy wants more of a proof
		want := s.accepted(i, Pass)
		return want != Pass && st.Verdict == want && s.prog.Step(i).Rerunnable && !st.Same && !st.Flaky && !st.Stuck
	}
	return st.Status == Done && st.Baseline == Fail && !st.Same && !st.Flaky
}

// applyVouch takes such a word. A step that is done needs nothing else: its checks passed, and
// were asked again at the run's end or will be. The checks of one that waits are asked again.
func (s *State) applyVouch(c Command) error {
	i, err := s.find(c.Step)
	if err == nil && !s.vouchable(i) {
		err = fmt.Errorf("somebody vouches for step %q, and its proof rests on nothing that it changed", c.Step)
	}
	if err != nil {
		return err
	}
	if s.steps[i].Status != Done {
		return s.applyStepOrder(c)
	}
	s.change(i, func(st *step) {
		more := strings.TrimPrefix(strings.TrimPrefix(st.Reason, s.resting(i)), "; ")
		st.vouch(c.By)
		st.Proven, st.Reason = s.proves(i), both(st.Vouched.String(), more)
	})
	if own, part := s.prog.Pattern(i); part && s.steps[own].Status == Done {
		s.change(own, func(st *step) { st.Proven = s.allProven(own) })
	}
	return nil
}

// vouch makes what the proof rests on the step's own.
func (st *step) vouch(by string) {
	st.Vouched = Vouched{union(st.Vouched.Files, st.Rests), union(st.Vouched.Gone, st.Gone), by}
	st.Rests, st.Gone = nil, nil
}

// vouchedFor takes such a word about a step that waits: the same attempt goes on with its checks. It
// reports whether that was the word.
func (st *step) vouchedFor(order *Command, answer *ItemAnswered) bool {
	by := ""
	switch {
	case order != nil && order.Verb == DoVouch:
		by = order.By
	case answer != nil && answer.Choice == ChooseVouch:
		by = answer.By
	default:
		return false
	}
	st.vouch(by)
	st.Resolved, st.Infra, st.Lost, st.Parts, st.Reverted = true, 0, 0, nil, nil
	return true
}
