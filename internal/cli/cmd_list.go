package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// recentRuns is how many runs are listed unless asked otherwise.
const recentRuns = 50

// listing is which runs are asked for.
type listing struct {
	status []string
	title  string
	recent int

	archived bool
}

func (a *app) listCmd() *cobra.Command {
	var l listing
	c := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the runs of this workspace, the newest first",
		Long:    "Lists the plans that wait for approval, then the runs, the newest first. Several filters must all\nmatch. --status approved,rejected lists plans that never ran.",
		Example: "  piton list --status failed,waiting --title payment",
		Args:    atMost("nothing", 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.list(c.Context(), l) },
	}
	c.Flags().StringSliceVar(&l.status, "status", nil, "only with one of these statuses: "+view.Join(statusWords()))
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringVar(&l.title, "title", "", "only with this text in the title, in any case")
	c.Flags().IntVar(&l.recent, "recent", recentRuns, "at most this many, the newest; 0 for all")
	c.Flags().BoolVar(&l.archived, "archived", false, "only archived runs")
	return c
}

func (a *app) list(ctx context.Context, l listing) error {
	filter, err := l.filter()
	if err != nil {
		return err
	}
	return a.looking(ctx, func(s *session) error {
		by, err := s.stands(ctx)
		if err != nil {
			return err
		}
		asked := filter.Status
		filter.Status = view.Stored(asked)
		heads, err := s.listed(ctx, filter, l.archived, view.Among(asked, by))
		if err != nil {
			return err
		}
		more := l.recent > 0 && len(heads) > l.recent
		if more {
			heads = heads[:l.recent]
		}
		heads = view.Families(heads)
		plans, err := s.unrun(ctx, asked, l)
		if err != nil {
			return err
		}
		if l.recent > 0 && len(plans) > l.recent {
			plans, more = plans[:l.recent], true
		}
		return a.showList(s.Place.Dir, plans, heads, by, s.changed(heads), l, more)
	})
}

// unrun are the plans that fit and of which nothing was run yet, the newest
// first. Those that have a yes or a no are looked for only where they are asked
// for: that reads all that was ever said to a plan.
func (s *session) unrun(ctx context.Context, asked []engine.Status, l listing) ([]*engine.Revision, error) {
	if l.archived {
		return nil, nil
	}
	find := s.UnrunProposals
	if slices.Contains(asked, view.Approved) || slices.Contains(asked, view.Rejected) {
		find = s.Unrun
	}
	plans, err := find(ctx)
	slices.Reverse(plans)
	plans = slices.DeleteFunc(plans, func(r *engine.Revision) bool {
		return len(asked) > 0 && !slices.Contains(asked, view.PlanStatus(r)) || !strings.Contains(store.Fold(r.Drafted.Title), store.Fold(l.title))
	})
	return plans, err
}

func unfinished(h engine.HeadRow) bool { return !h.Ended }

// listed are the runs that fit and are archived, or are not; with fits only those
// of them.
func (s *session) listed(ctx context.Context, filter store.HeadFilter, archived bool, fits func(engine.HeadRow) bool) ([]engine.HeadRow, error) {
	shelf, err := s.store.Archived(ctx)
	if err != nil {
		return nil, err
	}
	limit := filter.Limit
	switch {
	case archived || fits != nil:
		filter.Limit = 0 // they may be anywhere
	case limit > 0:
		filter.Limit += len(shelf)
	}
	heads, err := s.store.Heads(ctx, filter)
	if fits != nil {
		heads = slices.DeleteFunc(heads, func(h engine.HeadRow) bool { return !fits(h) })
	}
	return onShelf(heads, shelf, archived, limit), err
}

// changed says which of the runs that are not over have a plan document with
// another text now.
func (s *session) changed(heads []engine.HeadRow) map[string]bool {
	changed := map[string]bool{}
	for _, h := range heads {
		if !h.Ended && s.Changed(h) {
			changed[h.Run] = true
		}
	}
	return changed
}

// filter asks for one run more than are shown, to know whether there is one.
func (l listing) filter() (store.HeadFilter, error) {
	filter := store.HeadFilter{Title: l.title}
	if l.recent < 0 {
		return filter, misuse(fmt.Sprintf("--recent %d is not a number of runs", l.recent), "0 lists all")
	}
	if l.recent > 0 {
		filter.Limit = l.recent + 1
	}
	for _, word := range l.status {
		status := engine.Status(strings.ToLower(word))
		if !slices.Contains(view.Statuses(), status) {
			return filter, misuse(fmt.Sprintf("there is no status %q", word), "one of: "+view.Join(statusWords()))
		}
		filter.Status = append(filter.Status, status)
	}
	return filter, nil
}

func (l listing) filters() bool { return len(l.status) > 0 || l.title != "" || l.archived }

func statusWords() []string {
	var words []string
	for _, s := range view.Statuses() {
		words = append(words, view.Word(s, engine.NoPhase))
	}
	return words
}
