package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Step is why a step stands as it does, what shows it, and what it changed.
type Step struct {
	Run, RunTitle string
	Row           StepRow
	Tried         string // how often, and what follows where it does not pass
	Same          string // that a script was run again as it was
	EditTo        string // where it is changed; "" where that is not on the page
	Question      bool   // a person answers it
	Work          []Block
	Prompt        string // what the newest work was given
	Command       []Block
	Waits         []Wait
	Asks          []AskRow
	Tries         Attempts
	Checklist     []Tick // of a loop: what it is to fulfil, and how that stands
	Evidence      []Evidence
	Past          []LogLine
	Origin        []string
	Read, Written []Frame
	Changed       []Difference
	Unknown       bool // nothing recorded what it changed
	Attempts      []int
	Attempt       int // whose difference is shown; 0 for that of all
}

// Attempts are what a step was tried, a row each.
type Attempts struct {
	Checks []string
	Rows   []AttemptRow // the newest first
}

// AttemptRow is an attempt of a step, or an iteration of a loop.
type AttemptRow struct {
	Name       string
	State      State
	Marks      []State // of each check
	What       string
	Took, Used string
	At         When
}

// Frame is an entry of the context.
type Frame struct {
	ID                  int
	Kind, From, Summary string
}

// Wait is what keeps a step, and the steps that do.
type Wait struct {
	What string
	Rows []StepRow
}

// Evidence is what the journal has that shows how the step stands.
type Evidence struct {
	Seq, Attempt   int
	Text           string
	Notes          []string
	Stdout, Stderr string
}

// FileChanged counts the lines of a file that changed; -1 where it is no text.
type FileChanged struct {
	Path           string
	Added, Removed int
}

func step(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	head, err := w.run(ctx, r.PathValue("run"))
	if err != nil {
		return sheet{}, err
	}
	in, id, err := w.Step(ctx, head, r.PathValue("step"))
	if err != nil {
		return sheet{}, err
	}
	a, err := view.Explain(ctx, w.Reader, in, id)
	if err != nil {
		return sheet{}, err
	}
	x := w.account(&a)
	c := w.chronicle(in, looking{step: id})
	if err := c.read(ctx); err != nil {
		return sheet{}, err
	}
	x.Past = c.lines
	if x.Row.Tried {
		x.Row.Failure = c.failed[[2]string{in.Run, id}]
	}
	for n := range a.Row(a.Index).Attempts {
		x.Attempts = append(x.Attempts, n+1)
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("attempt")); err == nil && slices.Contains(x.Attempts, n) {
		x.Attempt = n
	}
	if x.Same = c.sameScript(place{st: a.Standing, row: a.Row(a.Index)}, x.Row.Retry); x.Same != "" {
		x.EditTo = editPath(in, id)
	}
	x.Row.Since, x.Row.Took, _ = c.lasts(a.Standing, a.Row(a.Index))
	loops, err := w.Loops(ctx, in, []engine.StepRow{a.Row(a.Index)})
	if err != nil {
		return sheet{}, err
	}
	if l := loops[id]; l != nil {
		x.loop(l)
	} else {
		x.Tries = c.attempts(in.Run, a.Fold.Step(a.Index), w.Now())
	}
	if d := a.Origin.Dispatch; d != nil {
		body, err := w.Body(ctx, d.Prompt)
		if err != nil {
			return sheet{}, err
		}
		if x.Prompt = string(body[:min(len(body), mostPrompt)]); len(body) > mostPrompt {
			x.Prompt += "\n…"
		}
	}
	changes, ok, err := w.Changes(ctx, in, id, x.Attempt)
	if err != nil {
		return sheet{}, err
	}
	var files []FileChanged
	for _, f := range changes.Files {
		files = append(files, FileChanged(f))
	}
	x.Unknown, x.Changed = ok && !changes.Known, differences(changes.Text, files)
	return sheet{Title: x.Row.Title, Nav: "plans", Body: x}, nil
}

// mostPrompt is how much of what the work was given is shown, in bytes.
const mostPrompt = 64 << 10

