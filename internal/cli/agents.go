package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
)

// roles are those of the steps that are still to be worked on; with a nil state,
// of all steps.
func roles(p *engine.Program, state *engine.State) []string {
	var names []string
	for i := range p.Len() {
		if state != nil {
			switch state.StepRow(i).Status {
			case engine.Done, engine.Skipped, engine.Waived:
				continue
			}
		}
		names = append(names, p.Step(i).Role)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// equipped refuses roles whose program is not on this machine, before anything
// is begun that could not go on.
func (s *session) equipped(ctx context.Context, roles []string) error {
	missing := s.Missing(ctx)
	for _, role := range roles {
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

// agentConfigs tells package agent what the configuration says of each role.
func agentConfigs(c config.Config) map[string]agent.Config {
	roles := make(map[string]agent.Config, len(c.Agents))
	for name, a := range c.Agents {
		roles[name] = agent.Config{
			Kind: agent.Kind(a.Kind), Command: a.Command, Prompt: agent.Delivery(a.Prompt), Parse: a.Parse,
			Modes: map[string]string{"read": a.Modes.Read, "edit": a.Modes.Edit, "full": a.Modes.Full}, Mode: a.Mode, Model: a.Model,
			Env: a.Env, EnvPass: a.EnvPass, Home: agent.Home(a.Home),
			Time: a.Limits.Time, Idle: a.Limits.Idle, Grace: a.Stop.CancelGrace + a.Stop.TermGrace,
		}
	}
	return roles
}
