package cli

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) diffCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "diff [PLAN|RUN] [PLAN|RUN]",
		Short: "Compare two texts of a plan, by line and by step",
		Long: `Compares two plans. Each is a file, a run, or a revision of either: fix.md@1, 7f3a21@2, or the
id of a revision. With one name, compares the text of its run with the file now; with none, that
of the newest run. Says where the second text proves or guards less than the first. Of revisions,
the sub-plans that are approved with them are compared too.`,
		Example: "  piton diff plans/fix.md\n  piton diff 7f3a21@1 7f3a21@2",
		Args:    atMost("two plans", 2),
		RunE:    func(c *cobra.Command, args []string) error { return a.diff(c.Context(), args) },
	}
}

func (a *app) diff(ctx context.Context, args []string) error {
	return a.with(ctx, func(s *session) error {
		one, two, err := s.Compared(ctx, args)
		if err != nil {
			return err
		}
		d := verify.Diff(one.Plan, two.Plan)
		var text bytes.Buffer
		text.Write(diff.Diff(one.Name, one.Source, two.Name, two.Source))
		for _, path := range slices.Sorted(maps.Keys(two.Below)) {
			if one.Below != nil { // a file has none
				text.Write(diff.Diff(one.Name+": "+path, one.Below[path], two.Name+": "+path, two.Below[path]))
			}
		}
		lines := text.String()
		a.prints("diff", view.DiffOf(one.Name, two.Name, lines, d), func(t theme) []string {
			if lines == "" {
				return []string{"They are the same."}
			}
			return append(t.changedLines(lines), append([]string{""}, t.difference(d)...)...)
		})
		return nil
	})
}
