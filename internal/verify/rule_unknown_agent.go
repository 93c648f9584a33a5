package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleUnknownAgent() Rule {
	return Rule{
		ID: "PT030", Name: "unknown-agent", Severity: Error,
		Title: "a step's target is no configured agent",
		Text: "`target:` names an agent of `.piton/config.yaml` or of the user's configuration. `script` is " +
			"always there: with it the step's task is a shell script.",
		Bad:  "**target:** codr",
		Good: "**target:** coder",
		step: checkUnknownAgent,
	}
}

func checkUnknownAgent(p *pass, u *unit) {
	if !u.works() || isAny(u.Target.Value) {
		return
	}
	if _, _, ok := p.facts.Agent(u.Target.Value); ok {
		return
	}
	names := slices.Sorted(maps.Keys(p.facts.Agents))
	hint := plan.Nearest(u.Target.Value, names)
	if hint == "" {
		hint = "add it to .piton/config.yaml; configured: " + strings.Join(names, ", ")
	}
	p.report(u, u.Target.Pos, fmt.Sprintf("step %q asks for agent %q, which is not configured", u.ID.Value, u.Target.Value), hint)
}

func isAny(target string) bool { return target == anyAgent || target == "" }
