package page

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Run is a run as it stands, with what happened in it.
type Run struct {
	Head   RunHead
	Orders Orders
	Asks   Asks
	Steps  Steps
	Log    Log
	Events string // where its changes come from
}

// RunHead is what a run is, how far it is, and what it has used.
type RunHead struct {
	ID, Title, PlanTo, Reason, By string
	Version                       int
	State                         State
	Started                       When
	Since                         int64 // milliseconds, of one that is at work; else 0
	Took                          string
	Note                          string // that nobody carries it on, or what its plan document proposes
	NoteTo                        string
	Sums                          string
	Isolation, Worktree, Parent   string
	ParentTo                      string
	Cells                         []string // the tone of each step; none for very many
	Meters                        []Meter
}

// Meter is how much of something is used.
type Meter struct {
	Name, Text string
	Percent    int // -1 where it is not limited
	Tone       string
}

// Orders are what a person can tell a run to do now.
type Orders struct {
	Run                   string
	Pause, Resume, Cancel bool
}

// Asks are the questions of a run.
type Asks struct{ Rows []AskRow }

// Steps are the steps of a run.
type Steps struct{ Rows []StepRow }

// StepRow is a step in the list of its run, with those of the run that carries it out.
type StepRow struct {
	DOM                          string // its id in the page
	Run, ID, To                  string
	Number, Title, Agent, Reason string
	State                        State
	Attempts                     int
	Verdict, Loop, Said, Took    string
	Since                        int64
	Unproven, Tried, Retry, Skip bool
	Failure                      *Failure
	Child                        string
	Under                        []StepRow
}

// Failure is a check that an attempt did not pass.
type Failure struct {
	Attempt             int
	Cause, Words        string // why the work itself ended so, in the agent's own words
	Check, Command, How string
	Stdout, Stderr      string
}

// mostCells is how many steps have a cell each.
const mostCells = 120

// stepPath is the page of a step.
func stepPath(run, step string) string { return "/runs/" + run + "/steps/" + url.PathEscape(step) }

func run(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	head, err := w.run(ctx, r.PathValue("run"))
	if err != nil {
		return sheet{}, err
	}
	c := w.chronicle(head)
	if err := c.read(ctx); err != nil {
		return sheet{}, err
	}
	body, err := w.stood(ctx, head, c)
	if err != nil {
		return sheet{}, err
	}
	body.Log = c.log()
	body.Events = fmt.Sprintf("/runs/%s/events?after=%d", head.Run, c.count)
	return sheet{Title: head.Title, Nav: "plans", Body: body}, nil
}

// run finds a run by its whole id.
func (w *Workspace) run(ctx context.Context, id string) (engine.HeadRow, error) {
	head, err := w.Find(ctx, id)
	if err == nil && head.Run != id {
		err = &api.Problem{Code: api.NotFound, Message: "no run " + id, Hint: "the page of plans lists the runs"}
	}
	return head, err
}

// stood is how a run stands now, but for its log.
func (w *Workspace) stood(ctx context.Context, head engine.HeadRow, c *chronicle) (Run, error) {
	st, err := w.Standing(ctx, head)
	if err != nil {
		return Run{}, err
	}
	h := st.Head
	x := Run{Head: runHead(st), Orders: Orders{
		Run: h.Run, Pause: st.Carried && h.Status != engine.Paused, Cancel: !h.Ended,
		Resume: st.Newest && h.Parent.Run == "" && (st.Adrift() || h.Status == engine.Paused || h.Ended && h.Status == engine.Failed),
	}}
	for _, it := range st.Items {
		x.Asks.Rows = append(x.Asks.Rows, askRow(it, st.Now))
	}
	x.Steps.Rows = stepRows(st, c, "s")
	return x, nil
}

func runHead(st view.Standing) RunHead {
	h := st.Head
	x := RunHead{
		ID: h.Run, Title: h.Title, Reason: h.Reason, By: h.ApprovedBy, Version: h.Version, State: stateOf(st.By.Of(h), ""), Started: ago(h.Started, st.Now),
		Took: view.Span(h.Work.At(cmp.Or(h.Finished, st.Now))), Sums: view.Join(view.Sums(h)), Meters: meters(h, st.Now),
	}
	if h.Path != "" && h.Parent.Run == "" {
		x.PlanTo = planPath(h.Path)
	}
	if h.Isolation == api.Unsealed {
		x.Isolation = "UNSEALED: agents and contracts see what you see"
	}
	if st.Place != nil {
		x.Worktree = st.Place.Branch
	}
	if h.Parent.Run != "" {
		x.Parent, x.ParentTo = "step "+view.Above(h.Parent)+" of run "+h.Parent.Run, "/runs/"+h.Parent.Run
	}
	switch {
	case st.Other != nil:
		x.Note, x.NoteTo = "The plan was changed since: "+st.Other.Summary()+".", x.PlanTo
	case st.Adrift() && h.Status != engine.Paused:
		x.Note = "Nobody carries this run on."
	}
	if len(st.Steps) <= mostCells {
		for _, s := range st.Steps {
			x.Cells = append(x.Cells, stateOf(s.Status, s.Phase).Tone)
		}
	}
	return x
}

