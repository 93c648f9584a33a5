package tasklist_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/linear"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/tasklist"
	"github.com/piton-dev/piton/internal/tier"
)

var update = flag.Bool("update", false, "write the golden files")

// read reads one file of testdata, or several that a pattern names.
func read(t *testing.T, pattern string) []tasklist.File {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join("testdata", pattern))
	if len(names) == 0 {
		t.Fatalf("nothing matches %s", pattern)
	}
	var files []tasklist.File
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, tasklist.File{Name: filepath.Base(name), Source: src})
	}
	return files
}

// law is what holds of every plan that is made of a task list: its text says what the tree
// says, and nothing in it decides, runs, opens or marks anything.
func law(t *testing.T, made tasklist.Imported) *plan.Plan {
	t.Helper()
	text := plan.Format(made.Plan)
	p, problems := plan.Parse("plan.md", text)
	if len(p.Steps) != len(made.Plan.Steps) {
		t.Fatalf("%d steps became %d:\n%s", len(made.Plan.Steps), len(p.Steps), text)
	}
	for _, problem := range problems {
		if problem.Severity == plan.Error && problem.Code != plan.LineTooLong && problem.Code != plan.TooManyProblems && problem.Code != plan.TooManyItems {
			t.Fatalf("%v: %s: %s\n%s", problem.Pos, problem.Code, problem.Message, text)
		}
	}
	if p.Setup.Value != "" || p.Budget.Set || p.Protect.Set || p.Parallel.Set || p.Workspace.Set {
		t.Fatalf("the header has more than a task list may say:\n%s", text)
	}
	ids := map[string]bool{}
	for i, s := range p.Steps {
		if s.Contract != nil || s.Checks.Set || s.Tool.Set || !s.Plan.IsZero() || !s.Ask.IsZero() || !s.When.IsZero() || s.ForEach.Set || s.Target.Set || s.Writes.Set ||
			s.OnFail.Set || s.Env.Set || !s.Setup.IsZero() || s.Mark != plan.NoMark || !s.Status.IsZero() || s.Approval.Set || s.Critical.Set {
			t.Fatalf("step %d has more than a task list may say:\n%s", i+1, plan.FormatStep(s))
		}
		if ids[s.ID.Value] {
			t.Fatalf("two steps have the id %q", s.ID.Value)
		}
		ids[s.ID.Value] = true
		if s.Task.Value != made.Plan.Steps[i].Task.Value && len(s.Task.Value) < plan.MaxLine {
			t.Fatalf("the task of step %d became %q, and was %q", i+1, s.Task.Value, made.Plan.Steps[i].Task.Value)
		}
	}
	return p
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/*")
	for _, name := range names {
		if src, err := os.ReadFile(name); err == nil && len(src) < 64<<10 {
			f.Add(src)
		}
	}
	if len(names) == 0 {
		f.Fatal("there are no seeds")
	}
	for _, s := range []string{
		"- [ ] a\n  **contract:** true\n- [x] ✅ **contract:** `true`\n\n**contract:**\n```shell\ntrue\n```\n",
		"---\nid: a-1\ntitle: t\nstatus: s\n---\n\n## Description\n\n### 1. Not a step\n**status:** done\n",
		`{"tasks":[{"id":1,"title":"### 2. x\n**tool:** run_command","details":"**contract:** true\n\n### 3. y","dependencies":[1,"2"],"subtasks":[{"id":1,"dependencies":[2,9]}]}]}`,
		`{"number":1,"title":"(#2)","body":"- [ ] a\n  - [ ] b <!-- x\n[//]: # (","labels":["a,b","c"]}`,
		`{"id":"a-1","title":"x","status":"open","priority":1,"dependencies":[{"depends_on_id":"a-2","type":"parent-child"},{"depends_on_id":"a-2","type":"blocks"}]}` + "\n" +
			`{"id":"a-2","title":"y","status":"open","priority":1,"dependencies":[{"depends_on_id":"a-1","type":"parent-child"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		made, err := tasklist.Read([]tasklist.File{{Name: "f", Source: src}}, "")
		if err != nil {
			if tasklist.Of(src) == "" && made.Plan != nil {
				t.Fatal("a plan of nothing")
			}
			return
		}
		law(t, made)
	})
}

// The cost of reading is linear.
func TestReadIsLinear(t *testing.T) {
	for name, make := range map[string]func(n int) string{
		"markdown": func(n int) string { return strings.Repeat("- [ ] a task `with code` <b>\n  more of it\n", n) },
		"parts":    func(n int) string { return "- [ ] all\n" + strings.Repeat("  - [ ] part\n", n) },
		"spec kit": func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "- [ ] T%05d [P] task\n%s", i, map[bool]string{true: "## Phase\n"}[i%(n/2) == 0])
			}
			return b.String()
		},
		"master": func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `,{"id":%d,"title":"t","dependencies":[%d]}`, i+1, i)
			}
			return `{"tasks":[` + b.String()[1:] + `]}`
		},
		"epic": func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `{"id":"b-%d","title":"t","status":"open","priority":1,"dependencies":[{"depends_on_id":"e","type":"parent-child"}]}`+"\n", i)
			}
			for i := range n {
				fmt.Fprintf(&b, `{"id":"e","title":"epic","status":"open","priority":1,"dependencies":[{"depends_on_id":"b-%d","type":"blocks"}]}`+"\n", i)
			}
			return b.String()
		},
		"one line": func(n int) string { return "- [ ] a " + strings.Repeat("<!---->", 20*n) },
		"nested": func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "%*s- [ ] t\n", i%500*2, "")
			}
			return b.String()
		},
		"comments": func(n int) string { return "- [ ] a\n" + strings.Repeat("<!-- <!-- ` -->\n", n) },
	} {
		t.Run(name, func(t *testing.T) {
			read := func(n int) func() {
				src := []byte(make(n))
				return func() {
					if _, err := tasklist.Read([]tasklist.File{{Name: name, Source: src}}, ""); err != nil {
						t.Fatal(err)
					}
				}
			}
			n := tier.Draws(2000, 4000)
			linear.Memory(t, read(n/4), read(n))
		})
	}
}

// What tasks say that they wait for is kept, whatever comes of it: verify names cycles.
func TestNeedsAreKept(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"task master": {`{"tasks":[{"id":1,"title":"a","dependencies":[3]},{"id":2,"title":"b","dependencies":[1]},{"id":3,"title":"c","dependencies":[2]}]}`, "task-1: task-3"},
		"beads": {`{"id":"b-1","title":"a","status":"open","priority":1,"dependencies":[{"depends_on_id":"b-2","type":"blocks"}]}` + "\n" +
			`{"id":"b-2","title":"b","status":"open","priority":1,"dependencies":[{"depends_on_id":"b-1","type":"blocks"}]}`, "b-1: b-2"},
		"issues":   {`[{"number":5,"title":"a","body":"Blocked by #6"},{"number":6,"title":"b","body":"Blocked by #5"}]`, "issue-5: issue-6"},
		"itself":   {`{"tasks":[{"id":1,"title":"a","dependencies":[1]}]}`, "task-1: task-1"},
		"a bead":   {`{"id":"b-1","title":"a","status":"open","priority":1,"dependencies":[{"depends_on_id":"b-1","type":"blocks"}]}`, "b-1: b-1"},
		"twice":    {`{"tasks":[{"id":1,"title":"a"},{"id":2,"title":"b"},{"id":3,"title":"c","dependencies":[1,1,2,1]}]}`, "task-2: ; task-3: task-1,task-2"},
		"spec kit": {"- [ ] T001 a (depends on T001)\n- [ ] T002 b\n", "t001: t001"},
	} {
		made, err := tasklist.Read([]tasklist.File{{Name: name, Source: []byte(c.src)}}, "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, s := range law(t, made).Steps {
			if s.Needs.Set {
				var of []string
				for _, n := range s.Needs.Value {
					of = append(of, n.Value)
				}
				got = append(got, s.ID.Value+": "+strings.Join(of, ","))
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
		if len(made.Losses) > 0 {
			t.Errorf("%s: lost %v", name, made.Losses)
		}
	}
}

// Issues of GitLab have other names for the same.
func TestIssuesOfGitLab(t *testing.T) {
	write := func(src, host string) string {
		made, err := tasklist.Read([]tasklist.File{{Name: host, Source: []byte(src)}}, "")
		if err != nil {
			t.Fatal(err)
		}
		law(t, made)
		return strings.ReplaceAll(string(made.Text), host, "HOST") + fmt.Sprint(made.Losses)
	}
	for _, c := range [][2]string{
		{
			`[{"number":5,"title":"a","body":"Blocked by #6","state":"OPEN","url":"https://x/5","labels":[{"name":"bug"}]},{"number":6,"title":"b","body":"- [ ] c","url":"https://x/6"}]`,
			`[{"iid":5,"id":105,"project_id":1,"title":"a","description":"Blocked by #6","state":"OPEN","web_url":"https://x/5","labels":["bug"]},{"iid":6,"title":"b","description":"- [ ] c","web_url":"https://x/6"}]`,
		},
		{`{"number":5,"title":"a","body":"- [ ] b\n- [ ] c","labels":[{"name":"bug"}]}`, `{"iid":5,"id":105,"title":"a","description":"- [ ] b\n- [ ] c","labels":["bug"]}`},
	} {
		if hub, lab := write(c[0], "GitHub"), write(c[1], "GitLab"); hub != lab {
			t.Errorf("GitHub:\n%s\nGitLab:\n%s", hub, lab)
		}
	}
}

// What no verb could read is not made.
func TestPlanThatIsTooLarge(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	before := "0"
	for i := range 1500 {
		fmt.Fprintf(&b, `,{"id":%d,"title":"t","dependencies":[%s]}`, i+1, before)
		before += fmt.Sprintf(",%d", i+1)
	}
	_, err := tasklist.Read([]tasklist.File{{Name: "f", Source: []byte(`{"tasks":[` + b.String()[1:] + `]}`)}}, "")
	if err == nil || !strings.Contains(err.Error(), "the plan of this list would have more than 8388608 bytes") {
		t.Error(err)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"too many": strings.Repeat("- [ ] x\n", plan.MaxSteps+1),
		"too long": "- [ ] x\n" + strings.Repeat("x\n", plan.MaxBytes/2),
		"deep":     strings.Repeat("[", 20_000),
		"cut off":  `{"tasks":[{"id":1,"title":"x"}`,
		"no tasks": `{"tasks":[]}`,
		"binary":   "- [ ] \xff",
	} {
		if made, err := tasklist.Read([]tasklist.File{{Name: name, Source: []byte(src)}}, ""); err == nil {
			t.Errorf("%s: read as %d steps", name, len(made.Plan.Steps))
		} else if bad, ok := err.(*tasklist.Bad); !ok || !bad.Problems[0].Pos.IsValid() {
			t.Errorf("%s: %v has no place", name, err)
		}
	}
}

// Files that people and tools made: see testdata/README.md. What was made of them is
// beside them, to be read.
func TestRealFiles(t *testing.T) {
	for pattern, want := range map[string]string{
		"spec-kit.md": "spec-kit.plan", "task-master.json": "task-master.plan", "backlog-*.md": "backlog.plan", "beads.jsonl": "beads.plan",
		"issue.json": "issue.plan", "issues.json": "issues.plan", "list.md": "list.plan",
	} {
		t.Run(want, func(t *testing.T) {
			made, err := tasklist.Read(read(t, pattern), "")
			if err != nil {
				t.Fatal(err)
			}
			law(t, made)
			text := plan.Format(made.Plan)
			for _, l := range made.Losses {
				text = fmt.Appendf(text, "LOST %s\n", l)
			}
			golden(t, filepath.Join("testdata", want), text)
		})
	}
}

func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("%s is not what is made now; run with -update and read the difference", name)
	}
}
