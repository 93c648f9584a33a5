package view

import (
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

// Run is a run for programs.
type Run struct {
	ID         string        `json:"id"`
	Status     engine.Status `json:"status"`
	Reason     string        `json:"reason"`
	Plan       planRef       `json:"plan"`
	Workspace  string        `json:"workspace"`
	Isolation  *string       `json:"isolation"`
	ApprovedBy *string       `json:"approved_by"`
	StartedAt  Stamp         `json:"started_at"`
	FinishedAt Stamp         `json:"finished_at"`
	Exit       *int          `json:"exit"`
	Proven     int           `json:"proven"`
	Unproven   int           `json:"unproven"`
	Missed     int           `json:"missed"` // done steps of which an optional check did not pass
	Flaky      int           `json:"flaky"`  // steps whose checks gave different answers for the same files
	Waived     int           `json:"waived"`
	Skipped    int           `json:"skipped"`
	Weaker     string        `json:"weaker,omitempty"` // revisions that ask less than the text before, and who approved them
	Usage      usageDoc      `json:"usage"`
	Budget     *spendDoc     `json:"budget,omitempty"` // left out where nothing is limited
	Steps      []Step        `json:"steps,omitzero"`   // left out of lists
	Total      int           `json:"total"`
	Satisfied  int           `json:"satisfied"`
	Waiting    int           `json:"waiting"`            // open items, of it and of the runs that carry out its steps
	Changed    bool          `json:"changed,omitzero"`   // lists: its plan document is another text now
	Carried    *bool         `json:"carried,omitempty"`  // status and list: a process carries the run on
	Proposal   *Change       `json:"proposal,omitzero"`  // what that proposes
	Parent     *Parent       `json:"parent,omitempty"`   // the step that it carries out
	Worktree   *Worktree     `json:"worktree,omitempty"` // that it works in, or left behind unmerged
	Branch     *Branch       `json:"branch,omitempty"`   // of a run in a worktree
	Errands    []Errand      `json:"errands,omitempty"`  // status: of the workspace, under way beside the run
}

// Branch is what a run in a worktree recorded.
type Branch struct {
	Name     string  `json:"name"`
	Commit   string  `json:"commit"`
	Waits    bool    `json:"waits"`     // it is done and not merged; piton land merges it
	LandedBy *string `json:"landed_by"` // who had it merged after the end of the run
	LandedAt *Stamp  `json:"landed_at"`
}

func branchDocument(b engine.Branch) *Branch {
	if b.Name == "" {
		return nil
	}
	d := &Branch{Name: b.Name, Commit: b.Commit, Waits: b.Waits}
	if !b.At.IsZero() {
		d.LandedAt, d.LandedBy = new(Stamp(b.At)), OrNull(b.By)
	}
	return d
}

// Parent is the step that a run carries out.
type Parent struct {
	Run  string `json:"run"`
	Step string `json:"step"`
	Item string `json:"item,omitempty"` // that the step is for
}

func parentDocument(p engine.Parent) *Parent {
	if p.Run == "" {
		return nil
	}
	return &Parent{p.Run, p.Step, p.Item}
}

// Child is how far the run is that carries out a step, with its own steps.
type Child struct {
	Run       string        `json:"run"`
	Status    engine.Status `json:"status"`
	Total     int           `json:"total"`
	Satisfied int           `json:"satisfied"`
	Waiting   int           `json:"waiting"`
	Steps     []Step        `json:"steps"`
}

// stepDocuments are the steps of a run, with what the attempts under way say of
// themselves, and with the runs that carry them out.
func stepDocuments(s Standing) []Step {
	docs := []Step{}
	for _, row := range s.Steps {
		d := StepOf(row)
		if now, ok := s.Said[row.ID]; ok {
			d.Progress = &now
		}
		if l := s.Loops[row.ID]; l != nil && d.Loop != nil {
			d.Checklist, d.Activity = List(l.Checklist), List(l.Activity)
		}
		if c, ok := s.Below[row.ID]; ok {
			d.Child = &Child{c.Head.Run, s.By.Of(c.Head), c.Head.Total, c.Head.Settled, s.By.Open(c.Head), stepDocuments(c)}
		}
		docs = append(docs, d)
	}
	return docs
}

type planRef struct {
	ID      string `json:"id"`
	Version int    `json:"version"`
	Title   string `json:"title"`
	Hash    string `json:"hash"`
}

type usageDoc struct {
	In   *int64   `json:"tokens_in"`
	Out  *int64   `json:"tokens_out"`
	Cost *float64 `json:"cost_usd"`
}

// useDoc is what attempts of agents used, and how many of them did not tell it.
type useDoc struct {
	Tokens        *int64   `json:"tokens"`
	Cost          *float64 `json:"cost_usd"`
	WithoutTokens int      `json:"attempts_without_tokens"`
	WithoutCost   int      `json:"attempts_without_cost"`
}

func useOf(e engine.Effort) *useDoc {
	if e.Tokens == (engine.Told{}) && e.Cost == (engine.Told{}) {
		return nil
	}
	d := useDoc{Tokens: e.Tokens.Amount(), WithoutTokens: e.Tokens.Silent, WithoutCost: e.Cost.Silent}
	if n := e.Cost.Amount(); n != nil {
		d.Cost = new(float64(*n) / 1e6)
	}
	return &d
}

func usageDocument(u engine.Usage) usageDoc {
	d := usageDoc{In: u.In, Out: u.Out}
	if u.CostMicros != nil {
		d.Cost = new(float64(*u.CostMicros) / 1e6)
	}
	return d
}

// spendDoc is a budget with what was used of it: attempts that did not say what
// they used count as what was set aside for them.
type spendDoc struct {
	Limit     budgetDoc `json:"limit"`
	Used      budgetDoc `json:"used"`
	Reserved  budgetDoc `json:"reserved"` // for what is under way
	Left      budgetDoc `json:"left"`
	Unmetered int       `json:"unmetered"` // attempts, and questions to models, that did not say what they used, with nothing set aside
}

// limitsDoc are amounts of which those that are none are left out.
type limitsDoc struct {
	Tokens  int64   `json:"tokens,omitempty"`
	CostUSD float64 `json:"cost_usd,omitempty"`
	WallMs  int64   `json:"wall_ms,omitempty"`
}

func limitsDocument(a engine.Amount) limitsDoc {
	return limitsDoc{a.Tokens, float64(a.CostMicros) / 1e6, a.Wall.Milliseconds()}
}

// shortageDoc is why a budget is to be raised.
type shortageDoc struct {
	Of      string    `json:"of"`
	Limits  limitsDoc `json:"limits"`
	Spent   limitsDoc `json:"spent"`
	Held    limitsDoc `json:"held"`
	SinceMs int64     `json:"since_ms"`
	Needs   limitsDoc `json:"needs"`
	Raise   limitsDoc `json:"raise"`
	Silent  int       `json:"silent"`
}

func shortageDocument(x engine.Shortage) shortageDoc {
	return shortageDoc{
		x.Of, limitsDocument(x.Limits), limitsDocument(x.Spent), limitsDocument(x.Held), x.Since.Milliseconds(),
		limitsDocument(x.Needs), limitsDocument(x.Raise), x.Silent,
	}
}

// spendDocument is the budget at now, nil where nothing is limited.
func spendDocument(b engine.Budget, now time.Time) *spendDoc {
	if b.Limits == (engine.Amount{}) {
		return nil
	}
	limited := func(a engine.Amount) (d budgetDoc) {
		if b.Limits.Tokens > 0 {
			d.Tokens = &a.Tokens
		}
		if b.Limits.CostMicros > 0 {
			d.CostUSD = new(float64(a.CostMicros) / 1e6)
		}
		if b.Limits.Wall > 0 {
			d.WallMs = new(a.Wall.Milliseconds())
		}
		return d
	}
	left := b.Left(now)
	used := b.Spent
	used.Wall = b.Limits.Wall - left.Wall
	return &spendDoc{limited(b.Limits), limited(used), limited(b.Held), limited(left), b.Unmetered}
}

// Loop is how far a loop is.
type Loop struct {
	Iteration  int              `json:"iteration"`
	Iterations int              `json:"iterations"`
	Tokens     int64            `json:"loop_tokens"`
	Context    int64            `json:"context_limit"`
	Exit       *engine.LoopExit `json:"exit_reason"`
	Checklist  []api.LoopItem   `json:"checklist,omitempty"` // status
	Activity   []api.Iteration  `json:"activity,omitempty"`  // status
}

func loopOf(r *engine.LoopRow) *Loop {
	if r == nil {
		return nil
	}
	return &Loop{Iteration: r.Iteration, Iterations: r.Iterations, Tokens: r.Tokens, Context: r.Context, Exit: OrNull(r.Exit)}
}

// LoopLine says how far a loop is, for people.
func LoopLine(r *engine.LoopRow) string {
	if r == nil || r.Iteration == 0 {
		return ""
	}
	parts := []string{fmt.Sprintf("iteration %d of %d", r.Iteration, r.Iterations)}
	if len(r.Answers) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s", r.Passed, Plural(r.Checks, "check passes", "checks pass")))
	}
	if r.Omitted > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", r.Omitted))
	}
	if r.Exit != "" {
		parts = append(parts, string(r.Exit))
	}
	return Join(parts)
}