// marks are the signs of answers of checks, in the words of the engine and of checklists.
var marks = map[string]State{
	string(engine.Pass): {"pass", "ok", "ok"}, "skipped": {"skipped", "idle", "skip"}, "pending": {"pending", "idle", "idle"}, "": {"not asked", "idle", "idle"},
}

func markOf(word string) State {
	if m, ok := marks[word]; ok {
		return m
	}
	return State{word, "bad", "bad"}
}

// loop shows the iterations of a loop, and its checklist as it is now.
func (x *Step) loop(l *api.Loop) {
	for _, it := range l.Checklist {
		x.Checklist = append(x.Checklist, Tick{it.ID, cmp.Or(it.Error, it.Command)})
		x.Tries.Checks = append(x.Tries.Checks, it.ID)
	}
	for _, it := range slices.Backward(l.Activity) {
		row := AttemptRow{Name: fmt.Sprintf("%d · iteration %d", it.Attempt, it.Iteration), State: markOf(string(it.Verdict)), What: cmp.Or(it.Summary, it.Reason), Took: view.Span(view.Ms(it.Ms))}
		for _, id := range x.Tries.Checks {
			row.Marks = append(row.Marks, markOf(it.Snapshot[id]))
		}
		x.Tries.Rows = append(x.Tries.Rows, row)
	}
}

// attempts are those of a step that is no loop.
func (c *chronicle) attempts(run string, step *engine.Step, now time.Time) (x Attempts) {
	for _, check := range step.Checks {
		x.Checks = append(x.Checks, check.Name)
	}
	t := c.tries[[2]string{run, step.ID}]
	if t == nil {
		return x
	}
	states := map[string]State{"ok": {"passed", "ok", "ok"}, "bad": {"failed", "bad", "bad"}, "cut": {"ended", "idle", "stop"}, "": {"goes on", "run", "run"}}
	for _, try := range slices.Backward(t.tries) {
		row := AttemptRow{
			Name: strconv.Itoa(try.n), State: states[try.kind], What: cmp.Or(try.why, try.words), Took: view.Span(cmp.Or(try.ended, now).Sub(try.began)), At: clock(try.began),
		}
		if try.same {
			row.What = view.Join(slices.DeleteFunc([]string{row.What, "the same script as before"}, func(s string) bool { return s == "" }))
		}
		if try.used.CostMicros != nil || try.used.Tokens() != nil {
			row.Used = view.UsedBy(try.used)
		}
		for _, name := range x.Checks {
			row.Marks = append(row.Marks, markOf(string(try.checks[name].Verdict)))
		}
		x.Rows = append(x.Rows, row)
	}
	return x
}

// account is a step of the page: the words of `piton why`.
func (w *Workspace) account(a *view.Account) Step {
	row, p := a.Row(a.Index), a.Fold.Step(a.Index)
	x := Step{Run: a.Head.Run, RunTitle: a.Head.Title, Row: stepRow(a.Standing, row), Question: p.Kind == engine.Ask}
	x.Row.DOM = "step"
	if len(p.Checks) > 0 && p.Each == nil {
		x.Tried = "no attempt yet"
		if row.Attempts > 0 {
			x.Tried = fmt.Sprintf("attempt %d of %d", row.Attempts, a.Fold.Allowed(a.Index))
		}
		x.Tried += "; " + view.OnFailure(p.OnFail.Retries, string(p.OnFail.Then))
	}
	x.Work = blocks(
		Block{"task", p.Task, p.Kind == engine.Script}, Block{"tool", p.Tool, true}, Block{"arguments", string(p.Args), true},
		Block{"item", string(p.Item), true}, Block{"acceptance", strings.Join(p.Acceptance, "\n"), false}, Block{"setup", p.Setup, true},
	)
	for _, c := range p.Checks {
		name := c.Name
		if !c.Required {
			name += " (optional)"
		}
		x.Command = append(x.Command, blocks(Block{name, c.Command, true}, Block{name, c.Question, false})...)
	}
	for _, it := range a.Asked() {
		x.Asks = append(x.Asks, askRow(it, a.Now))
	}
	for _, r := range a.Proof {
		x.Evidence = append(x.Evidence, evidence(r)...)
	}
	x.Waits = waits(a)
	o := a.Origin
	by := ""
	if o.Revision.ApprovedBy != "" {
		by = ", approved by " + o.Revision.ApprovedBy
	}
	x.Origin = append(x.Origin, fmt.Sprintf("revision %d of the plan%s", o.Revision.Version, by))
	for _, yes := range o.Yes {
		x.Origin = append(x.Origin, fmt.Sprintf("%s was answered by %s: %s %s", yes.Item, yes.By, yes.Choice, yes.Text))
	}
	if o.Dispatch != nil {
		for _, in := range o.Dispatch.Injected {
			x.Origin = append(x.Origin, "was given "+in.Ref)
		}
	}
	x.Read, x.Written = frames(o.Consumed), frames(o.Produced)
	return x
}

