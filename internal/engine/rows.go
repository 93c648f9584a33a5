package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Rows are what the core computed for lists: projections that can be thrown
// away and rebuilt from the journal. A store keeps them beside the records and
// knows nothing of their meaning.
type Rows struct {
	Head  *HeadRow  // nil = unchanged
	Steps []StepRow // changed ones only
	Items []ItemRow // opened, and closed ones with Open false
}

// HeadRow sums up a task's stream: its newest run.
type HeadRow struct {
	Stream     string    `json:"stream"`
	Run        string    `json:"run"`
	Plan       string    `json:"plan"`
	Version    int       `json:"version"`
	Title      string    `json:"title"`
	PlanHash   string    `json:"plan_hash"`
	Status     Status    `json:"status"`
	Reason     string    `json:"reason,omitempty"`
	Exit       int       `json:"exit"`
	Ended      bool      `json:"ended"`
	Started    time.Time `json:"started"`
	Finished   time.Time `json:"finished"`
	Total      int       `json:"total"`
	Settled    int       `json:"settled"` // satisfied steps
	Active     int       `json:"active"`
	Open       int       `json:"open"` // items that wait for a person
	Proven     int       `json:"proven"`
	Unproven   int       `json:"unproven"`
	TokensIn   int64     `json:"tokens_in"`
	TokensOut  int64     `json:"tokens_out"`
	CostMicros int64     `json:"cost_micros"`
}

// StepRow is what lists show of a step in a task's newest run.
type StepRow struct {
	Index    int       `json:"index"`
	ID       string    `json:"id"`
	Number   string    `json:"number"`
	Title    string    `json:"title"`
	Status   Status    `json:"status"`
	Phase    Phase     `json:"phase,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Agent    string    `json:"agent,omitempty"`
	Attempts int       `json:"attempts"`
	Verdict  Verdict   `json:"verdict,omitempty"`
	Baseline Verdict   `json:"baseline,omitempty"`
	Proven   bool      `json:"proven,omitempty"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Needs    []string  `json:"needs,omitempty"`
}

// ItemRow is an open or closed question to people.
type ItemRow struct {
	Item     string    `json:"item"`
	Stream   string    `json:"stream"`
	Run      string    `json:"run"`
	Step     string    `json:"step"`
	Kind     ItemKind  `json:"kind"`
	Cause    Verdict   `json:"cause,omitempty"`
	Question string    `json:"question"`
	Context  string    `json:"context,omitempty"`
	Hash     string    `json:"hash"`
	Choices  []string  `json:"choices"`
	Opened   time.Time `json:"opened"`
	Open     bool      `json:"open"`
}

// dirty is what changed in the projections since they were last taken.
type dirty struct {
	head  bool
	all   bool // every step
	steps map[int]bool
	items map[string]ItemRow
}

// show notes that what lists show of the step changed.
func (s *State) show(i int) {
	if s.dirty.steps == nil {
		s.dirty.steps = map[int]bool{}
	}
	s.dirty.steps[i] = true
}

func (d *dirty) item(row ItemRow) {
	if d.items == nil {
		d.items = map[string]ItemRow{}
	}
	d.items[row.Item] = row
}

// Rows returns what changed in the projections since it was last called, and
// forgets it. It is bookkeeping for the store and no part of the state.
func (s *State) Rows() Rows {
	var rows Rows
	if !s.dirty.head || s.prog == nil {
		return rows
	}
	head := s.Head()
	rows.Head = &head
	if s.dirty.all {
		for i := range s.steps {
			rows.Steps = append(rows.Steps, s.StepRow(i))
		}
	} else {
		for _, i := range slices.Sorted(maps.Keys(s.dirty.steps)) {
			rows.Steps = append(rows.Steps, s.StepRow(i))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.dirty.items)) {
		rows.Items = append(rows.Items, s.dirty.items[name])
	}
	s.dirty = dirty{}
	return rows
}

// Head sums up the newest run.
func (s *State) Head() HeadRow {
	r := &s.run
	return HeadRow{
		Stream: s.task, Run: r.Opened.Run, Plan: r.Opened.Plan, Version: r.Opened.Version, Title: r.Opened.Title,
		PlanHash: r.Opened.PlanHash, Status: r.Status, Reason: r.Reason, Exit: r.Exit, Ended: !r.Live,
		Started: r.Started, Finished: r.Finished, Total: len(s.steps), Settled: len(s.steps) - r.Unsat,
		Active: len(s.active), Open: len(s.items), Proven: r.Proven, Unproven: r.Unproven,
		TokensIn: r.TokensIn, TokensOut: r.TokensOut, CostMicros: r.CostMicros,
	}
}

// StepRow is what lists show of the i-th step.
func (s *State) StepRow(i int) StepRow {
	st, p := &s.steps[i], s.prog.Step(i)
	row := StepRow{
		Index: i, ID: p.ID, Number: p.Number, Title: p.Title, Status: s.shown(i), Phase: st.Phase, Reason: st.Reason,
		Agent: p.Role, Attempts: st.Attempt, Verdict: st.Verdict, Baseline: st.Baseline, Proven: st.Proven,
		Started: st.Started, Finished: st.Finished, Needs: s.prog.names[i],
	}
	if row.Status == Blocked {
		row.Reason = fmt.Sprintf("needs %q, which is %s", s.prog.Step(st.Blocker).ID, s.shown(st.Blocker))
	}
	return row
}

// shown is the step's status with what can be derived.
func (s *State) shown(i int) Status {
	st := &s.steps[i]
	switch {
	case st.Status == Pending && st.dead > 0:
		return Blocked
	case st.Status == Pending && s.eligible(i) && !s.stopping():
		return Ready
	}
	return st.Status
}
