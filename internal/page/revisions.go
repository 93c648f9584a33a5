package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// Revisions are the texts that a plan had, and what is different between two of them.
type Revisions struct {
	To, Title string
	Here      string        // this page
	Rows      []RevisionRow // the newest first
	One, Two  int           // those that are compared
	Why       string        // there is the second, in its planner's words
	Counts    string
	Header    []string // what is different before the steps
	Weaker    []string
	Told      []string // comments that are of no step that changed
	Changes   []StepChange
	Same      string
}

// RevisionRow is a text of a plan.
type RevisionRow struct {
	Version  int
	To       string // where it is compared with the one before
	By, Note string
	At       When
	State    State
	Current  bool
}

// StepChange is a step that is different, beside the comments that asked for it.
type StepChange struct {
	How, Title string
	Was, Is    string // its numbers; "" where it is not there
	Labels     string // what of it is different
	Gone, Come []CodeLine
	Comments   []string
}

// revisions compares texts of a plan.
func revisions(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	rel, err := w.Inside(r.PathValue("path"))
	if err != nil {
		return sheet{}, err
	}
	all, err := w.History(ctx, rel)
	if err != nil {
		return sheet{}, err
	}
	at := func(version int) int {
		return slices.IndexFunc(all, func(e api.Entry) bool { return e.Drafted.Version == version })
	}
	pick := func(name string, usual int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && at(n) >= 0 {
			return n
		}
		return usual
	}
	last := len(all) - 1
	x := Revisions{To: planPath(rel), Here: revisionsPath(rel), Title: all[last].Drafted.Title}
	x.Two = pick("to", all[last].Drafted.Version)
	x.One = pick("from", all[max(0, at(x.Two)-1)].Drafted.Version)
	for i, e := range slices.Backward(all) {
		x.Rows = append(x.Rows, revisionRow(e, all[max(0, i-1)].Drafted.Version, w.Now().Year(), e.Drafted.Version == x.Two))
	}
	if x.One == x.Two {
		return sheet{Title: "Revisions: " + x.Title, Nav: "plans", Body: x}, nil
	}
	one, two := all[at(x.One)], all[at(x.Two)]
	_, was, err := w.Kept(ctx, one.Drafted.Plan)
	if err != nil {
		return sheet{}, err
	}
	_, is, err := w.Kept(ctx, two.Drafted.Plan)
	if err != nil {
		return sheet{}, err
	}
	if was.Plan == nil || is.Plan == nil {
		return sheet{}, &api.Problem{Code: api.Invalid, Message: "this version of Piton cannot read one of the texts", Hint: fmt.Sprintf("piton diff %s@%d %s@%d compares them line by line", rel, x.One, rel, x.Two)}
	}
	x.Why = two.Drafted.Reason
	told, err := w.told(ctx, all[at(x.One)+1:max(at(x.One), at(x.Two))+1])
	if err != nil {
		return sheet{}, err
	}
	x.compare(told, was.Plan, is.Plan)
	return sheet{Title: "Revisions: " + x.Title, Nav: "plans", Body: x}, nil
}

// told is what people asked the planner for, of which revisions came.
func (w *Workspace) told(ctx context.Context, all []api.Entry) (told []Comment, err error) {
	for _, e := range all {
		if e.Drafted.Errand == "" {
			continue
		}
		errand, err := w.Errand(ctx, e.Drafted.Errand)
		if err != nil {
			return nil, err
		}
		told = append(told, comments(errand.Asked.Why)...)
	}
	return told, nil
}

func revisionRow(e api.Entry, before, year int, current bool) RevisionRow {
	d := e.Drafted
	row := RevisionRow{
		Version: d.Version, To: fmt.Sprintf("?from=%d&to=%d", before, d.Version), By: d.By, At: clock(e.At), State: stateOf(view.PlanStatus(e.Revision), ""), Note: d.Changes, Current: current,
	}
	if d.Errand != "" {
		row.By = "the planner, for " + d.By
	}
	form := "2 Jan 15:04"
	if e.At.Local().Year() != year {
		form = "2 Jan 2006"
	}
	row.At.Text = e.At.Local().Format(form)
	if len(e.Runs) > 0 {
		row.Note = view.Join(slices.DeleteFunc([]string{row.Note, "run " + view.Join(e.Runs)}, func(s string) bool { return s == "" }))
	}
	return row
}

// compare puts what is different step by step beside what was asked for.
func (x *Revisions) compare(told []Comment, was, is *plan.Plan) {
	d := verify.Diff(was, is)
	x.Counts, x.Header, x.Weaker = d.Counts(), d.Header, api.WeakenedLines(d)
	number := func(p *plan.Plan, id string) string {
		if i := stepOf(p, id); i >= 0 {
			return p.Steps[i].Number
		}
		return ""
	}
	for _, c := range d.Steps {
		s := StepChange{How: string(c.How), Title: c.Title, Was: number(was, c.ID), Is: number(is, c.ID), Labels: view.Join(c.Labels)}
		text := string(diff.Diff("a", stepBytes(was, c.ID), "b", stepBytes(is, c.ID)))
		if at := strings.Index(text, "\n@@"); at >= 0 {
			for _, l := range fileLines(strings.Split(strings.TrimSuffix(text[at+1:], "\n"), "\n"), nil) {
				switch l.Tone {
				case "d":
					s.Gone = append(s.Gone, l)
				case "a":
					s.Come = append(s.Come, l)
				}
			}
		}
		told = slices.DeleteFunc(told, func(say Comment) bool {
			if say.Step == c.ID {
				s.Comments = append(s.Comments, say.Text)
			}
			return say.Step == c.ID
		})
		x.Changes = append(x.Changes, s)
	}
	for _, say := range told {
		if say.Step != "" {
			say.Text = "step " + say.Step + ": " + say.Text
		}
		x.Told = append(x.Told, say.Text)
	}
	same := len(is.Steps)
	for _, c := range d.Steps {
		if c.How != verify.Removed {
			same--
		}
	}
	if same > 0 {
		x.Same = view.Plural(same, "step is the same", "steps are the same")
	}
}

// revisionsPath is the page with the texts that a plan had.
func revisionsPath(rel string) string {
	return "/revisions" + strings.TrimPrefix(planPath(rel), "/plans")
}
