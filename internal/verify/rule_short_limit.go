package verify

import (
	"fmt"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleShortLimit() Rule {
	return Rule{
		ID: "PT036", Name: "short-limit", Severity: Note,
		Title: "an agent's own limit is shorter than the step's timeout",
		Text:  "Of the step's `timeout:` and the agent's `limits: {time}` the shorter one counts.",
		Bad:   "**timeout:** 2 hours",
		Good:  "**timeout:** 15m",
		step:  checkShortLimit,
	}
}

func checkShortLimit(p *pass, u *unit) {
	if !u.Timeout.Set || !u.works() {
		return
	}
	name, agent, ok := p.facts.Agent(u.Target.Value)
	if ok && agent.Time > 0 && agent.Time < u.Timeout.Value {
		p.report(u, u.Timeout.Pos, fmt.Sprintf("step %q asks for %s, and agent %q is limited to %s",
			u.ID.Value, plan.FormatDuration(u.Timeout.Value), name, plan.FormatDuration(agent.Time)), "")
	}
}
