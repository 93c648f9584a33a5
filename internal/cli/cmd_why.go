package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/run"
)

func (a *app) whyCmd() *cobra.Command {
	var runID string
	c := &cobra.Command{
		Use:     "why STEP",
		Example: "  piton why deploy\n  piton why 3 --run 7f3a21 --json",
		Short:   "Why a step stands as it does",
		Long: `Says why a step stands as it does. One that has not begun: what it waits for, and which verb
helps. One that failed: what its checks answered, and what comes next. One that is blocked: by
what, back to the step that began it. One that is done: by which answers of its checks, and
under which numbers the journal has them. One that was waived or skipped: by whom, and why.`,
		Args: exactly("a step", 1),
		RunE: func(c *cobra.Command, args []string) error { return a.why(c.Context(), runID, args[0]) },
	}
	c.Flags().StringVar(&runID, "run", "", "the run, if not the newest")
	return c
}

func (a *app) why(ctx context.Context, prefix, word string) error {
	return a.looking(ctx, func(s *session) error {
		head, err := s.Find(ctx, prefix)
		step := ""
		if err == nil {
			head, step, err = s.Step(ctx, head, word)
		}
		if isNotFound(err) && prefix == "" {
			r, st, other := s.planned(ctx, word)
			if other == nil && r != nil {
				a.showPlanned(r, st)
				return nil
			}
			return errors.Join(err, other)
		}
		if err != nil {
			return err
		}
		x, err := s.explain(ctx, head, step)
		if err != nil {
			return err
		}
		if a.json {
			a.document("why", x.document())
			return nil
		}
		printLines(a.out, a.theme(a.out).why(x))
		return nil
	})
}

// planned finds a step in the newest plan that has it and of which nothing was
// run yet; nil for none.
func (s *session) planned(ctx context.Context, word string) (*engine.Revision, *plan.Step, error) {
	plans, err := s.Unrun(ctx)
	for _, r := range slices.Backward(plans) {
		_, doc, err := s.Kept(ctx, r.Drafted.Plan)
		if err != nil || doc.Plan == nil {
			return nil, nil, err
		}
		for _, st := range doc.Plan.Steps {
			if st.ID.Value == word || st.Number == word {
				return r, st, nil
			}
		}
	}
	return nil, nil, err
}

// showPlanned says why nothing of a plan has begun.
func (a *app) showPlanned(r *engine.Revision, st *plan.Step) {
	t := a.theme(a.out)
	if !a.json {
		printLines(a.out, t.unrun(r, a.now()))
		return
	}
	row := engine.StepRow{ID: st.ID.Value, Number: st.Number, Title: st.Title.Value, Status: engine.Pending}
	d := whyDoc{RunStatus: planStatus(r), Step: rowDocument(row), Items: []itemDoc{}, Proof: []map[string]any{}, Next: toRun(r)}
	d.Plan = &inboxDocument(nil, []*engine.Revision{r}, nil).Plans[0]
	a.document("why", d)
}

// toRun is the verb by which something of the plan is run.
func toRun(r *engine.Revision) string {
	switch {
	case r.Answer != nil && r.Answer.Yes:
		return "piton run " + r.Drafted.Path
	case len(r.Drafted.Weakened) > 0:
		return "piton approve " + r.Drafted.Path + " --weaker"
	}
	return "piton approve " + r.Drafted.Path
}

// account is why a step of a run stands as it does.
type account struct {
	standing
	fold  fold
	index int
	hold  engine.Hold
	roots []int               // steps that keep it in the end, where they are not those of hold
	told  map[string]*outcome // by step
	proof []engine.Record     // the newest answers of its checks, by phase, and the end of its work
}

// outcome is what the journal tells last of a step.
type outcome struct {
	became []happening // how its last attempt ended, or what a person said
	began  []happening // the work that is under way since
}

