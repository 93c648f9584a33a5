package view

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Listing is which runs are asked for.
type Listing struct {
	Status   []engine.Status // with one of these; nil for any
	Title    string          // with this text in it, in any case
	Recent   int             // at most, the newest; 0 for all
	Archived bool            // only archived ones
}

// Listed is what was found.
type Listed struct {
	Plans   []*engine.Revision // of which nothing was run yet
	Heads   []engine.HeadRow
	By      Stands
	Changed map[string]bool // by run: its plan document has another text now
	More    bool            // there are older ones

	workspace string
	now       time.Time
}

// List reads the runs, and the plans that never ran, that fit, the newest first.
func (r Reader) List(ctx context.Context, l Listing) (found Listed, err error) {
	found = Listed{Changed: map[string]bool{}, workspace: r.Product.Place.Dir, now: r.Now()}
	if found.By, err = r.Stands(ctx); err != nil {
		return found, err
	}
	if found.Heads, err = r.heads(ctx, l, among(l.Status, found.By)); err != nil {
		return found, err
	}
	if found.Plans, err = r.unrun(ctx, l); err != nil {
		return found, err
	}
	if n := l.Recent; n > 0 {
		found.More = len(found.Heads) > n || len(found.Plans) > n
		found.Heads, found.Plans = found.Heads[:min(n, len(found.Heads))], found.Plans[:min(n, len(found.Plans))]
	}
	found.Heads = families(found.Heads)
	for _, h := range found.Heads {
		if h.Ended {
			continue
		}
		if found.Changed[h.Run], err = r.Changed(ctx, h); err != nil {
			return found, err
		}
	}
	return found, nil
}

// RunList is a list for programs.
type RunList struct {
	More  bool       `json:"more"`
	Plans []Revision `json:"plans"`
	Runs  []Run      `json:"runs"`
}

// Document is a list for programs.
func (l Listed) Document() RunList {
	runs, plans := []Run{}, []Revision{}
	for _, h := range l.Heads {
		doc := l.By.RunOf(h, l.workspace, l.now)
		doc.Changed, doc.Carried = l.Changed[h.Run], new(l.By.On(h))
		runs = append(runs, doc)
	}
	for _, r := range l.Plans {
		plans = append(plans, revisionOf(api.Entry{Revision: r}))
	}
	return RunList{More: l.More, Plans: plans, Runs: runs}
}

// unrun are the plans that fit and of which nothing was run yet, the newest
// first. Those that have a yes or a no are looked for only where they are asked
// for: that reads all that was ever said to a plan.
func (r Reader) unrun(ctx context.Context, l Listing) ([]*engine.Revision, error) {
	if l.Archived {
		return nil, nil
	}
	find := r.UnrunProposals
	if slices.Contains(l.Status, Approved) || slices.Contains(l.Status, Rejected) {
		find = r.Unrun
	}
	plans, err := find(ctx)
	slices.Reverse(plans)
	return slices.DeleteFunc(plans, func(r *engine.Revision) bool {
		return len(l.Status) > 0 && !slices.Contains(l.Status, PlanStatus(r)) || !strings.Contains(store.Fold(r.Drafted.Title), store.Fold(l.Title))
	}), err
}

// heads are the runs that fit and are archived, or are not; with fits only those
// of them. There is one more than was asked for where there are older ones.
func (r Reader) heads(ctx context.Context, l Listing, fits func(engine.HeadRow) bool) ([]engine.HeadRow, error) {
	shelf, err := r.Archived(ctx)
	if err != nil {
		return nil, err
	}
	filter := store.HeadFilter{Title: l.Title, Status: stored(l.Status)}
	if l.Recent > 0 && !l.Archived && fits == nil { // else they may be anywhere
		filter.Limit = l.Recent + 1 + len(shelf)
	}
	heads, err := r.Store.Heads(ctx, filter)
	return slices.DeleteFunc(heads, func(h engine.HeadRow) bool {
		return fits != nil && !fits(h) || slices.Contains(shelf, h.Run) != l.Archived
	}), err
}

// moving reports whether the journal may have a run that people see so as running:
// it is interrupted where nobody carries it on, and waits where a run does that
// carries out a step of it.
func moving(s engine.Status) bool {
	return s == engine.Running || s == engine.Replanning || s == Interrupted || s == engine.Waiting
}

// stored are the statuses that the journal has for those that people see.
func stored(asked []engine.Status) []engine.Status {
	in := slices.DeleteFunc(slices.Clone(asked), func(s engine.Status) bool { return s == Interrupted })
	for _, s := range []engine.Status{engine.Running, engine.Replanning} {
		if slices.ContainsFunc(asked, moving) && !slices.Contains(in, s) {
			in = append(in, s)
		}
	}
	return in
}

// among tells the runs that stand as was asked from those that only the journal
// takes for such; nil if it takes none.
func among(asked []engine.Status, by Stands) func(engine.HeadRow) bool {
	if !slices.ContainsFunc(asked, moving) {
		return nil
	}
	return func(h engine.HeadRow) bool { return slices.Contains(asked, by.Of(h)) }
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

// inPlace puts the instances of steps below the steps that they are of.
func inPlace(rows []engine.StepRow) []engine.StepRow {
	place := make(map[string]int, len(rows))
	for _, r := range rows {
		place[r.ID] = r.Index
	}
	of := func(r engine.StepRow) int {
		if pattern, instance := engine.InstanceOf(r.ID); instance {
			return place[pattern]
		}
		return r.Index
	}
	sort.SliceStable(rows, func(i, j int) bool { return cmp.Or(of(rows[i])-of(rows[j]), rows[i].Index-rows[j].Index) < 0 })
	return rows
}
