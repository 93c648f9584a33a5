package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// compiled is the program as it was compiled, without what a run added.
func (p *Program) compiled() *Program {
	if p.base != nil {
		return p.base
	}
	return p
}

// growable returns a program of which [Program.grow] is a run's own affair: a
// copy that shares nothing that grows. It costs a pass over all steps, once a run.
func (p *Program) growable() *Program {
	if p.base != nil {
		return p
	}
	g := *p
	g.base = p
	g.def.Steps = slices.Clip(p.def.Steps)
	g.by, g.inline, g.parts = maps.Clone(p.by), maps.Clone(p.inline), map[int][]int{}
	g.deps, g.names, g.refers = clipped(p.deps), slices.Clip(p.names), slices.Clip(p.refers)
	g.classes = p.classes.growable()
	return &g
}

func clipped(lists [][]int) [][]int {
	all := make([][]int, len(lists))
	for i := range lists {
		all[i] = slices.Clip(lists[i])
	}
	return all
}

// expansion is what step i becomes for the items, if that can be.
func (p *Program) expansion(i int, items []json.RawMessage) ([]Step, error) {
	s := p.Step(i)
	made, err := s.instances(items)
	switch {
	case err != nil:
		return nil, err
	case p.Len()+len(made) > max(MaxExpanded, p.compiled().Len()):
		return nil, fmt.Errorf("%d instances would make %d steps of the run; at most %d are allowed", len(made), p.Len()+len(made), MaxExpanded)
	case !s.Worktree && p.Parallel() > 1:
		return made, collide(made)
	}
	return made, nil
}

// grow appends the instances of step i, which needs what they need.
func (p *Program) grow(i int, made []Step) {
	for _, s := range made {
		n := len(p.def.Steps)
		p.def.Steps = append(p.def.Steps, s)
		p.by[s.ID] = n
		p.deps, p.names, p.refers = append(p.deps, nil), append(p.names, p.names[i]), append(p.refers, s.refers())
		for _, need := range s.Needs {
			p.deps[need] = append(p.deps[need], n)
		}
		if p.inline[i] {
			p.keep(n)
		}
		p.classes.add(n, &s)
		p.of = append(p.of, i)
		p.parts[i] = append(p.parts[i], n)
	}
}

// Pattern finds the step that i is an instance of.
func (p *Program) Pattern(i int) (int, bool) {
	if p.base == nil || i < p.base.Len() {
		return 0, false
	}
	return p.of[i-p.base.Len()], true
}

// Instances lists the instances of step i in the order of their items. The
// caller must not change it.
func (p *Program) Instances(i int) []int { return p.parts[i] }

// values is the output of a step for each item: the list of its instances'.
func (s *State) values(i int) (any, error) {
	list := make([]any, 0, len(s.prog.Instances(i)))
	size := 0
	for _, n := range s.prog.Instances(i) {
		v, err := s.value(n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.prog.Step(n).ID, err)
		}
		if size += len(s.steps[n].Value); size > MaxOutput {
			return nil, errors.New("its outputs are longer than 1 MiB together")
		}
		list = append(list, v)
	}
	return list, nil
}
