package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// recentRuns is how many runs are listed unless asked otherwise.
const recentRuns = 50

func (a *app) listCmd() *cobra.Command {
	var l view.Listing
	var status []string
	var tasks bool
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the runs of this workspace, the newest first",
		Long:    "Lists the plans that wait for approval, then the runs, the newest first. Several filters must all\nmatch. --status approved,rejected lists plans that never ran.\n\n--tasks lists what was asked for: each intent with its task, the newest revision of its plan, and\nits runs in order. piton show INTENT shows one with its history.",
		Example: "  piton list --status failed,waiting --title payment",
		Args:    atMost("nothing", 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if tasks && l.Archived {
				return usage(c, errors.New("--tasks and --archived contradict each other: only runs are archived"))
			}
			return a.list(c.Context(), l, status, tasks)
		},
	}
	c.Flags().StringSliceVar(&status, "status", nil, "only with one of these statuses: "+view.Join(statusWords()))
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringVar(&l.Title, "title", "", "only with this text in the title, in any case")
	c.Flags().IntVar(&l.Recent, "recent", recentRuns, "at most this many, the newest; 0 for all")
	c.Flags().BoolVar(&tasks, "tasks", false, "list tasks with their plans and runs")
	c.Flags().BoolVar(&l.Archived, "archived", false, "only archived runs")
	return c
}

func (a *app) list(ctx context.Context, l view.Listing, status []string, tasks bool) error {
	if l.Recent < 0 {
		return misuse(fmt.Sprintf("--recent %d is not a number of runs", l.Recent), "0 lists all")
	}
	for _, word := range status {
		s := engine.Status(strings.ToLower(word))
		if !slices.Contains(view.Statuses(), s) {
			return misuse(fmt.Sprintf("there is no status %q", word), "one of: "+view.Join(statusWords()))
		}
		l.Status = append(l.Status, s)
	}
	if tasks {
		return a.listTasks(ctx, l)
	}
	return a.looking(ctx, func(s *session) error {
		found, err := s.reader().List(ctx, l)
		if err == nil {
			a.showList(found, l)
		}
		return err
	})
}

func statusWords() []string {
	var words []string
	for _, s := range view.Statuses() {
		words = append(words, view.Word(s, engine.NoPhase))
	}
	return words
}
