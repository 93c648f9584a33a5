package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/view"
)

// Errand is a plan that a planner was asked to change, and what came of it. The file has its own
// text until the person takes the other one.
type Errand struct {
	ID, Path, PlanTo, Why string
	Since                 int64 // milliseconds; 0 once it is over
	Ended                 string
	Said                  string
	Reasoning             string
	Lines                 []DiffLine
	Counts                string
	Findings              []Finding
	Seen                  string // the hash of the text that was to be changed
	Take                  bool
}

// redraft asks the planner for another text of a plan.
func (w *Workspace) redraft(ctx context.Context, path string, r *http.Request) (string, *Confirm, error) {
	q := api.Redrafting{Path: path, Why: r.PostFormValue("why"), Consent: api.Consent{Yes: r.PostFormValue("config") != "", Settings: r.PostFormValue("config")}}
	planned, err := w.Client.Redraft(ctx, q)
	if err != nil {
		return "", nil, err
	}
	if planned.Needs != "" {
		return "", &Confirm{
			What: "Nobody has approved the configuration of this workspace", Yes: "Approve the configuration, and ask",
			Changes: []string{"by it the planner is " + planned.Who}, config: w.Settings(),
		}, nil
	}
	err = w.Client.Carry(ctx, engine.WorkspaceStream, api.Leave, func() error { return errCarried })
	if errors.Is(err, errCarried) {
		err = nil
	}
	return "/errands/" + planned.Errand, nil, err
}

func errand(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	row, out, err := w.errand(ctx, r.PathValue("errand"))
	if err != nil {
		return sheet{}, err
	}
	x := Errand{ID: row.Asked.Errand, Path: row.Asked.Path, PlanTo: planPath(row.Asked.Path), Why: row.Asked.Why}
	p := sheet{Title: "Changes to " + x.Path, Nav: "plans", Body: x}
	if row.Ended == nil && row.Withdrawn == "" {
		x.Since = w.Now().UnixMilli()
		p.Refresh = waitTime
		p.Body = x
		return p, nil
	}
	switch {
	case row.Withdrawn != "":
		x.Ended = "The request was withdrawn by " + row.Withdrawn + "."
	case out.Source == nil:
		x.Ended, x.Said = "The planner made no plan: "+row.Ended.Reason, out.Said
	default:
		was, err := w.Store.Object(ctx, row.Asked.Source)
		if err != nil {
			return p, fmt.Errorf("read the text that was to be changed: %w", err)
		}
		x.compare(was, out, row.Plan != "")
	}
	p.Body = x
	return p, nil
}

// waitTime is how often an errand under way is looked at, in seconds.
const waitTime = 3

// errand is a request for another text of a plan, and what the planner answered.
func (w *Workspace) errand(ctx context.Context, id string) (row engine.ErrandRow, out planner.Outcome, err error) {
	if row, err = w.Errand(ctx, id); err == nil && (row.Asked.Source == "" || row.Asked.Path == "" || len(row.Asked.Contracts) > 0) {
		err = &api.Problem{Code: api.NotFound, Message: "errand " + id + " is no request to change a plan", Hint: "piton status shows errands"}
	}
	if err != nil || row.Ended == nil || row.Ended.Output == "" {
		return row, out, err
	}
	body, err := w.Store.Object(ctx, row.Ended.Output)
	if err == nil {
		err = json.Unmarshal(body, &out)
	}
	if err != nil {
		err = fmt.Errorf("read what the planner answered: %w", err)
	}
	return row, out, err
}

// compare fills in what is different in the planner's text.
func (x *Errand) compare(was []byte, out planner.Outcome, recorded bool) {
	x.Reasoning, x.Ended = out.Reasoning, out.Ended
	x.Lines = diffLines(string(diff.Diff(x.Path, was, "the planner's text", out.Source)))
	for _, f := range api.Serious(out.Findings) {
		x.Findings = append(x.Findings, findingOf(f, out.Source))
	}
	before := api.Parse(x.Path, was).Plan
	if after := api.Parse(x.Path, out.Source).Plan; before != nil && after != nil {
		x.Seen, x.Counts = before.Hash(), view.Plural(len(after.Steps), "step", "steps")
		x.Take = out.OK() && recorded
	}
}

// take gives the file the planner's text, unless somebody changed it meanwhile.
func take(ctx context.Context, w *Workspace, r *http.Request) (string, *Confirm, error) {
	row, _, err := w.errand(ctx, r.PathValue("errand"))
	if err == nil && row.Plan == "" {
		err = &api.Problem{Code: api.Conflict, Message: "there is no text to take", Hint: "ask again, in other words"}
	}
	if err != nil {
		return "", nil, err
	}
	path := filepath.Join(w.Product.Place.Dir, filepath.FromSlash(row.Asked.Path))
	_, err = w.Client.Restore(ctx, api.Restore{Path: path, Seen: r.PostFormValue("seen"), Plan: row.Plan})
	return planPath(row.Asked.Path), nil, err
}
