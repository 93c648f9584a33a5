package cli

import (
	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
)

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
