package verify

import (
	"fmt"
	"strings"
)

func ruleTemplate() Rule {
	return Rule{
		ID: "PT013", Name: "template", Severity: Warning,
		Title: "a heading such as 3–N stands for several steps and names no items",
		Text: "A heading with a range of numbers is a template: one instance of the step for each item of " +
			"`for each:`. Without that label it is one step that looks like many, so a run refuses it. " +
			"Write the steps out, or give the heading a single number.",
		Bad:  "### 3–N. Migrate a module",
		Good: "### 3–N. Migrate a module\n\n**for each:** src/*/legacy.py",
		step: checkTemplate,
	}
}

func checkTemplate(p *pass, u *unit) {
	if strings.ContainsAny(u.Number, "-–—") && !u.ForEach.Set {
		p.report(u, u.Pos, fmt.Sprintf("step %q stands for steps %s and has no `for each:`; a run refuses it", u.ID.Value, u.Number),
			"write the steps out, or use a single number").blocks = true
	}
}
