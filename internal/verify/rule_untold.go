package verify

import "fmt"

func ruleUntold() Rule {
	return Rule{
		ID: "PT050", Name: "untold", Severity: Warning,
		Title: "what a contract runs cannot be told from its text",
		Text: "What a contract runs is protected from the step that it judges, as far as its text tells what that is. " +
			"A command or a script that stands in a variable which only the environment has, that comes from " +
			"another command or from the network, or that lies in a directory which is not known, is not " +
			"protected: an agent might change it and with it what the contract says. Write the path out, or " +
			"name the files under `protect:`.",
		Bad:  "**contract:**\n```shell\n\"$CHECKER\" src\n```",
		Good: "**contract:**\n```shell\ntools/checker src\n```",
		step: checkUntold,
	}
}

func checkUntold(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() {
			continue
		}
		for _, lost := range s.lost {
			p.report(u, s.place(lost.at), fmt.Sprintf("%s of step %q: %s cannot be told from the text, and is not protected", s.label, u.ID.Value, lost.what),
				"write its path out, or name what it runs under `protect:`")
		}
	}
}
