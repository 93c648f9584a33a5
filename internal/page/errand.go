package page

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/view"
)

// Errand is what a planner was asked for, and what came of it. No file has its text until the
// person takes it.
type Errand struct {
	ID, Path, PlanTo, Why string
	Fresh                 bool  // a plan of a request: there is no file yet
	Since                 int64 // milliseconds; 0 once it is over
	Ended                 string
	Said                  string
	Reasoning             string
	Title                 string
	Parts                 []Answered      // what differs, beside the comments
	Lines                 []view.DiffLine // all that differs
	Steps                 []ReviewStep
	Counts                string
	Findings              []Finding
	Seen                  string // the hash of the text that was to be changed
	Take                  bool
	Rejected              string // who did not want it
}

// redraft asks the planner for another text of a plan.
func (w *Workspace) redraft(ctx context.Context, rel string, q api.Redrafting, r *http.Request) (string, *Confirm, error) {
	q.Path, q.Consent = filepath.Join(w.Product.Place.Dir, rel), consent(r)
	return w.errandOf(ctx, func() (api.Planned, error) { return w.Client.Redraft(ctx, q) })
}

// consent is what the person said to the configuration.
func consent(r *http.Request) api.Consent {
	return api.Consent{Yes: r.PostFormValue("config") != "", Settings: r.PostFormValue("config")}
}

// errandOf asks a planner, and leads to what comes of it. Nobody waits for that: the owner
// carries it on.
func (w *Workspace) errandOf(ctx context.Context, ask func() (api.Planned, error)) (string, *Confirm, error) {
	planned, err := ask()
	if err != nil {
		return "", nil, err
	}
	if planned.Needs != "" {
		return "", &Confirm{
			What: "Nobody has approved the configuration of this workspace", Yes: "Approve the configuration, and ask",
			Changes: []string{"by it the planner is " + planned.Who}, config: w.Settings(),
		}, nil
	}
	return errandPath(planned.Errand), nil, w.Client.HandOver(ctx, engine.WorkspaceStream, api.Leave)
}

func errandPath(id string) string { return "/errands/" + url.PathEscape(id) }

func errand(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	row, out, err := w.errand(ctx, r.PathValue("errand"))
	if err != nil {
		return sheet{}, err
	}
	x := Errand{ID: row.Asked.Errand, Path: row.Asked.Path, Why: row.Asked.Why, Fresh: row.Asked.Source == ""}
	p := sheet{Title: "Changes to " + x.Path, Nav: "plans"}
	if x.Fresh {
		p.Title, x.Path = "A new plan", ""
	} else {
		x.PlanTo = planPath(x.Path)
	}
	switch {
	case row.Ended == nil && row.Withdrawn == "":
		x.Since, p.Refresh = w.Now().UnixMilli(), waitTime
	case row.Withdrawn != "":
		x.Ended = "The request was withdrawn by " + row.Withdrawn + "."
	case out.Source == nil:
		x.Ended, x.Said = "The planner made no plan: "+row.Ended.Reason, out.Said
	default:
		err = w.drawn(ctx, &x, row, out)
	}
	p.Body = x
	return p, err
}

// waitTime is how often an errand under way is looked at, in seconds.
const waitTime = 3

// forPlan reports whether an errand is a request for a plan, or for another text of one.
func forPlan(a engine.ErrandAsked) bool {
	return a.Kind == engine.PlanWork && a.Path != "" && len(a.Contracts) == 0
}

