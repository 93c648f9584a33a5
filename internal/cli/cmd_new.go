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
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/template"
)

// newFlags are the flags of new.
type newFlags struct {
	out, from string
	values    []string
	list      bool
}

func (a *app) newCmd() *cobra.Command {
	var f newFlags
	c := &cobra.Command{
		Use:   "new TITLE",
		Short: "Make a new plan, empty or from a template",
		Long: `Makes a plan with this title and one step to fill in. At a terminal it is written to plans/, with -o
to a file, and otherwise printed. Existing files are kept. piton verify lists what is still
missing.

--from makes a complete plan from a template: bugfix, feature, migration, refactor, release, or
your own .piton/templates/NAME.md. --var sets a variable of the template. --list prints all
templates and their variables.`,
		Example: "  piton new \"Fix the login timeout (#423)\"\n  piton new \"Greet people\" -o plans/greet.md\n  piton new --list\n" +
			"  piton new \"Fix the login timeout (#423)\" --from bugfix --var test='make check'",
		Args: func(c *cobra.Command, args []string) error {
			if f.list {
				return atMost("no title with --list", 0)(c, args)
			}
			return atLeast("a title", 1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if f.list {
				return a.listTemplates()
			}
			return a.newPlan(strings.Join(args, " "), f)
		},
	}
	c.Flags().StringVarP(&f.out, "output", "o", "", "write to this new `FILE`; - is standard output")
	c.Flags().StringVar(&f.from, "from", "", "make the plan from this `TEMPLATE`")
	c.Flags().StringArrayVar(&f.values, "var", nil, "set a variable of the template, as `NAME=VALUE`; may be repeated")
	c.Flags().BoolVar(&f.list, "list", false, "print the templates and their variables instead")
	_ = c.RegisterFlagCompletionFunc("from", a.completeTemplates)
	_ = c.RegisterFlagCompletionFunc("var", a.completeVariables)
	return c
}

func (a *app) newPlan(title string, f newFlags) error {
	place, conf, err := a.here(nil)
	if err != nil {
		return err
	}
	p, err := a.begun(conf.DefaultAgent, strings.TrimSpace(title), f)
	if err != nil {
		return faulty(err)
	}
	text, err := template.Entitled(p, title, api.Person())
	if err != nil {
		return faulty(err)
	}
	out := f.out
	if out == "" && isTerminal(a.out) && !a.json {
		out = filepath.Join(place.Dir, "plans", plan.Slug(title)+".md")
		if err := a.stays(place.Dir, out); err != nil {
			return err
		}
		out = a.nearName(out)
	}
	if out == "" || out == "-" {
		return a.printNew(text)
	}
	if err := a.writeNew(out, text); err != nil {
		return err
	}
	a.report("new", newDoc{File: &out, Text: string(text)}, "wrote "+out)
	if !a.json {
		a.notice("fill it in, then: piton verify %s", engine.ShellWord(out))
	}
	return nil
}

// begun is the plan that a new one begins with.
func (a *app) begun(agent, title string, f newFlags) (*plan.Plan, error) {
	switch {
	case f.from == "" && len(f.values) > 0:
		return nil, misuse("--var needs a template", "choose one with --from; piton new --list prints them")
	case f.from == "":
		return template.Empty(agent), nil
	}
	s, err := a.templates()
	if err != nil {
		return nil, err
	}
	return s.Fill(f.from, title, f.values)
}

// newDoc is a new plan for programs. File is null where none was written.
type newDoc struct {
	File *string `json:"file"`
	Text string  `json:"text"`
}

func (a *app) printNew(text []byte) error {
	if a.json {
		a.document("new", newDoc{Text: string(text)})
		return nil
	}
	_, err := a.out.Write(text)
	return err
}

// listTemplates prints what --from takes. A template that cannot be used is said
// and does not hide the others.
func (a *app) listTemplates() error {
	s, err := a.templates()
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.Faults)) {
		a.notice("%v", s.Faults[name])
	}
	list := s.List()
	a.prints("new", map[string]any{"templates": list}, func(t theme) []string { return t.templates(list) })
	return nil
}

func (a *app) templates() (template.Shelf, error) {
	place, err := a.place()
	if err != nil {
		return template.Shelf{}, err
	}
	return template.Open(place.Dir, func(path string) ([]byte, error) { return api.ReadPlan(path, a.at(path)) })
}

// templates shows what a plan can be made of.
func (t theme) templates(list []template.Entry) []string {
	var lines []string
	for n, e := range list {
		if n > 0 {
			lines = append(lines, "")
		}
		about := e.Name + ": " + e.About
		if e.File != nil {
			about += " (" + *e.File + ")"
		}
		lines = append(lines, t.under(0, boldTone, t.line(about))...)
		for _, v := range e.Variables {
			value := "must be given"
			if v.Default != nil {
				value = "default " + *v.Default
			}
			lines = append(lines, t.under(2, idleTone, t.line(fmt.Sprintf("%s: %s; %s", v.Name, v.About, value)))...)
		}
	}
	return lines
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

// nearName is path as seen from the current directory, if it lies below it.
func (a *app) nearName(path string) string {
	if rel, err := filepath.Rel(a.dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// writeNew makes a file, and the directories above it, and never writes over one.
func (a *app) writeNew(path string, text []byte) error {
	err := create(a.at(path), text)
	switch {
	case errors.Is(err, fs.ErrExist):
		return taken(path)
	case err != nil:
		return api.CannotWrite(path, err)
	}
	return nil
}

// taken is the problem of a new file that is there.
func taken(path string) error {
	return &api.Problem{Code: api.Conflict, Message: path + " exists already and is not overwritten", Hint: "give another file with -o, or remove it first"}
}

// create makes a file, and the directories above it. One that it cannot write to
// the end it takes away again.
func create(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