type Step struct {
	ID         string          `json:"id"`
	Number     string          `json:"number"`
	Title      string          `json:"title"`
	Status     engine.Status   `json:"status"`
	Phase      *engine.Phase   `json:"phase"`
	Reason     string          `json:"reason"`
	Agent      *string         `json:"agent"`
	Attempts   int             `json:"attempts"`
	Verdict    *engine.Verdict `json:"verdict"`
	Baseline   *engine.Verdict `json:"baseline"`
	Proven     bool            `json:"proven"`
	StartedAt  Stamp           `json:"started_at"`
	FinishedAt Stamp           `json:"finished_at"`
	Needs      []string        `json:"needs"`
	Of         string          `json:"instance_of,omitempty"`
	*Loop
	Progress *Said   `json:"progress,omitempty"` // status: of the attempt under way, where it says something
	Child    *Child  `json:"child,omitempty"`    // the newest run that carries it out
	Used     *useDoc `json:"used,omitempty"`     // by the agents of its attempts
}

// RunOf is the document of a run as it is now, without its steps.
func (s Stands) RunOf(h engine.HeadRow, workspace string, now time.Time) Run {
	if h.Ended {
		now = h.Finished // the time is counted to it
	}
	d := Run{
		ID: h.Run, Status: s.Of(h), Reason: h.Reason,
		Plan:      planRef{h.Plan, h.Version, h.Title, h.PlanHash},
		Workspace: workspace, Isolation: OrNull(h.Isolation), ApprovedBy: OrNull(h.ApprovedBy), StartedAt: Stamp(h.Started), FinishedAt: Stamp(h.Finished),
		Proven: h.Proven, Unproven: h.Unproven, Missed: h.Missed, Flaky: h.Flaky, Waived: h.Waived, Skipped: h.Skipped, Weaker: h.Weaker, Usage: usageDoc{In: OrNull(h.TokensIn), Out: OrNull(h.TokensOut)},
		Total: h.Total, Satisfied: h.Settled, Waiting: s.Open(h),
		Budget: spendDocument(h.Budget, now),
	}
	d.Parent, d.Branch = parentDocument(h.Parent), branchDocument(h.Branch)
	if h.Ended {
		d.Exit = &h.Exit
	}
	if h.CostMicros > 0 {
		d.Usage.Cost = OrNull(float64(h.CostMicros) / 1e6)
	}
	return d
}

