package view

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Account is why a step of a run stands as it does.
type Account struct {
	Standing
	Fold  Fold
	Index int
	Hold  engine.Hold
	Roots []int               // steps that keep it in the end, where they are not those of hold
	Told  map[string]*outcome // by step
	Proof []engine.Record     // who was given it by a rule, the newest answers of its checks, by phase, and the end of its work
	Origin
}

// outcome is what the journal tells last of a step.
type outcome struct {
	Became []Happening // how its last attempt ended, or what a person said
	Began  []Happening // the work that is under way since
}

// Explain accounts for a step of a run, from its row, those of the steps that keep it, and
// what is marked with it.
func Explain(ctx context.Context, r Reader, head engine.HeadRow, step string) (Account, error) {
	x := Account{Told: map[string]*outcome{}, Fold: Fold{scene: &scene{map[int]engine.StepRow{}, map[int]*engine.Step{}}}}
	var err error
	if x.Standing, err = r.standing(ctx, head); err != nil {
		return x, err
	}
	x.Origin.Revision = engine.RunOpened{Plan: head.Plan, Version: head.Version, PlanHash: head.PlanHash, ApprovedBy: head.ApprovedBy}
	marked, err := r.MarkedSteps(ctx, head, step, "")
	if err != nil {
		return x, err
	}
	row, err := r.Rows(ctx, head, store.StepFilter{IDs: []string{step}})
	if err != nil {
		return x, err
	}
	if x.Index = x.see(row...); x.Index < 0 {
		return x, errors.New("the journal does not have step " + step + " of run " + head.Run)
	}
	if err := x.look(ctx, r, x.Index); err != nil {
		return x, err
	}
	for _, m := range marked {
		x.take(x.Fold.Recount(m))
		x.evidence(step, m.Record)
		if m.Mark.Step == step {
			x.Origin.take(m.Record)
		}
	}
	if err := x.consumed(ctx, r); err != nil {
		return x, err
	}
	if err := x.edited(ctx, r); err != nil {
		return x, err
	}
	if err := x.keep(ctx, r); err != nil {
		return x, err
	}
	if err := x.ended(ctx, r); err != nil {
		return x, err
	}
	err = r.below(ctx, &x.Standing, x.Rows(x.shown()))
	return x, err
}

// see lets the account tell of steps, and returns the index of the first, -1 for none.
func (x *Account) see(rows ...engine.StepRow) int {
	for _, row := range rows {
		x.Fold.scene.rows[row.Index] = row
	}
	if len(rows) == 0 {
		return -1
	}
	return rows[0].Index
}

// look reads steps as the program has them.
func (x *Account) look(ctx context.Context, r Reader, steps ...int) error {
	plan, err := r.ProgramSteps(ctx, x.Head, x.Rows(steps)...)
	for _, i := range steps {
		if err == nil && plan[i] == nil {
			err = fmt.Errorf("the program of run %s does not have step %s", x.Head.Run, x.Row(i).ID)
		}
	}
	maps.Copy(x.Fold.scene.plan, plan)
	return err
}

// ended takes in what is told of the one step that blocks this one.
func (x *Account) ended(ctx context.Context, r Reader) error {
	ends := x.Ends()
	if !x.Hold.Blocked || len(ends) != 1 {
		return nil
	}
	if err := x.look(ctx, r, ends[0]); err != nil {
		return err
	}
	marked, err := r.MarkedSteps(ctx, x.Head, x.Row(ends[0]).ID)
	for _, m := range marked {
		x.take(x.Fold.Recount(m))
	}
	return err
}

// shown are the steps that the account shows.
func (x *Account) shown() []int {
	return slices.Concat([]int{x.Index}, x.Hold.Needs, x.Roots, x.Hold.Beside, x.Hold.Critical)
}

