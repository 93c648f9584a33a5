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
	was.Agents = map[string]config.Agent{"a": {Command: []string{"x \"y\"", "é\n"}, Env: map[string]string{"KEY": "old secret", "GONE": "g"}}}
	is.Agents = map[string]config.Agent{"a": {Command: []string{"z"}, Env: map[string]string{"KEY": "new secret", "NEW": "n"}}}
	is.Retention, is.Policy.Ratchet = time.Hour, "off"
	text := config.Text(was)
	if strings.Contains(string(text), "secret") {
		t.Errorf("a value of an environment is written down: %s", text)
	}
	if config.Hash(was) == config.Hash(is) {
		t.Error("two configurations have one hash")
	}
	got := config.Differences(text, is)
	want := []string{
		`agents.a.command: was ["x \"y\"" "é\n"], is ["z"]`, "agents.a.env.GONE: taken away", "agents.a.env.KEY: has another value",
		"agents.a.env.NEW: added", "policy.ratchet: was end, is off", "retention: was 90d, is 1h",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if same := config.Differences(config.Text(is), is); len(same) > 0 {
		t.Errorf("a configuration differs from itself: %q", same)
	}
}
