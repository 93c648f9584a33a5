package plan_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
)

// errorsOf are the problems that keep a plan from running.
func errorsOf(problems []plan.Problem) []plan.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p plan.Problem) bool { return p.Severity != plan.Error })
}

// tester is what both kinds of tests have.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// content is the tree of a plan without its layout: whether a text stands in a
// fenced block, how arguments are written, and the frontmatter.
func content(p *plan.Plan) string {
	q := *p
	q.Steps = nil
	for i, s := range p.Steps {
		c := *s
		c.Args.Value, c.Schema.Value = canonical(s.Args), canonical(s.Schema)
		for _, t := range []*plan.Text{&c.Task, &c.Ask, &c.Plan, &c.When, &c.Judge} {
			*t = plan.Text{Value: bare(t.Code().Value)}
		}
		c.Checks.Value = slices.Clone(s.Checks.Value)
		for k := range c.Checks.Value {
			c.Checks.Value[k].Command.Value = bare(c.Checks.Value[k].Command.Value)
		}
		c.Needs = plan.Is([]plan.Text(nil))
		refs := p.Refs()
		for _, n := range s.Needs.Value {
			id := n.Value
			if found := refs.Find(id); len(found) == 1 {
				id = p.Steps[found[0]].ID.Value
			}
			c.Needs.Value = append(c.Needs.Value, plan.Text{Value: id})
		}
		if !s.Needs.Set && i > 0 {
			c.Needs.Value = []plan.Text{{Value: p.Steps[i-1].ID.Value}}
		}
		q.Steps = append(q.Steps, &c)
	}
	q.Context.Value = bare(q.Context.Value)
	return tree(&q, "Name", "Labels", "Front", "Fenced", "Lang", "Mark", "Status", "Unread", "Start", "End")
}

// bare is a text without blank lines before and white space behind it.
func bare(s string) string {
	s = strings.TrimRight(s, " \t\r\n")
	for {
		first, rest, more := strings.Cut(s, "\n")
		if !more || strings.Trim(first, " \t\r") != "" {
			return strings.TrimSpace(first) + s[len(first):]
		}
		s = rest
	}
}

// canonical is a text of JSON or YAML as JSON.
func canonical(t plan.Text) string {
	a, err := form.ReadArguments(t)
	switch {
	case scalar(t):
		return ""
	case err != nil || t.IsZero():
		return bare(t.Value)
	}
	text, _ := json.Marshal(a.Value)
	return string(text)
}

// beyondMarks are the losses but those of every plan: marks, what the
// frontmatter has for people, and YAML that is neither an object nor a list.
func beyondMarks(p *plan.Plan, losses []form.Loss) []form.Loss {
	return slices.DeleteFunc(losses, func(l form.Loss) bool {
		if l.Label == "status" || l.Why == "only the frontmatter of Markdown holds it" {
			return true
		}
		return slices.ContainsFunc(p.Steps, func(s *plan.Step) bool {
			return s.ID.Value == l.Step && (l.Label == "args" && scalar(s.Args) || l.Label == "schema" && scalar(s.Schema))
		})
	})
}

// quoted reports a step with a block that would be taken for inline code outside of it.
func quoted(s *plan.Step) bool {
	return slices.ContainsFunc([]plan.Text{s.Task, s.Ask, s.Plan, s.When, s.Judge}, func(t plan.Text) bool {
		return t.Fenced && (plan.Text{Value: strings.TrimSpace(t.Value)}).Code().Value != strings.TrimSpace(t.Value)
	})
}

// scalar reports YAML that no tool takes.
func scalar(t plan.Text) bool {
	a, err := form.ReadArguments(t)
	switch a.Value.(type) {
	case map[string]any, []any:
		return err != nil
	}
	return t.Lang == "yaml" || t.Lang == "yml"
}

// checkExact writes a document in a form that holds all of Markdown, and
// checks that the same plan comes back, but for the losses that are listed.
func checkExact(t tester, d form.Document, to form.Form) []form.Loss {
	t.Helper()
	text, losses, err := d.Write(to)
	if err != nil {
		t.Fatalf("%v", err)
	}
	back, problems := form.Read("", text)
	if back.Form != to || back.Plan == nil {
		t.Fatalf("%s is read as %s: %s\n%s", to, back.Form, list(problems), text)
	}
	md, more, err := back.Write(form.Markdown)
	if err != nil {
		t.Fatalf("%v", err)
	}
	again, _ := form.Read("", md)
	losses, more = beyondMarks(d.Plan, losses), beyondMarks(d.Plan, more)
	if len(losses)+len(more) == 0 {
		if bad := errorsOf(problems); len(bad) > 0 {
			t.Errorf("%s\n%s", list(bad), text)
		}
		for _, p := range []*plan.Plan{back.Plan, again.Plan} {
			if diff := cmp.Diff(content(d.Plan), content(p)); diff != "" {
				t.Errorf("through %s: -was +is:\n%s\n%s", to, diff, text)
			}
		}
	}
	twice, _, err := again.Write(to)
	if err != nil || string(twice) != string(text) {
		t.Errorf("%v: written again, it is another text: %s", err, cmp.Diff(string(text), string(twice)))
	}
	return append(losses, more...)
}

