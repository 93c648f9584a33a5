package verify

import "fmt"

func ruleOutside() Rule {
	return Rule{
		ID: "PT051", Name: "outside", Severity: Warning,
		Title: "a contract runs a script from outside of the workspace",
		Text: "What a contract runs is protected from the step that it judges only where it stands in the workspace. " +
			"A script elsewhere, as in `bash /opt/check.sh` or `../check.sh`, may change under the run, and nobody " +
			"would see it; on another machine it may not be there at all. Copy it into the workspace, or make it a " +
			"program on PATH. What stands in a directory `bin` or `sbin` of the system counts as such a program.",
		Bad:  "**contract:**\n```shell\nbash ../check.sh\n```",
		Good: "**contract:**\n```shell\nbash scripts/check.sh\n```",
		step: checkOutside,
	}
}

func checkOutside(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() {
			continue
		}
		for _, w := range s.strays {
			if found, asked := p.facts.Commands[w.text]; asked && found == "" {
				continue // it is not there at all
			}
			p.report(u, s.place(w.at), fmt.Sprintf("%s of step %q runs %q, which is outside of the workspace and not protected", s.label, u.ID.Value, w.text),
				"copy it into the workspace, or make it a program on PATH")
		}
	}
}
