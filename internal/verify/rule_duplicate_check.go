package verify

import (
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
)

func ruleDuplicateCheck() Rule {
	return Rule{
		ID: "PT028", Name: "duplicate-check", Severity: Error,
		Title: "two checks of a step have the same name",
		Text:  "Evidence is kept by the name of the check. The name `contract` belongs to the step's contract.",
		Bad:   "**checks:**\n- test: `go test ./a`\n- test: `go test ./b`",
		Good:  "**checks:**\n- test a: `go test ./a`\n- test b: `go test ./b`",
		step:  checkDuplicateCheck,
	}
}

func checkDuplicateCheck(p *pass, u *unit) {
	seen := map[string]bool{engine.Contract: u.Contract != nil}
	for _, c := range u.Checks.Value {
		if seen[c.Name.Value] {
			p.report(u, c.Name.Pos, fmt.Sprintf("step %q has two checks named %q", u.ID.Value, c.Name.Value), "give one another name")
		}
		seen[c.Name.Value] = true
	}
}
