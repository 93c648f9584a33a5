package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// sample is a label that says something else than the format does by itself.
type sample struct {
	written string // behind the label
	shown   string // to whoever approves it
}

// samples has one for each label of the format. A label that stands in the
// header and in steps is written alike in both.
var samples = map[string]sample{
	"context":          {"the clock jumps", "│ the clock jumps"},
	"priority":         {"high", "priority: high"},
	"constraints":      {"\n- be kind", "│ - be kind"},
	"tags":             {"net, slow", "tags: net, slow"},
	"complexity":       {"7", "complexity: 7"},
	"memories":         {"\n- clocks drift", "│ - clocks drift"},
	"estimate":         {"90m", "estimate: 1h30m"},
	"parallel":         {"4", "4 at once"},
	"replans":          {"9", "replans: 9"},
	"id":               {"other", "(other)"},
	"target":           {"reviewer", "reviewer"},
	"needs":            {"2", "after: second"},
	"subscriptions":    {"\n- file:notes.md", "reads: file:notes.md"},
	"task":             {"wind it up", "│ wind it up"},
	"acceptance":       {"\n- it ticks", "│ - it ticks"},
	"tool":             {"read_file", "tool: read_file"},
	"args":             {"\n```json\n{\"path\": \"x\"}\n```", `│ {"path": "x"}`},
	"plan":             {"child.md", "plan: child.md"},
	"ask":              {"Which?\n- this\n- that", "│ - that"},
	"when":             {"1 == 2", "when: 1 == 2"},
	"for each":         {"a, b", "for each: a, b"},
	"batch":            {"5", "batch: 5"},
	"allow_empty":      {"yes", "allow_empty: yes"},
	"contract":         {"\n```shell\ntest -s out\n```\nexit_code == 3", "must exit 3"},
	"checks":           {"\n- lint (optional): `vet .`", "$ vet ."},
	"judge":            {"Is it well?", "│ Is it well?"},
	"expect":           {"red", "expect: red"},
	"on_fail":          {"retry(5), then skip", "5 retries, then skip"},
	"backoff":          {"7s", "backoff: 7s"},
	"iterations":       {"6", "iterations: 6"},
	"context limit":    {"77k tokens", "context limit: 77000 tokens"},
	"approval":         {"it costs", "asks you first: it costs"},
	"critical":         {"no", "critical: no"},
	"timeout":          {"3h", "timeout: 3h"},
	"contract timeout": {"75s", "contract timeout: 1m15s"},
	"writes":           {"src/**", "writes: src/**"},
	"protect":          {"tests/**", "protect: tests/**"},
	"fallback":         {"reviewer", "fallback: reviewer"},
	"budget":           {"max 200001 tokens, $1.50, 20 minutes", "budget: max 200001 tokens, $1.50, 20m"},
	"mode":             {"full", "mode: full"},
	"network":          {"contract", "network: contract"},
	"env":              {"TOKEN", "environment: TOKEN"},
	"workspace":        {"worktree", "workspace: worktree"},
	"commit":           {"step", "commit: step"},
	"land":             {"no", "land: no"},
	"setup":            {"\n```shell\nmake deps\n```", "$ make deps"},
	"isolation":        {"sealed", "isolation: sealed"},
	"holds":            {"step", "holds: step"},
	"rerunnable":       {"no", "rerunnable: no"},
	"strong":           {"yes", "strong: yes"},
	"reveal":           {"after-failure", "reveal: after-failure"},
	"permissions":      {"allow run, ask", "permissions: allow run, ask"},
	"schema":           {"\n```json\n{\"type\": \"array\"}\n```", `│ {"type": "array"}`},
}

// TestEveryLabelIsShown makes sure that nobody approves what they were not shown.
func TestEveryLabelIsShown(t *testing.T) {
	for _, l := range plan.Labels() {
		s, ok := samples[l.Name]
		switch {
		case l.Name == "status": // written by the harness; the hash leaves it out
		case !ok:
			t.Errorf("label %q has no sample", l.Name)
		default:
			text := "**" + l.Name + ":** " + s.written + "\n\n"
			if l.Header {
				showsMore(t, l.Name+" of the header", labelled(text, ""), s.shown)
			}
			if l.Step {
				showsMore(t, l.Name+" of a step", labelled("", text), s.shown)
			}
		}
	}
}

// TestProseIsShown makes sure of the same for what belongs to no label.
func TestProseIsShown(t *testing.T) {
	const text, shown = "Drops the *old* tables.\n\n", "│ Drops the *old* tables."
	showsMore(t, "prose of the header", labelled(text, ""), shown)
	showsMore(t, "prose of a step", labelled("", text), shown)
	showsMore(t, "prose behind the steps", labelled("", "")+"## Notes\n\n"+text, shown)
}

func labelled(header, step string) string {
	return "---\ntype: plan\nstatus: draft\nowner: you\n---\n\n# Title\n\n" + header + "## Steps\n\n### 1. First\n\n" + step + "### 2. Second\n\n**needs:** none\n\n"
}

// showsMore fails unless people are shown the words, and programs something
// more, than of the same plan without the label.
func showsMore(t *testing.T, what, text, words string) {
	t.Helper()
	lines, data := whatIsShown(t, text)
	bare, bareData := whatIsShown(t, labelled("", ""))
	if strings.Contains(bare, words) || !strings.Contains(lines, words) {
		t.Errorf("%s: %q is not what shows it:\n%s", what, words, lines)
	}
	if data == bareData {
		t.Errorf("%s: programs are not shown it", what)
	}
}

// whatIsShown is what people see before they approve a plan, and what programs do.
func whatIsShown(t *testing.T, text string) (lines, data string) {
	t.Helper()
	p, problems := plan.Parse("plan.md", []byte(text))
	if len(problems) > 0 {
		t.Fatalf("%s\n%v", text, problems)
	}
	doc := &api.Document{Path: "plan.md", Plan: p, Facts: verify.Facts{Agents: map[string]verify.Agent{"script": {Shell: true}}}}
	d := view.PlanOf(doc)
	d["hash"] = ""
	for _, step := range d["steps"].([]view.Plan) {
		delete(step, "place")
	}
	body, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(themes()["80"].family(doc), "\n"), string(body)
}

// TestALongTitleIsShown makes sure that no end of a title is cut off.
func TestALongTitleIsShown(t *testing.T) {
	long := strings.Repeat("very ", 30) + "dangerous"
	lines, _ := whatIsShown(t, strings.NewReplacer("# Title", "# Title "+long+" plan", ". First", ". "+long+" step").Replace(labelled("", "")))
	for _, end := range []string{"dangerous plan", "dangerous step"} {
		if !strings.Contains(strings.Join(strings.Fields(lines), " "), end) {
			t.Errorf("%q is not shown:\n%s", end, lines)
		}
	}
}