// take keeps what is told of each step last.
func (x *Account) take(hs []Happening) {
	fresh := map[string]bool{}
	for _, h := range hs {
		if h.Step < 0 {
			continue
		}
		id := x.Row(h.Step).ID // a revision may give it another place
		if x.Told[id] == nil {
			x.Told[id] = &outcome{}
		}
		o := x.Told[id]
		switch h.What {
		case Started, Merging:
			o.Began = []Happening{h}
		case Passed, Failed, Retried, Skipped, Waived, Redone, Regressed, CutOff, Answered:
			if !fresh[id] && !o.answer() {
				o.Became = nil
			}
			fresh[id], o.Began = true, nil
			o.Became = append(o.Became, h)
		}
	}
}

// answer reports that a person's answer was told last, and not yet what it led to.
func (o *outcome) answer() bool { return len(o.Became) == 1 && o.Became[0].What == Answered }

// evidence keeps the newest answer of each check of the step in each phase, and
// the newest end of its work.
func (x *Account) evidence(step string, r engine.Record) {
	what, of := proofOf(r.Event)
	if of != step {
		return
	}
	older := func(o engine.Record) bool { was, _ := proofOf(o.Event); return was == what }
	x.Proof = slices.DeleteFunc(x.Proof, older)
	if d, given := r.Event.(engine.WorkDispatched); !given || d.Why != "" {
		x.Proof = append(x.Proof, r)
	}
}

// proofOf says what an event is the evidence of, and of which step; "" for none.
func proofOf(e engine.Event) (what, step string) {
	switch e := e.(type) {
	case engine.CheckEnded:
		return string(e.Phase) + " " + e.Check, e.Step
	case engine.ChangeReverted:
		return "reverted", e.Step
	case engine.WorkEnded:
		return string(e.Kind), e.Step
	case engine.WorkDispatched:
		if e.Kind == engine.AgentWork {
			return "given", e.Step
		}
	}
	return "", ""
}

// Printed names the file with what the newest attempt that has ended printed, below the state
// directory; "" for none.
func (x *Account) Printed() (file string) {
	for _, r := range x.Proof {
		if e, ok := r.Event.(engine.WorkEnded); ok && e.Log != "" {
			file = e.Log
		}
	}
	return file
}

// Row is what lists show of a step.
func (x *Account) Row(i int) engine.StepRow { return x.Fold.row(i) }

// Rows are what lists show of steps.
func (x *Account) Rows(steps []int) []engine.StepRow {
	rows := make([]engine.StepRow, len(steps))
	for n, i := range steps {
		rows[n] = x.Row(i)
	}
	return rows
}

// Asked are the open items that keep the step: its own, those of the run that
// carries it out, and those of what it waits for.
func (x *Account) Asked() []engine.ItemRow {
	steps := append(slices.Concat(x.Hold.Needs, x.Roots, x.Hold.Beside), x.Index)
	var items []engine.ItemRow
	for _, it := range x.Items {
		step := it.Step
		if it.Run != x.Head.Run {
			step = it.Parent.Step
		}
		if it.Item == x.Hold.Item || slices.Contains(steps, x.Fold.Index(step)) {
			items = append(items, it)
		}
	}
	return items
}

// Counts reports whether there is nothing left to do about the step.
func (x *Account) Counts() bool {
	switch x.Row(x.Index).Status {
	case engine.Done, engine.Waived, engine.Skipped:
		return true
	}
	return false
}

// Why is an account for programs. What does not keep the step is left out of
// waits.
type Why struct {
	Run       string           `json:"run"`
	RunStatus engine.Status    `json:"run_status"`
	RunReason string           `json:"run_reason"`
	Carried   bool             `json:"carried"` // a process carries the run on
	Step      Step             `json:"step"`
	Allowed   int              `json:"attempts_allowed"`
	Then      engine.Then      `json:"then"` // on_fail, when no attempt is left
	Waits     Waits            `json:"waits"`
	Items     []Item           `json:"items"`
	Proof     []map[string]any `json:"proof"` // events, as log prints them
	By        *string          `json:"by"`    // the person because of whom it stands so
	Next      string           `json:"next"`
	Plan      *Proposal        `json:"plan,omitempty"` // of which nothing was run yet
	Origin    *OriginDoc       `json:"origin,omitempty"`
}

