package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) showCmd() *cobra.Command {
	back := false
	c := &cobra.Command{
		Use:   "show [PLAN|RUN|INTENT|TASK]",
		Short: "Show a plan, the plan of a run, or a task with its history",
		Long: `Shows who does each step, what it waits for, and what proves it. PLAN is a file, or - for
standard input. For a RUN, or the newest if none is given, shows the run's own text, whatever
the file says now. The id of a revision shows that revision, and so do fix.md@1 and 7f3a21@2.

For an INTENT or a TASK, which piton list --tasks shows, it lists the revisions of the plan, the
runs, and each status with time and reason; with --json those of the steps too.

With --json a plan has every label of the format, in snake_case.

With --retro it looks back at a run. It says which frames were visible when its plan was made, what
the plan foresaw and what happened, which steps were proven, and where time and money went. A finding
of verify came true if its step failed, or stayed unproven, in the way that the finding warns of.
Findings that warn of nothing which a run can show are not counted.`,
		Example: "  piton show plans/fix.md\n  piton show 7f3a21\n  piton show plans/fix.md --json | jq -r '.data.steps[].id'",
		Args:    atMost("a plan, a run or a task", 1),
		RunE: func(c *cobra.Command, args []string) error {
			if back {
				return a.retro(c.Context(), first(args))
			}
			return a.show(c.Context(), first(args))
		},
	}
	c.Flags().BoolVar(&back, "retro", false, "look back at a run")
	return c
}

func (a *app) show(ctx context.Context, word string) error {
	if api.IsTask(word) && !a.isPath(word) {
		return a.showTask(ctx, word)
	}
	if word == "-" || a.isPath(word) {
		p, err := a.reader()
		if err != nil {
			return err
		}
		doc, err := a.readOne(ctx, p, word)
		if err != nil {
			return err
		}
		return a.showDocument(ctx, doc, nil)
	}
	return a.with(ctx, func(s *session) error {
		_, r, doc, err := s.OfWord(ctx, word)
		if err != nil {
			return err
		}
		return a.showDocument(ctx, doc, r)
	})
}

// isPath reports whether a word names a file rather than an id.
func (a *app) isPath(word string) bool {
	if word == "" {
		return false
	}
	_, err := os.Lstat(a.at(word))
	return err == nil || !api.IsRevision(word) && (strings.ContainsAny(word, `/\`) || strings.HasSuffix(word, ".md"))
}

func isNotFound(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Code == api.NotFound
}

func (a *app) showDocument(ctx context.Context, doc *api.Document, r *engine.Revision) error {
	if doc.Plan == nil || len(doc.Plan.Steps) == 0 && !doc.OK() {
		return a.refuse(doc)
	}
	f := a.forecast(ctx, doc)
	d := view.PlanOf(doc)
	if r != nil {
		d["id"], d["version"], d["status"] = r.Drafted.Plan, r.Drafted.Version, view.PlanStatus(r)
	}
	if f := view.ForecastOf(f, doc.Plan); f != nil {
		d["forecast"] = f
	}
	a.prints("plan", d, func(t theme) []string { return append(t.family(doc), t.forecast(f, doc.Plan)...) })
	return nil
}

// forecast is what earlier runs tell of a plan. Where there is no journal that
// can be read there is none.
func (a *app) forecast(ctx context.Context, doc *api.Document) (f api.Forecast) {
	a.look(ctx, func(s *session) {
		f, _ = s.Forecast(ctx, doc) //nolint:errcheck // the plan is shown without it
	})
	return f
}

// forecast shows what a plan may use; nothing where nothing is known.
func (t theme) forecast(f api.Forecast, p *plan.Plan) []string {
	if f.Steps == 0 {
		return nil
	}
	var parts []string
	if f.Tokens > 0 {
		parts = append(parts, view.Count(f.Tokens)+" tokens")
	}
	if f.Cost > 0 {
		parts = append(parts, view.Money(f.Cost))
	}
	parts = append(parts, view.Span(f.Work))
	text := fmt.Sprintf("forecast: about %s from %s", view.Join(parts), view.Plural(f.Attempts, "earlier attempt", "earlier attempts"))
	if f.Unknown > 0 {
		text += fmt.Sprintf(" (%s)", view.Plural(f.Unknown, "new step", "new steps"))
	}
	lines := append([]string{""}, t.under(0, idleTone, text)...)
	if over := f.Over(p); len(over) > 0 {
		lines = append(lines, t.under(0, warnTone, fmt.Sprintf("that is more %s than the plan's budget has", strings.Join(over, " and ")))...)
	}
	return lines
}
