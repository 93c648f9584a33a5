package engine

import (
	"maps"
	"slices"
	"strings"
)

// free is the class of the steps that can run beside anything.
const free = -1

// classes group the steps that conflict with each other and, beside that, with
// the same other steps: those with one scope, and the agents without any. At
// most one step of a class is under way, so only its first can be the next.
type classes struct {
	of      []int   // class of each step, or free
	rank    []int   // place of each step in its class
	members [][]int // steps of each class, ascending
	known   map[string]int
}

func classify(steps []Step) classes {
	c := classes{of: make([]int, 0, len(steps)), rank: make([]int, 0, len(steps)), known: map[string]int{}}
	for i := range steps {
		c.add(i, &steps[i])
	}
	return c
}

// add classifies step i, the next one.
func (c *classes) add(i int, p *Step) {
	key := p.class()
	if key == "" {
		c.of, c.rank = append(c.of, free), append(c.rank, 0)
		return
	}
	n, ok := c.known[key]
	if !ok {
		n = len(c.members)
		c.known[key] = n
		c.members = append(c.members, nil)
	}
	c.of, c.rank = append(c.of, n), append(c.rank, len(c.members[n]))
	c.members[n] = append(c.members[n], i)
}

// growable is a copy to which steps can be added.
func (c *classes) growable() classes {
	return classes{of: slices.Clip(c.of), rank: slices.Clip(c.rank), members: clipped(c.members), known: maps.Clone(c.known)}
}

// class names what the step conflicts with, "" if it is nothing.
func (p *Step) class() string {
	switch {
	case p.Worktree, p.Each != nil: // its merge is kept apart by a lease; a pattern does nothing
		return ""
	case p.Exclusive():
		return "alone"
	case len(p.Writes) == 0:
		return ""
	}
	roots := make([]string, len(p.Writes))
	for n, glob := range p.Writes {
		roots[n] = root(glob)
	}
	slices.Sort(roots)
	return string(p.Kind) + "\x00" + strings.Join(slices.Compact(roots), "\x00")
}

// conflicts reports whether two steps must not be under way at once: two
// agents of which one may write anywhere, or overlapping scopes.
func (p *Step) conflicts(other *Step) bool {
	if p.Kind == Agent && other.Kind == Agent && (p.Exclusive() || other.Exclusive()) {
		return true
	}
	return overlap(p.Writes, other.Writes)
}

// overlap reports whether two lists of globs may name one path. It errs on the
// safe side: only the parts before the first wildcard are compared.
func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			x, y := root(x), root(y)
			if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
				return true
			}
		}
	}
	return false
}

// root is the part of a glob that every path it names begins with.
func root(glob string) string {
	glob = strings.TrimPrefix(glob, "./")
	if i := strings.IndexAny(glob, "*?[{\\"); i >= 0 {
		return glob[:i]
	}
	return glob
}
