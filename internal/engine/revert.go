package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What is taken back in a try that is none of a single part.
const (
	AllParts = 0  // all that the step changed: the checks must fail
	NoPart   = -1 // nothing: in a copy of the tree the checks must pass as they did in the tree
)

// maxPlaces bounds the list of parts in a record.
const maxPlaces = 100

// PartTried is what the checks of a strong step said in a copy of the tree, with a part of
// what the step changed taken back. It is in the journal as soon as it is known: whoever
// goes on after a crash tries only what is missing. First comes [AllParts], then [NoPart],
// then one part after the other.
type PartTried struct {
	Step    string    `json:"step"`
	Attempt int       `json:"attempt"`
	Change  string    `json:"change"`          // hash of all that the step changed
	Part    int       `json:"part"`            // from 1, or [AllParts], or [NoPart]
	Place   string    `json:"place,omitempty"` // of the part, for people
	Verdict Verdict   `json:"verdict"`
	Reruns  []Verdict `json:"reruns,omitempty"` // when all were asked again at once, on the same files
	Reason  string    `json:"reason,omitempty"`
	Ms      int64     `json:"ms"`
}

// Tried is what an effect that takes parts back says at each answer.
type Tried struct {
	Key Key
	PartTried
}

// ChangeReverted says what all the tries come to. What is missing of the parts was not
// tried for want of time.
type ChangeReverted struct {
	Step      string   `json:"step"`
	Attempt   int      `json:"attempt"`
	Verdict   Verdict  `json:"verdict"` // pass: the checks see what the step changed
	Reason    string   `json:"reason,omitempty"`
	Parts     int      `json:"parts"`             // that there are
	Unseen    []string `json:"unseen,omitempty"`  // places of parts without which the checks pass as well
	Untried   []string `json:"untried,omitempty"` // places of parts that were not tried
	Isolation string   `json:"isolation,omitempty"`
	Tampered  []Change `json:"tampered,omitempty"` // files of the tree itself, while the checks ran in the copy
	Undone
}

// Reverted answers a Revert effect.
type Reverted struct {
	Key Key
	ChangeReverted
	Err    string // this machine's fault: it is tried again
	Cannot string // why the change cannot be taken back, now or later
}

func (PartTried) Type() string      { return "part.tried" }
func (ChangeReverted) Type() string { return "change.reverted" }
func (Tried) Actor() string         { return Harness }
func (Reverted) Actor() string      { return Harness }

// reverts reports whether the step's change is to be taken back now, in a copy: its checks
// passed, and before they count it must be seen that they do so because of it.
func (s *State) reverts(i int) bool {
	st := &s.steps[i]
	if s.prog.Step(i).Strong == 0 || st.Phase != Verifying || st.Reverted != nil || !st.Active || st.Live || s.waits(i) {
		return false
	}
	return endVerdict(st.Ended) == NoVerdict && s.complete(i) && s.passed(i) == Pass
}

// passed is what the complete answers after the work count for by themselves.
func (s *State) passed(i int) Verdict {
	st := &s.steps[i]
	v, _ := verdictOf(st.Checks)
	return s.accepted(i, v)
}

// seen is what they count for where they must see what the step changed; none before that
// is known.
func (s *State) seen(i int) Verdict {
	v, st := s.passed(i), &s.steps[i]
	switch {
	case v != Pass || s.prog.Step(i).Strong == 0:
		return v
	case st.Reverted == nil:
		return NoVerdict
	}
	return st.Reverted.Verdict
}

// unseen says what of the change the proof does not see; "" is nothing.
func (st *step) unseen() string {
	var said []string
	if r := st.Reverted; r != nil && r.Verdict == Pass {
		if len(r.Unseen) > 0 {
			said = append(said, "the proof does not see: "+few(r.Unseen))
		}
		if len(r.Untried) > 0 {
			said = append(said, "not tried for want of time, whether the proof sees: "+few(r.Untried))
		}
	}
	return strings.Join(said, "; ")
}

// both joins two remarks, either of which may be nothing.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// next is the number of the part that is tried next, and whether one is.
func (st *step) next(change string) (part int, open bool) {
	if len(st.Parts) == 0 || st.Parts[0].Change != change {
		return AllParts, true
	}
	switch last := st.Parts[len(st.Parts)-1]; {
	case last.Part == AllParts:
		return NoPart, last.Verdict == Fail && !last.flaky()
	case last.Part == NoPart:
		return 1, last.Verdict == Pass
	default:
		return last.Part + 1, true
	}
}

func (e PartTried) flaky() bool {
	return slices.ContainsFunc(e.Reruns, func(v Verdict) bool { return v != e.Verdict })
}