// meters say what was used of what is limited, and how many steps count.
func meters(h engine.HeadRow, now time.Time) []Meter {
	all := []Meter{{Name: "Steps", Text: fmt.Sprintf("%d of %d", h.Settled, h.Total), Percent: percent(int64(h.Settled), int64(h.Total))}}
	l, used := h.Budget.Limits, h.Budget.Spent
	add := func(name, text string, is, of int64) {
		m := Meter{Name: name, Text: text, Percent: -1}
		if of > 0 {
			if m.Percent = percent(is, of); m.Percent >= 80 {
				m.Tone = "t-warn"
			}
		}
		all = append(all, m)
	}
	at := h.Work.At(cmp.Or(h.Finished, now))
	text := view.Span(at)
	if l.Wall > 0 {
		text += " of " + view.Span(l.Wall)
	}
	add("Time", text, int64(at), int64(l.Wall))
	if text = view.Money(h.CostMicros); l.CostMicros > 0 {
		text = view.Money(used.CostMicros) + " of " + view.Money(l.CostMicros)
	}
	add("Cost", text+more(h.Effort.Cost.Silent), used.CostMicros, l.CostMicros)
	if text = view.Count(h.TokensIn + h.TokensOut); l.Tokens > 0 {
		text = view.Count(used.Tokens) + " of " + view.Count(l.Tokens)
	}
	add("Tokens", text+more(h.Effort.Tokens.Silent), used.Tokens, l.Tokens)
	return all
}

// more says that some attempts did not tell what they used.
func more(silent int) string {
	if silent == 0 {
		return ""
	}
	return " + " + view.Plural(silent, "attempt", "attempts") + " of unknown use"
}

func stepRows(st view.Standing, c *chronicle, dom string) (rows []StepRow) {
	for n, s := range st.Steps {
		row := stepRow(st, s)
		row.DOM = fmt.Sprintf("%s-%d", dom, n)
		if row.Tried {
			row.Failure = c.failed[[2]string{st.Head.Run, s.ID}]
		}
		if below, ok := st.Below[s.ID]; ok {
			row.Child, row.Under = below.Head.Run, stepRows(below, c, row.DOM)
		}
		rows = append(rows, row)
	}
	return rows
}

func stepRow(st view.Standing, s engine.StepRow) StepRow {
	row := StepRow{
		Run: st.Head.Run, ID: s.ID, To: stepPath(st.Head.Run, s.ID), Number: s.Number, Title: s.Title, Agent: s.Agent, Reason: s.Reason,
		State: stateOf(s.Status, s.Phase), Attempts: s.Attempts, Loop: view.LoopLine(s.Loop), Said: st.Said[s.ID].String(),
	}
	if s.Verdict != engine.Pass {
		row.Verdict = string(s.Verdict)
	}
	if s.Status == engine.Running && st.Asks(s.ID) {
		row.State = stateOf(engine.Waiting, "")
	}
	switch {
	case s.Status == engine.Running && !s.Started.IsZero() && st.Carried:
		row.Since, row.Took = s.Started.UnixMilli(), view.Span(st.Now.Sub(s.Started))
	case !s.Started.IsZero() && !s.Finished.IsZero():
		row.Took = view.Span(s.Finished.Sub(s.Started))
	}
	counts := slices.Contains([]engine.Status{engine.Done, engine.Waived, engine.Skipped}, s.Status)
	over := st.Head.Ended && st.Head.Status != engine.Failed
	row.Unproven = s.Status == engine.Done && !s.Proven
	row.Tried = s.Attempts > 0 && !counts
	row.Retry = !over && slices.Contains([]engine.Status{engine.Failed, engine.Skipped, engine.Waiting}, s.Status)
	row.Skip = !over && !counts && s.Status != engine.Running
	return row
}

// errCarried says that the owner carries a run on.
var errCarried = errors.New("the owner carries the run on")

// carry leaves a run to the owner.
func (w *Workspace) carry(ctx context.Context, o api.Opened) (string, error) {
	head, err := w.Find(ctx, o.Run)
	if err == nil && !head.Ended && head.Status != engine.Paused {
		err = w.Client.Carry(ctx, o.Stream, api.Leave, func() error { return errCarried })
	}
	if errors.Is(err, errCarried) {
		err = nil
	}
	return "/runs/" + o.Run, err
}

// orders are what a form of a run, or of a step, may say.
var orders = []engine.Verb{engine.DoPause, engine.DoCancel, engine.DoRetry, engine.DoSkip}

// order tells a run what the person wants.
func order(ctx context.Context, w *Workspace, r *http.Request) (string, *Confirm, error) {
	head, err := w.run(ctx, r.PathValue("run"))
	if err != nil {
		return "", nil, err
	}
	verb := engine.Verb(r.PostFormValue("verb"))
	if verb == engine.DoResume {
		opened, err := w.Client.Resume(ctx, api.Resume{Run: head.Run, Config: r.PostFormValue("config")})
		if err != nil || opened.Reconfigured != nil {
			return "", confirm(opened.Reconfigured), err
		}
		to, err := w.carry(ctx, opened)
		return to, nil, err
	}
	o := api.Order{Run: head.Run, Step: r.PostFormValue("step"), Verb: verb, Why: r.PostFormValue("why")}
	ofStep := verb == engine.DoRetry || verb == engine.DoSkip
	if !slices.Contains(orders, verb) || ofStep != (o.Step != "") {
		return "", nil, &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("a run cannot be told %q here", verb), Hint: "use the buttons of the run"}
	}
	_, err = w.Client.Order(ctx, o)
	return "/runs/" + head.Run, nil, err
}
