package verify

import "fmt"

func ruleCannotPass() Rule {
	return Rule{
		ID: "PT023", Name: "cannot-pass", Severity: Error,
		Title: "a contract or check cannot pass",
		Text: "The script ends with the same exit code whatever the workspace looks like, and it is not the " +
			"wanted one, so no attempt could ever pass. For an optional check it is a warning.",
		Bad:  "**contract:**\n```shell\ngrep -q done notes.md; false\n```",
		Good: "**contract:**\n```shell\ngrep -q done notes.md\n```",
		step: checkCannotPass,
	}
}

func checkCannotPass(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() || s.ends.has(s.exit) {
			continue
		}
		f := p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q cannot pass: it never ends with exit code %d", s.label, u.ID.Value, s.exit), "")
		if !s.required {
			f.Severity = Warning
		}
	}
}
