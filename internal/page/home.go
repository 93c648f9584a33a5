package page

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// Home is what waits for the person, what is at work, and the plans there are.
type Home struct {
	Asks  []AskRow
	Work  []RunRow // not ended
	Past  []RunRow
	More  bool // there are older runs
	Plans []PlanRow
}

// RunRow is a run in a list.
type RunRow struct {
	ID, Title     string
	Version       int
	State         State
	Reason        string
	Done, Total   int
	Percent       int
	Spent         string
	Took          string
	Started       When
	Changed, Sub  bool // its plan document has another text now; it carries out a step of another run
	Waiting       int
	WaitsForMerge bool
}

// PlanRow is a plan of which nothing was run yet, or a plan file with the newest run of it.
type PlanRow struct {
	To, Path, Title string
	State           State // of a file that was never recorded: none
	At              When
}

// AskRow is something that waits for the person.
type AskRow struct {
	To      string // where it is answered
	Kind    string
	Title   string
	About   string
	At      When
	Verb    string
	Current bool
}

// recent is how many runs are listed.
const recent = 50

func home(ctx context.Context, w *Workspace, _ *http.Request) (sheet, error) {
	found, err := w.List(ctx, view.Listing{Recent: recent})
	if err != nil {
		return sheet{}, err
	}
	now, h := w.Now(), Home{More: found.More}
	if h.Asks, err = w.asks(ctx, now); err != nil {
		return sheet{}, err
	}
	plans := map[string]PlanRow{} // of files of which something was run, by path
	for _, head := range slices.Backward(found.Heads) {
		plans[head.Path] = PlanRow{planPath(head.Path), head.Path, head.Title, stateOf(found.By.Of(head), ""), ago(head.Started, now)}
	}
	for _, head := range found.Heads {
		row := runRow(head, found.By, now)
		row.Changed = found.Changed[head.Run]
		if head.Ended {
			h.Past = append(h.Past, row)
		} else {
			h.Work = append(h.Work, row)
		}
	}
	for _, r := range found.Plans {
		h.Plans = append(h.Plans, PlanRow{planPath(r.Drafted.Path), r.Drafted.Path, r.Drafted.Title, stateOf(view.PlanStatus(r), ""), ago(r.At, now)})
	}
	for _, file := range w.PlanFiles() {
		row, ran := plans[file]
		switch {
		case ran:
			h.Plans = append(h.Plans, row)
		case !slices.ContainsFunc(h.Plans, func(p PlanRow) bool { return p.Path == file }):
			h.Plans = append(h.Plans, PlanRow{To: planPath(file), Path: file, Title: file})
		}
	}
	return sheet{Title: "Plans", Nav: "plans", Body: h}, nil
}

// planPath is the page on which the plan of a file is reviewed.
func planPath(file string) string { return "/plans/" + (&url.URL{Path: file}).EscapedPath() }

func runRow(h engine.HeadRow, by view.Stands, now time.Time) RunRow {
	row := RunRow{
		ID: h.Run, Title: h.Title, Version: h.Version, State: stateOf(by.Of(h), ""), Reason: h.Reason, Done: h.Settled, Total: h.Total,
		Percent: percent(int64(h.Settled), int64(h.Total)), Spent: view.Join(view.Spent(h, now)), Started: ago(h.Started, now),
		Sub: h.Parent.Run != "", Waiting: by.Open(h), WaitsForMerge: h.Branch.Waits,
	}
	if h.Ended || by.On(h) {
		row.Took = view.Span(h.Work.At(now))
	}
	return row
}

// asks are all that waits for the person, the oldest first; plans are approved where they are
// reviewed.
func (w *Workspace) asks(ctx context.Context, now time.Time) ([]AskRow, error) {
	items, err := w.Store.Items(ctx, store.ItemFilter{Open: true})
	if err != nil {
		return nil, err
	}
	var rows []AskRow
	for _, it := range items {
		rows = append(rows, askRow(it, now))
	}
	plans, err := w.Proposals(ctx)
	for _, r := range plans {
		p := r.Drafted
		about := p.Path
		if len(p.Weakened) > 0 {
			about += " · proves or guards less than before"
		}
		rows = append(rows, AskRow{To: planPath(p.Path), Kind: "plan", Title: p.Title, About: about, At: ago(r.At, now), Verb: "Review"})
	}
	return rows, err
}
