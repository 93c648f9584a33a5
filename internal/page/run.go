package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Run is a run as it stands, with what happened in it.
type Run struct {
	Trouble  Trouble
	Head     RunHead
	Orders   Orders
	Asks     Asks
	Meters   Meters
	Graph    Graph
	Timeline Timeline
	Panel    Panel
	Log      Log
	Events   string // where its changes come from
	Key      string // of what is looked at: another one hears other changes
}

// RunHead is what a run is, and how it stands.
type RunHead struct {
	ID, Title, PlanTo, Reason, By string
	Version                       int
	State                         State
	Counts                        string
	Started                       When
	Note                          string // that nobody carries it on, or what its plan document proposes
	PastTo                        string // the texts that its plan had
	NoteTo, NoteDo                string // where that is looked at, or the command that helps
	Isolation, Worktree, Parent   string
	ParentTo                      string
	Ended                         string // how it came out, in a sentence
	EndTone                       string
	Branch                        string // that its work waits on
	In                            string // the directory that has its work; "" while it goes on, or waits
	Todo                          string // what a person can do about it
}

// Meters are how far a run is, and what it has used.
type Meters struct {
	Cells []string // the tone of each step; none for very many
	All   []Meter
}

// Meter is how much of something is used, and may be used in the end.
type Meter struct {
	Name, Text    string
	Percent       int // -1 where it is not limited
	Ahead         int // percent that it may come to; -1 where that is not known
	Tone, Outlook string
}

// Orders are what a person can tell a run to do now.
type Orders struct {
	Run                         string
	Pause, Resume, Cancel, Land bool
}

// Asks are the questions of a run.
type Asks struct{ Rows []AskRow }

// Timeline is when which step was tried.
type Timeline struct {
	Axis  Axis
	Rows  TimeRows
	Order string // "" is that of the plan
	Step  string // the one that is looked at
}

// TimeRows are the steps of a run, with those of the runs that carry them out.
type TimeRows struct{ All []TimeRow }

// TimeRow is a step on the time of its run.
type TimeRow struct {
	DOM             string // its id in the page
	Path            string // the id of the step, behind those of the steps that it helps to carry out
	Number, Title   string
	State           State
	Took            string
	Since           int64
	Bars            []Bar
	Crit, Sub, Open bool
	Text            string // what the bars say
}

// Panel is the step that is looked at.
type Panel struct {
	Open   bool // there is one
	Row    StepRow
	Same   string // that a script was run again as it was
	EditTo string // where it is changed; "" where that is not here
	Asks   string // what a person is asked about it; "" for nothing
	AskTo  string
	Files  []FileChanged
}

// StepRow is a step with what can be done about it.
type StepRow struct {
	DOM                          string // its id in the page
	Run, ID, To                  string
	Number, Title, Agent, Reason string
	State                        State
	Attempts                     int
	Verdict, Loop, Said, Took    string
	Since                        int64
	Tried, Retry, Skip           bool
	Vouch                        bool // a person may say that what it changed is its work
	Failure                      *Failure
	Child                        string
}

// Failure is a check that an attempt did not pass.
type Failure struct {
	Attempt             int
	Cause, Words        string // why the work itself ended so, in the agent's own words
	Check, Command, How string
	Stdout, Stderr      string
	Work                string // what the work printed, where a check did not pass
	Unchanged           bool   // no change of the agent was seen
}

// looking is what of a run a person looks at.
type looking struct {
	step   string // the path of one; "" for the run
	find   string // only lines of the log with this text
	order  string // of the steps: slow has the slowest first
	before int    // lines of the log before this one; 0 for the newest
}

func lookingAt(r *http.Request) looking {
	q := r.URL.Query()
	l := looking{step: q.Get("step"), find: strings.TrimSpace(q.Get("q"))}
	if q.Get("order") == "slow" {
		l.order = "slow"
	}
	l.before, _ = strconv.Atoi(q.Get("before")) // 0 for no number
	return l
}

