package form_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

var update = flag.Bool("update", false, "write golden files anew")

// examples are documents of each form.
func examples() map[string]form.Form {
	return map[string]form.Form{"auth.yaml": form.YAML, "copy.dag.json": form.DAG, "login.taskplan.json": form.TaskPlan}
}

func sourceOf(t testing.TB, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func problemList(problems []plan.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%d:%d: %s: %s: %s", p.Pos.Line, p.Pos.Column, p.Severity, p.Code, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&b, " (%s)", p.Hint)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func lossList(losses []form.Loss) string {
	var b strings.Builder
	for _, l := range losses {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

func write(t testing.TB, d form.Document, to form.Form) ([]byte, []form.Loss) {
	t.Helper()
	text, losses, err := d.Write(to)
	if err != nil {
		t.Fatal(err)
	}
	return text, losses
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", name, diff)
	}
}

// TestExamples reads a document of each form, writes it in its own form, and in
// Markdown and back with the losses that are listed.
func TestExamples(t *testing.T) {
	for name, f := range examples() {
		t.Run(name, func(t *testing.T) {
			src := sourceOf(t, name)
			d, problems := form.Read(name, src)
			if d.Form != f || len(problems) > 0 {
				t.Fatalf("it is read as %s:\n%s", d.Form, problemList(problems))
			}
			own, losses := write(t, d, f)
			golden(t, name+".own.golden", string(own)+"=== lost\n"+lossList(losses))
			md, losses := write(t, d, form.Markdown)
			back, problems := form.Read("", md)
			if back.Form != form.Markdown {
				t.Errorf("its Markdown is taken for %s", back.Form)
			}
			again, lossesAgain := write(t, back, f)
			golden(t, name+".golden", string(md)+"\n=== lost in Markdown\n"+lossList(losses)+"=== problems of the Markdown\n"+problemList(problems)+
				"=== and back\n"+string(again)+"=== lost on the way back\n"+lossList(lossesAgain))
			third, _ := form.Read("", again)
			if md2, _ := write(t, third, form.Markdown); string(md2) != string(md) {
				t.Errorf("the second Markdown is another:\n%s", cmp.Diff(string(md), string(md2)))
			}
		})
	}
}

// TestLosses lists what the narrow forms cannot hold of plans that use more.
func TestLosses(t *testing.T) {
	for name, f := range map[string]form.Form{"everything.md": form.DAG, "loop.md": form.TaskPlan} {
		d, problems := form.Read(name, sourceOf(t, name))
		if hasError(problems) {
			t.Fatal(problemList(problems))
		}
		text, losses := write(t, d, f)
		golden(t, name+".golden", string(text)+"\n=== lost\n"+lossList(losses))
	}
}

// TestCannot writes plans that a form cannot hold at all.
func TestCannot(t *testing.T) {
	for name, f := range map[string]form.Form{"everything.md": form.TaskPlan, "loop.md": form.DAG, "auth.yaml": "toml"} {
		d, _ := form.Read(name, sourceOf(t, name))
		if text, _, err := d.Write(f); err == nil {
			t.Errorf("%s as %s: %s", name, f, text)
		}
	}
}

// TestOf knows forms by their content.
func TestOf(t *testing.T) {
	for text, want := range map[string]form.Form{
		"":                                      form.Markdown,
		"# T\n### 1. One\n":                     form.Markdown,
		"---\ntype: plan\nstatus: draft\n---\n": form.Markdown,
		"---\ntask: T\nsteps: []\n---\n":        form.Markdown,
		"task: T\n\n### 1. One\n":               form.Markdown,
		"Note: a text\nwith words\n":            form.Markdown,
		"- task: T\n":                           form.Markdown,
		"{":                                     form.JSON,
		"\ufeff \n{\"a\": 1}":                   form.JSON,
		"task: T\n":                             form.YAML,
		"# a comment\n\n---\ntask: T\nsteps:\n": form.YAML,
		"x: 1\nsteps:\n- a\n":                   form.YAML,
		"\"task\": T\r\nsteps: []\r\n":          form.YAML,
		"task: |\n  ### 1. One\nsteps: []\n":    form.YAML,
	} {
		if got := form.Of([]byte(text)); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// TestPlaces checks that places inside of a script are those of the file.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want plan.Pos
	}{
		"literal":     {"task: T\nsteps:\n- description: a\n  contract: |\n    one\n    two é X\n", plan.Pos{Line: 6, Column: 11}},
		"crlf":        {"task: T\r\nsteps:\r\n- description: a\r\n  contract: |\r\n    one\r\n    two é X\r\n", plan.Pos{Line: 6, Column: 11}},
		"plain":       {"task: T\nsteps:\n- description: a\n  contract: é X\n", plan.Pos{Line: 4, Column: 15}},
		"quoted":      {"task: T\nsteps:\n- description: a\n  contract: 'é X'\n", plan.Pos{Line: 4, Column: 16}},
		"folded":      {"task: T\nsteps:\n- description: a\n  contract: >\n    one\n\n    X\n", plan.Pos{Line: 4, Column: 13}},
		"json":        {"{\"task\": \"T\", \"steps\": [{\"description\": \"a\",\n \"contract\": \"é X\"}]}", plan.Pos{Line: 2, Column: 17}},
		"json breaks": {"{\"task\": \"T\", \"steps\": [{\"description\": \"a\",\n \"contract\": \"one\\ntwo X\"}]}", plan.Pos{Line: 2, Column: 24}},
	} {
		d, problems := form.Read(name, []byte(c.text))
		if len(problems) > 0 {
			t.Errorf("%s: %s", name, problemList(problems))
			continue
		}
		script := d.Plan.Steps[0].Contract.Command
		if got := script.At(strings.Index(script.Value, "X")); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestMarksAreNoFacts takes no status of a document for what a run has said:
// not into Markdown, and not out of it.
func TestMarksAreNoFacts(t *testing.T) {
	for _, src := range []string{
		`{"taskId": "st", "steps": [{"id": "a", "tool": "read_file", "args": {"path": "a"}, "status": "completed", "result": {"ok": true}}]}`,
		"task: T\nstatus: complete\nsteps:\n- {description: a, status: complete}\n",
		`{"taskId": "T", "status": "completed", "checklist": [{"id": "implement", "description": "a", "status": "pass"}]}`,
		"---\ntype: plan\nstatus: done\nowner: me\n---\n# T\n### 1. ✅ a\n**status:** done\n**tool:** x\n",
	} {
		d, _ := form.Read("", []byte(src))
		for _, to := range []form.Form{form.Markdown, form.YAML, form.JSON, form.DAG} {
			text, losses, err := d.Write(to)
			if to == d.Form && to == form.Markdown || err != nil {
				continue
			}
			if strings.ContainsAny(string(text), "✅") || strings.Contains(string(text), "complete") || strings.Contains(string(text), "done") {
				t.Errorf("%s in %s says that something is done:\n%s", src, to, text)
			}
			if !strings.Contains(lossList(losses), "status: it is a mark") {
				t.Errorf("%s: the loss is not listed:\n%s", to, lossList(losses))
			}
		}
	}
}
