package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// StepExpanded says for which items a step is done: an instance of it for each
// of them, or for each batch.
type StepExpanded struct {
	Step  string            `json:"step"`
	Items []json.RawMessage `json:"items"`
}

// Expanded answers an Expand effect.
type Expanded struct {
	Key   Key
	Items []json.RawMessage // in an order that is always the same
	Err   string            // why they cannot be told
}

// pattern reports whether the step is one for each item, and does nothing itself.
func (s *State) pattern(i int) bool { return s.prog.Step(i).Each != nil }

// expands reports whether the items of the step are the next thing to look at,
// and are known to the core.
func (s *State) expands(i int) bool {
	st := &s.steps[i]
	return s.pattern(i) && !st.Expanded && s.prog.Step(i).Each.Glob == "" &&
		st.Status == Pending && st.open == 0 && st.Item == ""
}

// expansion is what follows from the items that the core knows.
func (s *State) expansion(i int) Event {
	items, err := s.listed(i)
	if err != nil {
		return s.unfit(i, err)
	}
	return s.expanded(i, items)
}

// listed are the items of a step that lists them, or refers to a list.
func (s *State) listed(i int) ([]json.RawMessage, error) {
	e := s.prog.Step(i).Each
	if e.Ref == "" {
		return e.Items, nil
	}
	r, _ := ParseRef(e.Ref)
	n, _ := s.prog.Index(r.Step)
	whole, err := s.value(n)
	if err != nil {
		return nil, fmt.Errorf("$%s: %w", r.Step, err)
	}
	v, err := r.In(whole)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%s is %s, not a list", r, sortOf(v))
	}
	items := make([]json.RawMessage, len(list))
	for n := range list {
		if items[n], err = EncodeValue(list[n]); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// expanded is the step's expansion for the items, or why it has none.
func (s *State) expanded(i int, items []json.RawMessage) Event {
	made, err := s.prog.expansion(i, items)
	if len(items) == 0 && !s.prog.Step(i).Each.Empty {
		err = errNoItems
	}
	if err == nil {
		err = handed(made)
	}
	if err != nil {
		return s.unfit(i, err)
	}
	return StepExpanded{Step: s.prog.Step(i).ID, Items: items}
}

// errNoItems is a question: a step that does nothing looks like one whose work is done.
var errNoItems = errors.New("the list is empty, and the step does not say `allow_empty: yes`; skip it if there is nothing to do")

// handed reports an item that whoever works for its instance cannot find in the
// environment. What a journal has is not asked again.
func handed(made []Step) error {
	for n := range made {
		s := &made[n]
		if (s.Kind == Tool || s.Kind == Ask) && !s.Checkable() {
			continue
		}
		if _, err := ItemText(s.Item); err != nil {
			return fmt.Errorf("item %d, %s: %w", n+1, short(string(s.Item), 80), err)
		}
	}
	return nil
}

// unfit settles a step whose items cannot be used, as its plan says for one that
// failed: to try again changes nothing.
func (s *State) unfit(i int, err error) StepSettled {
	p := s.prog.Step(i)
	status := map[Then]Status{Abort: Failed, Skip: Skipped}[p.OnFail.Then]
	if status == "" {
		status = Waiting
	}
	return StepSettled{Step: p.ID, Attempt: s.steps[i].Attempt, Status: status, Verdict: Inconclusive, By: Harness, Reason: text("for each: " + err.Error())}
}

func (s *State) admitExpanded(in Expanded) ([]Event, error) {
	i, err := s.wanted(in.Key)
	switch {
	case err != nil:
		return nil, err
	case in.Key.Kind != Expand:
		return nil, refuse(Conflict, in.Key.String()+" expands nothing")
	case in.Err != "":
		return []Event{s.unfit(i, fmt.Errorf("%s: %s", s.prog.Step(i).Each.Glob, in.Err))}, nil
	}
	items := make([]json.RawMessage, len(in.Items))
	for n := range in.Items {
		if items[n], err = Canonical(in.Items[n]); err != nil {
			return nil, refuse(Invalid, fmt.Sprintf("item %d of %s: %v", n+1, in.Key, err))
		}
	}
	return []Event{s.expanded(i, items)}, nil
}

// applyExpanded appends the instances. It costs what they say.
func (s *State) applyExpanded(e StepExpanded) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	if st := &s.steps[i]; !s.expands(i) && !(st.Active && st.Phase == Expanding) {
		return fmt.Errorf("step %q is expanded while it is %s (%s)", e.Step, st.Status, st.Phase)
	}
	made, err := s.prog.expansion(i, e.Items)
	if err != nil {
		return fmt.Errorf("step %q is expanded: %w", e.Step, err)
	}
	s.release(i)
	s.run.Expanded = append(s.run.Expanded, e)
	s.prog = s.prog.growable()
	s.prog.grow(i, made)
	s.change(i, func(st *step) {
		st.become(NoPhase)
		st.Expanded, st.Status = true, Running
	})
	for _, n := range s.prog.Instances(i) {
		s.begin(i, n)
	}
	s.touch(i)
	return nil
}

