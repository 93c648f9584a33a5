package verify_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

var update = flag.Bool("update", false, "rewrite the expected findings in testdata")

// facts answers the queries of a plan for a machine that has every command
// whose name does not begin with missing, two agents, and no files; what is in
// the file of facts beside the plan wins.
func facts(t testing.TB, q verify.Queries, file string) verify.Facts {
	t.Helper()
	f := verify.Facts{
		Commands: map[string]string{}, Files: map[string]verify.File{},
		Agents: map[string]verify.Agent{
			"coder": {Metered: true}, "reviewer": {}, "script": {Shell: true},
		},
		DefaultAgent: "coder", Judge: &verify.Judge{},
	}
	for _, name := range q.Commands {
		f.Commands[name] = "/bin/" + filepath.Base(name)
		if strings.HasPrefix(filepath.Base(name), "missing") {
			f.Commands[name] = ""
		}
	}
	f.Tools, f.Calls = toolFacts(q.Tools), callFacts(q.Calls)
	body, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return f
	}
	if err != nil {
		t.Fatal(err)
	}
	var own verify.Facts
	if err := json.Unmarshal(body, &own); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if own.Agents != nil {
		f.Agents, f.DefaultAgent = own.Agents, own.DefaultAgent
		if _, ok := own.Agents["coder"]; ok {
			f.DefaultAgent = "coder"
		}
	}
	if own.Judge != nil {
		f.Judge = own.Judge
	}
	f.RefuseUnmetered, f.Plans, f.Globs = own.RefuseUnmetered, own.Plans, own.Globs
	if q.Git {
		f.Git = own.Git
	}
	if q.Offline {
		f.Exposed = own.Exposed
	}
	for _, name := range q.Files { // only what was asked for is answered
		if answer, ok := own.Files[name]; ok {
			f.Files[name] = answer
		}
	}
	f.Texts = map[string]string{}
	for _, name := range q.Texts {
		if text, ok := own.Texts[name]; ok {
			f.Texts[name] = text
		}
	}
	return f
}

// toolFacts knows four tools and those with a dot, of which the tracker is foreign,
// and of which those called away have no program here.
func toolFacts(names []string) map[string]verify.Tool {
	if len(names) == 0 {
		return nil
	}
	tools := map[string]verify.Tool{
		"run_command": {},
		"read_file": {
			Input:  json.RawMessage(`{"type":"object","required":["path"],"additionalProperties":false,"properties":{"path":{"type":"string"},"encoding":{"enum":["text","base64"]}}}`),
			Output: json.RawMessage(`{"type":"object","required":["path","content"],"properties":{"path":{"type":"string"},"content":{"type":"string"}}}`),
		},
		"write_file": {
			Input:  json.RawMessage(`{"type":"object","required":["path","content"],"additionalProperties":false,"properties":{"path":{"type":"string"},"content":{}}}`),
			Output: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`),
		},
		"search": {
			Input:  json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"},"globs":{"type":"array","items":{"type":"string"}},"deep":{"type":["boolean","null"]}}}`),
			Output: json.RawMessage(`{"type":"object","properties":{"matches":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer"}}}}}}`),
		},
	}
	for _, name := range names {
		if _, known := tools[name]; !known {
			program, away := strings.CutSuffix(name, ".away")
			if !away {
				program = ""
			}
			tools[name] = verify.Tool{Missing: !strings.Contains(name, "."), Foreign: strings.HasPrefix(name, "tracker."), Absent: program}
		}
	}
	return tools
}

// callFacts knows that paths with two dots are refused, and
// that write_file changes its path.
func callFacts(calls []verify.Call) map[string]verify.Weight {
	weights := map[string]verify.Weight{}
	for _, c := range calls {
		var args struct{ Path, Command string }
		if json.Unmarshal([]byte(c.Args), &args) != nil {
			continue
		}
		switch {
		case strings.HasPrefix(args.Path, "../"):
			weights[c.String()] = verify.Weight{Refused: args.Path + " leads out of the workspace"}
		case c.Tool == "write_file":
			weights[c.String()] = verify.Weight{Effect: "create", Targets: []string{args.Path}}
		}
	}
	return weights
}

func check(t testing.TB, name string, text []byte, factsFile string) []verify.Finding {
	t.Helper()
	p, problems := plan.Parse(name, text)
	if p == nil {
		return verify.Check(nil, problems, verify.Facts{})
	}
	_, f := verify.Study(p, nil, func(q verify.Queries) verify.Facts { return facts(t, q, factsFile) })
	return verify.Check(p, problems, f)
}

