package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/project"
)

// fmtFlags say what fmt does with the layout it made.
type fmtFlags struct {
	diff  bool
	write bool
}

func (a *app) fmtCmd() *cobra.Command {
	var f fmtFlags
	c := &cobra.Command{
		Use:   "fmt PLAN...",
		Short: "Format plans in the canonical layout",
		Long: `Prints the plan in canonical layout. The meaning stays the same. - reads standard input. A plan
with errors is not changed: exit code 4.

-d prints the difference instead, with exit code 1 if there is one, for hooks and CI. -w writes
the files. A formatted plan has other bytes, so it needs a new approval.`,
		Example: "  piton fmt -d plans/*.md      # what is not canonical, exit code 1 if anything\n  piton fmt -w plans/*.md\n  piton fmt - <draft.md >plan.md",
		Args:    atLeast("a plan", 1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.fmt(args, f) },
	}
	c.Flags().BoolVarP(&f.diff, "diff", "d", false, "print what would change, as a unified diff")
	c.Flags().BoolVarP(&f.write, "write", "w", false, "write the result to the files")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if f.diff && f.write {
			return usage(c, errors.New("--diff and --write contradict each other"))
		}
		return nil
	}
	return c
}

// laid is one document as fmt found it, and as it should be.
type laid struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"`
	Diff    string `json:"diff,omitzero"`
	Text    string `json:"text,omitzero"`

	seen, text []byte
}

// fmt does all it can, and ends with the code of the first thing it could not
// do. For programs there is one document: the layouts, or the error.
func (a *app) fmt(paths []string, f fmtFlags) error {
	if len(paths) > 1 && !f.diff && !f.write && !a.json {
		return misuse("several plans cannot be printed together", "-w writes each, -d shows the differences")
	}
	code := exitDone
	docs := []laid{}
	for _, path := range paths {
		l, err := a.lay(path)
		if err == nil {
			err = a.put(&l, f)
		}
		if err != nil && a.json {
			return err
		}
		if c := a.exit(err); code == exitDone {
			code = c
		}
		if l.Changed && f.diff && code == exitDone {
			code = exitFailed
		}
		docs = append(docs, l)
	}
	if a.json {
		a.document("fmt", map[string]any{"files": docs})
	}
	if code != exitDone {
		return ended(code)
	}
	return nil
}

// lay reads a document and makes its canonical layout.
func (a *app) lay(path string) (laid, error) {
	seen, err := a.source(path)
	if err != nil {
		return laid{}, err
	}
	shown := path
	if path == "-" {
		shown = stdinName
	}
	if err := markdownOnly("fmt", shown, seen); err != nil {
		return laid{}, err
	}
	doc := api.Parse(shown, seen)
	if !doc.OK() {
		err := a.refuse(doc)
		a.notice("%s is not changed: fix the errors first", shown)
		return laid{}, err
	}
	text := plan.Format(doc.Plan)
	return laid{File: path, Changed: !bytes.Equal(seen, text), seen: seen, text: text}, nil
}

// markdownOnly refuses a plan in a form whose text a verb cannot edit.
func markdownOnly(verb, path string, source []byte) error {
	f := form.Of(source)
	if f == form.Markdown {
		return nil
	}
	return misuse(fmt.Sprintf("%s is a plan in the form %s, but %s works on Markdown", path, f, verb), "piton import writes it as Markdown")
}

// put shows or writes a layout, as the flags say.
func (a *app) put(l *laid, f fmtFlags) error {
	switch {
	case f.write && l.File == "-":
		return misuse("standard input cannot be written to", "leave out --write: the layout goes to standard output")
	case f.write && l.Changed:
		if err := a.rewrite(l.File, l.seen, l.text); err != nil {
			return err
		}
		if !a.json {
			fmt.Fprintf(a.out, "wrote %s\n", l.File)
		}
	case f.diff:
		l.Diff = string(diff.Diff(l.File, l.seen, l.File+" (canonical)", l.text))
		a.outUnlessJSON(l.Diff)
	case !f.write:
		l.Text = string(l.text)
		a.outUnlessJSON(l.Text)
	}
	return nil
}

func (a *app) outUnlessJSON(text string) {
	if !a.json {
		io.WriteString(a.out, text) //nolint:errcheck // nobody reads: nothing to do
	}
}

// source reads a plan's bytes; - is standard input.
func (a *app) source(path string) ([]byte, error) {
	switch {
	case a.server != "" && path == "-":
		return nil, misuse("standard input is of this machine, and the server knows nothing of it", "give the path of a plan document of the server's workspace")
	case a.server != "":
		p, err := a.reader()
		if err != nil {
			return nil, err
		}
		return p.Files.Read(path)
	case path != "-":
		return api.ReadPlan(path, a.at(path))
	}
	text, err := io.ReadAll(io.LimitReader(a.in, plan.MaxBytes+1))
	if err != nil {
		return nil, &api.Problem{Code: api.Invalid, Message: "cannot read standard input: " + err.Error(), Hint: "give the path of a plan document instead of -"}
	}
	return text, nil
}

// rewrite puts text in the place of a document that still has the bytes seen.
func (a *app) rewrite(path string, seen, text []byte) error {
	err := project.Replace(a.at(path), seen, text)
	switch {
	case errors.Is(err, project.ErrChanged):
		return &api.Problem{Code: api.Conflict, Message: path + " was changed meanwhile, so it is not written", Hint: "run this again"}
	case err != nil:
		return api.CannotWrite(path, err)
	}
	return nil
}