// frames are entries of the context, each with the step that it came of.
func frames(all []engine.FramePushed) (shown []Frame) {
	for _, f := range all {
		shown = append(shown, Frame{f.ID, string(f.Kind), f.Step, f.Summary})
	}
	return shown
}

// waits say what keeps a step.
func waits(a *view.Account) (all []Wait) {
	h := a.Hold
	add := func(what string, steps []int) {
		if len(steps) == 0 {
			return
		}
		w := Wait{What: what}
		for _, s := range a.Rows(steps) {
			w.Rows = append(w.Rows, stepRow(a.Standing, s))
		}
		all = append(all, w)
	}
	direct, further := "Waits for", "These wait for"
	if h.Blocked {
		direct, further = "Blocked by", "Because of"
	}
	add(direct, h.Needs)
	add(further, a.Roots)
	add("Nothing starts after a critical step has failed", h.Critical)
	if h.Full {
		add("All places are taken", h.Beside)
	} else {
		add("Waits for steps that use the same files", h.Beside)
	}
	for _, text := range a.Words() {
		all = append(all, Wait{What: text})
	}
	return all
}

// evidence is a record that shows something of a step.
func evidence(r engine.Record) []Evidence {
	x := Evidence{Seq: int(r.Seq)}
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		x.Attempt, x.Text = e.Attempt, fmt.Sprintf("given to agent %s: %s", e.Role, e.Why)
	case engine.CheckEnded:
		x.Attempt, x.Text = e.Attempt, fmt.Sprintf("%s %s: %s", e.Phase, e.Check, view.AnswerOf(e))
		x.Stdout, x.Stderr = e.Stdout, e.Stderr
		x.Notes = noted(e)
	case engine.ChangeReverted:
		x.Attempt, x.Text = e.Attempt, fmt.Sprintf("with its change taken back, in a copy: %s %s", e.Verdict, e.Reason)
	case engine.WorkEnded:
		x.Attempt, x.Text = e.Attempt, fmt.Sprintf("%s: %s, exit %d, %s %s", e.Kind, e.How, e.Exit, view.Span(view.Ms(e.Ms)), e.Reason)
		x.Stdout, x.Stderr = e.Stdout, e.Stderr
	default:
		return nil
	}
	return []Evidence{x}
}

// noted says how a check was held, and which files it opened.
func noted(e engine.CheckEnded) (notes []string) {
	if e.Isolation != "" {
		notes = append(notes, "isolation "+e.Isolation)
	}
	if e.Network != "" {
		notes = append(notes, "network "+e.Network)
	}
	o := e.Opened
	switch {
	case o == nil:
	case o.Unseen != "":
		notes = append(notes, "which files it opened is not known: "+o.Unseen)
	default:
		notes = append(notes, "opened "+view.Plural(o.Files, "file", "files"))
		if own := slices.Concat(o.Changed, o.Made); len(own) > 0 {
			notes = append(notes, "of these the step changed or made "+view.Join(own))
		}
	}
	return notes
}

// anchor is where a page has the difference of a file.
func anchor(path string) string { return "f-" + url.PathEscape(path) }
