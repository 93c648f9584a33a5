package engine

import (
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
}

func classify(steps []Step) classes {
	c := classes{of: make([]int, len(steps)), rank: make([]int, len(steps))}
	known := map[string]int{}
	for i := range steps {
		key := steps[i].class()
		if key == "" {
			c.of[i] = free
			continue
		}
		n, ok := known[key]
		if !ok {
			n = len(c.members)
			known[key] = n
			c.members = append(c.members, nil)
		}
		c.of[i], c.rank[i] = n, len(c.members[n])
		c.members[n] = append(c.members[n], i)
	}
	return c
}

// class names what the step conflicts with, "" if it is nothing.
func (p *Step) class() string {
	switch {
	case p.Worktree: // its merge is kept apart by a lease
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
