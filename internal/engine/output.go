package engine

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Variable is the name in the environment of scripts and checks under which
// they find the output of a step. Ids that differ in - and _ alone have one name.
func Variable(step string) string {
	return "PITON_STEP_" + strings.ToUpper(strings.ReplaceAll(step, "-", "_"))
}

// MaxVariable is the largest text, in bytes, that an environment variable takes:
// systems refuse to start a program with one that is a little larger.
const MaxVariable = 96 << 10

// FitsVariable reports why a text cannot stand in an environment variable.
func FitsVariable(name, text string) error {
	switch {
	case len(text) > MaxVariable:
		return fmt.Errorf("its %d bytes do not fit into %s: at most %d do", len(text), name, MaxVariable)
	case strings.Contains(text, "\x00"):
		return fmt.Errorf("it has a NUL, which %s cannot have", name)
	}
	return nil
}

// readable checks that what steps read is there, under a name of its own.
func (p *Program) readable() error {
	for i := range p.def.Steps {
		s := &p.def.Steps[i]
		names := map[string]string{}
		for _, id := range s.Reads {
			if _, ok := p.by[id]; !ok || id == s.ID {
				return fmt.Errorf("step %q reads the output of %q, which is not another step", s.ID, id)
			}
			if other, twice := names[Variable(id)]; twice {
				return fmt.Errorf("step %q reads the outputs of %q and %q, which have one name: %s", s.ID, other, id, Variable(id))
			}
			names[Variable(id)] = id
		}
	}
	return nil
}

// outputs are the objects of what the step reads and subscribes to. A step that
// was skipped has none.
func (s *State) outputs(p *Step) map[string]string {
	var all map[string]string
	for id := range s.looksAt(p) {
		i, ok := s.prog.Index(id)
		if !ok || !s.steps[i].satisfied() || s.steps[i].Output == "" {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[id] = s.steps[i].Output
	}
	return all
}

// lists are those of the outputs that are of steps for each item.
func (s *State) lists(p *Step) map[string][]string {
	var all map[string][]string
	for id := range s.looksAt(p) {
		i, ok := s.prog.Index(id)
		if !ok || !s.pattern(i) || !s.steps[i].satisfied() || !s.steps[i].Expanded {
			continue
		}
		if all == nil {
			all = map[string][]string{}
		}
		all[id] = s.outOf(i)
	}
	return all
}

// looksAt yields the ids of the steps whose outputs a step is given.
func (s *State) looksAt(p *Step) iter.Seq[string] {
	return func(yield func(string) bool) {
		ids := p.Reads
		if i, ok := s.prog.Index(p.ID); ok {
			ids = slices.Concat(ids, s.prog.refers[i])
		}
		for _, sub := range p.Subscriptions {
			if sub.Kind == "step" {
				ids = append(slices.Clip(ids), sub.Ref)
			}
		}
		for _, id := range ids {
			if !yield(id) {
				return
			}
		}
	}
}

// ValueOf is what the bytes that a step put out mean: the JSON value that they
// are, else their text without the line ends behind it.
func ValueOf(output []byte) (any, error) {
	if v, err := DecodeValue(output); err == nil {
		return v, nil
	}
	if len(output) >= MaxOutput {
		return nil, errors.New("the output is longer than 1 MiB, and what is behind that was not kept")
	}
	return strings.TrimRight(text(string(output)), "\r\n"), nil
}