// TestRules runs every rule over its own plans: testdata/PT…/good*.md must have
// no finding of the rule, bad*.md exactly those of the file beside it.
func TestRules(t *testing.T) {
	for _, rule := range verify.Rules() {
		if verify.OfText(rule) {
			continue
		}
		t.Run(rule.ID, func(t *testing.T) {
			dir := filepath.Join("testdata", rule.ID)
			plans, err := filepath.Glob(filepath.Join(dir, "*.md"))
			if err != nil {
				t.Fatal(err)
			}
			good, bad := 0, 0
			for _, file := range plans {
				isGood := strings.HasPrefix(filepath.Base(file), "good")
				if isGood {
					good++
				} else {
					bad++
				}
				runRule(t, rule, file, isGood)
			}
			if good == 0 || bad == 0 {
				t.Errorf("%d good plans and %d bad ones in %s", good, bad, dir)
			}
		})
	}
}

func runRule(t *testing.T, rule verify.Rule, file string, good bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(file, ".md")
	var own, all strings.Builder
	for _, f := range check(t, "plan.md", text, base+".facts.json") {
		if f.Code == rule.ID {
			own.WriteString(f.String() + "\n")
			if f.Hint != "" {
				own.WriteString("  " + f.Hint + "\n")
			}
		} else if f.Severity == verify.Error {
			all.WriteString(f.String() + "\n")
		}
	}
	golden := base + ".findings"
	switch {
	case good && own.Len() > 0:
		t.Errorf("%s has findings:\n%s", file, &own)
	case !good && own.Len() == 0:
		t.Errorf("%s has no finding", file)
	case !good && *update:
		if err := os.WriteFile(golden, []byte(own.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	case !good:
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), own.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	if good && all.Len() > 0 {
		t.Errorf("%s is meant to be good, and has:\n%s", file, &all)
	}
}

// TestRulesAreWellFormed keeps ids, names and texts in order.
func TestRulesAreWellFormed(t *testing.T) {
	t.Parallel()
	ids, names := map[string]bool{}, map[string]bool{}
	for _, r := range verify.Rules() {
		if !regexp.MustCompile(`^PT[0-9]{3}$`).MatchString(r.ID) || ids[r.ID] {
			t.Errorf("id %q", r.ID)
		}
		if !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(r.Name) || names[r.Name] {
			t.Errorf("%s: name %q", r.ID, r.Name)
		}
		ids[r.ID], names[r.Name] = true, true
		if r.Title == "" || strings.HasSuffix(r.Title, ".") || strings.ToLower(r.Title[:1]) != r.Title[:1] {
			t.Errorf("%s: title %q", r.ID, r.Title)
		}
		if !strings.HasSuffix(strings.TrimRight(r.Text, "`"), ".") && !strings.HasSuffix(r.Text, "list it.") {
			t.Errorf("%s: text %q", r.ID, r.Text)
		}
		if r.Severity != verify.Error && r.Severity != verify.Warning && r.Severity != verify.Note {
			t.Errorf("%s: severity %q", r.ID, r.Severity)
		}
		for _, word := range []string{r.ID, strings.ToLower(r.ID), r.Name} {
			if found, ok := verify.RuleOf(word); !ok || found.ID != r.ID {
				t.Errorf("%q does not find %s", word, r.ID)
			}
		}
	}
	if _, ok := verify.RuleOf("PT999"); ok {
		t.Error("PT999 is found")
	}
	dirs, err := filepath.Glob("testdata/PT*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if !ids[filepath.Base(dir)] {
			t.Errorf("%s belongs to no rule", dir)
		}
	}
}

// TestFewNearNames holds that a plan full of wrong names costs no search of all
// names for each of them.
func TestFewNearNames(t *testing.T) {
	for _, wrong := range []string{
		"**needs:** stp-%d", "**contract:** `test \"$PITON_STEP_STP_%d\" = x`",
		"**tool:** search\n**args:**\n```json\n{\"text\": \"$stp-%d\"}\n```",
	} {
		var b strings.Builder
		b.WriteString("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Wrong names\n\n## Steps\n")
		for n := range 60 {
			fmt.Fprintf(&b, "\n### %d. Step\n\n**id:** step-%d\n"+wrong+"\n", n+1, n, n)
		}
		p, problems := plan.Parse("plan.md", []byte(b.String()))
		near, all := 0, 0
		for _, f := range verify.Check(p, problems, verify.Facts{}) {
			if f.Code != "PT010" && f.Code != "PT061" && f.Code != "PT066" {
				continue
			}
			all++
			if strings.Contains(f.Hint, "did you mean") {
				near++
			}
		}
		if all != 60 || near != 20 {
			t.Errorf("%s: %d findings, %d of them name what was meant; want 60 and 20", wrong, all, near)
		}
	}
}