// errand is a request for a plan, or for another text of one, and what the planner answered.
func (w *Workspace) errand(ctx context.Context, id string) (row engine.ErrandRow, out planner.Outcome, err error) {
	if row, err = w.Errand(ctx, id); err == nil && !forPlan(row.Asked) {
		err = &api.Problem{Code: api.NotFound, Message: "errand " + id + " is no request for a plan", Hint: "piton status shows errands"}
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

// drawn fills in the planner's text, and what is different in it.
func (w *Workspace) drawn(ctx context.Context, x *Errand, row engine.ErrandRow, out planner.Outcome) error {
	x.Reasoning, x.Ended = out.Reasoning, out.Ended
	lines := linesOf(out.Source)
	for _, f := range api.Serious(out.Findings) {
		x.Findings = append(x.Findings, findingOf(f, lines))
	}
	if row.Plan != "" {
		made, err := w.Revision(ctx, row.Plan)
		if err != nil {
			return err
		}
		if made.Rejected() {
			x.Rejected = made.Answer.By
		}
		x.Take = out.OK() && !made.Rejected() && !(x.Fresh && made.Filed)
		if x.Fresh {
			x.Path = made.Drafted.Path
		}
		if made.Filed {
			x.PlanTo = planPath(made.Drafted.Path)
		}
	}
	doc := w.Verify(ctx, filepath.Join(w.Product.Place.Dir, x.Path), out.Source)
	if doc.Plan == nil {
		return nil
	}
	x.Title, x.Counts = doc.Plan.Title.Value, view.Plural(len(doc.Plan.Steps), "step", "steps")
	if x.Fresh {
		x.Steps, _ = reviewSteps(doc, "s")
		return nil
	}
	was, err := w.Store.Object(ctx, row.Asked.Source)
	if err != nil {
		return fmt.Errorf("read the text that was to be changed: %w", err)
	}
	x.Lines = view.DiffLines(string(diff.Diff(x.Path, was, "the planner's text", out.Source)), maxDiff)
	if before := api.Parse(x.Path, was).Plan; before != nil {
		told := comments(row.Asked.Why)
		if row.Asked.Step != "" {
			told = []Comment{{row.Asked.Step, row.Asked.Why}}
		}
		x.Seen, x.Parts = before.Hash(), beside(told, before, doc.Plan)
	}
	return nil
}

// take carries out what the person said to an errand: take its text, unless somebody changed
// the file meanwhile; not want it; or withdraw the request.
func take(ctx context.Context, w *Workspace, r *http.Request) (string, *Confirm, error) {
	row, _, err := w.errand(ctx, r.PathValue("errand"))
	if err != nil {
		return "", nil, err
	}
	say := r.PostFormValue("say")
	if say == "withdraw" {
		_, err := w.Client.Withdraw(ctx, api.Withdrawal{Errand: row.Asked.Errand})
		return errandPath(row.Asked.Errand), nil, err
	}
	if row.Plan == "" {
		return "", nil, &api.Problem{Code: api.Conflict, Message: "there is no text to take", Hint: "ask again, in other words"}
	}
	made, err := w.Revision(ctx, row.Plan)
	if err != nil {
		return "", nil, err
	}
	path := filepath.Join(w.Product.Place.Dir, filepath.FromSlash(made.Drafted.Path))
	switch say {
	case "take":
		_, err = w.Client.Restore(ctx, api.Restore{Path: path, Seen: r.PostFormValue("seen"), Plan: row.Plan})
		return planPath(made.Drafted.Path), nil, err
	case "reject":
		_, err = w.Client.Reject(ctx, api.Saying{Word: row.Plan, Why: typed(r.PostFormValue("why"))})
		if row.Asked.Source != "" {
			return planPath(row.Asked.Path), nil, err
		}
		return errandPath(row.Asked.Errand), nil, err
	}
	return "", nil, unsaid(say, "the planner's text")
}

// New is the form by which a plan is asked for.
type New struct {
	Request, Refused string
	Planner          string // who is asked; "" for nobody
}

func fresh(_ context.Context, w *Workspace, r *http.Request) (sheet, error) {
	return w.fresh(r.URL.Query().Get("request"), ""), nil
}

func (w *Workspace) fresh(request, refused string) sheet {
	return sheet{Title: "New plan", Nav: "plans", Body: New{Request: request, Refused: refused, Planner: w.planner()}}
}

// planner says who makes plans; "" for nobody.
func (w *Workspace) planner() string {
	if m := w.Config.Planner; m.Agent != "" || m.API != "" {
		return cmp.Or(m.Agent, m.Model)
	}
	return ""
}

// plans asks the planner for a plan. The owner keeps what comes of it until the person takes it.
func plans(ctx context.Context, w *Workspace, r *http.Request) (string, *Confirm, error) {
	request := strings.TrimSpace(typed(r.PostFormValue("request")))
	if request == "" {
		return "", nil, &again{http.StatusUnprocessableEntity, w.fresh("", "Say what you want.")}
	}
	q := api.Planning{Request: request, Path: filepath.Join(w.Product.Place.Dir, api.PlansDir) + "/", Consent: consent(r)}
	return w.errandOf(ctx, func() (api.Planned, error) { return w.Client.Plan(ctx, q) })
}
