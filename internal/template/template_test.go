package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/template"
)

const greeting = `---
type: plan
status: draft
owner: you
template: Greet somebody
variables:
  who: {about: who is greeted}
  how:
    about: the word for it
    default: hello
    where: {fr.txt: bonjour, de.txt: hallo}
---

# {{title}}

## Steps

### 1. Greet {{who}}

**task:** Say {{how}} to {{ who }}; {{.Name}} and {{ 1 }} stay.

**contract:** ` + "`grep -q '{{how}}' out`" + `
`

func parsed(t *testing.T, text string) *template.Template {
	t.Helper()
	g, err := template.Parse("greet", "greet.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func nothing(string) bool { return false }

func TestFill(t *testing.T) {
	g := parsed(t, greeting)
	for _, c := range []struct {
		given map[string]string
		files string
		want  string
	}{
		{map[string]string{"who": "Ann"}, "", "Say hello to Ann; {{.Name}} and {{ 1 }} stay."},
		{map[string]string{"who": "Ann"}, "de.txt", "Say hallo to Ann; {{.Name}} and {{ 1 }} stay."},
		{map[string]string{"who": "Ann"}, "de.txt fr.txt", "Say bonjour to Ann; {{.Name}} and {{ 1 }} stay."},
		{map[string]string{"who": "{{how}}", "how": "hey"}, "", "Say hey to {{how}}; {{.Name}} and {{ 1 }} stay."},
	} {
		p, err := g.Fill("A title", c.given, func(file string) bool { return strings.Contains(c.files, file) })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, p.Steps[0].Task.Value); diff != "" {
			t.Errorf("%v: -want +got:\n%s", c.given, diff)
		}
		var keys []string
		for _, k := range p.Front {
			keys = append(keys, k.Name)
		}
		if diff := cmp.Diff([]string{"type", "status", "owner"}, keys); diff != "" {
			t.Errorf("frontmatter: -want +got:\n%s", diff)
		}
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	g := parsed(t, greeting)
	for _, c := range []struct {
		name, value, message, hint string
	}{
		{"hwo2", "x", `has no variable "hwo2"`, `did you mean "`},
		{"nobody-knows", "x", `has no variable "nobody-knows"`, "it has who, how"},
		{"title", "x", "the title of the plan is not a --var", "piton new"},
		{"how", " ", `the value of "how" is empty`, "default"},
		{"how", "a\nb", `the value of "how" has several lines`, "one line"},
		{"how", "x", "needs more values: --var who=… (who is greeted)", "each"},
	} {
		_, err := g.Fill("T", map[string]string{c.name: c.value}, nothing)
		u, ok := errors.AsType[*template.Unfit](err)
		if !ok || !strings.Contains(u.Message, c.message) || !strings.Contains(u.Hint, c.hint) {
			t.Errorf("%s=%q: %v", c.name, c.value, err)
		}
	}
}

// What is wrong with a template is said with its place.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no frontmatter", "---\ntype", "type", "greet.md:1:1: the plan has no frontmatter"},
		{"not YAML", "{about: who is greeted}", "{about: who", "greet.md:8:1: the frontmatter is not YAML"},
		{"undeclared", "Say {{how}}", "Say {{hwo}}", "greet.md:20:15: {{hwo}} is not declared"},
		{"unused", "Greet {{who}}\n\n**task:** Say {{how}} to {{ who }}", "Greet\n\n**task:** Say {{how}} to you", `greet.md:1:1: the variable "who" is declared and used nowhere`},
		{"no description", "{about: who is greeted}", "{default: x}", `greet.md:7:3: the variable "who" has no description`},
		{"no mapping", "{about: who is greeted}", "Ann", `greet.md:7:8: the variable "who" says nothing of itself`},
		{"unknown field", "{about: who is greeted}", "{abuot: x}", `greet.md:7:9: a variable has no "abuot"`},
		{"a bad name", "  who: {about", "  Who: {about", `greet.md:7:3: a variable cannot be called "Who"`},
		{"the title", "  who: {about", "  title: {about", `greet.md:7:3: a variable cannot be called "title"`},
		{"no list of names", "variables:\n  who: {about: who is greeted}\n  how:\n    about: the word for it\n    default: hello\n    where: {fr.txt: bonjour, de.txt: hallo}\n", "variables: many\n", "greet.md:6:12: the variables are no list of names"},
		{"a list for a text", "default: hello", "default: [hello]", `greet.md:10:14: "default" of the variable "how" cannot be read`},
	} {
		text := strings.Replace(greeting, c.old, c.new, 1)
		if text == greeting {
			t.Errorf("%s: changes nothing", c.name)
		}
		_, err := template.Parse("greet", "greet.md", []byte(text))
		if f, ok := errors.AsType[*template.Fault](err); !ok || !strings.HasPrefix(f.Error(), c.want) || f.Hint == "" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	g := parsed(t, strings.Replace(greeting, "**task:** Say", "**tsak:** Say", 1))
	_, err := g.Fill("T", map[string]string{"who": "Ann"}, nothing)
	if f, ok := errors.AsType[*template.Fault](err); !ok || !strings.HasPrefix(f.Error(), "greet.md:20:1: filled in, the template is no plan") {
		t.Errorf("%v", err)
	}
}

// What comes with the program can be read and filled, and says what it is for.
func TestLibrary(t *testing.T) {
	all, err := template.Library()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 {
		t.Errorf("%d templates", len(all))
	}
	for _, l := range all {
		p, err := l.Fill("A title", nil, nothing)
		if err != nil {
			t.Errorf("%s: %v", l.Name, err)
			continue
		}
		if l.About == "" || strings.Contains(string(plan.Format(p)), "{{") {
			t.Errorf("%s is not filled in:\n%s", l.Name, plan.Format(p))
		}
	}
}

// FuzzParse: whatever a template says, what is made of it is a plan without
// errors in its text, or an error that says where.
func FuzzParse(f *testing.F) {
	f.Add(greeting, "Ann")
	all, err := template.Library()
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range all {
		f.Add(l.File, "make check")
	}
	f.Add("---\ntype: plan\nvariables: {a: {about: b, where: {c: d}}}\n---\n# {{a}}\n", "```")
	f.Fuzz(func(t *testing.T, text, value string) {
		g, err := template.Parse("t", "t.md", []byte(text))
		if err != nil {
			if f, ok := errors.AsType[*template.Fault](err); !ok || f.Pos.Line < 1 || f.Pos.Column < 1 {
				t.Fatalf("%v", err)
			}
			return
		}
		given := map[string]string{}
		for _, v := range g.Variables {
			given[v.Name] = value
		}
		p, err := g.Fill("T", given, nothing)
		if err == nil && p == nil {
			t.Fatal("no plan and no error")
		}
	})
}
