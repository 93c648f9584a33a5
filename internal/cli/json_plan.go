package cli

import (
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
)

// planDoc is a plan for programs: every label of the format, in snake_case.
type planDoc struct {
	ID          *string    `json:"id"` // of a recorded revision; a file alone has none
	Title       string     `json:"title"`
	Issue       string     `json:"issue"`
	Status      string     `json:"status"` // of a recorded revision what was said to it; of a file what it says
	Owner       string     `json:"owner"`
	Version     *int       `json:"version"`
	Hash        string     `json:"hash"`
	Children    []pinDoc   `json:"children,omitempty"` // approved together with it
	File        string     `json:"file"`
	Context     string     `json:"context"`
	Budget      *budgetDoc `json:"budget"`
	Priority    string     `json:"priority"`
	Constraints []string   `json:"constraints"`
	Tags        []string   `json:"tags"`
	Complexity  *int       `json:"complexity"`
	Memories    []string   `json:"memories"`
	EstimateMs  *int64     `json:"estimate_ms"`
	Parallel    int        `json:"parallel"`
	Replans     int        `json:"replans"`
	Protect     []string   `json:"protect"`
	Isolation   *string    `json:"isolation"`
	Workspace   string     `json:"workspace"`
	Setup       *string    `json:"setup"`
	Prose       string     `json:"prose"` // of the header, that belongs to no label
	Steps       []planStep `json:"steps"`
	Notes       string     `json:"notes"` // what follows the steps
	riskDoc

	Forecast *forecastDoc `json:"forecast,omitempty"` // show: from the attempts of earlier runs
}

type planStep struct {
	ID            string       `json:"id"`
	Number        string       `json:"number"`
	Title         string       `json:"title"`
	Kind          string       `json:"kind"`
	Target        string       `json:"target"`
	Needs         []string     `json:"needs"`
	Subscriptions []string     `json:"subscriptions"`
	Task          string       `json:"task"`
	Acceptance    []string     `json:"acceptance"`
	Tool          *string      `json:"tool"`
	Args          *string      `json:"args"`
	Plan          *string      `json:"plan"`
	Ask           *string      `json:"ask"`
	Choices       []string     `json:"choices"`
	When          *string      `json:"when"`
	ForEach       []string     `json:"for_each"`
	Batch         int          `json:"batch"`
	Contract      *contractDoc `json:"contract"`
	Checks        []planCheck  `json:"checks"`
	Judge         *string      `json:"judge"`
	Expect        string       `json:"expect"`
	OnFail        planOnFail   `json:"on_fail"`
	BackoffMs     *int64       `json:"backoff_ms"`
	Iterations    *int         `json:"iterations"`
	Approval      *string      `json:"approval"`
	Critical      bool         `json:"critical"`
	TimeoutMs     int64        `json:"timeout_ms"`
	CheckMs       int64        `json:"contract_timeout_ms"`
	Writes        []string     `json:"writes"` // null: the whole workspace
	Protect       []string     `json:"protect"`
	Budget        *budgetDoc   `json:"budget"`
	Mode          string       `json:"mode"`
	Network       string       `json:"network"`
	Env           []string     `json:"env"`
	Workspace     string       `json:"workspace"`
	Setup         *string      `json:"setup"`
	Isolation     *string      `json:"isolation"`
	Holds         string       `json:"holds"`
	Rerunnable    bool         `json:"rerunnable"`
	Strong        bool         `json:"strong"`
	Schema        *string      `json:"schema"`
	Status        *string      `json:"status"`
	Prose         string       `json:"prose"` // that belongs to no label
	Place         planPlace    `json:"place"`
}

type budgetDoc struct {
	Tokens  *int64   `json:"tokens"`
	CostUSD *float64 `json:"cost_usd"`
	WallMs  *int64   `json:"wall_ms"`
}

type contractDoc struct {
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
}

type planCheck struct {
	Name     string `json:"name"`
	Command  string `json:"command"`
	Optional bool   `json:"optional"`
}

type planOnFail struct {
	Retries int    `json:"retries"`
	Then    string `json:"then"`
}

type planPlace struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func planDocument(doc *api.Document) planDoc {
	p := doc.Plan
	d := planDoc{
		Title: p.Title.Value, Issue: p.Issue, Status: p.Status(), Owner: p.Owner(), Hash: doc.Covers(), Children: pinDocuments(doc), File: doc.Path,
		Context: p.Context.Value, Budget: budgetDocument(p.Budget), Priority: p.Priority.Value,
		Constraints: values(p.Constraints.Value), Tags: values(p.Tags.Value), Complexity: orNull(p.Complexity.Value),
		Memories: values(p.Memories.Value), EstimateMs: millis(p.Estimate), Parallel: p.Parallel.Value, Replans: p.Replans.Value,
		Protect: values(p.Protect.Value), Isolation: orNull(p.Isolation.Value), Workspace: p.Workspace.Value,
		Setup: orNull(p.Setup.Value), Prose: p.Prose.Value, Steps: []planStep{}, Notes: p.Notes.Value, riskDoc: riskDocument(doc),
	}
	refs := p.Refs()
	for i, s := range p.Steps {
		d.Steps = append(d.Steps, stepDocument(s, doc, needsOf(p, refs, i)))
	}
	return d
}

