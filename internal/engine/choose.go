package engine

import (
	"errors"
	"fmt"
)

// conditions compiles each step's condition, and notes whose outputs the core
// itself looks at: those are kept with the records.
func (p *Program) conditions() error {
	for i := range p.def.Steps {
		s := &p.def.Steps[i]
		if s.When == "" {
			continue
		}
		c, err := ParseCondition(s.When, func(id string) bool { _, ok := p.by[id]; return ok })
		if err != nil {
			return fmt.Errorf("when of step %q: %w", s.ID, err)
		}
		if p.when == nil {
			p.when = map[int]*Condition{}
		}
		p.when[i] = c
		for _, id := range c.Reads() {
			p.keep(p.by[id])
		}
	}
	return nil
}

// undecided reports whether the step's condition is the next thing to look at.
func (s *State) undecided(i int) bool {
	st := &s.steps[i]
	return s.prog.Step(i).When != "" && !st.Chosen && !st.Expanded && st.Status == Pending && !st.Active && st.open == 0 && st.Item == "" && st.Order == nil
}

// choice is what follows from the step's condition: it may run, it is skipped,
// or, where the condition can be neither, a person decides.
func (s *State) choice(i int) StepSettled {
	p := s.prog.Step(i)
	e := StepSettled{Step: p.ID, Attempt: s.steps[i].Attempt, By: Harness}
	holds, err := s.holds(i)
	switch {
	case err != nil:
		e.Status, e.Verdict, e.Reason = Waiting, Inconclusive, text(fmt.Sprintf("whether it runs cannot be told: when: %s: %v", p.When, err))
	case holds:
		e.Status, e.Reason = Pending, "when: "+p.When
	default:
		e.Status, e.Satisfies, e.Reason = Skipped, true, "not when: "+p.When
	}
	return e
}

func (s *State) holds(i int) (bool, error) {
	c := s.prog.when[i]
	outputs := map[string]any{}
	for _, id := range c.Reads() {
		n, _ := s.prog.Index(id)
		v, err := s.value(n)
		if err != nil {
			return false, fmt.Errorf("$%s: %w", id, err)
		}
		outputs[id] = v
	}
	return c.Holds(outputs)
}

// value is the decoded output of a step, nil of one that was skipped.
func (s *State) value(i int) (any, error) {
	st := &s.steps[i]
	switch {
	case st.Status != Done && st.Status != Waived:
		return nil, nil
	case s.prog.Step(i).Each != nil:
		return s.values(i)
	case st.Value == "":
		return nil, errors.New("its output was not kept: it is longer than 1 MiB")
	}
	return DecodeValue([]byte(st.Value))
}
