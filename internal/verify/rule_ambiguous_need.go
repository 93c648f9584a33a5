package verify

import "fmt"

func ruleAmbiguousNeed() Rule {
	return Rule{
		ID: "PT011", Name: "ambiguous-need", Severity: Error,
		Title: "a step needs a number that several steps have",
		Text: "Numbers are for people and may repeat; a dependency must not depend on a guess. " +
			"Name the step by its id.",
		Bad:  "### 1. Build the client\n\n### 1. Build the server\n\n### 2. Test\n\n**needs:** 1",
		Good: "### 1. Build the client\n\n### 2. Build the server\n\n### 3. Test\n\n**needs:** 1, build-the-server",
		step: checkAmbiguousNeed,
	}
}

func checkAmbiguousNeed(p *pass, u *unit) {
	for _, ref := range u.lost {
		if ref.found > 1 {
			p.report(u, ref.text.Pos, fmt.Sprintf("step %q needs %q, a number that %d steps have", u.ID.Value, ref.text.Value, ref.found),
				"name the step by its id")
		}
	}
}
