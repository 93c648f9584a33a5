package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Step is why a step stands as it does, what shows it, and what it changed.
type Step struct {
	Run, RunTitle string
	Row           StepRow
	Tried         string // how often, and what follows where it does not pass
	Command       []Block
	Waits         []Wait
	Asks          []AskRow
	Evidence      []Evidence
	Past          []LogLine
	Origin        []string
	Changed       []FileChanged
	Lines         []DiffLine
	Unknown       bool // nothing recorded what it changed
	Attempts      []int
	Attempt       int // whose difference is shown; 0 for that of all
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
	c := w.chronicle(in)
	c.step = id
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
	changes, ok, err := w.Changes(ctx, in, id, x.Attempt)
	if err != nil {
		return sheet{}, err
	}
	x.Unknown, x.Lines = ok && !changes.Known, diffLines(changes.Text)
	for _, f := range changes.Files {
		x.Changed = append(x.Changed, FileChanged(f))
	}
	return sheet{Title: x.Row.Title, Nav: "plans", Body: x}, nil
}

// account is a step of the page: the words of `piton why`.
func (w *Workspace) account(a *view.Account) Step {
	row, p := a.Row(a.Index), a.Fold.Step(a.Index)
	x := Step{Run: a.Head.Run, RunTitle: a.Head.Title, Row: stepRow(a.Standing, row)}
	x.Row.DOM = "step"
	if len(p.Checks) > 0 && p.Each == nil {
		x.Tried = fmt.Sprintf("attempt %d of %d; %s", row.Attempts, a.Fold.Allowed(a.Index), view.OnFailure(p.OnFail.Retries, string(p.OnFail.Then)))
	}
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
	return x
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
		x.Attempt, x.Text = e.Attempt, fmt.Sprintf("%s %s: %s", e.Phase, e.Check, answerOf(e))
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