// explain reads all of a run that tells of why a step of it stands as it does.
func (s *session) explain(ctx context.Context, head engine.HeadRow, step string) (account, error) {
	x := account{told: map[string]*outcome{}}
	var err error
	if x.standing, err = s.app.standing(ctx, s, head); err != nil {
		return x, err
	}
	for r, err := range run.ReadRun(ctx, s.store, head) {
		if err != nil {
			return x, err
		}
		hs, err := x.fold.apply(r)
		if err != nil {
			return x, err
		}
		if x.fold.state.Run().Run == head.Run {
			x.take(hs)
			x.evidence(step, r)
		}
	}
	x.index = x.fold.index(step)
	if x.index < 0 {
		return x, errors.New("the journal does not have step " + step + " of run " + head.Run)
	}
	x.hold = x.fold.state.Hold(x.index, x.now)
	x.roots = x.inTheEnd()
	return x, nil
}

// take keeps what is told of each step last.
func (x *account) take(hs []happening) {
	fresh := map[string]bool{}
	for _, h := range hs {
		if h.step < 0 {
			continue
		}
		id := x.row(h.step).ID // a revision may give it another place
		if x.told[id] == nil {
			x.told[id] = &outcome{}
		}
		o := x.told[id]
		switch h.what {
		case started, merging:
			o.began = []happening{h}
		case passed, failed, retried, skipped, waived, redone, regressed, cutOff, answered:
			if !fresh[id] && !o.answer() {
				o.became = nil
			}
			fresh[id], o.began = true, nil
			o.became = append(o.became, h)
		}
	}
}

// answer reports that a person's answer was told last, and not yet what it led to.
func (o *outcome) answer() bool { return len(o.became) == 1 && o.became[0].what == answered }

// evidence keeps the newest answer of each check of the step in each phase, and
// the newest end of its work.
func (x *account) evidence(step string, r engine.Record) {
	what, of := proofOf(r.Event)
	if of != step {
		return
	}
	older := func(o engine.Record) bool { was, _ := proofOf(o.Event); return was == what }
	x.proof = append(slices.DeleteFunc(x.proof, older), r)
}

// proofOf says what an event is the evidence of, and of which step; "" for none.
func proofOf(e engine.Event) (what, step string) {
	switch e := e.(type) {
	case engine.CheckEnded:
		return string(e.Phase) + " " + e.Check, e.Step
	case engine.WorkEnded:
		return string(e.Kind), e.Step
	}
	return "", ""
}

// inTheEnd follows what keeps the step to the steps that nothing of this kind
// keeps any more.
func (x *account) inTheEnd() []int {
	seen := map[int]bool{x.index: true}
	var ends []int
	next := x.hold.Needs
	for len(next) > 0 {
		var further []int
		for _, i := range next {
			if seen[i] {
				continue
			}
			seen[i] = true
			needs := x.fold.state.Hold(i, x.now).Needs
			if len(needs) == 0 && !slices.Contains(x.hold.Needs, i) {
				ends = append(ends, i)
			}
			further = append(further, needs...)
		}
		next = further
	}
	slices.Sort(ends)
	return ends
}

// row is what lists show of a step.
func (x *account) row(i int) engine.StepRow { return x.fold.state.StepRow(i) }

// rows are what lists show of steps.
func (x *account) rows(steps []int) []engine.StepRow {
	rows := make([]engine.StepRow, len(steps))
	for n, i := range steps {
		rows[n] = x.row(i)
	}
	return rows
}

// asked are the open items that keep the step: its own, those of the run that
// carries it out, and those of what it waits for.
func (x *account) asked() []engine.ItemRow {
	steps := append(slices.Concat(x.hold.Needs, x.roots, x.hold.Beside), x.index)
	var items []engine.ItemRow
	for _, it := range x.items {
		step := it.Step
		if it.Run != x.head.Run {
			step = it.Parent.Step
		}
		if it.Item == x.hold.Item || slices.Contains(steps, x.fold.index(step)) {
			items = append(items, it)
		}
	}
	return items
}

