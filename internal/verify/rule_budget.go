package verify

import (
	"fmt"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleBudget() Rule {
	return Rule{
		ID: "PT035", Name: "budget", Severity: Warning,
		Title: "a step may use more than the whole plan",
		Text: "A step starts only when its own budget is left of the plan's. One that is larger than the plan's " +
			"could never start.",
		check: checkBudget,
	}
}

func checkBudget(p *pass) {
	whole := p.doc.plan.Budget.Value
	for _, u := range p.doc.units {
		if what := exceeds(u.Budget.Value, whole); what != "" {
			p.report(u, u.Budget.Pos, fmt.Sprintf("the budget of step %q has more %s than that of the plan", u.ID.Value, what), "")
		}
	}
}

func exceeds(b, whole plan.Budget) string {
	switch {
	case whole.Tokens > 0 && b.Tokens > whole.Tokens:
		return "tokens"
	case whole.CostMicros > 0 && b.CostMicros > whole.CostMicros:
		return "money"
	case whole.Wall > 0 && b.Wall > whole.Wall:
		return "time"
	}
	return ""
}
