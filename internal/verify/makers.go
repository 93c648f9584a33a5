package verify

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

// maxPatterns is how many patterns are tried for one path: with more of them
// anything counts as possible, which keeps the cost linear.
const maxPatterns = 100

// makers tells which files the steps of a plan may make.
type makers struct {
	anything bool            // some step has the whole workspace
	names    map[string]bool // that a `writes:` names
	patterns []string
}

// add notes the scopes of a step.
func (m *makers) add(s *plan.Step) {
	m.anything = m.anything || !s.Writes.Set
	for _, w := range s.Writes.Value {
		if s.ForEach.Set {
			m.scope(wide(w.Value))
		} else {
			m.scope(w.Value)
		}
	}
}

// scope notes a scope. Of patterns no more than count.
func (m *makers) scope(scope string) {
	switch {
	case !isGlob(scope):
		m.names[path.Clean(scope)] = true
	case len(m.patterns) <= maxPatterns && !slices.Contains(m.patterns, scope):
		m.patterns = append(m.patterns, scope)
	}
}

// named reports whether the explicit `writes:` of some step covers the file.
func (m makers) named(file string) bool {
	if m.names[file] || m.names["."] || len(m.patterns) > maxPatterns {
		return true
	}
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if m.names[dir] {
			return true
		}
	}
	return covered(file, m.patterns)
}

// can reports whether some step may make the file.
func (m makers) can(file string) bool { return m.anything || m.named(file) }

// covered reports whether one of the scopes holds the file. A scope that is a
// directory's name holds everything below it.
func covered(file string, scopes []string) bool {
	for _, s := range scopes {
		s = path.Clean(s)
		if s == "." || file == s || strings.HasPrefix(file, s+"/") {
			return true
		}
		if ok, err := doublestar.Match(s, file); err == nil && ok {
			return true
		}
	}
	return false
}

// wide is a scope that holds whatever an item makes of it.
func wide(scope string) string {
	parts := strings.Split(scope, "/")
	for i, part := range parts {
		if part == engine.ItemMark {
			parts[i] = "**"
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "/"), engine.ItemMark, "*")
}
