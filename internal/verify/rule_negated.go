package verify

import "fmt"

func ruleNegated() Rule {
	return Rule{
		ID: "PT026", Name: "negated", Severity: Note,
		Title: "a contract says that something fails now",
		Text: "At the end of a run every contract is proved again. One that begins with `!` often says what is " +
			"true only for a while, such as \"this test fails now\". If a later step is meant to change that, " +
			"write `holds: step`; if not, `holds: run` says so and ends this note.",
		Bad:  "**contract:**\n```shell\n! go test -run TestTimeout ./auth\n```",
		Good: "**contract:**\n```shell\n! go test -run TestTimeout ./auth\n```\n**holds:** step",
		step: checkNegated,
	}
}

func checkNegated(p *pass, u *unit) {
	if u.Contract == nil || u.Holds.Set || len(u.proofs) == 0 || u.proofs[0].label != "contract" {
		return
	}
	if s := u.proofs[0]; s.readable() && len(s.file.Stmts) > 0 && leading(s.file.Stmts[0]).Negated {
		p.report(u, s.text.Pos, fmt.Sprintf("contract of step %q begins with `!` and is proved again at the end of the run", u.ID.Value),
			"write `holds: step` if a later step changes that")
	}
}
