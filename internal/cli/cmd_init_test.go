package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
)

// The page about agents shows what init writes.
func TestKnownAgents(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	var talks strings.Builder
	for _, p := range agent.Programs() {
		if entry := "```yaml\nagents:\n" + p.Configured() + "```\n"; p.Entry != "" && !strings.Contains(string(page), entry) {
			t.Errorf("docs/agents.md does not show what init writes for %s:\n%s", p.Name, entry)
		}
		if p.Entry = p.Talk; p.Talk != "" {
			talks.WriteString(p.Configured())
		}
	}
	if !strings.Contains(string(page), "```yaml\nagents:\n"+talks.String()+"```\n") {
		t.Errorf("docs/agents.md does not show what init --acp writes:\n%s", talks.String())
	}
}

// What init writes is a configuration without mistakes, whatever it finds.
func TestFirstConfig(t *testing.T) {
	tests := map[string]found{"nothing": {}, "all": {known: agent.Programs()[:8], first: "claude"}}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := create(dir+"/"+config.File, f.config()); err != nil {
				t.Fatal(err)
			}
			conf, problems, err := config.Load(config.Sources{WorkspaceDir: dir})
			if err != nil || problems != nil {
				t.Fatalf("%v %v\n%s", err, problems, f.config())
			}
			for _, p := range f.known {
				if a := conf.Agents[p.Name]; len(a.Command) == 0 || len(a.EnvPass) != len(p.Keys)+len(p.Pass) || a.Limits.Time == 0 || a.Limits.Idle == 0 {
					t.Errorf("%s: %+v", p.Name, a)
				}
			}
		})
	}
}