// begin gives the run the n-th step, an instance of step i.
func (s *State) begin(i, n int) {
	s.makeRoom(n)
	st := &s.steps[n]
	st.Status = Pending
	if attempt, was := s.run.Past[s.prog.Step(n).ID]; was {
		st.Attempt, st.Renew = attempt+1, true
	}
	s.weigh(n)
	s.tally(s.standing(n), 1)
	s.steps[i].left++
	if st.hopeless() {
		s.steps[i].spoilt++
	}
	s.show(n)
	s.touch(n)
}

// makeRoom lets the indexes hold the n-th step, which is the next.
func (s *State) makeRoom(n int) {
	s.steps = append(s.steps, step{})
	for _, x := range [...]*set{&s.must, &s.ask, &s.ready, &s.thrifty, &s.worked, &s.strays} {
		x.grow(n + 1)
	}
	c := s.prog.classes.of[n]
	if c == free {
		return
	}
	if c == len(s.queues) {
		s.queues = append(s.queues, queue{in: newSet(0)})
	}
	s.queues[c].in.grow(s.prog.classes.rank[n] + 1)
}

// part tells the pattern of an instance what became of that.
func (s *State) part(n int, was, is standing) {
	i, ok := s.prog.Pattern(n)
	if !ok || was == is {
		return
	}
	s.change(i, func(st *step) {
		st.left -= ones(is.satisfied) - ones(was.satisfied)
		st.spoilt += ones(is.hopeless) - ones(was.hopeless)
		st.failed += ones(is.failed) - ones(was.failed)
	})
}

// joined is the status that its instances give a step: done when all of them
// count, failed or skipped when no other is left to wait for.
func (s *State) joined(i int) Status {
	st := &s.steps[i]
	switch {
	case st.left == 0:
		return Done
	case st.failed > 0 && (st.left == st.spoilt || s.stopping()):
		return Failed
	case st.left > st.spoilt:
		return Running
	case st.dead > 0:
		return Pending // it is blocked with them
	}
	return Skipped
}

// joins reports whether the step's status is not what its instances make of it.
// What a person said of the step itself stands.
func (s *State) joins(i int) bool {
	st := &s.steps[i]
	if !st.Expanded || st.Order != nil || st.Status == Waived || st.Status == Skipped && st.Counts {
		return false
	}
	return st.Status != s.joined(i)
}

// join settles a step by its instances.
func (s *State) join(i int) StepSettled {
	e := StepSettled{Step: s.prog.Step(i).ID, Attempt: s.steps[i].Attempt, Status: s.joined(i), By: Harness}
	switch e.Status {
	case Done:
		e.Verdict, e.Proven = Pass, s.allProven(i)
		if s.empty(i) {
			e.Verdict, e.Reason = NoVerdict, "nothing to do: no items"
		}
	case Failed:
		e.Verdict, e.Reason = Fail, s.unmet(i, Failed)
	case Skipped:
		e.Verdict, e.Reason = Fail, s.unmet(i, Skipped)
	}
	return e
}