// sound reports why e cannot be the answer of the next try.
func (st *step) sound(e PartTried) error {
	next, open := st.next(e.Change)
	switch {
	case !open || e.Part != next || e.Change == "":
		return fmt.Errorf("part %d of what step %q changed was tried, and not part %d", e.Part, e.Step, next)
	case e.Verdict == Infra || !e.Verdict.answers() || len(e.Reruns) > MaxReruns || (e.Place != "") != (e.Part > 0):
		return fmt.Errorf("part %d of what step %q changed, %q, was tried with the verdicts %s and %v", e.Part, e.Step, e.Place, e.Verdict, e.Reruns)
	}
	for _, v := range e.Reruns {
		if v == Infra || !v.answers() {
			return fmt.Errorf("part %d of what step %q changed was tried again with the verdict %q", e.Part, e.Step, v)
		}
	}
	return nil
}

func (s *State) admitTried(in Tried) ([]Event, error) {
	i, err := s.wanted(in.Key)
	if err != nil {
		return nil, err
	}
	e := in.PartTried
	e.Step, e.Attempt, e.Place, e.Reason = in.Key.Step, in.Key.Attempt, text(e.Place), text(e.Reason)
	if err := s.steps[i].sound(e); err != nil || in.Key.Kind != Revert {
		return nil, refuse(Invalid, cmp.Or(err, fmt.Errorf("%s takes nothing back", in.Key)).Error())
	}
	return []Event{e}, nil
}

func (s *State) applyTried(e PartTried) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if !s.reverts(i) || e.Attempt != st.Attempt {
		return fmt.Errorf("part %d of what step %q changed was tried in attempt %d, which was not asked", e.Part, e.Step, e.Attempt)
	}
	if err := st.sound(e); err != nil {
		return err
	}
	if e.Part == AllParts {
		st.Parts = nil // of another change
	}
	st.Parts = append(st.Parts, e)
	return nil
}

func (s *State) admitReverted(in Reverted) ([]Event, error) {
	i, err := s.wanted(in.Key)
	if err != nil {
		return nil, err
	}
	if in.Key.Kind != Revert {
		return nil, refuse(Conflict, in.Key.String()+" takes nothing back")
	}
	e := in.ChangeReverted
	e.Step, e.Attempt, e.Untried = in.Key.Step, in.Key.Attempt, texts(e.Untried[:min(len(e.Untried), maxPlaces)])
	st := &s.steps[i]
	e.Verdict, e.Reason = st.weigh(e.Parts)
	switch {
	case len(e.Tampered) > 0:
		e.Verdict, e.Reason = Tampered, "while it was taken back in a copy, protected files changed: "+paths(e.Tampered)
	case in.Err != "":
		e.Verdict, e.Reason = Infra, "what it changed could not be taken back in a copy: "+text(in.Err)
	case in.Cannot != "":
		e.Verdict, e.Reason = Inconclusive, "what it changed cannot be taken back in a copy: "+text(in.Cannot)
	case e.Verdict == NoVerdict:
		return nil, refuse(Invalid, in.Key.String()+" ends before the checks were asked")
	}
	if e.Verdict == Pass {
		for _, p := range st.Parts {
			if p.Part > 0 && p.Verdict == Pass && len(e.Unseen) < maxPlaces {
				e.Unseen = append(e.Unseen, p.Place)
			}
		}
	}
	return []Event{e}, nil
}

// weigh is what the tries come to.
func (st *step) weigh(parts int) (Verdict, string) {
	if parts == 0 {
		return Fail, "the checks pass, and the step changed no file that could be taken back"
	}
	for _, p := range st.Parts {
		switch {
		case p.Part == AllParts && p.flaky():
			return Flaky, "with all that the step changed taken back, the checks say " + p.says() + " of the same files, one after the other"
		case p.Part == AllParts && p.Verdict == Pass:
			return Fail, "the checks pass as well with all that the step changed taken back: they do not see its work"
		case p.Part == AllParts && p.Verdict != Fail:
			return Inconclusive, "with all that the step changed taken back the checks say nothing: " + cmp.Or(p.Reason, string(p.Verdict))
		case p.Part == NoPart && p.Verdict != Pass:
			return Inconclusive, "the checks pass in the workspace, and not in a copy of it: " + cmp.Or(p.Reason, string(p.Verdict))
		case p.Part == NoPart:
			return Pass, ""
		}
	}
	return NoVerdict, ""
}

func (e PartTried) says() string {
	said := []string{string(e.Verdict)}
	for _, v := range e.Reruns {
		said = append(said, string(v))
	}
	return strings.Join(said, ", ")
}

func (s *State) applyReverted(e ChangeReverted) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if !s.reverts(i) || e.Attempt != st.Attempt {
		return fmt.Errorf("what step %q changed was taken back in attempt %d, which was not asked", e.Step, e.Attempt)
	}
	v, _ := st.weigh(e.Parts)
	if e.Verdict != v && e.Verdict != Tampered && e.Verdict != Infra && e.Verdict != Inconclusive || e.Verdict == NoVerdict || (e.Verdict == Tampered) != (len(e.Tampered) > 0) {
		return fmt.Errorf("what step %q changed was taken back, and comes to %q; the tries come to %q", e.Step, e.Verdict, v)
	}
	s.change(i, func(st *step) {
		st.Reverted = &e
		st.Flaky = st.Flaky || e.Verdict == Flaky
		s.bring(i, st, e.Verdict)
	})
	return nil
}
