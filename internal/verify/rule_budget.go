package verify

import (
	"cmp"
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleBudget() Rule {
	return Rule{
		ID: "PT035", Name: "budget", Severity: Error,
		Title: "a budget cannot fit",
		Text: "A step starts only when its own budget is left of the plan's. One that is larger than the plan's " +
			"could never start. It is a warning where the budgets of all steps together, or the plan's own " +
			"`Estimate:`, are more than the plan's budget: the last steps would wait for money that is not there. A step " +
			"counts once for each item that its `for each:` lists, and with the budget of its sub-plan where it has none.",
		Bad:   "# Title\n\n**Budget:** max 100k tokens\n\n## Steps\n\n### 1. Fix\n\n**budget:** max 200k tokens",
		Good:  "# Title\n\n**Budget:** max 100k tokens\n\n## Steps\n\n### 1. Fix\n\n**budget:** max 80k tokens",
		check: checkBudget,
	}
}

func checkBudget(p *pass) {
	h := p.doc.plan
	whole := h.Budget.Value
	if whole == (plan.Budget{}) {
		return
	}
	var sum plan.Budget
	fits := true
	for _, u := range p.doc.units {
		b := u.Budget.Value
		if what := exceeds(b, whole); what != "" {
			fits = false
			p.report(u, u.Budget.Pos, fmt.Sprintf("the budget of step %q has more %s than that of the plan", u.ID.Value, what),
				"raise the plan's, or lower the step's")
		}
		b, times := p.asked(u), int64(u.Instances())
		sum.Tokens = min(sum.Tokens+times*min(b.Tokens, mostSummed/times), mostSummed)
		sum.CostMicros = min(sum.CostMicros+times*min(b.CostMicros, mostSummed/times), mostSummed)
	}
	if what := exceeds(sum, whole); what != "" && fits {
		p.report(nil, h.Budget.Pos, fmt.Sprintf("the budgets of the steps together have more %s than that of the plan", what),
			"raise the plan's, or lower those of the steps").Severity = Warning
	}
	if e := h.Estimate.Value; whole.Wall > 0 && e > whole.Wall {
		p.report(nil, h.Estimate.Pos, fmt.Sprintf("the plan is estimated to take %s, and its budget ends after %s", inWords(e), inWords(whole.Wall)), "").Severity = Warning
	}
}

// mostSummed is what sums of budgets stop at.
const mostSummed = 1 << 61

// asked is the budget of one instance of a step: its own, else that of its
// sub-plan.
func (p *pass) asked(u *unit) plan.Budget {
	b := u.Budget.Value
	if file, ok := Delegate(u.Step); ok {
		sub := p.facts.Plans[file].Budget
		b.Tokens, b.CostMicros = cmp.Or(b.Tokens, sub.Tokens), cmp.Or(b.CostMicros, sub.CostMicros)
	}
	return b
}

func inWords(d time.Duration) string { return plan.FormatDuration(d) }

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