// empty reports whether a step is for each item of none: nothing was done for
// it, and no check ran.
func (s *State) empty(i int) bool { return s.steps[i].Expanded && len(s.prog.Instances(i)) == 0 }

// allProven reports whether every instance of a step is proven, and there is one.
func (s *State) allProven(i int) bool {
	return !s.empty(i) && !slices.ContainsFunc(s.prog.Instances(i), func(n int) bool { return s.steps[n].Status != Done || !s.steps[n].Proven })
}

// unmet names the instances that came to an end that does not count.
func (s *State) unmet(i int, end Status) string {
	all := s.prog.Instances(i)
	var names []string
	lapsed := 0
	for _, n := range all {
		if st := &s.steps[n]; !st.lapsed() || st.Status != end {
			continue
		}
		if lapsed++; lapsed <= 5 {
			p := s.prog.Step(n)
			names = append(names, fmt.Sprintf("%s (%s)", p.ID, p.itemLine()))
		}
	}
	if lapsed > len(names) {
		names = append(names, "…")
	}
	return fmt.Sprintf("%d of its %d instances %s: %s", lapsed, len(all), map[Status]string{Failed: "failed", Skipped: "were left out"}[end], strings.Join(names, ", "))
}

// collapse takes back what a step became: a person wants it again, with all
// that needs it, and its items may be others. It looks at all steps.
func (s *State) collapse(i int) {
	parts := s.prog.Instances(i)
	past := maps.Clone(s.run.Past)
	if past == nil {
		past = map[string]int{}
	}
	for _, n := range parts {
		s.leave(n)
		if attempt := s.steps[n].Attempt; attempt > 0 {
			past[s.prog.Step(n).ID] = attempt
		}
	}
	id := s.prog.Step(i).ID
	kept := slices.DeleteFunc(slices.Clone(s.run.Expanded), func(e StepExpanded) bool { return e.Step == id })
	prog, _ := regrow(s.prog.compiled(), kept) // they fitted before, among more
	steps := make([]step, prog.Len())
	for n := range steps {
		old, _ := s.prog.Index(prog.Step(n).ID)
		steps[n] = s.steps[old].carried()
	}
	steps[i].Expanded = false
	s.run.Past, s.run.Expanded = past, kept
	s.settleIn(prog, steps)
}

// regrow lets a program grow by expansions, in their order.
func regrow(p *Program, all []StepExpanded) (*Program, error) {
	for _, e := range all {
		i, ok := p.Index(e.Step)
		if !ok || p.Step(i).Each == nil || len(p.parts[i]) > 0 {
			return nil, fmt.Errorf("step %q is expanded, and is none for each item", e.Step)
		}
		made, err := p.expansion(i, e.Items)
		if err != nil {
			return nil, fmt.Errorf("step %q is expanded: %w", e.Step, err)
		}
		p = p.growable()
		p.grow(i, made)
	}
	return p, nil
}

// progress says for people how far the instances of a step are.
func (s *State) progress(i int) string {
	all := len(s.prog.Instances(i))
	return fmt.Sprintf("%d of %d done", all-s.steps[i].left, all)
}

// outOf lists the outputs of the instances of a step, "" for one without any.
func (s *State) outOf(i int) []string {
	list := make([]string, len(s.prog.Instances(i)))
	for k, n := range s.prog.Instances(i) {
		if s.steps[n].satisfied() {
			list[k] = s.steps[n].Output
		}
	}
	return list
}

// needing lists the steps that wait for step i, its pattern among them.
func (s *State) needing(i int) []int {
	deps := s.prog.Dependents(i)
	if pattern, ok := s.prog.Pattern(i); ok {
		return append(slices.Clip(deps), pattern)
	}
	return deps
}
