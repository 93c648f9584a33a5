package engine

import "time"

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
