package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) walkCmd(forth bool) *cobra.Command {
	verb, short, text := "undo", "Give a plan the text that it had before", "one before"
	if forth {
		verb, short, text = "redo", "Give a plan the text that it had next", "one after it"
	}
	return &cobra.Command{
		Use:   verb + " PLAN|RUN",
		Short: short,
		Long: fmt.Sprintf(`Looks up the text of the file among those in piton history, and writes the %s. Only
texts that the file had count. There is no limit to how far you can go. A text that was never
recorded is recorded first, so that nothing is lost; one that does not verify is refused. Where the
file is gone, undo brings back the text that it had last. For an unfinished run the new text is a
change like any edit of the file: the run goes on with the text that was approved.`, text),
		Example: "  piton plan " + verb + " plans/fix.md",
		Args:    exactly("a plan or a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.walkPlan(c.Context(), args[0], forth) },
	}
}

func (a *app) walkPlan(ctx context.Context, word string, forth bool) error {
	return a.acting(ctx, func(s *session) error {
		q, err := s.Walk(ctx, word, forth)
		if err != nil {
			return err
		}
		done, err := s.client.Restore(ctx, q)
		if err != nil {
			return err
		}
		if a.json {
			a.document(map[bool]string{false: "undo", true: "redo"}[forth], view.RestoredOf(done))
			return nil
		}
		t := a.theme(a.out)
		fmt.Fprintf(a.out, "%s has the text of revision %d: %s\n", t.line(done.Path), done.Revision.Drafted.Version, walked(done))
		if done.Kept != nil {
			a.notice("the text that it had is kept as revision %d", done.Was)
		}
		if done.Proposal {
			a.notice("a run goes on with the approved text; piton diff %[1]s shows the difference, piton approve %[1]s takes it over", engine.ShellWord(done.Path))
		}
		return nil
	})
}

// walked says what a document differs in from the text that it had.
func walked(done api.Restored) string {
	if done.Was == 0 {
		return "the file is there again"
	}
	return fmt.Sprintf("%s since revision %d", done.Diff.Counts(), done.Was)
}
