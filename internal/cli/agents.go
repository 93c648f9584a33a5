package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// roles are those of the steps that are still to be worked on; with a nil state,
// of all steps.
func roles(state *engine.State, programs ...*engine.Program) []string {
	var names []string
	for _, p := range programs {
		for i := range p.Len() {
			if state != nil {
				switch state.StepRow(i).Status {
				case engine.Done, engine.Skipped, engine.Waived:
					continue
				}
			}
			names = append(names, p.Step(i).Role)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// shelled reports whether a step has a script, a contract or a check.
func shelled(p *engine.Program) bool {
	for i := range p.Len() {
		if st := p.Step(i); len(st.Checks) > 0 || st.Role == "script" {
			return true
		}
	}
	return false
}

// equipped refuses programs that need what is not on this machine, before
// anything is begun that could not go on. state is as for roles.
func (s *session) equipped(ctx context.Context, state *engine.State, programs ...*engine.Program) error {
	if _, err := proc.Bash(s.Env, s.Place.Dir); err != nil && slices.ContainsFunc(programs, shelled) {
		return &fault{text: "scripts and contracts run in bash, and there is none on PATH outside of the workspace, nor in /bin", hint: "install bash; piton doctor looks for all that a run needs"}
	}
	missing := s.Missing(ctx)
	for _, role := range roles(state, programs...) {
		program, ok := missing[role]
		if !ok {
			continue
		}
		return &fault{
			text: fmt.Sprintf("agent %q needs the program %s, which is not there (%s)", role, program, s.Config.Origin("agents."+role+".command")),
			hint: "install it, or correct `command:`; piton doctor looks at every agent",
		}
	}
	return nil
}

// priceOf is the price of a role's agent, nil where the configuration has none.
func priceOf(c config.Config, role string) *agent.Price {
	p, ok := c.Price(role)
	if !ok {
		return nil
	}
	return &agent.Price{In: int64(p.Input), Out: int64(p.Output)}
}

// agentConfigs tells package agent what the configuration says of each role.
func agentConfigs(c config.Config) map[string]agent.Config {
	roles := make(map[string]agent.Config, len(c.Agents))
	for name, a := range c.Agents {
		roles[name] = agent.Config{
			Kind: agent.Kind(a.Kind), Command: a.Command, Prompt: agent.Delivery(a.Prompt), Parse: a.Parse,
			Modes: map[string]string{"read": a.Modes.Read, "edit": a.Modes.Edit, "full": a.Modes.Full}, Mode: a.Mode, Model: a.Model,
			Env: a.Env, EnvPass: a.EnvPass, Home: agent.Home(a.Home),
			Price: priceOf(c, name),
			Time:  a.Limits.Time, Idle: a.Limits.Idle, Grace: a.Stop.CancelGrace + a.Stop.TermGrace,
		}
	}
	return roles
}