// pinDoc is a plan that is approved together with another one.
type pinDoc struct {
	Path  string `json:"path"`
	Title string `json:"title"`
	Hash  string `json:"hash"`
}

func pinDocuments(doc *api.Document) []pinDoc {
	var pins []pinDoc
	for _, child := range doc.Below() {
		pins = append(pins, pinDoc{child.Rel, child.Plan.Title.Value, child.Plan.Hash()})
	}
	return pins
}

func stepDocument(s *plan.Step, doc *api.Document, needs []string) planStep {
	d := planStep{
		ID: s.ID.Value, Number: s.Number, Title: s.Title.Value, Kind: kindOf(s, doc), Target: s.Target.Value, Needs: needs,
		Subscriptions: []string{}, Task: s.Task.Value, Acceptance: values(s.Acceptance.Value), Tool: orNull(s.Tool.Value),
		Args: orNull(s.Args.Value), Plan: orNull(s.Plan.Value), Ask: orNull(s.Ask.Value), Choices: values(s.Choices),
		When: orNull(s.When.Value), ForEach: values(s.ForEach.Value.Items), Batch: s.Batch.Value, Checks: []planCheck{},
		Judge: orNull(s.Judge.Value), Expect: s.Expect.Value, OnFail: planOnFail(s.OnFail.Value), BackoffMs: millis(s.Backoff),
		Approval: orNull(s.Approval.Value), Critical: s.Critical.Value, TimeoutMs: s.Timeout.Value.Milliseconds(),
		CheckMs: s.CheckTimeout.Value.Milliseconds(), Protect: values(s.Protect.Value), Budget: budgetDocument(s.Budget),
		Mode: s.Mode.Value, Network: s.Network.Value, Env: values(s.Env.Value), Workspace: s.Workspace.Value,
		Setup: orNull(s.Setup.Value), Isolation: orNull(s.Isolation.Value), Holds: s.Holds.Value, Rerunnable: s.Rerunnable.Value,
		Strong: s.Strong.Value, Schema: orNull(s.Schema.Value), Status: orNull(s.Status.Value), Prose: s.Prose.Value, Place: planPlace(s.Pos),
	}
	if s.Iterations.Set {
		d.Iterations = &s.Iterations.Value
	}
	if s.Writes.Set {
		d.Writes = values(s.Writes.Value)
	}
	for _, sub := range s.Subscriptions.Value {
		d.Subscriptions = append(d.Subscriptions, sub.Kind+":"+sub.Ref)
	}
	if c := s.Contract; c != nil {
		d.Contract = &contractDoc{c.Command.Value, c.ExitCode.Value}
	}
	for _, c := range s.Checks.Value {
		d.Checks = append(d.Checks, planCheck{c.Name.Value, c.Command.Value, c.Optional})
	}
	return d
}

// kindOf says who does the step's work.
func kindOf(s *plan.Step, doc *api.Document) string {
	switch {
	case s.Tool.Set:
		return "tool"
	case !s.Plan.IsZero():
		return "plan"
	case !s.Ask.IsZero():
		return "ask"
	}
	if _, a, _ := doc.Facts.Agent(s.Target.Value); a.Shell {
		return "script"
	}
	return "agent"
}

// needsOf names the steps that a step waits for: without a label, the one
// before it. A reference that leads nowhere stays as it was written.
func needsOf(p *plan.Plan, refs plan.Refs, i int) []string {
	s := p.Steps[i]
	if !s.Needs.Set {
		if i == 0 {
			return []string{}
		}
		return []string{p.Steps[i-1].ID.Value}
	}
	needs := []string{}
	for _, ref := range s.Needs.Value {
		if found := refs.Find(ref.Value); len(found) == 1 {
			needs = append(needs, p.Steps[found[0]].ID.Value)
		} else {
			needs = append(needs, ref.Value)
		}
	}
	return needs
}

func values(list []plan.Text) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.Value
	}
	return out
}

func millis(d plan.Field[time.Duration]) *int64 {
	if !d.Set {
		return nil
	}
	n := d.Value.Milliseconds()
	return &n
}

func budgetDocument(b plan.Field[plan.Budget]) *budgetDoc {
	if !b.Set {
		return nil
	}
	d := &budgetDoc{Tokens: orNull(b.Value.Tokens), WallMs: orNull(b.Value.Wall.Milliseconds())}
	if b.Value.CostMicros > 0 {
		d.CostUSD = orNull(float64(b.Value.CostMicros) / 1e6)
	}
	return d
}
