package verify

import (
	"fmt"
	"path"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/judge"
)

// openings finds steps that may write what decides about others: an explicit
// scope lifts the guard of what it names, and what such a step leaves there is
// what the others are judged by.
type openings struct {
	guards []opening
	left   int   // comparisons that may yet be made
	before reach // of scopes that steps had
}

// opening is a guarded path or glob.
type opening struct {
	file  string
	why   string
	exact bool // only its own name opens it
}

// newOpenings lists what a plan guards for the steps of it that stay.
func newOpenings(d *document, stays map[string]*unit) *openings {
	o := &openings{left: 20 * maxComparisons}
	seen := map[string]bool{}
	add := func(name, why string, exact bool) {
		if file, _, _ := strings.Cut(path.Clean(name), "#"); !seen[file] {
			seen[file] = true
			o.guards = append(o.guards, opening{file, why, exact})
		}
	}
	for _, name := range always() {
		add(name, "which is protected", false)
	}
	for _, t := range d.plan.Protect.Value {
		add(t.Value, "which is protected", false)
	}
	var before []string
	for _, u := range d.units {
		before = append(before, opens(u)...)
		if stays[u.ID.Value] == nil {
			continue
		}
		for s := range readable(u.proofs) {
			if s.required {
				for _, file := range s.runs {
					add(file, fmt.Sprintf("by which step %q is judged", u.ID.Value), true)
				}
			}
		}
		if file, ok := Delegate(u.Step); ok {
			add(file, fmt.Sprintf("which step %q is delegated to", u.ID.Value), false)
		}
	}
	o.before = newReach(before)
	return o
}

// opens are the scopes of a step that lift guards.
func opens(u *unit) []string { return (&engine.Step{Writes: writes(u)}).Opens() }

// by words what the scopes of a step open that it did not have; was is nil for a
// new step.
func (o *openings) by(was, now *unit) []string {
	var had, all []string
	old, within := map[string]bool{}, o.before
	if was != nil {
		had = opens(was)
		within = newReach(had)
	}
	for _, scope := range had {
		old[scope] = true
	}
	said := map[string]bool{}
	for _, scope := range opens(now) {
		if old[scope] || badScope(scope) != "" {
			continue
		}
		if rule := judgesBy(scope); rule != "" && (was != nil || !o.before.scopes[scope]) {
			said[scope] = true
			all = append(all, fmt.Sprintf("may write %s, which judges (%s)", scope, rule))
		}
		for _, g := range o.guards {
			switch {
			case o.left < 0:
				return all
			case !said[g.file] && o.open(scope, g, within) && (g.exact || !covered(g.file, had)):
				said[g.file] = true
				all = append(all, fmt.Sprintf("may write %s, %s", g.file, g.why))
			}
		}
	}
	return all
}

// judgesBy says by which rule a file judges that a scope names; "" is none.
func judgesBy(scope string) string {
	if isGlob(scope) {
		return ""
	}
	rule, _ := judge.Of(scope)
	if len(judge.Keys(scope)) > 0 {
		rule = string(judge.Manifest)
	}
	return rule
}

// open reports whether a scope opens a guard: all of it, or a part that was not within
// reach before.
func (o *openings) open(scope string, g opening, within reach) bool {
	if o.left -= len(scope) + len(g.file); o.left < 0 {
		return false
	}
	if g.exact {
		return g.file == scope
	}
	if covered(g.file, []string{scope}) {
		return true
	}
	return fits(trunk(scope), trunk(g.file), strings.HasPrefix) && meet(scope, g.file) && !within.covers(scope)
}