// key is what of it changes that comes to the page.
func (l looking) key() string {
	return url.Values{"step": {l.step}, "q": {l.find}, "order": {l.order}}.Encode()
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
	l := lookingAt(r)
	c := w.chronicle(head, l)
	if err := c.read(ctx); err != nil {
		return sheet{}, err
	}
	body, err := w.stood(ctx, head, c)
	if err != nil {
		return sheet{}, err
	}
	body.Log, body.Key = c.log(), l.key()
	body.Events = fmt.Sprintf("/runs/%s/events?after=%d&%s", head.Run, c.count, body.Key)
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
	if !c.asked {
		if c.past, err = w.Past(ctx, head); err != nil {
			return Run{}, err
		}
		c.asked = true
	}
	h, o := st.Head, c.outlook(st)
	x := Run{Head: runHead(st), Meters: metersOf(st, o), Orders: Orders{
		Run: h.Run, Pause: st.Carried && h.Status != engine.Paused, Cancel: !h.Ended, Land: h.Branch.Waits && h.Branch.Name != "" && st.Newest,
		Resume: st.Newest && h.Parent.Run == "" && (st.Adrift() || h.Status == engine.Paused || h.Ended && h.Status == engine.Failed),
	}}
	for _, it := range st.Items {
		x.Asks.Rows = append(x.Asks.Rows, askRow(it, st.Now))
	}
	if merged := h.Status == engine.Done && !h.Branch.Waits; h.Ended && h.Parent.Run == "" && (h.Branch.Name == "" || merged) {
		x.Head.In = w.Product.Place.Dir
	}
	places := placesOf(st, "s", "", false)
	open, ok := selected(places, c.look.step)
	x.Timeline = c.timeline(st, o, places, open.path)
	first, _ := c.sinceFirst(st)
	x.Graph = graph(first, c.gates(), o, strings.Split(open.path, "/")[0])
	if ok {
		x.Panel, err = w.panel(ctx, c, open)
	}
	return x, err
}

// place is a step in the list of a run, with the run that it is of.
type place struct {
	st        view.Standing
	row       engine.StepRow
	dom, path string
	sub       bool
}

// placesOf lists the steps of a run, each with those of the run that carries it out behind it.
func placesOf(st view.Standing, dom, path string, sub bool) (all []place) {
	for n, row := range st.Steps {
		p := place{st, row, fmt.Sprintf("%s-%d", dom, n), path + row.ID, sub}
		all = append(all, p)
		if below, ok := st.Below[row.ID]; ok {
			all = append(all, placesOf(below, p.dom, p.path+"/", true)...)
		}
	}
	return all
}

// selected is the step with a path. Without one it is the first that did not pass, and of those
// below it the first.
func selected(places []place, path string) (open place, found bool) {
	for _, p := range places {
		bad := p.row.Status == engine.Failed || p.row.Status == engine.Regressed || p.row.Status == engine.Waiting && p.row.Attempts > 0
		switch {
		case path != "":
			if p.path == path {
				return p, true
			}
		case bad && (!found || strings.HasPrefix(p.path, open.path+"/")):
			open, found = p, true
		}
	}
	return open, found
}

// standsAs is how people see a step.
func standsAs(st view.Standing, s engine.StepRow) State { return stateOf(st.Shown(s)) }

// timeline puts the steps on the time of the run.
func (c *chronicle) timeline(st view.Standing, o view.Outlook, places []place, open string) Timeline {
	axis, scale := c.axisOf(st, o)
	x := Timeline{Axis: axis, Order: c.look.order, Step: open}
	took := map[string]time.Duration{}
	for _, p := range places {
		row := TimeRow{
			DOM: p.dom, Path: p.path, Number: p.row.Number, Title: p.row.Title, State: standsAs(p.st, p.row), Sub: p.sub,
			Bars: c.bars(p.st, scale, p.row, o), Crit: !p.sub && o.Path[p.row.ID], Open: p.path == open,
		}
		if _, instance := engine.InstanceOf(p.row.ID); instance {
			row.Sub = true
		}
		row.Since, row.Took, took[p.dom] = c.lasts(p.st, p.row)
		_, coming := o.Spans[p.row.ID]
		if u, ok := o.Usual[p.row.ID]; ok && row.Took == "" && !p.sub && coming && !st.Head.Ended {
			row.Took, took[p.dom] = "~"+view.Span(u.Took), u.Took
		}
		var said []string
		for _, b := range row.Bars {
			said = append(said, b.Text)
		}
		row.Text = strings.Join(said, ", ")
		x.Rows.All = append(x.Rows.All, row)
	}
	if c.look.order == "slow" {
		sort.SliceStable(x.Rows.All, func(i, j int) bool { return took[x.Rows.All[i].DOM] > took[x.Rows.All[j].DOM] })
	}
	return x
}

// lasts is how long a step was at work, in all its attempts. One that is at work now has been so
// since a moment that counts these, too.
func (c *chronicle) lasts(st view.Standing, s engine.StepRow) (since int64, took string, d time.Duration) {
	open := false
	if below, delegates := st.Below[s.ID]; delegates {
		h := below.Head
		d, open = h.Work.At(cmp.Or(h.Finished, st.Now)), st.Carried && !h.Work.Since.IsZero()
	} else {
		t := c.tries[[2]string{st.Head.Run, s.ID}]
		if t == nil || len(t.tries) == 0 {
			return 0, "", 0
		}
		for _, try := range t.tries {
			switch {
			case try.kind != "":
				d += try.ended.Sub(try.began)
			case st.Carried:
				d, open = d+st.Now.Sub(try.began), true
			}
		}
	}
	if open {
		since = st.Now.Add(-d).UnixMilli()
	}
	return since, view.Span(d), d
}

