package page

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// Home is what waits for the person, what is at work, and the plans there are.
type Home struct {
	Asks  []AskRow
	Work  []RunRow // not ended
	Past  []RunRow
	More  int // so many runs are on the page that has older ones too; 0 where there are none
	Plans []PlanRow
	Asked []AskedRow // of planners, and not answered yet
}

// AskedRow is what a planner is at work on.
type AskedRow struct{ To, Title string }

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
	Ran             bool
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

// recent is how many runs are listed at first, and mostRecent at most.
const recent, mostRecent = 50, 10_000

func home(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	shown, _ := strconv.Atoi(r.URL.Query().Get("show")) // 0, which is too few, for no number
	shown = max(recent, min(shown, mostRecent))
	found, err := w.List(ctx, view.Listing{Recent: shown})
	if err != nil {
		return sheet{}, err
	}
	now, h := w.Now(), Home{}
	if found.More && shown < mostRecent {
		h.More = min(4*shown, mostRecent)
	}
	if h.Asks, err = w.asks(ctx, now); err != nil {
		return sheet{}, err
	}
	if h.Asked, err = w.asked(ctx); err != nil {
		return sheet{}, err
	}
	plans := map[string]PlanRow{} // of files of which something was run, by path
	for _, head := range slices.Backward(found.Heads) {
		plans[head.Path] = PlanRow{planPath(head.Path), head.Path, head.Title, true, stateOf(found.By.Shown(head), ""), ago(head.Started, now)}
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
		h.Plans = append(h.Plans, PlanRow{planPath(r.Drafted.Path), r.Drafted.Path, r.Drafted.Title, false, stateOf(view.PlanStatus(r), ""), ago(r.At, now)})
	}
	for i, file := range w.PlanFiles() {
		row, ran := plans[file]
		switch {
		case ran:
			h.Plans = append(h.Plans, row)
		case !slices.ContainsFunc(h.Plans, func(p PlanRow) bool { return p.Path == file }):
			h.Plans = append(h.Plans, PlanRow{To: planPath(file), Path: file, Title: w.titleOf(ctx, file, i < mostPlans)})
		}
	}
	return sheet{Title: "Plans", Nav: "plans", Body: h}, nil
}

// titleOf is the title of a plan file, or its name where it has none or is not read.
func (w *Workspace) titleOf(ctx context.Context, file string, read bool) string {
	if !read {
		return file
	}
	source, err := w.Text(ctx, api.NamedText{Path: filepath.Join(w.Product.Place.Dir, file)})
	if err != nil {
		return file
	}
	if p := api.Parse(file, source).Plan; p != nil {
		return cmp.Or(p.Title.Value, file)
	}
	return file
}

// planPath is the page on which the plan of a file is reviewed.
func planPath(file string) string { return "/plans/" + (&url.URL{Path: file}).EscapedPath() }

func runRow(h engine.HeadRow, by view.Stands, now time.Time) RunRow {
	row := RunRow{
		ID: h.Run, Title: h.Title, Version: h.Version, State: stateOf(by.Shown(h), ""), Reason: h.Reason, Done: h.Settled, Total: h.Total,
		Percent: percent(int64(h.Settled), int64(h.Total)), Spent: view.Join(view.Spent(h, now)), Started: ago(h.Started, now),
		Sub: h.Parent.Run != "", Waiting: by.Open(h), WaitsForMerge: h.Branch.Waits,
	}
	if (h.Ended || by.On(h)) && h.Budget.Limits.Wall == 0 { // else it is in what was spent
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
		to := planPath(p.Path)
		if p.Errand != "" && !r.Filed { // no file has its text
			to = errandPath(p.Errand)
		}
		rows = append(rows, AskRow{To: to, Kind: "plan", Title: p.Title, About: about, At: ago(r.At, now), Verb: "Review"})
	}
	return rows, err
}

// asked are the errands of planners that are under way.
func (w *Workspace) asked(ctx context.Context) (rows []AskedRow, err error) {
	open, err := w.Underway(ctx)
	for _, row := range open {
		if !forPlan(row.Asked) {
			continue
		}
		title := "A new plan"
		if row.Asked.Source != "" {
			title = "Changes to " + row.Asked.Path
		}
		rows = append(rows, AskedRow{To: errandPath(row.Asked.Errand), Title: title})
	}
	return rows, err
}
