// Package template reads plan templates: plans with holes, {{name}}, and a declaration
// of each hole in the frontmatter.
//
// A template is the text of a plan. It is filled before it is read as a plan, and the
// result is an ordinary plan that says nothing of its template.
//
// It must never write a file, run anything, or make a plan that its caller has not
// parsed and can show to a person: a filled template is a draft.
package template

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

// Template is a plan with holes. It is safe for concurrent use.
type Template struct {
	Name      string
	About     string // what a plan made of it is for, one line; may be empty
	File      string // for messages
	Variables []Variable

	head, body string // the frontmatter with both of its --- lines, and the rest
}

// Variable is a hole of a template.
type Variable struct {
	Name    string
	About   string  // what to fill in
	Default *string // nil where a value must be given
	Where   []Guess // defaults for workspaces with a certain file, the first that fits
}

// Guess is a default where the workspace has a file.
type Guess struct{ File, Value string }

// Title is the variable that every template has: the title of the plan.
const Title = "title"

// Fault is what is wrong with a template, and where.
type Fault struct {
	File          string
	Pos           plan.Pos
	Message, Hint string
}

func (f *Fault) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Pos.Line, f.Pos.Column, f.Message)
}

// Unfit is a value that a template does not take, or lacks.
type Unfit struct{ Message, Hint string }

func (u *Unfit) Error() string { return u.Message }

var (
	nameForm = lazy.Regexp(`^[a-z][a-z0-9_-]*$`)
	hole     = lazy.Regexp(`\{\{ *([a-z][a-z0-9_-]*) *\}\}`)
)

// IsName reports whether a template or a variable can be called so.
func IsName(name string) bool { return nameForm().MatchString(name) }

// Parse reads a template. What is wrong with it is a [Fault]; what is wrong
// with the plan in it shows once it is filled.
func Parse(name, file string, text []byte) (*Template, error) {
	t := &Template{Name: name, File: file}
	p, problems := plan.Parse(file, text)
	for _, q := range problems {
		if p == nil || inFront(q.Code) {
			return nil, &Fault{file, q.Pos, q.Message, q.Hint}
		}
	}
	t.head, t.body = cut(string(text))
	if err := t.declare(p.Front); err != nil {
		return nil, err
	}
	return t, t.checkHoles()
}

// inFront reports whether a problem keeps the frontmatter from being read.
func inFront(code string) bool {
	return slices.Contains([]string{
		plan.MissingFrontmatter, plan.UnclosedFrontmatter, plan.FrontmatterTooLong, plan.BadFrontmatter, plan.DuplicateKey, plan.NotAPlan,
	}, code)
}

// cut parts the frontmatter, which is known to be there, from the rest.
func cut(text string) (head, body string) {
	end := strings.IndexByte(text, '\n') + 1
	for end < len(text) {
		line, _, _ := strings.Cut(text[end:], "\n")
		end = min(end+len(line)+1, len(text))
		if s := strings.TrimRight(line, " \t\r"); s == "---" || s == "..." {
			break
		}
	}
	return text[:end], text[end:]
}

// checkHoles holds what is used against what is declared.
func (t *Template) checkHoles() error {
	used := map[string]bool{Title: true}
	for _, at := range hole().FindAllStringSubmatchIndex(t.body, -1) {
		name := t.body[at[2]:at[3]]
		used[name] = true
		if name != Title && t.variable(name) == nil {
			return &Fault{t.File, t.pos(at[0]), fmt.Sprintf("{{%s}} is not declared", name), cmp.Or(plan.Nearest(name, t.names()), "name it below `variables:` in the frontmatter")}
		}
	}
	for _, v := range t.Variables {
		if !used[v.Name] {
			return &Fault{t.File, plan.Pos{Line: 1, Column: 1}, fmt.Sprintf("the variable %q is declared and used nowhere", v.Name), fmt.Sprintf("write {{%s}} where its value belongs, or leave it out", v.Name)}
		}
	}
	return nil
}

// pos is the place of an offset in the body.
func (t *Template) pos(offset int) plan.Pos {
	return plan.Pos{Line: 1, Column: 1}.After(t.head + t.body[:offset])
}

func (t *Template) variable(name string) *Variable {
	for i := range t.Variables {
		if t.Variables[i].Name == name {
			return &t.Variables[i]
		}
	}
	return nil
}

func (t *Template) names() (names []string) {
	for _, v := range t.Variables {
		names = append(names, v.Name)
	}
	return names
}

// Value is the variable's default in a workspace; has tells which files it has.
// False where a value must be given.
func (v Variable) Value(has func(file string) bool) (string, bool) {
	for _, g := range v.Where {
		if has(g.File) {
			return g.Value, true
		}
	}
	if v.Default == nil {
		return "", false
	}
	return *v.Default, true
}

// Fill makes the plan: given are values of variables, has tells which files the
// workspace has, for the defaults. What does not fit is an [Unfit]; what is
// wrong with the plan that comes of it is a [Fault] with the place in the
// template.
func (t *Template) Fill(title string, given map[string]string, has func(file string) bool) (*plan.Plan, error) {
	values, err := t.values(given, has)
	if err != nil {
		return nil, err
	}
	values[Title] = title
	text := t.head + hole().ReplaceAllStringFunc(t.body, func(h string) string { return values[strings.Trim(h, "{} ")] })
	p, problems := plan.Parse(t.File, []byte(text))
	for _, q := range problems {
		if q.Severity == plan.Error {
			return nil, &Fault{t.File, q.Pos, "filled in, the template is no plan: " + q.Message, q.Hint}
		}
	}
	p.Front = slices.DeleteFunc(p.Front, func(k plan.Key) bool { return k.Name == keyAbout || k.Name == keyVariables })
	return p, nil
}

// values are those of all variables.
func (t *Template) values(given map[string]string, has func(string) bool) (map[string]string, error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := t.takes(name, given[name]); err != nil {
			return nil, err
		}
	}
	values := maps.Clone(given)
	if values == nil {
		values = map[string]string{}
	}
	var lacks []string
	for _, v := range t.Variables {
		if _, ok := values[v.Name]; ok {
			continue
		}
		value, ok := v.Value(has)
		if !ok {
			lacks = append(lacks, fmt.Sprintf("--var %s=… (%s)", v.Name, v.About))
		}
		values[v.Name] = value
	}
	if len(lacks) > 0 {
		return nil, &Unfit{fmt.Sprintf("the template %s needs more values: %s", t.Name, strings.Join(lacks, ", ")), "give each of them"}
	}
	return values, nil
}

// takes says why a variable cannot have a value.
func (t *Template) takes(name, value string) error {
	switch {
	case name == Title:
		return &Unfit{"the title of the plan is not a --var", `write it after new: piton new "TITLE"`}
	case t.variable(name) == nil:
		return &Unfit{fmt.Sprintf("the template %s has no variable %q", t.Name, name), cmp.Or(plan.Nearest(name, t.names()), t.has())}
	case strings.TrimSpace(value) == "":
		return &Unfit{fmt.Sprintf("the value of %q is empty", name), "leave it out, and its default is taken"}
	case strings.ContainsAny(value, "\r\n"):
		return &Unfit{fmt.Sprintf("the value of %q has several lines", name), "a value is one line; edit the new plan where more belongs"}
	}
	return nil
}

func (t *Template) has() string {
	if len(t.Variables) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(t.names(), ", ")
}