// panel is the step that is looked at.
func (w *Workspace) panel(ctx context.Context, c *chronicle, p place) (Panel, error) {
	row := stepRow(p.st, p.row)
	row.DOM = "open"
	row.Since, row.Took, _ = c.lasts(p.st, p.row)
	key := [2]string{p.st.Head.Run, p.row.ID}
	if row.Tried {
		row.Failure = c.failed[key]
	}
	x := Panel{Open: true, Row: row, Same: c.sameScript(p, row.Retry)}
	if x.Same != "" {
		x.EditTo = editPath(p.st.Head, p.row.ID)
	}
	for _, it := range p.st.Items {
		if it.Run == p.st.Head.Run && it.Step == p.row.ID {
			x.Asks, x.AskTo = it.Question, itemPath(it.Item)
		}
	}
	changes, _, err := w.Changes(ctx, p.st.Head, p.row.ID, 0)
	for _, f := range changes.Files {
		x.Files = append(x.Files, FileChanged(f))
	}
	return x, err
}

// sameScript says that a script was run again, or would be, as it was.
func (c *chronicle) sameScript(p place, retry bool) string {
	if t := c.tries[[2]string{p.st.Head.Run, p.row.ID}]; t != nil && len(t.tries) > 0 {
		if last := t.tries[len(t.tries)-1]; last.same {
			return fmt.Sprintf("Attempt %d ran the same script as the one before, unchanged.", last.n)
		}
	}
	if retry && c.scripted(p.st.Head.Run, p.row.ID) {
		return "A retry runs the same script, unchanged, unless a file that it uses has changed."
	}
	return ""
}

func runHead(st view.Standing) RunHead {
	h := st.Head
	x := RunHead{
		ID: h.Run, Title: h.Title, Reason: h.Reason, By: h.ApprovedBy, Version: h.Version, State: stateOf(st.By.Shown(h), ""), Started: ago(h.Started, st.Now),
		Counts: view.Join(view.Sums(h)),
	}
	if h.Path != "" && h.Parent.Run == "" {
		x.PlanTo, x.PastTo = planPath(h.Path), revisionsPath(h.Path)
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
		x.Note, x.NoteDo = "Nobody carries this run on. Press Resume, or at a terminal:", "piton resume "+h.Run
	}
	if h.Ended {
		x.Ended, x.EndTone = cameOut(st), x.State.Tone
		if h.Branch.Waits {
			x.Branch = h.Branch.Name
		}
		if h.Status == engine.Failed && st.Newest && h.Parent.Run == "" {
			x.Todo = "Resume tries the failed steps again. If you gave a step up, retry that step first, then resume."
		}
	}
	return x
}

// cameOut says in a sentence how a run ended.
func cameOut(st view.Standing) string {
	h := st.Head
	how := map[engine.Status]string{engine.Done: "Done", engine.Failed: "Failed", engine.Cancelled: "Cancelled", engine.Superseded: "Superseded"}[h.Status]
	text := cmp.Or(how, string(h.Status))
	if h.Status == engine.Done {
		text += " in "
	} else {
		text += " after "
	}
	work, all := h.Work.At(h.Finished), h.Finished.Sub(h.Started)
	text += view.Span(work) + " at work"
	if all-work >= time.Minute {
		text += " and " + view.Span(all) + " from start to end"
	}
	if h.CostMicros > 0 {
		text += ", for " + view.Money(h.CostMicros)
	}
	parts := []string{fmt.Sprintf("%d of %s proven", h.Proven, view.Plural(h.Total, "step", "steps"))}
	if n := h.Effort.Retries; n > 0 {
		parts = append(parts, view.Plural(n, "retry", "retries"))
	}
	if n := h.Effort.Asked; n > 0 {
		parts = append(parts, view.Plural(n, "question", "questions")+" to people")
	}
	return text + "; " + view.Join(parts) + "."
}

