package owner

import (
	"testing"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/plan"
)

// A list of an agent asks for a seal where that agent may work, and nowhere else.
func TestListed(t *testing.T) {
	c := config.Config{Agents: map[string]config.Agent{"bound": {Network: []string{"example.org"}}, "free": {}}}
	word := func(s string) plan.Field[string] { return plan.Field[string]{Value: s, Set: true} }
	for name, k := range map[string]struct {
		step plan.Step
		want bool
	}{
		"an ask":           {plan.Step{Ask: plan.Text{Value: "which?"}}, false},
		"a tool":           {plan.Step{Tool: word("search")}, false},
		"a plan":           {plan.Step{Plan: plan.Text{Value: "plans/a.md"}}, false},
		"a script":         {plan.Step{Target: word("script")}, false},
		"a free agent":     {plan.Step{Target: word("free")}, false},
		"its fallback":     {plan.Step{Target: word("free"), Fallback: word("bound")}, true},
		"a bound agent":    {plan.Step{Target: word("bound")}, true},
		"any agent":        {plan.Step{Target: plan.Field[string]{Value: "any"}}, true},
		"an ask with some": {plan.Step{Ask: plan.Text{Value: "which?"}, Network: word("example.org")}, true},
	} {
		if got := listed(c, &k.step); got != k.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
