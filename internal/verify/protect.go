package verify

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// always are the guards of every step: what git runs and what hides files from
// it, what configures the harness itself, and what later work is told for true.
func always() []string {
	return []string{
		".git/commondir", ".git/config#run", ".git/config.worktree", ".git/hooks/**", ".git/info/attributes", ".git/info/exclude",
		".piton/agents/**", ".piton/config.yaml", ".piton/memories/**", ".piton/topics/**",
	}
}

// guards lists, sorted, what must not change while the step is worked on. It is what the
// words of its contract and required checks run, what the plan protects, and the step's own
// `protect:`. The step's explicit `writes:` take out what they name, but not of its own
// `protect:`. What git runs and the configuration have to be named there. What judges
// because a check was seen to open it is added while the plan runs.
//
// A glob of which the writes cover only a part stays whole: whoever compares
// drops the changes inside of the scope. A literal path counts when it is absent
// too. A file that a contract runs may be made during the run, so until it
// exists it is written as a glob that matches it alone.
func (c compiler) guards(u *unit) []string {
	list, scopes := map[string]bool{}, writes(u)
	opens := (&engine.Step{Writes: scopes}).Opens()
	guard := func(name, as string) {
		file, _, _ := strings.Cut(name, "#")
		if isGlob(file) && !covered(file, opens) || !isGlob(file) && !slices.Contains(opens, file) {
			list[as] = true
		}
	}
	for s := range readable(u.proofs) {
		if s.required {
			for _, file := range s.runs {
				guard(plainName.Replace(file), c.guard(file))
			}
		}
	}
	for _, t := range c.doc.plan.Protect.Value {
		guard(path.Clean(t.Value), path.Clean(t.Value))
	}
	for _, name := range always() {
		if !named(name, scopes) {
			list[name] = true
		}
	}
	for _, t := range u.Protect.Value {
		list[path.Clean(t.Value)] = true
	}
	return slices.Sorted(maps.Keys(list))
}

// protects lists what the plan and the step protect from every step of the plan
// that the step is delegated to.
func (c compiler) protects(u *unit) []string {
	list := slices.Concat(texts(c.doc.plan.Protect.Value), texts(u.Protect.Value))
	for i := range list {
		list[i] = path.Clean(list[i])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// named reports whether a scope covers the guard and says so: `**` does not mean
// what git runs, nor what configures the harness.
func named(guard string, scopes []string) bool {
	file, _, _ := strings.Cut(guard, "#")
	top, _, _ := strings.Cut(file, "/")
	return slices.ContainsFunc(scopes, func(s string) bool {
		s = path.Clean(s)
		return (s == top || strings.HasPrefix(s, top+"/")) && covered(file, []string{s})
	})
}

// guard writes a file that a contract runs as the machine reads it.
func (c compiler) guard(file string) string {
	name := plainName.Replace(file)
	if name != file || c.facts.Files[file].Exists {
		return name
	}
	alone := strings.NewReplacer(",", "?", "}", "?").Replace(path.Base(file))
	return path.Join(path.Dir(file), "{"+alone+"}")
}

// plainName writes a name so that nothing in it is read as a pattern or a part:
// what no guard can spell is any character.
var plainName = strings.NewReplacer("#", "?", "*", "?", "[", "?", "]", "?", "{", "?", "}", "?", `\`, "?")
