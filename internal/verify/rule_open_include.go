package verify

import (
	"fmt"
	"slices"
)

func ruleOpenInclude() Rule {
	return Rule{
		ID: "PT053", Name: "open-include", Severity: Warning,
		Title: "a Makefile of a contract includes whatever matches a pattern",
		Text: "What a Makefile includes can change every rule in it. Files that match the pattern now are protected; " +
			"a new one is not, so a step that may write there could decide what its own contract runs. Write the " +
			"names of the included files out, or give the step `writes:` that leave the pattern out. Files that end " +
			"in `.d` are passed over: compilers write them.",
		Bad:  "**contract:**\n```shell\nmake lint\n```",
		Good: "**writes:** src/**\n**contract:**\n```shell\nmake lint\n```",
		step: checkOpenInclude,
	}
}

func checkOpenInclude(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() {
			continue
		}
		for _, pattern := range s.goals.open {
			if u.mayWrite(pattern) {
				p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q runs a Makefile that includes %q: a file that the step adds there is not protected, and may change what make runs", s.label, u.ID.Value, pattern),
					"write the names out in the Makefile, or give the step `writes:` that leave them out")
			}
		}
	}
}

// mayWrite reports whether a step may make a file that matches a pattern.
func (u *unit) mayWrite(pattern string) bool {
	if !u.Writes.Set || badScope(pattern) != "" {
		return true
	}
	files := compileScope(pattern)
	return slices.ContainsFunc(writes(u), func(scope string) bool {
		if u.ForEach.Set {
			scope = wide(scope)
		}
		return badScope(scope) == "" && compileScope(scope).overlaps(files)
	})
}
