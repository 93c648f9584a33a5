package verify

import "fmt"

func ruleShellSyntax() Rule {
	return Rule{
		ID: "PT021", Name: "shell-syntax", Severity: Error,
		Title: "a shell script has a syntax error",
		Text: "Contracts, checks, setups and scripts run as `bash --noprofile --norc -c`. This one bash could " +
			"not read. The place is that of the error inside the block.",
		Bad:   "**contract:**\n```shell\nif grep -q done notes.md; then echo yes\n```",
		Good:  "**contract:**\n```shell\ngrep -q done notes.md\n```",
		check: checkPlanShellSyntax,
		step:  checkShellSyntax,
	}
}

func checkPlanShellSyntax(p *pass) {
	if setup := p.doc.script("setup", p.doc.plan.Setup, false, 0); setup.shell != nil && setup.fault != "" {
		p.report(nil, setup.text.At(setup.at), "the plan's setup: "+setup.fault, "")
	}
}

func checkShellSyntax(p *pass, u *unit) {
	for _, s := range p.scripts(u) {
		p.unparsed(u, s)
	}
	p.unparsed(u, u.setup)
}

func (p *pass) unparsed(u *unit, s script) {
	if s.shell != nil && s.fault != "" {
		p.report(u, s.text.At(s.at), fmt.Sprintf("%s of step %q: %s", s.label, u.ID.Value, s.fault), "")
	}
}
