package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/config"
)

func TestDifferences(t *testing.T) {
	was, is := config.Default(), config.Default()
	was.Agents = map[string]config.Agent{
		"a": {Command: []string{"x \"y\"", "old secret"}, Env: map[string]string{"KEY": "old secret", "GONE": "g"}},
		"b": {Command: []string{"b", "old secret"}},
	}
	was.MCPServers = map[string]config.Server{"s": {URL: "https://u:secret@old.example/"}}
	is.Agents = map[string]config.Agent{
		"a": {Command: []string{"z", "new secret", "é\n"}, Env: map[string]string{"KEY": "new secret", "NEW": "n"}},
		"c": {Command: []string{"c", "new secret"}},
	}
	is.MCPServers = map[string]config.Server{"s": {URL: "https://u:secret@new.example/"}}
	is.Judge.BaseURL = "https://u:secret@judge.example/\x7f"
	is.Retention, is.Policy.Ratchet = time.Hour, "off"
	was.Policy.MaxFailures, is.Policy.MaxAttempts = 0, 0
	text := config.Text(was)
	if strings.Contains(string(text), "secret") {
		t.Errorf("what may be secret is written down: %s", text)
	}
	if config.Hash(was) == config.Hash(is) {
		t.Error("two configurations have one hash")
	}
	var recorded, shown []string
	for _, d := range config.Differences(text, is) {
		recorded, shown = append(recorded, d.Recorded), append(shown, d.Shown)
	}
	want := []string{
		"agents.a.command: has another value", "agents.a.env.GONE: taken away", "agents.a.env.KEY: has another value", "agents.a.env.NEW: added",
		"agents.b.command: taken away", "agents.b.stop.cancel_grace: taken away, was 0s", "agents.b.stop.term_grace: taken away, was 0s",
		"agents.c.command: added", "agents.c.stop.cancel_grace: added, is 0s", "agents.c.stop.term_grace: added, is 0s", "judge.base_url: added", "mcp_servers.s.url: has another value",
		"policy.max_attempts: was 50, is 0 (no limit)", "policy.max_failures: was 0 (no limit), is 3",
		"policy.ratchet: was end, is off", "retention: was 90d, is 1h",
	}
	if !slices.Equal(recorded, want) {
		t.Errorf("recorded: got  %q\nwant %q", recorded, want)
	}
	want[0] = `agents.a.command: was another one, is ["z" "new secret" "é\n"]`
	want[7] = `agents.c.command: added, is ["c" "new secret"]`
	want[10] = `judge.base_url: added, is an address that cannot be read`
	want[11] = `mcp_servers.s.url: was another one, is https://u:xxxxx@new.example/`
	if !slices.Equal(shown, want) {
		t.Errorf("shown: got  %q\nwant %q", shown, want)
	}
	if same := config.Differences(config.Text(is), is); len(same) > 0 {
		t.Errorf("a configuration differs from itself: %q", same)
	}
}
