package verify

import (
	"fmt"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleUnmetered() Rule {
	return Rule{
		ID: "PT034", Name: "unmetered", Severity: Warning,
		Title: "a budget cannot be kept, because the agent does not say what it uses",
		Text: "Tokens and cost are known only from agents that report them: those of kind acp, and those of kind " +
			"exec with `parse:`. For others only time and attempts bind. `policy: {unmetered: refuse}` makes " +
			"this an error.",
		Bad:   "**target:** reviewer\n**budget:** max 50k tokens",
		Good:  "**target:** reviewer\n**budget:** 10 minutes",
		check: checkUnmetered,
	}
}

func checkUnmetered(p *pass) {
	whole := spends(p.doc.plan.Budget)
	for _, u := range p.doc.units {
		if !u.works() || !whole && !spends(u.Budget) {
			continue
		}
		name, agent, ok := p.facts.Agent(u.Target.Value)
		if !ok || agent.Shell || agent.Metered {
			continue
		}
		at := u.Budget.Pos
		if !spends(u.Budget) {
			at = u.Target.Pos
		}
		f := p.report(u, at, fmt.Sprintf("step %q has a budget, and agent %q does not say what it uses", u.ID.Value, name),
			"set `parse:` of the agent in the configuration, or limit the time")
		if p.facts.RefuseUnmetered {
			f.Severity = Error
		}
	}
}

// spends reports a budget of tokens or money.
func spends(b plan.Field[plan.Budget]) bool {
	return b.Value.Tokens > 0 || b.Value.CostMicros > 0
}
