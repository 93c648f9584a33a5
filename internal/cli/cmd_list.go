package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
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
		Short:   "The runs of this workspace, the newest first",
		Long:    "Lists the plans that wait for a yes, and then the runs, the newest first. The filters go together:\nonly what fits all of them is listed. --status approved,rejected lists plans of which nothing was\nrun yet.",
		Example: "  piton list --status failed,needs-you --title payment",
		Args:    atMost("nothing", 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.list(c.Context(), l) },
	}
	c.Flags().StringSliceVar(&l.status, "status", nil, "only what stands so: "+join(statusWords()))
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringVar(&l.title, "title", "", "only what has this in its title, in capitals or not")
	c.Flags().IntVar(&l.recent, "recent", recentRuns, "so many of the newest at most; 0 for all")
	c.Flags().BoolVar(&l.archived, "archived", false, "only runs that piton archive took out of the lists")
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
		filter.Status = stored(asked)
		heads, err := s.listed(ctx, filter, l.archived, among(asked, by))
		if err != nil {
			return err
		}
		more := l.recent > 0 && len(heads) > l.recent
		if more {
			heads = heads[:l.recent]
		}
		heads = families(heads)
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
	if slices.Contains(asked, approved) || slices.Contains(asked, rejected) {
		find = s.Unrun
	}
	plans, err := find(ctx)
	slices.Reverse(plans)
	plans = slices.DeleteFunc(plans, func(r *engine.Revision) bool {
		stands := slices.ContainsFunc(asked, func(s engine.Status) bool { return looks[s].word == looks[planStatus(r)].word })
		return len(asked) > 0 && !stands || !strings.Contains(store.Fold(r.Drafted.Title), store.Fold(l.title))
	})
	return plans, err
}

func unfinished(h engine.HeadRow) bool { return !h.Ended }

// moving reports whether the journal may have a run that people see so as running:
// it is interrupted where nobody carries it on, and waits where a run does that
// carries out a step of it.
func moving(s engine.Status) bool {
	return s == engine.Running || s == interrupted || s == engine.Waiting
}

// stored are the statuses that the journal has for those that people see.
func stored(asked []engine.Status) []engine.Status {
	in := slices.DeleteFunc(slices.Clone(asked), func(s engine.Status) bool { return s == interrupted })
	if slices.ContainsFunc(asked, moving) && !slices.Contains(in, engine.Running) {
		in = append(in, engine.Running)
	}
	return in
}

// among tells the runs that stand as was asked from those that only the journal
// takes for such; nil if it takes none.
func among(asked []engine.Status, by stands) func(engine.HeadRow) bool {
	if !slices.ContainsFunc(asked, moving) {
		return nil
	}
	return func(h engine.HeadRow) bool { return slices.Contains(asked, by.of(h)) }
}

// families puts the runs that carry out steps of another one of the list behind
// that one.
func families(heads []engine.HeadRow) []engine.HeadRow {
	below, here := map[string][]engine.HeadRow{}, map[string]bool{}
	for _, h := range heads {
		here[h.Run] = true
	}
	for _, h := range heads {
		if here[h.Parent.Run] {
			below[h.Parent.Run] = append(below[h.Parent.Run], h)
		}
	}
	var all []engine.HeadRow
	var add func(h engine.HeadRow)
	add = func(h engine.HeadRow) {
		all = append(all, h)
		for _, child := range slices.Backward(below[h.Run]) {
			add(child)
		}
	}
	for _, h := range heads {
		if !here[h.Parent.Run] {
			add(h)
		}
	}
	return all
}

// listed are the runs that fit and are archived, or are not; with fits only those
// of them.
func (s *session) listed(ctx context.Context, filter store.HeadFilter, archived bool, fits func(engine.HeadRow) bool) ([]engine.HeadRow, error) {
	shelf, err := s.shelf()
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
		return filter, &misuse{text: fmt.Sprintf("--recent %d is no number of runs", l.recent), hint: "0 lists all"}
	}
	if l.recent > 0 {
		filter.Limit = l.recent + 1
	}
	for _, word := range l.status {
		status, ok := statusOf(word)
		if !ok {
			return filter, &misuse{text: fmt.Sprintf("nothing stands as %q", word), hint: "one of: " + join(statusWords())}
		}
		filter.Status = append(filter.Status, status)
	}
	return filter, nil
}

func (l listing) filters() bool { return len(l.status) > 0 || l.title != "" || l.archived }

// runStatuses are how a run can stand, or a plan of which nothing was run.
func runStatuses() []engine.Status {
	return []engine.Status{engine.Running, interrupted, engine.Waiting, engine.Paused, engine.Done, engine.Failed, engine.Cancelled, engine.Superseded, approved, rejected}
}

// statusOf understands the word that lists show, and the one in documents.
func statusOf(word string) (engine.Status, bool) {
	i := slices.IndexFunc(runStatuses(), func(s engine.Status) bool {
		return strings.EqualFold(word, statusWord(s)) || strings.EqualFold(word, looks[s].word) || strings.EqualFold(word, string(s))
	})
	if i < 0 {
		return "", false
	}
	return runStatuses()[i], true
}

// statusWord is the word that lists show, without blanks.
func statusWord(s engine.Status) string { return strings.ReplaceAll(looks[s].word, " ", "-") }

func statusWords() []string {
	var words []string
	for _, s := range runStatuses() {
		words = append(words, statusWord(s))
	}
	return words
}
