package verify

import "fmt"

func ruleNoAgent() Rule {
	return Rule{
		ID: "PT031", Name: "no-agent", Severity: Error,
		Title: "a step leaves the agent to the configuration, which names none",
		Text: "A step without `target:`, or with `any`, goes to `default_agent:` of the configuration, else to " +
			"the only agent that has a model. Here there is none, or there are several. Configure one:\n\n" +
			"    # .piton/config.yaml\n" +
			"    agents:\n" +
			"      coder: {kind: exec, command: [codex, exec, --json, \"-\"], parse: codex}\n" +
			"    default_agent: coder\n\n" +
			"or write `target: script` if the task is a shell script.",
		Bad:  "**task:** Fix the pager.",
		Good: "**target:** script\n**task:**\n```shell\nsed -i s/10/20/ pager.conf\n```",
		step: checkNoAgent,
	}
}

func checkNoAgent(p *pass, u *unit) {
	if !u.works() || !isAny(u.Target.Value) || u.unread("target") {
		return
	}
	if _, _, ok := p.facts.Agent(u.Target.Value); ok {
		return
	}
	message, hint := "no agent is configured", "add one under `agents:` in .piton/config.yaml, or write `target: script` if the task is a shell script"
	if p.facts.models() > 0 {
		message, hint = "the configuration has several agents and no default", "write a `target:`, or `default_agent:` in .piton/config.yaml"
	}
	p.report(u, u.Target.Pos, fmt.Sprintf("step %q names no agent, and %s", u.ID.Value, message), hint)
}

// models counts the agents that have a model.
func (f Facts) models() int {
	n := 0
	for _, a := range f.Agents {
		if !a.Shell {
			n++
		}
	}
	return n
}
