package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

func (a *app) showCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "show [PLAN|RUN]",
		Short: "Show a plan as it would run, or as a run has it",
		Long: `Shows who does each step, after what, and what proves it. PLAN is a file, or - for
standard input. Of a RUN, the newest if none is given, it shows the bytes that the run has
pinned, whatever the file says now; the id of a recorded revision shows that one.

With --json it gives every label of the format, in snake_case.`,
		Example: "  piton show plans/fix.md\n  piton show 7f3a21\n  piton show plans/fix.md --json | jq -r '.data.steps[].id'",
		Args:    atMost("a plan or a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.show(c.Context(), first(args)) },
	}
}

func (a *app) show(ctx context.Context, word string) error {
	if word == "-" || isPath(word) {
		p, err := a.reader()
		if err != nil {
			return err
		}
		doc, err := a.readOne(ctx, p, word)
		if err != nil {
			return err
		}
		return a.showDocument(doc, nil)
	}
	return a.with(ctx, func(s *session) error {
		head, err := s.Find(ctx, word)
		id := head.Plan
		if err != nil {
			id = word
		}
		r, doc, other := s.Kept(ctx, id)
		switch {
		case other == nil:
			return a.showDocument(doc, r)
		case err != nil && word != "" && isNotFound(err) && isNotFound(other):
			return &api.Problem{
				Code: api.NotFound, Message: word + ": there is no such file, and no run or plan of this id",
				Hint: "give the path of a plan document, or an id that piton list shows",
			}
		case err != nil:
			return err
		}
		return other
	})
}

// isPath reports whether a word names a file rather than an id.
func isPath(word string) bool {
	if word == "" {
		return false
	}
	_, err := os.Lstat(word)
	return err == nil || strings.ContainsAny(word, `/\`) || strings.HasSuffix(word, ".md")
}

func isNotFound(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Code == api.NotFound
}

func (a *app) showDocument(doc *api.Document, r *engine.Revision) error {
	if doc.Plan == nil {
		a.showFindings(a.err, doc.Findings)
		return ended(exitPlan)
	}
	if !a.json || r == nil {
		return a.showPlan(doc)
	}
	d := planDocument(doc)
	d.ID, d.Version = &r.Drafted.Plan, &r.Drafted.Version
	a.document("plan", d)
	return nil
}