// metersOf say what was used of what is limited, how many steps count, and what all of it may
// come to.
func metersOf(st view.Standing, o view.Outlook) Meters {
	h, now := st.Head, st.Now
	x := Meters{All: []Meter{{Name: "Steps", Text: strings.Join(st.Counted(), " · "), Percent: percent(int64(h.Settled), int64(h.Total)), Ahead: -1}}}
	if len(st.Steps) <= mostCells {
		for _, s := range st.Steps {
			x.Cells = append(x.Cells, standsAs(st, s).Tone)
		}
	}
	l, used := h.Budget.Limits, h.Budget.Spent
	known := !h.Ended && o.Unknown == 0 && !o.End.IsZero()
	add := func(name, text string, is, of, more int64, word func(int64) string) {
		m := Meter{Name: name, Text: text, Percent: -1, Ahead: -1}
		if of > 0 {
			m.Percent = percent(is, of)
			if known && more > 0 {
				m.Ahead, m.Outlook = percent(is+more, of), "about "+word(is+more)+" in the end"
			}
			switch {
			case is >= of && !h.Ended:
				m.Tone = "t-bad"
			case m.Percent >= 80 || known && is+more > of:
				m.Tone = "t-warn"
			}
		}
		x.All = append(x.All, m)
	}
	at := h.Work.At(cmp.Or(h.Finished, now))
	text := view.Span(at)
	if l.Wall > 0 {
		text += " of " + view.Span(l.Wall)
	}
	add("Time at work", text, int64(at), int64(l.Wall), int64(o.End.Sub(now)), func(n int64) string { return view.Span(time.Duration(n)) })
	if text = view.Money(h.CostMicros); l.CostMicros > 0 {
		text = view.Money(used.CostMicros) + " of " + view.Money(l.CostMicros)
	}
	add("Cost", text+more(h.Effort.Cost.Silent), used.CostMicros, l.CostMicros, o.Cost, view.Money)
	if text = view.Count(h.TokensIn + h.TokensOut); l.Tokens > 0 {
		text = view.Count(used.Tokens) + " of " + view.Count(l.Tokens)
	}
	add("Tokens", text+more(h.Effort.Tokens.Silent), used.Tokens, l.Tokens, o.Tokens, view.Count)
	return x
}

// more says that some attempts did not tell what they used.
func more(silent int) string {
	if silent == 0 {
		return ""
	}
	return " + " + view.Plural(silent, "attempt", "attempts") + " of unknown use"
}

func stepRow(st view.Standing, s engine.StepRow) StepRow {
	row := StepRow{
		Run: st.Head.Run, ID: s.ID, To: stepPath(st.Head.Run, s.ID), Number: s.Number, Title: s.Title, Agent: s.Agent, Reason: s.Reason,
		State: standsAs(st, s), Attempts: s.Attempts, Loop: view.LoopLine(s.Loop), Said: st.Said[s.ID].String(),
	}
	if s.Verdict != engine.Pass {
		row.Verdict = string(s.Verdict)
	}
	if below, ok := st.Below[s.ID]; ok {
		row.Child = below.Head.Run
	}
	counts := slices.Contains([]engine.Status{engine.Done, engine.Waived, engine.Skipped}, s.Status)
	over := st.Head.Ended && st.Head.Status != engine.Failed
	row.Vouch = s.Status == engine.Done && st.Vouches(s)
	row.Tried = s.Attempts > 0 && !counts
	row.Retry = !over && (s.Status == engine.Failed || s.Status == engine.Skipped || s.Status == engine.Waiting && s.Attempts > 0)
	row.Skip = !over && !counts && s.Status != engine.Running
	return row
}

// carry leaves a run to the owner.
func (w *Workspace) carry(ctx context.Context, o api.Opened) (string, error) {
	head, err := w.Find(ctx, o.Run)
	if err == nil && !head.Ended && head.Status != engine.Paused {
		err = w.Client.HandOver(ctx, o.Stream, api.Leave)
	}
	return "/runs/" + o.Run, err
}

// orders are what a form of a run, or of a step, may say.
var orders = []engine.Verb{engine.DoPause, engine.DoCancel, engine.DoRetry, engine.DoSkip, engine.DoVouch}

// order tells a run what the person wants.
func order(ctx context.Context, w *Workspace, r *http.Request) (string, *Confirm, error) {
	head, err := w.run(ctx, r.PathValue("run"))
	if err != nil {
		return "", nil, err
	}
	verb := engine.Verb(r.PostFormValue("verb"))
	if verb == engine.DoResume || verb == engine.DoLand {
		opened, err := w.Client.Resume(ctx, api.Resume{Run: head.Run, Land: verb == engine.DoLand, Config: r.PostFormValue("config")})
		if err != nil || opened.Reconfigured != nil {
			return "", confirm(opened.Reconfigured), err
		}
		to, err := w.carry(ctx, opened)
		return to, nil, err
	}
	o := api.Order{Run: head.Run, Step: r.PostFormValue("step"), Verb: verb, Why: r.PostFormValue("why")}
	ofStep := slices.Contains([]engine.Verb{engine.DoRetry, engine.DoSkip, engine.DoVouch}, verb)
	if !slices.Contains(orders, verb) || ofStep != (o.Step != "") {
		return "", nil, &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("a run cannot be told %q here", verb), Hint: "use the buttons of the run"}
	}
	_, err = w.Client.Order(ctx, o)
	return "/runs/" + head.Run, nil, err
}
