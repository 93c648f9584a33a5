package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/linear"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// parse reads a plan that must be in order.
func parse(t testing.TB, text string) *plan.Plan {
	t.Helper()
	p, problems := plan.Parse("plan.md", []byte(text))
	for _, problem := range problems {
		if problem.Severity == plan.Error {
			t.Fatalf("%v: %s", problem.Pos, problem.Message)
		}
	}
	return p
}

const front = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n"

// oneStep is a plan of one step with these labels.
func oneStep(labels string) string {
	return front + "# One\n\n## Steps\n\n### 1. Only\n\n**task:** Do it.\n" + labels +
		"**contract:**\n```shell\ngrep -q x a\n```\n"
}

func compile(t testing.TB, text string, o verify.Options) *engine.Program {
	t.Helper()
	p := parse(t, text)
	program, err := verify.Compile(p, nil, facts(t, verify.Needs(p), ""), o)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestCompileGolden compiles the plans of testdata/compile and compares the
// programs' bytes.
func TestCompileGolden(t *testing.T) {
	plans, err := filepath.Glob("testdata/compile/*.md")
	if err != nil || len(plans) == 0 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	for _, file := range plans {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			base := strings.TrimSuffix(file, ".md")
			p := parse(t, string(text))
			program, err := verify.Compile(p, nil, facts(t, verify.Needs(p), base+".facts.json"), verify.Options{Plan: "plan-20260101-x"})
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, program.Encode(), "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden := base + ".json"
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func TestCompileDefaults(t *testing.T) {
	s := compile(t, oneStep(""), verify.Options{Plan: "p"}).Step(0)
	want := engine.Step{
		ID: "only", Number: "1", Title: "Only", Kind: engine.Agent, Role: "coder", Target: "any",
		Task: "Do it.", Checks: []engine.Check{{Name: engine.Contract, Command: "grep -q x a", Required: true}},
		Expect: engine.ExpectAny, OnFail: engine.OnFail{Retries: 2, Then: engine.Escalate},
		Critical: true, Timeout: 10 * time.Minute, CheckTimeout: time.Minute, Holds: true, Rerunnable: true,
		Mode: "edit", Network: "yes", Guards: []string{".git/commondir", ".git/config#run", ".git/config.worktree", ".git/hooks/**", ".git/info/attributes", ".git/info/exclude", ".piton/agents/**", ".piton/config.yaml", ".piton/memories/**", ".piton/topics/**"},
	}
	if diff := cmp.Diff(want, *s); diff != "" {
		t.Errorf("step (-want +got):\n%s", diff)
	}
}

func TestCompileOptions(t *testing.T) {
	text := strings.Replace(oneStep(""), "## Steps", "**Parallel:** 9\n\n## Steps", 1)
	if n := compile(t, text, verify.Options{}).Parallel(); n != 9 {
		t.Errorf("%d steps run at once", n)
	}
	if e := compile(t, oneStep(""), verify.Options{Expect: engine.ExpectRed}).Step(0).Expect; e != engine.ExpectRed {
		t.Errorf("the policy's expect became %q", e)
	}
	if e := compile(t, oneStep("**expect:** green\n"), verify.Options{Expect: engine.ExpectRed}).Step(0).Expect; e != engine.ExpectGreen {
		t.Errorf("the plan's expect became %q", e)
	}
}

func TestCompileTimeout(t *testing.T) {
	for _, test := range []struct {
		label string
		limit time.Duration
		want  time.Duration
	}{
		{"", 0, 10 * time.Minute},
		{"", 5 * time.Minute, 5 * time.Minute},
		{"", time.Hour, 10 * time.Minute},
		{"**timeout:** 30m\n", time.Hour, 30 * time.Minute},
		{"**timeout:** 2h\n", time.Hour, time.Hour},
		{"**target:** any\n**timeout:** 2h\n", time.Hour, 2 * time.Hour}, // it need not be this agent
	} {
		p := parse(t, oneStep(test.label))
		f := facts(t, verify.Needs(p), "")
		if !strings.Contains(test.label, "target") {
			p.Steps[0].Target.Value = "coder"
		}
		f.Agents["coder"] = verify.Agent{Metered: true, Time: test.limit}
		program, err := verify.Compile(p, nil, f, verify.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := program.Step(0).Timeout; got != test.want {
			t.Errorf("timeout %q, limit %v: %v, want %v", test.label, test.limit, got, test.want)
		}
	}
}

// TestCompileGuards follows a guard through the step's `writes:` and `protect:`.
func TestCompileGuards(t *testing.T) {
	const piton = ".piton/agents/** .piton/config.yaml .piton/memories/** .piton/topics/**"
	const git = ".git/commondir .git/config#run .git/config.worktree .git/hooks/** .git/info/attributes .git/info/exclude " + piton
	for _, test := range []struct{ contract, header, labels, exists, want string }{
		{"bash x.sh", "", "**writes:** src/**\n", "x.sh", git + " x.sh"},
		{"bash x.sh", "", "**writes:** **\n", "x.sh", git + " x.sh"},
		{"bash x.sh", "", "**writes:** .\n", "x.sh", git + " x.sh"},
		{"bash x.sh", "", "**writes:** .*/**\n", "x.sh", git + " x.sh"},
		{"bash x.sh", "", "**writes:** x.sh\n", "x.sh", git},
		{"bash x.sh", "", "**writes:** .git/**, src\n", "x.sh", piton + " x.sh"},
		{"bash x.sh", "", "**writes:** .git/hooks/*\n", "x.sh", ".git/commondir .git/config#run .git/config.worktree .git/info/attributes .git/info/exclude " + piton + " x.sh"},
		{"bash check.sh", "", "", "check.sh", git + " check.sh"},
		{"bash check.sh", "", "", "", git + " {check.sh}"},
		{"bash tools/a,b.sh", "", "", "", git + " tools/{a?b.sh}"},
		{"bash tools/check.sh", "", "**writes:** tools/\n", "", git + " tools/{check.sh}"},
		{"bash tools/check.sh", "", "**writes:** ./tools\n", "tools/check.sh", git + " tools/check.sh"},
		{"bash tools/check.sh", "", "**writes:** tools/check.sh\n", "", git},
		{"bash tools/check.sh", "", "**writes:** tools/*.sh\n", "tools/check.sh", git + " tools/check.sh"},
		{"make && go test ./... && uv run tox", "", "", "Makefile", git},
		{"python3 -u tools/check.py in.txt", "", "", "tools/check.py in.txt", git + " tools/check.py"},
		{"timeout 5 ./a.sh && (cd b && source ./c.sh)", "", "", "a.sh b/c.sh", git + " a.sh b/c.sh"},
		{"go build -o app . && ./app && make && ./dist/x", "", "", "", git},
		{"make -f rules.txt && awk -f a.awk b && node -e 1", "", "", "rules.txt a.awk b", git + " a.awk rules.txt"},
		{"grep -f pats x && cat y && test -f z", "", "", "pats x y z", git},
		{"grep -q x a", "**Protect:** tests/**, docs\n", "", "", git + " docs tests/**"},
		{"grep -q x a", "**Protect:** tests/**, docs\n", "**writes:** docs/*.md, tests/**\n", "", git + " docs"},
		{"grep -q x a", "", "**writes:** src/**\n**protect:** src/api/**, ./x\n", "", git + " src/api/** x"},
	} {
		text := strings.Replace(oneStep(test.labels), "grep -q x a", test.contract, 1)
		text = strings.Replace(text, "## Steps", test.header+"\n## Steps", 1)
		p := parse(t, text)
		f := facts(t, verify.Needs(p), "")
		for name := range strings.FieldsSeq(test.exists) {
			f.Files[name] = verify.File{Exists: true, Executable: true}
		}
		program, err := verify.Compile(p, nil, f, verify.Options{})
		if err != nil {
			t.Errorf("%s: %v", test.contract, err)
			continue
		}
		if diff := cmp.Diff(sortedWords(test.want), sortedWords(strings.Join(program.Step(0).Guards, " "))); diff != "" {
			t.Errorf("%s with %q%q (-want +got):\n%s", test.contract, test.header, test.labels, diff)
		}
	}
}

func sortedWords(text string) string {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		words[w] = true
	}
	return fmt.Sprint(words) // maps print sorted
}

// TestCompileScope keeps a step that may change nothing apart from one that may
// change everything.
func TestCompileScope(t *testing.T) {
	if w := compile(t, oneStep(""), verify.Options{}).Step(0).Writes; len(w) != 0 {
		t.Errorf("no `writes:` became %q", w)
	}
	if w := compile(t, oneStep("**writes:** none\n"), verify.Options{}).Step(0).Writes; len(w) != 1 || strings.HasPrefix("src/a", w[0]) {
		t.Errorf("`writes: none` became %q", w)
	}
	if w := compile(t, oneStep("**writes:** ./src/**, docs/\n"), verify.Options{}).Step(0).Writes; strings.Join(w, " ") != "src/** docs" {
		t.Errorf("scopes became %q", w)
	}
}

func TestCompileApprovalAndIsolation(t *testing.T) {
	for label, want := range map[string]string{"": "", "**approval:** auto\n": "", "**approval:** required\n": "the plan asks for it", "**approval:** it deletes data\n": "it deletes data"} {
		if got := compile(t, oneStep(label), verify.Options{}).Step(0).Approval; got != want {
			t.Errorf("%q became %q", label, got)
		}
	}
	for _, test := range []struct{ header, label, want string }{
		{"", "", ""},
		{"fenced", "", "fenced"},
		{"fenced", "**isolation:** sealed\n", "sealed"},
		{"sealed", "**isolation:** fenced\n", "sealed"},
		{"", "**isolation:** fenced\n", "fenced"},
	} {
		text := oneStep(test.label)
		if test.header != "" {
			text = strings.Replace(text, "## Steps", "**Isolation:** "+test.header+"\n\n## Steps", 1)
		}
		if got := compile(t, text, verify.Options{}).Step(0).Isolation; got != test.want {
			t.Errorf("plan %q, step %q: %q, want %q", test.header, test.label, got, test.want)
		}
	}
}

// TestCompileRefuses checks that nothing which Check minds is compiled.
func TestCompileRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{oneStep("**strong:** yes\n**rerunnable:** no\n"), "plan.md:14:13: error: PT077"},
		{oneStep("**when:** $a == 1\n"), `PT063`},
		{oneStep("**needs:** 9\n"), `PT010`},
		{strings.Replace(oneStep(""), "### 1.", "### 3–N.", 1), `PT013`},
		{strings.Replace(oneStep(""), "grep -q x a", "true", 1), `PT022`},
	} {
		p := parse(t, test.text)
		program, err := verify.Compile(p, nil, facts(t, verify.Needs(p), ""), verify.Options{})
		refusal, ok := errors.AsType[*verify.Refusal](err)
		if program != nil || !ok || !strings.Contains(err.Error(), test.want) || len(refusal.Findings) == 0 {
			t.Errorf("%s: program %v, error %v", test.want, program != nil, err)
		}
	}
	if _, err := verify.Compile(nil, nil, verify.Facts{}, verify.Options{}); err == nil {
		t.Error("no plan at all was compiled")
	}
	p := parse(t, oneStep(""))
	problems := []plan.Problem{{Severity: plan.Error, Code: plan.UnknownLabel, Message: "label `x` is not known", Pos: plan.Pos{Line: 3, Column: 1}}}
	if _, err := verify.Compile(p, problems, facts(t, verify.Needs(p), ""), verify.Options{}); err == nil || !strings.Contains(err.Error(), "plan.md:3:1: error: PT130") {
		t.Errorf("a problem of the text: %v", err)
	}
}

func TestNeeds(t *testing.T) {
	p := parse(t, front+"# N\n\n## Steps\n\n### 1. A\n\n**target:** coder\n**subscriptions:**\n- file:docs/a.md\n- topic:x\n**task:** Do it.\n"+
		"**contract:**\n```shell\nset -e; cd sub; timeout 5 make; ./run | grep -q x; bash tools/t.sh; /opt/x; env A=1 b; $c; echo\n```\n"+
		"### 2. B\n\n**target:** script\n**task:**\n```shell\nfoo | bar\n```\n**contract:**\n```shell\npytest tests/test_a.py\n```\n"+
		"### 3. C\n\n**target:** any\n**task:** Use grok and frob.\n**checks:**\n- l: `lint`\n")
	want := verify.Queries{
		Commands: []string{"/opt/x", "b", "bar", "bash", "env", "foo", "grep", "lint", "make", "pytest", "timeout"},
		Files: []string{
			".git", ".piton/topics/x.md", "bar", "docs/a.md", "foo", "lint", "pytest", "sub/GNUmakefile", "sub/Makefile", "sub/b", "sub/bash", "sub/env", "sub/grep",
			"sub/make", "sub/makefile", "sub/run", "sub/timeout", "sub/tools/t.sh",
		},
		Agents: []string{"coder", "script"},
		Git:    true,
	}
	if diff := cmp.Diff(want, verify.Needs(p)); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
}

// longPlan has n steps of different kinds, one after the other or beside.
func longPlan(n int) string {
	var b strings.Builder
	b.WriteString(front + "# Long\n\n**Parallel:** 4\n\n## Steps\n\n")
	contracts := []string{"go test ./pkg%d/...", "set -e\nmake test%d\nnpm test", "uv run pytest tests/t%d -x", "test -f docs/%d.md && grep -q x docs/a.md"}
	for i := range n {
		fmt.Fprintf(&b, "### %d. Step number %d\n\n**target:** coder\n", i+1, i+1)
		if i%3 == 0 && i > 3 {
			fmt.Fprintf(&b, "**needs:** %d, %d\n", i, i-2)
		}
		fmt.Fprintf(&b, "**writes:** src/%d/**, docs/%d.md\n**task:** Do part %d.\n**contract:**\n```shell\n"+contracts[i%4]+"\n```\nexit_code == 0\n\n", i, i, i, i)
	}
	return b.String()
}

// TestLargePlan verifies the largest plan, at a cost that is linear.
func TestLargePlan(t *testing.T) {
	check := func(n int) func() {
		p := parse(t, longPlan(n))
		f := facts(t, verify.Needs(p), "")
		return func() {
			if findings := verify.Check(p, nil, f); verify.HasErrors(findings) {
				t.Errorf("findings: %v", findings[0])
			}
		}
	}
	linear.Memory(t, check(plan.MaxSteps/4), check(plan.MaxSteps))
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		p := parse(b, longPlan(n))
		f := facts(b, verify.Needs(p), "")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				verify.Check(p, nil, f)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	p := parse(b, longPlan(10_000))
	f := facts(b, verify.Needs(p), "")
	for b.Loop() {
		if _, err := verify.Compile(p, nil, f, verify.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
