package verify

import "fmt"

func ruleNoProof() Rule {
	return Rule{
		ID: "PT020", Name: "no-proof", Severity: Error,
		Title: "nothing could prove the step",
		Text: "A step of an agent or a script is done when its contract and its required checks say so, and " +
			"never because the agent says so. Give it a `contract:`, or at least one check that is not " +
			"optional. A model's judgement (`judge:`) is never the only proof.",
		Bad:  "**task:** Fix the off-by-one error in the pager.",
		Good: "**task:** Fix the off-by-one error in the pager.\n**contract:**\n```shell\ngo test ./pager\n```",
		step: checkNoProof,
	}
}

func checkNoProof(p *pass, u *unit) {
	if u.works() && !u.provable() && !u.unread("contract") && !u.unread("checks") {
		p.report(u, u.Pos, fmt.Sprintf("step %q has no contract and no required check, so nothing could prove it", u.ID.Value),
			"add a `contract:` with a shell command that fails until the step is done")
	}
}

func (u *unit) provable() bool {
	for _, s := range u.proofs {
		if s.required {
			return true
		}
	}
	return false
}
