package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) archiveCmd() *cobra.Command {
	var older string
	var back bool
	c := &cobra.Command{
		Use:   "archive [RUN]",
		Short: "Hide finished runs from the lists",
		Long: `Hides a finished run from piton list: RUN, the newest, or all older than --older-than. Nothing is
removed. piton list --archived shows the run, and --back undoes it.`,
		Example: "  piton archive 7f3a21\n  piton archive --older-than 30d\n  piton archive 7f3a21 --back",
		Args:    atMost("a run", 1),
		RunE: func(c *cobra.Command, args []string) error {
			if older != "" && (len(args) > 0 || back) {
				return usage(c, errors.New("--older-than and a run contradict each other"))
			}
			return a.archive(c.Context(), first(args), older, back)
		},
	}
	c.Flags().StringVar(&older, "older-than", "", "all runs that ended longer ago than this, such as 30d or 12h")
	c.Flags().BoolVar(&back, "back", false, "show the run in the lists again")
	return c
}

func (a *app) archive(ctx context.Context, word, older string, back bool) error {
	return a.acting(ctx, func(s *session) error {
		done, err := s.client.Archive(ctx, api.Archive{Run: word, Older: older, Back: back})
		if err == nil {
			a.report("archive", map[string]any{"runs": view.List(done.Runs), "back": back}, shelvedText(done.Runs, back))
		}
		return err
	})
}

func shelvedText(runs []string, back bool) string {
	switch {
	case len(runs) == 0:
		return "nothing to do"
	case back:
		return view.Plural(len(runs), "run is", "runs are") + " in the lists again"
	}
	return view.Plural(len(runs), "run is", "runs are") + " archived; piton list --archived shows them"
}