// counts reports whether there is nothing left to do about the step.
func (x *account) counts() bool {
	switch x.row(x.index).Status {
	case engine.Done, engine.Waived, engine.Skipped:
		return true
	}
	return false
}

// whyDoc is an account for programs. What does not keep the step is left out of
// waits.
type whyDoc struct {
	Run       string           `json:"run"`
	RunStatus engine.Status    `json:"run_status"`
	RunReason string           `json:"run_reason"`
	Carried   bool             `json:"carried"` // a process carries the run on
	Step      stepDoc          `json:"step"`
	Allowed   int              `json:"attempts_allowed"`
	Then      engine.Then      `json:"then"` // on_fail, when no attempt is left
	Waits     waitsDoc         `json:"waits"`
	Items     []itemDoc        `json:"items"`
	Proof     []map[string]any `json:"proof"` // events, as log prints them
	By        *string          `json:"by"`    // the person because of whom it stands so
	Next      string           `json:"next"`
	Plan      *proposalDoc     `json:"plan,omitempty"` // of which nothing was run yet
}

type waitsDoc struct {
	Needs    []stepDoc  `json:"needs,omitempty"`
	Blocked  bool       `json:"blocked,omitempty"` // the step in needs will never count, as things stand
	Roots    []stepDoc  `json:"roots,omitempty"`   // the steps behind those in needs
	Lease    *holderDoc `json:"lease,omitempty"`
	Beside   []stepDoc  `json:"beside,omitempty"`
	Full     bool       `json:"no_place,omitempty"`
	RetryAt  *stamp     `json:"retry_at,omitempty"`
	Item     string     `json:"item,omitempty"`
	Budget   bool       `json:"budget,omitempty"`
	Paused   bool       `json:"paused,omitempty"`
	Proving  bool       `json:"proving,omitempty"`
	Critical []stepDoc  `json:"critical,omitempty"`
}

// holderDoc is the step that has the lease.
type holderDoc struct {
	Run   string   `json:"run"`
	Step  string   `json:"step"`
	Scope []string `json:"scope"`
}

func (x *account) document() whyDoc {
	row, p := x.row(x.index), x.fold.state.Program().Step(x.index)
	d := whyDoc{
		Run: x.head.Run, RunStatus: x.by.told(x.head), RunReason: x.head.Reason, Carried: x.carried, Step: rowDocument(row),
		Allowed: x.fold.allowed(x.index), Then: p.OnFail.Then, Waits: x.waits(),
		Items: inboxDocument(x.asked(), nil, nil).Items, Proof: []map[string]any{}, Next: x.next(theme{}),
	}
	for _, r := range x.proof {
		d.Proof = append(d.Proof, eventDocument(x.head.Run, r, nil))
	}
	if o := x.told[row.ID]; o != nil {
		for _, h := range o.became {
			if h.by != "" {
				d.By = &h.by
			}
		}
	}
	return d
}

func (x *account) waits() waitsDoc {
	h := x.hold
	d := waitsDoc{
		Needs: x.docs(h.Needs), Blocked: h.Blocked, Roots: x.docs(x.roots), Beside: x.docs(h.Beside), Full: h.Full, Item: h.Item,
		Budget: h.Budget, Paused: h.Paused, Proving: h.Proving, Critical: x.docs(h.Critical),
	}
	if h.Behind != nil {
		d.Lease = &holderDoc{h.Behind.Run, h.Behind.Step, list(h.Behind.Scope)}
	}
	if !h.Retry.IsZero() {
		d.RetryAt = new(stamp(h.Retry))
	}
	return d
}

func (x *account) docs(steps []int) []stepDoc {
	var docs []stepDoc
	for _, row := range x.rows(steps) {
		docs = append(docs, rowDocument(row))
	}
	return docs
}
