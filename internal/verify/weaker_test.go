package verify_test

import (
	"slices"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// edit is a label before and after a revision, "" where it is not there.
type edit struct{ before, after string }

// weakening has for each label of the format a change that a person must see. One that only says
// what is wanted, or in which order, is in harmless instead.
var weakening = map[string]edit{
	"budget":           {"1000 tokens", "2000 tokens"},
	"replans":          {"1", "9"},
	"protect":          {"a.txt, b.txt", "a.txt"},
	"isolation":        {"sealed", "fenced"},
	"permissions":      {"ask", "allow run, ask"},
	"workspace":        {"worktree", "shared"},
	"commit":           {"none", "step"},
	"land":             {"no", "yes"},
	"constraints":      {"\n- be kind", ""},
	"setup":            {"", "\n```shell\nmake deps\n```"},
	"id":               {"a", "b"},
	"target":           {"coder", "reviewer"},
	"fallback":         {"", "reviewer"},
	"tool":             {"read_file", "run_shell"},
	"args":             {"\n```json\n{\"path\": \"x\"}\n```", "\n```json\n{\"path\": \"y\"}\n```"},
	"needs":            {"zero", "none"},
	"when":             {"", "1 == 2"},
	"for each":         {"a, b", "a"},
	"batch":            {"2", "3"},
	"allow_empty":      {"no", "yes"},
	"mode":             {"read", "full"},
	"network":          {"no", "yes"},
	"env":              {"A", "A, B"},
	"approval":         {"it costs", ""},
	"critical":         {"yes", "no"},
	"timeout":          {"1m", "3h"},
	"iterations":       {"6", ""},
	"context limit":    {"70k tokens", "80k tokens"},
	"writes":           {"src/", "src/, docs/"},
	"ask":              {"Which?", "What?"},
	"plan":             {"a.md", "b.md"},
	"schema":           {"\n```json\n{\"type\": \"array\"}\n```", ""},
	"acceptance":       {"\n- it ticks", ""},
	"checks":           {"\n- lint: `vet .`", ""},
	"judge":            {"Is it well?", ""},
	"contract":         {"`test -s out`", ""},
	"contract timeout": {"1m", "2m"},
	"expect":           {"red", "any"},
	"on_fail":          {"retry(2), escalate", "retry(2), skip"},
	"holds":            {"run", "step"},
	"reveal":           {"after-failure", "first"},
	"rerunnable":       {"yes", "no"},
	"strong":           {"yes", "no"},
}

var harmless = map[string]edit{
	"context":       {"the clock jumps", "it stops"},
	"priority":      {"low", "high"},
	"tags":          {"slow", "net"},
	"complexity":    {"2", "7"},
	"memories":      {"\n- clocks drift", ""},
	"estimate":      {"1m", "90m"},
	"parallel":      {"1", "4"},
	"subscriptions": {"\n- file:notes.md", ""},
	"task":          {"wind it up", "stop it"},
	"backoff":       {"1s", "7s"},
}

// with is a plan whose label has this value, in the header or in its last step.
func with(t *testing.T, l plan.LabelPlace, header bool, value string) *plan.Plan {
	t.Helper()
	top, step, text := "", "", "**"+l.Name+":** "+value+"\n\n"
	switch {
	case value == "":
	case header:
		top = text
	default:
		step = text
	}
	switch l.Name { // that one says something only with another
	case "args":
		step = "**tool:** read_file\n\n" + step
	case "batch", "allow_empty":
		step = "**for each:** a, b\n\n" + step
	case "context limit":
		step = "**iterations:** 3\n\n" + step
	}
	if l.Name != "id" {
		step = "**id:** one\n\n" + step
	}
	return parsed(t, "# A plan\n\n"+top+"## Steps\n\n### 1. Zero\n\n**id:** zero\n\n### 2. One\n\n"+step)
}

// A label is compared, or it is known that none of its changes weakens a plan.
func TestEveryLabelIsCompared(t *testing.T) {
	for _, l := range plan.Labels() {
		if l.Name == "status" { // written by the harness
			continue
		}
		x, weakens := weakening[l.Name]
		y, not := harmless[l.Name]
		if weakens == not {
			t.Errorf("label %q must be in one of weakening and harmless", l.Name)
			continue
		}
		if not {
			x = y
		}
		for _, header := range []bool{true, false} {
			if header && !l.Header || !header && !l.Step {
				continue
			}
			d := verify.Diff(with(t, l, header, x.before), with(t, l, header, x.after))
			if d.Empty() {
				t.Errorf("%s (header: %v): no difference between %q and %q", l.Name, header, x.before, x.after)
			}
			if (len(d.Weaker) > 0) != weakens {
				t.Errorf("%s (header: %v): %q after %q weakens: %v, want %v", l.Name, header, x.after, x.before, d.Weaker, weakens)
			}
		}
	}
}

// What was to stay on its branch is not merged by a revision that nobody has said yes to, whatever
// the configuration has for a plan that says nothing.
func TestWeakerLanding(t *testing.T) {
	land := plan.LabelPlace{Name: "land"}
	values := []string{"no", "", "yes"} // the least first
	for i, was := range values {
		for j, now := range values {
			all := verify.Weaker(with(t, land, true, was), with(t, land, true, now))
			if (len(all) > 0) != (j > i) {
				t.Errorf("land %q after %q: %v", now, was, all)
			}
			if has := slices.ContainsFunc(all, func(w verify.Weakening) bool {
				return w.Text == "the plan may be merged at its end (land)"
			}); has != (j > i) {
				t.Errorf("land %q after %q: %v", now, was, all)
			}
		}
	}
}
