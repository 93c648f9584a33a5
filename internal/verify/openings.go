package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// openings finds steps that may write what decides about others: an explicit
// scope lifts the guard of what it names, and what such a step leaves there is
// what the others are judged by.
type openings struct {
	*scopes
	guards []opening
	before []string // scopes that steps had
}

// opening is a guarded path or glob.
type opening struct {
	file string
	step string // that is judged by it, "" for what is protected from every step
}

// newOpenings lists what a plan guards for the steps of it that stay.
func newOpenings(d *document, stays map[string]*unit) *openings {
	o := &openings{scopes: newScopes(0)}
	seen := map[opening]bool{}
	add := func(name, step string) {
		file, _, _ := strings.Cut(path.Clean(name), "#")
		if x := (opening{file, step}); !seen[x] {
			seen[x] = true
			o.guards = append(o.guards, x)
		}
	}
	for _, name := range always() {
		add(name, "")
	}
	for _, t := range d.plan.Protect.Value {
		add(t.Value, "")
	}
	for _, u := range d.units {
		o.before = append(o.before, opens(u)...)
		if stays[u.ID.Value] == nil {
			continue
		}
		for _, s := range u.proofs {
			if s.required && s.readable() {
				for _, g := range s.guards {
					add(g.path, u.ID.Value)
				}
			}
		}
	}
	return o
}

// opens are the scopes of a step that lift guards.
func opens(u *unit) []string { return (&engine.Step{Writes: writes(u)}).Opens() }

// by words what the scopes of a step open that it did not have; was is nil for a
// new step. For one that was there, what is guarded for itself is compared
// elsewhere.
func (o *openings) by(was, now *unit) []string {
	var had, all []string
	if was != nil {
		had = opens(was)
	}
	said := map[string]bool{}
	for _, scope := range opens(now) {
		if slices.Contains(had, scope) || badScope(scope) != "" {
			continue
		}
		for _, g := range o.guards {
			if said[g.file] || was != nil && (g.step == "" || g.step == now.ID.Value) || !o.open(scope, g) || covered(g.file, had) {
				continue
			}
			said[g.file] = true
			why := "which is protected"
			if g.step != "" {
				why = fmt.Sprintf("by which step %q is judged", g.step)
			}
			all = append(all, fmt.Sprintf("may write %s, %s", g.file, why))
		}
	}
	return all
}

// open reports whether a scope opens a guard: all of it, or a part that no step
// had a scope for.
func (o *openings) open(scope string, g opening) bool {
	if o.left -= len(scope) + len(g.file); o.left < 0 {
		return false
	}
	if covered(g.file, []string{scope}) {
		return true
	}
	a, b := o.entry(scope), o.entry(g.file)
	if !strings.HasPrefix(a.trunk, b.trunk) && !strings.HasPrefix(b.trunk, a.trunk) || !o.meet(a, b) {
		return false
	}
	o.left -= len(o.before)
	return !slices.ContainsFunc(o.before, func(had string) bool { return covers(had, scope) })
}
