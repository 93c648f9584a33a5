package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/report"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) exportCmd() *cobra.Command {
	var to, out string
	c := &cobra.Command{
		Use:   "export PLAN|RUN --to FORM",
		Short: "Write a plan in another form, or a report of a run",
		Long: `Writes the plan as yaml, json, dag (a graph of tool calls), taskplan (one loop step) or md. What the
new form cannot hold is listed.

For a RUN it writes the run's own text of the plan. As yaml and json this includes the history: ids
and versions, and for each step status, agent, attempts, times, output and error. As dag it includes
the status and result of each call, as taskplan how the loop stands: iteration, status, checklist
and activity. A revision, by its id or as in fix.md@1, gives only its text.

A RUN can also be written as a report of all that is known of it. html is a page in one file, which needs
no network. junit has results for programs that show tests. markdown is text for a pull request. badge is
an SVG image that says how the run stands. The exit code is 0 whatever became of the run.`,
		Example: "  piton export plans/fix.md --to yaml\n  piton export plans/fix.md --to json -o fix.json\n  piton export 7f3a21 --to yaml\n  piton export 7f3a21 --to html -o run.html",
		Args:    exactly("a plan or a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			if to == "" {
				return usage(c, errors.New("piton export needs --to and a form: "+exportWords()))
			}
			if args[0] != "-" && !a.isPath(args[0]) {
				return a.exportRun(c.Context(), args[0], form.Form(to), out)
			}
			if isReport(to) {
				return &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("%s tells what became of a run, and %s is a plan", to, shownPath(args[0])), Hint: "give the id of a run; piton list shows them"}
			}
			source, err := a.source(args[0])
			if err != nil {
				return err
			}
			return a.convert(c.Context(), "export", shownPath(args[0]), source, form.Form(to), out)
		},
	}
	c.Flags().StringVar(&to, "to", "", "the form: "+exportWords())
	c.Flags().StringVarP(&out, "output", "o", "", "write a new file instead of printing")
	_ = c.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(strings.Split(exportWords(), ", "), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func formWords() string {
	var words []string
	for _, f := range form.Forms() {
		words = append(words, string(f))
	}
	return strings.Join(words, ", ")
}

// exportWords are the forms of plans, and those of runs alone.
func exportWords() string {
	var words strings.Builder
	words.WriteString(formWords())
	for _, f := range report.Forms() {
		words.WriteString(", " + string(f))
	}
	return words.String()
}

// isReport reports a form that only a run has.
func isReport(to string) bool { return slices.Contains(report.Forms(), report.Form(to)) }

// conversion is what export and import print for programs.
type conversion struct {
	From   string      `json:"from"`
	To     form.Form   `json:"to"`
	File   *string     `json:"file"` // null: the text is here
	Text   *string     `json:"text"`
	Losses []form.Loss `json:"losses"`

	*contracts // that a planner proposed
}

// name is what the text is called in messages.
func (c conversion) name() string {
	if c.File == nil {
		return "<stdout>"
	}
	return *c.File
}

// convert writes the plan of a file in a form. Only a plan that can be read
// without an error is converted: else something would be lost that nobody named.
// Other errors are converted with it, and said.
func (a *app) convert(ctx context.Context, verb, path string, source []byte, to form.Form, out string) error {
	doc, err := a.converts(path, source)
	if err != nil {
		return err
	}
	if err := a.showErrors(ctx, path, source); err != nil {
		return err
	}
	return a.putForm(verb, doc.Form, to, out)
}

// converts reads a plan that is to be converted, and says what is doubtful of it.
func (a *app) converts(path string, source []byte) (*api.Document, error) {
	doc := api.Parse(path, source)
	if !doc.OK() {
		err := a.refuse(doc)
		a.notice("fix the errors first: a plan that cannot be read cannot be converted")
		return nil, err
	}
	a.showFindings(a.err, api.Serious(doc.Findings))
	return doc, nil
}

// showErrors says what keeps a plan that can be read from running.
func (a *app) showErrors(ctx context.Context, path string, source []byte) error {
	p, err := a.readerToLook()
	if err != nil {
		return err
	}
	doc := p.Verify(ctx, path, source)
	wrong := slices.DeleteFunc(doc.Findings, func(f verify.Finding) bool { return f.Severity != verify.Error })
	a.showFindings(a.err, wrong)
	if n := len(wrong); n > 0 {
		a.notice("%s: the plan is converted, but cannot run until these are fixed", view.Plural(n, "error", "errors"))
	}
	return nil
}

// exportRun writes the plan that a run has pinned: where the form can hold it,
// with what became of it.
func (a *app) exportRun(ctx context.Context, word string, to form.Form, out string) error {
	return a.with(ctx, func(s *session) error {
		head, r, doc, err := s.OfWord(ctx, word)
		switch {
		case err != nil:
			return err
		case isReport(string(to)):
			return a.exportReport(ctx, s, word, head, doc, report.Form(to), out)
		case head.Run == "": // a revision
			return a.putForm("export", doc.Form, to, out)
		}
		if to == form.TaskPlan {
			return a.exportTask(ctx, s, head, r, doc.Form, out)
		}
		if to != form.YAML && to != form.JSON && to != form.DAG {
			a.notice("the history of the steps is not in %s; --to yaml, json or dag has it", to)
			return a.putForm("export", doc.Form, to, out)
		}
		rows, err := s.store.Steps(ctx, store.StepFilter{Stream: head.Stream, Run: head.Run})
		if err != nil {
			return err
		}
		done, err := s.Deeds(ctx, head)
		if err != nil {
			return err
		}
		return a.putForm("export", project.Record(doc.Form, to, head, r, rows, done), to, out)
	})
}

// exportReport writes what became of a run.
func (a *app) exportReport(ctx context.Context, s *session, word string, head engine.HeadRow, doc *api.Document, to report.Form, out string) error {
	if head.Run == "" {
		return &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("%s tells what became of a run, and %s is a revision of a plan", to, word), Hint: "give the id of a run; piton list shows them"}
	}
	back, err := view.Look(ctx, s.reader(), head)
	if err != nil {
		return err
	}
	t := theme{width: pageWidth, whole: true, zone: time.Local}
	from := report.Source{Reader: s.reader(), Words: report.Words{Happening: t.lines, Retro: t.retro}, Retro: back, Plan: string(doc.Source), About: doc.Plan.Context.Value}
	r, err := report.Collect(ctx, from, head)
	if err != nil {
		return err
	}
	text, err := r.Write(to)
	if err != nil {
		return err
	}
	return a.putText("export", conversion{From: "run", To: form.Form(to), File: view.OrNull(out), Losses: []form.Loss{}}, text)
}

