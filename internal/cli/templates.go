package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/template"
)

// ownTemplates is where a workspace keeps templates of its own.
const ownTemplates = ".piton/templates"

// templates are those of the library, and those of the workspace, which hide
// those of the library that have their names. The faults are of those that
// cannot be used, by name.
func templates(place api.Place) ([]*template.Template, map[string]error, error) {
	all, err := template.Library()
	if err != nil {
		return nil, nil, err
	}
	own, err := os.ReadDir(filepath.Join(place.Dir, filepath.FromSlash(ownTemplates)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	faults := map[string]error{}
	for _, e := range own {
		name, isPlan := strings.CutSuffix(e.Name(), ".md")
		if !isPlan || !template.IsName(name) {
			continue
		}
		all = slices.DeleteFunc(all, func(t *template.Template) bool { return t.Name == name })
		t, err := readTemplate(place, name)
		if err != nil {
			faults[name] = err
			continue
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *template.Template) int { return cmp.Compare(a.Name, b.Name) })
	return all, faults, nil
}

func readTemplate(place api.Place, name string) (*template.Template, error) {
	file := ownTemplates + "/" + name + ".md"
	text, err := api.ReadPlan(filepath.Join(place.Dir, filepath.FromSlash(file)))
	if err != nil {
		return nil, err
	}
	return template.Parse(name, file, text)
}

// fill makes the plan of the template that is asked for.
func (a *app) fill(place api.Place, title string, f newFlags) (*plan.Plan, error) {
	values, err := assignments(f.values)
	if err != nil {
		return nil, err
	}
	t, err := templateOf(place, f.from)
	if err != nil {
		return nil, faulty(err)
	}
	p, err := t.Fill(title, values, has(place))
	return p, faulty(err)
}

// has reports which files a workspace has.
func has(place api.Place) func(file string) bool {
	return func(file string) bool {
		if !filepath.IsLocal(file) {
			return false
		}
		_, err := os.Stat(filepath.Join(place.Dir, file))
		return err == nil
	}
}

// faulty is what is wrong with a template, or with what it was given, for people.
func faulty(err error) error {
	if f, ok := errors.AsType[*template.Fault](err); ok {
		return &api.Problem{Code: api.Invalid, Message: f.Error(), Hint: cmp.Or(f.Hint, "correct the template")}
	}
	if u, ok := errors.AsType[*template.Unfit](err); ok {
		return misuse(u.Message, u.Hint)
	}
	return err
}

func templateOf(place api.Place, name string) (*template.Template, error) {
	all, faults, err := templates(place)
	if err != nil || faults[name] != nil {
		return nil, cmp.Or(err, faults[name])
	}
	var known []string
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
		known = append(known, t.Name)
	}
	hint := "piton new --list prints them all"
	if near := plan.Nearest(name, known); near != "" {
		hint = near + " " + hint
	}
	return nil, misuse(fmt.Sprintf("there is no template %q", name), hint)
}

// assignments reads the values of --var.
func assignments(words []string) (map[string]string, error) {
	values := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, misuse(fmt.Sprintf("--var %q does not set a variable", w), "write --var NAME=VALUE")
		}
		if _, twice := values[name]; twice {
			return nil, misuse(fmt.Sprintf("--var gives %q two values", name), "keep one of them")
		}
		values[name] = value
	}
	return values, nil
}

type templateDoc struct {
	Name      string        `json:"name"`
	About     string        `json:"about"`
	File      *string       `json:"file"` // of the workspace; null for those that come with the program
	Variables []variableDoc `json:"variables"`
}

type variableDoc struct {
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Default *string `json:"default"` // in this workspace; null where a value must be given
}

// listTemplates prints what --from takes. A template that cannot be used is said
// and does not hide the others.
func (a *app) listTemplates() error {
	place, err := a.place()
	if err != nil {
		return err
	}
	all, faults, err := templates(place)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		a.notice("%v", faults[name])
	}
	docs := make([]templateDoc, 0, len(all))
	for _, t := range all {
		docs = append(docs, templateDocument(place, t))
	}
	a.prints("new", map[string]any{"templates": docs}, func(t theme) []string { return t.templates(docs) })
	return nil
}

func templateDocument(place api.Place, t *template.Template) templateDoc {
	d := templateDoc{Name: t.Name, About: t.About, Variables: []variableDoc{}}
	if strings.HasPrefix(t.File, ownTemplates) {
		d.File = &t.File
	}
	for _, v := range t.Variables {
		doc := variableDoc{Name: v.Name, About: v.About}
		if value, ok := v.Value(has(place)); ok {
			doc.Default = &value
		}
		d.Variables = append(d.Variables, doc)
	}
	return d
}

// templates shows what a plan can be made of.
func (t theme) templates(docs []templateDoc) []string {
	var lines []string
	for n, d := range docs {
		if n > 0 {
			lines = append(lines, "")
		}
		about := d.Name + ": " + d.About
		if d.File != nil {
			about += " (" + *d.File + ")"
		}
		lines = append(lines, t.under(0, boldTone, t.line(about))...)
		for _, v := range d.Variables {
			value := "must be given"
			if v.Default != nil {
				value = "default " + *v.Default
			}
			lines = append(lines, t.under(2, idleTone, t.line(fmt.Sprintf("%s: %s; %s", v.Name, v.About, value)))...)
		}
	}
	return lines
}

func (a *app) completeTemplates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if place, err := a.place(); err == nil {
		all, _, _ := templates(place) //nolint:errcheck // a key pressed in a shell prints nothing
		for _, t := range all {
			found = append(found, a.described(t.Name, t.About))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeVariables lists the variables of the template that was named.
func (a *app) completeVariables(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if place, err := a.place(); err == nil {
		if t, err := templateOf(place, c.Flags().Lookup("from").Value.String()); err == nil {
			for _, v := range t.Variables {
				found = append(found, a.described(v.Name+"=", v.About))
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
