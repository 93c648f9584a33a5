package verify

import (
	"fmt"
	"path"
	"slices"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleUpToDate() Rule {
	return Rule{
		ID: "PT052", Name: "up-to-date", Severity: Warning,
		Title: "a goal of make that a file of its name would satisfy",
		Text: "Where there is a file or a directory `test`, `make test` says that it is up to date, runs nothing and " +
			"passes, unless the Makefile lists `test` under `.PHONY`. It is reported where such a file exists now, and " +
			"where the `writes:` of a step cover one and the goal sounds like a check (test, lint, verify and their " +
			"like). Where neither is so, a new file of that name counts as tampering. Add `.PHONY: test` to the " +
			"Makefile. Goals that need other goals, and those whose recipe makes their file, are left alone.",
		Bad:  "**contract:**\n```shell\nmake lint\n```",
		Good: "**contract:**\n```shell\nmake --always-make lint\n```",
		step: checkUpToDate,
	}
}

func checkUpToDate(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() {
			continue
		}
		for _, name := range s.goals.idle {
			why := ""
			switch {
			case p.facts.Files[name].Exists:
				why = fmt.Sprintf("%q is there, so make calls it up to date and runs nothing", name)
			case soundsLikeCheck(path.Base(name)) && p.doc.makers.named(name):
				why = fmt.Sprintf("a step may write %q, and make would call it up to date and run nothing", name)
			default:
				continue
			}
			p.report(u, s.goalAt(path.Base(name)), fmt.Sprintf("%s of step %q makes the goal %q, which is not `.PHONY`: %s", s.label, u.ID.Value, path.Base(name), why),
				fmt.Sprintf("add `.PHONY: %s` to the Makefile", path.Base(name)))
		}
	}
}

// goalAt is where a script names a goal of make; its beginning where only what it
// runs does.
func (s script) goalAt(name string) plan.Pos {
	for _, c := range s.calls {
		if c.tool() != "make" && c.tool() != "gmake" {
			continue
		}
		if i := slices.IndexFunc(c.args(), func(w word) bool { return w.text == name }); i >= 0 {
			return s.place(c.args()[i].at)
		}
	}
	return s.text.Pos
}