// TestSchemaOfPrograms checks that the JSON Schema accepts any plan that a
// program makes.
func TestSchemaOfPrograms(t *testing.T) {
	t.Parallel()
	schema := compiled(t, form.JSON)
	rapid.Check(t, func(t *rapid.T) {
		d, _ := form.Read("", plan.Format(randomPlan(t)))
		text, _, err := d.Write(form.JSON)
		if err != nil {
			t.Fatal(err)
		}
		accepts(t, schema, text)
	})
}

func compiled(t testing.TB, f form.Form) *jsonschema.Schema {
	t.Helper()
	text, err := form.Schema(f)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("form.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("form.json")
}

func accepts(t tester, schema *jsonschema.Schema, text []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// FuzzForms checks what holds for any bytes: no panic, places inside of the
// text, the schema accepts what is read without an error, and a plan that is
// written in a form and read again is the same, but for the losses listed.
func FuzzForms(f *testing.F) {
	for _, a := range corpus(f) {
		f.Add(a.Files[0].Data)
	}
	seeds, err := filepath.Glob("form/testdata/*.[yj][as][mo][ln]*")
	if err != nil || len(seeds) < 3 {
		f.Fatal(seeds, err)
	}
	for _, name := range seeds {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	schemas := map[form.Form]*jsonschema.Schema{}
	for _, to := range []form.Form{form.YAML, form.JSON, form.DAG, form.TaskPlan} {
		schemas[to] = compiled(f, to)
	}
	f.Fuzz(func(t *testing.T, src []byte) { checkForms(t, src, schemas) })
}

func checkForms(t *testing.T, src []byte, schemas map[form.Form]*jsonschema.Schema) {
	d, problems := form.Read("", src)
	lines := bytes.Split(src, []byte("\n"))
	for _, p := range problems {
		if p.Pos.Line < 1 || p.Pos.Line > len(lines) || p.Pos.Column < 1 || p.Pos.Column > utf8.RuneCount(lines[p.Pos.Line-1])+1 {
			t.Errorf("%+v is outside of the text", p)
		}
	}
	if d.Plan == nil {
		if len(problems) == 0 {
			t.Error("no plan and no problem")
		}
		return
	}
	sound := len(errorsOf(problems)) == 0
	for _, to := range form.Forms() {
		text, losses, err := d.Write(to)
		if err != nil || !sound {
			continue
		}
		back, again := form.Read("", text)
		if bad := errorsOf(again); len(bad) > 0 && len(losses) == 0 {
			t.Errorf("%s: %s\n%s", to, list(bad), text)
		}
		if back.Form != to {
			t.Errorf("%s is taken for %s\n%s", to, back.Form, text)
		}
		if to == d.Form || to == form.JSON && d.Form == form.YAML {
			if schemas[to] != nil && to != form.YAML {
				accepts(t, schemas[to], text)
			}
			for _, l := range losses {
				if l.Label != "comments" && l.Label != "status" && !strings.HasPrefix(l.Label, "checklist ") {
					t.Errorf("in its own form: %s\n%s", l, text)
				}
			}
		}
		if len(beyondMarks(d.Plan, losses)) > 0 || to == form.DAG || to == form.TaskPlan {
			continue
		}
		if diff := cmp.Diff(content(d.Plan), content(back.Plan)); diff != "" {
			t.Errorf("%s: nothing was lost, and it is another plan: %s", to, diff)
		}
	}
}

// TestFormsOfPrograms checks that YAML and JSON hold any plan that a program
// makes, so that the same Markdown comes back.
func TestFormsOfPrograms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d, problems := form.Read("", plan.Format(randomPlan(t)))
		for _, to := range []form.Form{form.YAML, form.JSON} {
			losses := checkExact(t, d, to)
			for _, l := range losses {
				if !slices.ContainsFunc(d.Plan.Steps, func(s *plan.Step) bool { return s.ID.Value == l.Step && quoted(s) }) {
					t.Errorf("%s: %s", to, l)
				}
			}
			if t.Failed() {
				t.Fatalf("%s\n%s", list(problems), plan.Format(d.Plan))
			}
		}
	})
}

// TestFormsOfCorpus does the same with the plans of testdata that have no
// errors. What they lose is what a run shows, and what is for Markdown alone.
func TestFormsOfCorpus(t *testing.T) {
	t.Parallel()
	whole := 0
	for name, a := range corpus(t) {
		d, problems := form.Read(name, a.Files[0].Data)
		switch {
		case d.Form != form.Markdown:
			t.Errorf("%s is taken for %s", name, d.Form)
		case d.Plan == nil:
		case len(errorsOf(problems)) > 0:
			for _, to := range form.Forms() {
				d.Write(to) //nolint:errcheck // it must not panic
			}
		default:
			losses := append(checkExact(t, d, form.YAML), checkExact(t, d, form.JSON)...)
			for _, l := range losses {
				t.Errorf("%s: %s", name, l)
			}
			if len(losses) == 0 {
				whole++
			}
		}
	}
	if whole < 6 {
		t.Errorf("only %d plans came through whole", whole)
	}
}
