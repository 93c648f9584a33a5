package cli

import (
	"os"
	"strings"
	"testing"
)

// The page about agents shows what init writes.
func TestKnownAgents(t *testing.T) {
	page, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range knownAgents {
		if entry := "```yaml\nagents:\n  " + k.program + ":" + k.entry + "default_agent: " + k.program + "\n```\n"; !strings.Contains(string(page), entry) {
			t.Errorf("docs/agents.md does not show what init writes for %s:\n%s", k.program, entry)
		}
	}
}
