package verify

import (
	"fmt"
	"slices"
	"strings"
)

func ruleLifted() Rule {
	return Rule{
		ID: "PT054", Name: "lifted", Severity: Warning,
		Title: "a `writes:` covers what the step's own contract runs, without naming it",
		Text: "What a contract runs or collects is protected while the step is worked on, save what the step's `writes:` " +
			"cover: what it leaves there is what it is judged by. Where a directory or a pattern covers files that are " +
			"there now, that may not be meant. Leave them out of `writes:`, name them in the step's `protect:`, or, " +
			"where the step is to change them, name them in `writes:` as the finding does.",
		Bad:  "**writes:** lib/**\n**contract:** `bash lib/check.sh`",
		Good: "**writes:** lib/**\n**protect:** lib/check.sh\n**contract:** `bash lib/check.sh`",
		step: checkLifted,
	}
}

func checkLifted(p *pass, u *unit) {
	var names []string
	for _, name := range u.lifted() {
		if f := p.facts.Files[name]; f.Exists && !f.Dir || p.facts.Globs[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	list := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if len(names) > maxNamed {
		list += fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	p.report(u, u.Writes.Pos, fmt.Sprintf("`writes:` of step %q cover what its own contract runs or collects: %s; what it leaves there is what it is judged by", u.ID.Value, list),
		"leave them out, name them in the step's `protect:`, or in its `writes:` if it is to change them")
}

// lifted lists what the contract and required checks of a step guard, as paths and
// patterns, and the step's scopes cover without saying so.
func (u *unit) lifted() []string {
	scopes := opens(u)
	var held, names []string
	for _, t := range u.Protect.Value {
		held = append(held, t.Value)
	}
	for _, s := range u.proofs {
		if !s.required || !s.readable() {
			continue
		}
		for _, g := range s.guards {
			file, _, _ := strings.Cut(g.path, "#")
			for _, scope := range scopes {
				name := inScope(cleanScope(scope), file)
				if name == "" || badScope(scope) != "" || slices.Contains(scopes, name) || covered(name, held) || slices.Contains(names, name) {
					continue
				}
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// inScope is what of a path or pattern lies in a scope, where that is easily said.
func inScope(scope, file string) string {
	if scope != file && covered(file, []string{scope}) {
		return file
	}
	rest, deep := strings.CutPrefix(file, "**/")
	dir := strings.TrimSuffix(scope, "/**")
	if !deep || isGlob(dir) || dir == scope {
		return ""
	}
	return dir + "/**/" + rest
}
