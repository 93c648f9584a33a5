package verify

import "fmt"

func ruleNotInstalled() Rule {
	return Rule{
		ID: "PT037", Name: "not-installed", Severity: Warning,
		Title: "the program of a step's agent or server is not on this machine",
		Text: "The agent, or the server of the tool, is configured, and its program is not on PATH. The plan is right; a " +
			"run on this machine would stop at the step.",
		Bad:   "**target:** coder",
		Good:  "**target:** script",
		check: checkNotInstalled,
	}
}

func checkNotInstalled(p *pass) {
	p.serversNotInstalled()
	if !p.facts.any(func(a Agent) bool { return a.Missing != "" }) {
		return
	}
	reported := map[string]bool{}
	for _, u := range p.doc.units {
		name, agent, ok := p.facts.Agent(u.Target.Value)
		if !ok || !u.works() || agent.Missing == "" || reported[name] {
			continue
		}
		reported[name] = true
		p.report(u, u.Target.Pos, fmt.Sprintf("agent %q starts %q, which is not on this machine's PATH", name, agent.Missing), "install it, or correct `command:` in the configuration")
	}
}

// serversNotInstalled reports the first step of each program of a server that is
// not there.
func (p *pass) serversNotInstalled() {
	reported := map[string]bool{}
	for _, u := range p.doc.units {
		program := p.facts.Tools[u.Tool.Value].Absent
		if program == "" || reported[program] {
			continue
		}
		reported[program] = true
		p.report(u, u.Tool.Pos, fmt.Sprintf("the server of %s starts %q, which is not on this machine's PATH", u.Tool.Value, program), "install it, or correct `mcp_servers:` in the configuration")
	}
}
