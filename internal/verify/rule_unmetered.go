package verify

import (
	"fmt"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleUnmetered() Rule {
	return Rule{
		ID: "PT034", Name: "unmetered", Severity: Warning,
		Title: "a budget may not be kept, because the agent may not say what it uses",
		Text: "Tokens and cost are known only from agents that report them: those of kind acp, those of kind exec with " +
			"`parse:`, and those whose program writes usage lines to `$PITON_REPORT`. The last cannot be told before it runs; " +
			"where it writes none, only time and attempts bind. It is said once of each agent. Some report tokens and not what they cost: " +
			"`prices:` in the configuration gives them a cost. `policy: {unmetered: refuse}` makes this an error.",
		Bad:   "**target:** reviewer\n**budget:** max 50k tokens",
		Good:  "**target:** reviewer\n**budget:** 10 minutes",
		check: checkUnmetered,
	}
}

// checkUnmetered says of each agent once that it does not report what the
// budgets need, at the first step that has it.
func checkUnmetered(p *pass) {
	if !p.facts.any(func(a Agent) bool { return !a.Shell && (!a.Metered || a.Costless) }) {
		return
	}
	h := p.doc.plan.Budget
	said := map[string]bool{}
	for _, u := range p.doc.units {
		if !u.works() || !spends(h) && !spends(u.Budget) {
			continue
		}
		name, agent, ok := p.facts.Agent(u.Target.Value)
		paid := h.Value.CostMicros > 0 || u.Budget.Value.CostMicros > 0
		if !ok || agent.Shell || agent.Metered && !(paid && agent.Costless) || said[name] {
			continue
		}
		said[name] = true
		p.unmetered(u, name, agent)
	}
}

func (p *pass) unmetered(u *unit, name string, agent Agent) {
	at := u.Budget.Pos
	if !spends(u.Budget) {
		at = u.Target.Pos
	}
	says := "says what it uses only if it writes that to `$PITON_REPORT`"
	hint := "set `parse:` of the agent in the configuration, let its program write usage lines to `$PITON_REPORT`, or limit the time"
	if agent.Metered {
		says, hint = "says what it uses and not what that costs", "give its price below `prices:` in the configuration, by role or by model"
	}
	f := p.report(u, at, fmt.Sprintf("step %q has a budget, and agent %q %s", u.ID.Value, name, says), hint)
	if p.facts.RefuseUnmetered {
		f.Severity = Error
	}
}

// spends reports a budget of tokens or money.
func spends(b plan.Field[plan.Budget]) bool {
	return b.Value.Tokens > 0 || b.Value.CostMicros > 0
}