type Waits struct {
	Needs    []Step  `json:"needs,omitempty"`
	Blocked  bool    `json:"blocked,omitempty"` // the step in needs will never count, as things stand
	Roots    []Step  `json:"roots,omitempty"`   // the steps behind those in needs
	Lease    *Holder `json:"lease,omitempty"`
	Beside   []Step  `json:"beside,omitempty"`
	Full     bool    `json:"no_place,omitempty"`
	RetryAt  *Stamp  `json:"retry_at,omitempty"`
	Item     string  `json:"item,omitempty"`
	Budget   bool    `json:"budget,omitempty"`
	Paused   bool    `json:"paused,omitempty"`
	Proving  bool    `json:"proving,omitempty"`
	Critical []Step  `json:"critical,omitempty"`
}

// Holder is the step that has the lease.
type Holder struct {
	Run   string   `json:"run"`
	Step  string   `json:"step"`
	Scope []string `json:"scope"`
}

func (x *Account) Document() Why {
	row, p := x.Row(x.Index), x.Fold.Step(x.Index)
	d := Why{
		Run: x.Head.Run, RunStatus: x.By.Of(x.Head), RunReason: x.Head.Reason, Carried: x.Carried, Step: StepOf(row),
		Allowed: x.Fold.Allowed(x.Index), Then: p.OnFail.Then, Waits: x.waits(),
		Items: InboxOf(x.Asked(), nil, nil).Items, Proof: []map[string]any{}, Origin: x.Origin.document(),
	}
	if next := x.Next(); len(next) > 0 {
		d.Next = next[0].Command
	}
	for _, r := range x.Proof {
		d.Proof = append(d.Proof, EventOf(x.Head.Run, r, nil))
	}
	if o := x.Told[row.ID]; o != nil {
		for _, h := range o.Became {
			if h.By != "" {
				d.By = &h.By
			}
		}
	}
	return d
}

func (x *Account) waits() Waits {
	h := x.Hold
	d := Waits{
		Needs: x.docs(h.Needs), Blocked: h.Blocked, Roots: x.docs(x.Roots), Beside: x.docs(h.Beside), Full: h.Full, Item: h.Item,
		Budget: h.Budget, Paused: h.Paused, Proving: h.Proving, Critical: x.docs(h.Critical),
	}
	if h.Behind != nil {
		d.Lease = &Holder{h.Behind.Run, h.Behind.Step, List(h.Behind.Scope)}
	}
	if !h.Retry.IsZero() {
		d.RetryAt = new(Stamp(h.Retry))
	}
	return d
}

func (x *Account) docs(steps []int) []Step {
	var docs []Step
	for _, row := range x.Rows(steps) {
		docs = append(docs, StepOf(row))
	}
	return docs
}

// Ends are the steps that a blocked one is blocked by in the end.
func (x *Account) Ends() []int {
	if len(x.Roots) > 0 {
		return x.Roots
	}
	return x.Hold.Needs
}

// Words say what keeps the step and is no step.
func (x *Account) Words() []string {
	h := x.Hold
	var lines []string
	if !h.Retry.IsZero() {
		lines = append(lines, fmt.Sprintf("tried again at %s, in %s", h.Retry.Local().Format("15:04:05"), Span(h.Retry.Sub(x.Now))))
	}
	if h.Budget {
		lines = append(lines, "the budget does not allow it now")
	}
	if h.Proving {
		lines = append(lines, "the steps that are done are proven again first")
	}
	if h.Paused {
		lines = append(lines, "the run is paused; piton resume "+x.Head.Run+" goes on")
	}
	return lines
}

// Next is what a person can do about the step, nothing where it counts.
func (x *Account) Next() []Advice {
	if x.Counts() {
		return nil
	}
	s := x.Standing
	s.Items = x.Asked()
	s.Steps = x.Rows(append([]int{x.Index}, x.Ends()...))
	return s.Next()
}