// exportTask writes a run of one loop as a task plan.
func (a *app) exportTask(ctx context.Context, s *session, head engine.HeadRow, r *engine.Revision, doc form.Document, out string) error {
	rows, err := s.Rows(ctx, head, store.StepFilter{})
	if err != nil {
		return err
	}
	loops, err := s.Loops(ctx, head, rows)
	if err != nil {
		return err
	}
	for id, l := range loops {
		if len(doc.Plan.Steps) == 1 && doc.Plan.Steps[0].ID.Value == id {
			doc = project.RecordTask(doc, head, r, l)
		}
	}
	return a.putForm("export", doc, form.TaskPlan, out)
}

// putForm writes a plan in a form to where it is wanted.
func (a *app) putForm(verb string, doc form.Document, to form.Form, out string) error {
	text, losses, err := doc.Write(to)
	if err != nil {
		return &api.Problem{Code: api.Invalid, Message: err.Error(), Hint: "the forms are " + exportWords()}
	}
	return a.putText(verb, conversion{From: string(doc.Form), To: to, File: view.OrNull(out), Losses: view.List(losses)}, text)
}

// putText writes what a conversion gave, with what it lost.
func (a *app) putText(verb string, c conversion, text []byte) error {
	out := ""
	if c.File != nil {
		out = *c.File
	}
	if out != "" {
		if err := a.writeNew(out, text); err != nil {
			return err
		}
	}
	if a.json {
		if out == "" {
			c.Text = view.OrNull(string(text))
		}
		a.document(verb, c)
		return nil
	}
	for _, l := range c.Losses {
		a.notice("not in %s: %s", c.To, l)
	}
	if out == "" {
		_, err := a.out.Write(text)
		return err
	}
	a.notice("wrote %s", out)
	return nil
}

func (a *app) schemaCmd() *cobra.Command {
	var of string
	c := &cobra.Command{
		Use:       "schema [config]",
		Short:     "Print the JSON Schema of plans or of the configuration",
		Long:      "Prints a JSON Schema (2020-12) for editors and programs: of plans in YAML and JSON, of graphs of\ntool calls (dag), or of task plans (taskplan). `piton schema config`\nprints that of `.piton/config.yaml`.",
		Example:   "  piton schema > plan.schema.json\n  piton schema --form dag\n  piton schema config > .piton/config.schema.json",
		Args:      atMost("config", 1),
		ValidArgs: []string{"config"},
		RunE: func(c *cobra.Command, args []string) error {
			text, err := schemaOf(of, args, c.Flags().Changed("form"))
			if err != nil {
				return usage(c, err)
			}
			if a.json {
				a.document("schema", json.RawMessage(text))
				return nil
			}
			_, err = a.out.Write(text)
			return err
		},
	}
	c.Flags().StringVar(&of, "form", "plan", "plan, dag or taskplan")
	_ = c.RegisterFlagCompletionFunc("form", cobra.FixedCompletions([]string{"plan", "dag", "taskplan"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// schemaOf is the schema of a form of plans, or of the configuration.
func schemaOf(of string, args []string, formed bool) ([]byte, error) {
	switch {
	case len(args) == 1 && (args[0] != "config" || formed):
		return nil, fmt.Errorf("there is no schema %q; use --form, or `piton schema config` for the configuration", args[0])
	case len(args) == 1:
		return config.Schema(), nil
	case of == "plan":
		of = string(form.JSON)
	}
	text, err := form.Schema(form.Form(of))
	if err != nil {
		return nil, fmt.Errorf("%w; the forms are plan, dag and taskplan", err)
	}
	return text, nil
}
