package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/config"
)

// What nothing heeds is said, once a key and from top to bottom; defaults and
// keys that work are not.
func TestIdle(t *testing.T) {
	c, problems, err := config.Load(sources(t, map[string]string{
		"workspace.yaml": `queues: {coder: {limit: 2, rate: 1/min}}
agents:
  coder:
    kind: acp
    command: [coder]
    limits: {time: 20m, cost_usd: 2}
    permissions: {read: ask,
      edit: deny}
    stop: {term_grace: 1s}
planner: {agent: coder}
policy: {mark: off}
`, "env": "PITON_PERMISSION_WAIT=1m\nPITON_POLICY_EXPECT=red\n",
	}))
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	var got []string
	for _, p := range c.Idle() {
		got = append(got, strings.TrimSuffix(p.String(), " is kept but does nothing in this version"))
	}
	want := []string{
		".piton/config.yaml:1:10: `queues`",
		".piton/config.yaml:6:35: `agents.coder.limits.cost_usd`",
		".piton/config.yaml:7:25: `agents.coder.permissions`",
		".piton/config.yaml:10:18: `planner`",
		"env PITON_PERMISSION_WAIT: `permission_wait`",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if idle := config.Default().Idle(); len(idle) > 0 {
		t.Errorf("the defaults are said to be idle: %v", idle)
	}
}
