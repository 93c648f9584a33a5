package tree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A guard is one entry of a step's guards.
type guard struct {
	text string
	path string // of a literal; of a glob the directory that all it matches lies in
	part string // of a literal: what of the file counts, "" for all of it
	glob bool
}

// Caps on a pattern, so that matching stays cheap.
const (
	maxPattern = 512
	maxChoices = 128
)

// parseGuard reads a literal path, a glob, or "file#part".
func parseGuard(text string) (guard, error) {
	file, part := splitPart(text)
	name, ok := clean(file)
	switch {
	case !ok:
		return guard{}, fmt.Errorf("guard %q: not a path inside the workspace", text)
	case !isGlob(name) || part != "":
		return guard{text: text, path: name, part: part}, nil
	}
	if err := checkPattern(name); err != nil {
		return guard{}, fmt.Errorf("guard %q: %w", text, err)
	}
	return guard{text: name, path: fixedDir(name), glob: true}, nil
}

// parseGuards reads guards and drops doubles.
func parseGuards(texts []string) ([]guard, error) {
	seen := make(map[guard]bool, len(texts))
	gs := make([]guard, 0, len(texts))
	for _, text := range texts {
		g, err := parseGuard(text)
		if err != nil {
			return nil, err
		}
		if !seen[g] {
			seen[g] = true
			gs = append(gs, g)
		}
	}
	return gs, nil
}

func checkPattern(p string) error {
	switch {
	case len(p) > maxPattern:
		return fmt.Errorf("a pattern of %d bytes; at most %d are allowed", len(p), maxPattern)
	case choices(p) > maxChoices:
		return fmt.Errorf("more than %d combinations of what is in braces", maxChoices)
	case !doublestar.ValidatePattern(p):
		return fmt.Errorf("not a well-formed pattern")
	}
	return nil
}

// choices bounds how many patterns without braces a pattern stands for. It stops
// counting when there are too many.
func choices(p string) int {
	all := 1
	var open []int
	for i := 0; i < len(p) && all <= maxChoices; i++ {
		switch n := len(open) - 1; {
		case p[i] == '\\':
			i++
		case p[i] == '{':
			open = append(open, 1)
		case p[i] == ',' && n >= 0:
			open[n]++
		case p[i] == '}' && n >= 0:
			all *= open[n]
			open = open[:n]
		}
	}
	return all
}

func isGlob(p string) bool { return strings.ContainsAny(p, `*?[{\`) }

// fixedDir is the directory that everything a pattern matches lies in.
func fixedDir(p string) string {
	if i := strings.IndexAny(p, `*?[{\`); i >= 0 {
		p = p[:i]
	}
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return "."
}

// key names what a literal guards, in a base.
func (g guard) key() string {
	if g.part == "" {
		return g.path
	}
	return g.path + "#" + g.part
}

// pattern is the path or glob, without the part.
func (g guard) pattern() string {
	if g.glob {
		return g.text
	}
	return g.path
}

// matches reports whether a glob guards name. A name that reads the same as the
// pattern, brackets and all, is meant too.
func (g guard) matches(name string) bool {
	return below(name, g.path) && (name == g.text || doublestar.MatchUnvalidated(g.text, name))
}

// covers reports whether a guard covers an entry of a base with this key.
func (g guard) covers(key string) bool {
	if g.glob {
		return g.matches(key)
	}
	return key == g.key() || g.part == "" && below(key, g.path)
}

// additive reports whether a new file counts as a difference. It does for git's own and
// for Piton's: a new hook runs, and a new memory is believed, like a changed one.
func (g guard) additive() bool { return g.part == "" && skipped(g.path) }

// A scope is a plan's `writes:`: files and directories, with all that is below
// them, and globs.
type scope []guard

// scopeOf reads the entries of a `writes:`. One that leads out of the workspace,
// or is no pattern, covers nothing.
func scopeOf(writes []string) scope {
	var s scope
	for _, w := range writes {
		switch name, ok := clean(w); {
		case !ok:
		case !isGlob(name):
			s = append(s, guard{text: name, path: name})
		case checkPattern(name) == nil:
			s = append(s, guard{text: name, path: fixedDir(name), glob: true})
		}
	}
	return s
}

func (s scope) covers(name string) bool {
	return slices.ContainsFunc(s, func(g guard) bool { return g.covers(name) })
}

// names reports whether an entry of the scope is a path itself.
func (s scope) names(file string) bool {
	return slices.ContainsFunc(s, func(g guard) bool { return !g.glob && g.path == file })
}

// dirs are the directories in which everything lies that the scope covers.
func (s scope) dirs() []string {
	dirs := make([]string, len(s))
	for i, g := range s {
		dirs[i] = g.path
	}
	return dirs
}