func StepOf(s engine.StepRow) Step {
	of, instance := engine.InstanceOf(s.ID)
	if !instance {
		of = ""
	}
	return Step{
		Loop: loopOf(s.Loop), Of: of, ID: s.ID, Number: s.Number, Title: s.Title, Status: s.Status, Phase: OrNull(s.Phase), Reason: s.Reason,
		Agent: OrNull(s.Agent), Attempts: s.Attempts, Verdict: OrNull(s.Verdict), Baseline: OrNull(s.Baseline),
		Proven: s.Proven, StartedAt: Stamp(s.Started), FinishedAt: Stamp(s.Finished), Needs: List(s.Needs),
		Used: useOf(s.Effort),
	}
}

// Unapproved is the run that a plan would have.
func Unapproved(r *engine.Revision, p *engine.Program, workspace string) Run {
	d := r.Drafted
	steps := []Step{}
	for i := range p.Len() {
		s := p.Step(i)
		row := engine.StepRow{ID: s.ID, Number: s.Number, Title: s.Title, Status: engine.Pending, Agent: s.Role}
		if p.Elective(i) {
			row.Agent = ""
		}
		for _, n := range s.Needs {
			row.Needs = append(row.Needs, p.Step(n).ID)
		}
		steps = append(steps, StepOf(row))
	}
	head := engine.HeadRow{Plan: d.Plan, Version: d.Version, Title: d.Title, PlanHash: d.Hash, Status: Verified, Reason: "the plan waits for approval", Total: p.Len()}
	doc := Stands{Carried: Carried{All: true}}.RunOf(head, workspace, r.At)
	doc.Steps = steps
	return doc
}

type budgetDoc struct {
	Tokens  *int64   `json:"tokens"`
	CostUSD *float64 `json:"cost_usd"`
	WallMs  *int64   `json:"wall_ms"`
}

// Said is how far the attempt under way says it is.
type Said struct {
	Percent *float64 `json:"percent"`
	Text    string   `json:"text"`
	At      Stamp    `json:"at"`
}

// String is what an attempt says, for people: "40% tests written".
func (s Said) String() string {
	switch {
	case s.Percent == nil:
		return s.Text
	case s.Text == "":
		return fmt.Sprintf("%.0f%%", *s.Percent)
	}
	return fmt.Sprintf("%.0f%% %s", *s.Percent, s.Text)
}
