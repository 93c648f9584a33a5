package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Rows are what the core computed for lists: projections that can be thrown
// away and rebuilt from the journal. A store keeps them beside the records and
// knows nothing of their meaning.
type Rows struct {
	Earlier []Rows    // of the runs before this one, oldest first; they have no Earlier
	Head    *HeadRow  // nil = unchanged
	All     bool      // Steps are all there are of the head's run: rows of others are no more
	Steps   []StepRow // changed ones of the head's run only
	Items   []ItemRow // opened, and closed ones with Open false
	Marks   []Mark    // of the head's run, in order: none is ever changed
	Anew    bool      // Steps and Marks are all there are of the head's run, and of each earlier one; so is Things

	Things []ThingRow // of the workspace, changed ones only
}

// ThingRow is what is kept of one thing of the workspace, so that it is found without a
// look at all that there ever was.
type ThingRow struct {
	Kind Thing
	Key  string // one of each kind
	Of   string // what it belongs to
	Seq  uint64 // of the record that it began with, by which those of a kind are in order
	Open bool
	Row  string // JSON
}

// Thing is a kind of what the workspace has.
type Thing string

// Things of the workspace.
const (
	ArchivedRun Thing = "archived" // by the run; open while it is archived
	PlanPath    Thing = "document" // by the path of a document; of the newest revision that has it, "" for none
	ErrandKept  Thing = "errand"   // an [ErrandRow], of the intent or the run that it is for; open until it is over
	PlanKept    Thing = "plan"     // a [Revision] of an intent; open while it waits for approval
)

// Compare orders rows: by kind, and those of one kind as they began.
func (r ThingRow) Compare(o ThingRow) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Seq, o.Seq), cmp.Compare(r.Key, o.Key))
}

// HeadRow sums up one run of a task.
type HeadRow struct {
	Stream     string    `json:"stream"`
	First      uint64    `json:"first"` // sequence number of the record that opened it
	Run        string    `json:"run"`
	Plan       string    `json:"plan"`
	Version    int       `json:"version"`
	Title      string    `json:"title"`
	Path       string    `json:"path,omitempty"` // of the plan document
	PlanHash   string    `json:"plan_hash"`
	Source     string    `json:"source,omitempty"` // hash of the plan document's bytes
	Program    string    `json:"program,omitempty"`
	Isolation  string    `json:"isolation,omitempty"`
	ApprovedBy string    `json:"approved_by,omitempty"` // as in [RunOpened]
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
	Missed     int       `json:"missed,omitempty"` // done steps of which an optional check did not pass
	Flaky      int       `json:"flaky,omitempty"`  // steps whose checks gave different answers for the same files
	Waived     int       `json:"waived"`
	Skipped    int       `json:"skipped"`
	TokensIn   int64     `json:"tokens_in"`
	TokensOut  int64     `json:"tokens_out"`
	CostMicros int64     `json:"cost_micros"`
	Budget     Budget    `json:"budget,omitzero"`
	Work       Clock     `json:"work,omitzero"`    // the time in which something was at work
	Parent     Parent    `json:"parent,omitzero"`  // the step that the run carries out
	Landed     bool      `json:"landed,omitempty"` // its worktree is in the workspace
	Branch     Branch    `json:"branch,omitzero"`
	Foreseen   Foreseen  `json:"foreseen,omitzero"`
	Effort     RunEffort `json:"effort,omitzero"`
	Bar        Bar       `json:"bar,omitzero"`     // what keeps its steps
	Weaker     string    `json:"weaker,omitempty"` // revisions that prove or guard less than the text before, and who said yes
}

// Shown is the run's status as people are told it, in every list and at every
// place: a run of which anything waits for a person is waiting.
func (h HeadRow) Shown() Status {
	if h.Open > 0 && !h.Ended {
		return Waiting
	}
	return h.Status
}

// StepRow is what lists show of a step of a run.
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
	Started  time.Time `json:"started"` // since a person last sent it back to its start
	Finished time.Time `json:"finished"`
	Needs    []string  `json:"needs,omitempty"`
	Loop     *LoopRow  `json:"loop,omitempty"`
	Effort   Effort    `json:"effort,omitzero"`
	Bond     Bond      `json:"bond,omitzero"` // what keeps it
}

// ItemRow is an open or closed question to people.
type ItemRow struct {
	ItemOpened
	Stream string    `json:"stream"`
	Run    string    `json:"run"`
	Opened time.Time `json:"opened"`
	Open   bool      `json:"open"`
	Parent Parent    `json:"parent,omitzero"`  // the step that the item's run carries out
	Behind []string  `json:"behind,omitempty"` // ids of steps that wait for this one, also behind others, the first few; "…" for more
}

// Mark says that a record is about a step, adds a frame, or opens or revises a run, so that those of one step, or some
// frames, are found without a look at all the others.
type Mark struct {
	Seq    uint64 `json:"seq"`
	Step   string `json:"step,omitempty"`   // "" of a run, and of a frame that no step produced
	Frame  int    `json:"frame,omitempty"`  // the id of the frame that it adds
	Failed bool   `json:"failed,omitempty"` // an attempt did not pass, for a reason that it gives
	Was    Moment `json:"was,omitzero"`     // how the step stood before it, where it was dispatched or settled
	Is     Moment `json:"is,omitzero"`      // and after it
}

// Moment is how a step stood.
type Moment struct {
	Status   Status   `json:"status,omitempty"`
	Attempts int      `json:"attempts,omitempty"`
	Loop     *LoopRow `json:"loop,omitempty"` // nil for a step that is no loop
}

// maxBehind is how many steps are named that wait behind an item.
const maxBehind = 5

// behind names steps that wait for step i, the nearest first. It looks no further
// than at those it names.
func (s *State) behind(i int) []string {
	var ids []string
	for found, n := []int{i}, 0; n < len(found); n++ {
		for _, d := range s.needing(found[n]) {
			if slices.Contains(found, d) {
				continue
			}
			if len(ids) == maxBehind {
				return append(ids, "…")
			}
			found, ids = append(found, d), append(ids, s.prog.Step(d).ID)
		}
	}
	return ids
}

// dirty is what changed in the projections since they were last taken.
type dirty struct {
	earlier []Rows // of runs that were followed by others
	head    bool
	all     bool  // every step
	steps   []int // one may be in it more than once
	items   map[string]ItemRow
	marks   []Mark
}

// show notes that what lists show of the step changed.
func (s *State) show(i int) {
	if !s.dirty.all {
		s.dirty.steps = append(s.dirty.steps, i)
	}
}

func (d *dirty) item(row ItemRow) {
	if d.items == nil {
		d.items = map[string]ItemRow{}
	}
	d.items[row.Item] = row
}

// Rows returns what changed in the projections since it was last called, and
// forgets it: of all runs that records were of since then. It is bookkeeping
// for the store and no part of the state.
func (s *State) Rows() Rows {
	rows := Rows{Earlier: s.dirty.earlier}
	if !s.dirty.head || s.prog == nil {
		return rows
	}
	head := s.Head()
	rows.Head = &head
	if rows.All = s.dirty.all; rows.All {
		for i := range s.steps {
			rows.Steps = append(rows.Steps, s.StepRow(i))
		}
	} else {
		slices.Sort(s.dirty.steps)
		s.dirty.steps = slices.Compact(s.dirty.steps)
		rows.Steps = slices.Grow(rows.Steps, len(s.dirty.steps))
		for _, i := range s.dirty.steps {
			rows.Steps = append(rows.Steps, s.StepRow(i))
		}
	}
	if len(s.dirty.items) > 0 {
		for _, name := range slices.Sorted(maps.Keys(s.dirty.items)) {
			rows.Items = append(rows.Items, s.dirty.items[name])
		}
	}
	rows.Marks = s.dirty.marks
	s.Forget()
	return rows
}

// Forget drops what changed in the projections: the store has it.
func (s *State) Forget() { s.dirty = dirty{steps: s.dirty.steps[:0]} }

// turnPage keeps what changed of a run that another one follows.
func (s *State) turnPage() {
	rows := s.Rows()
	earlier := rows.Earlier
	if rows.Earlier = nil; rows.Head != nil {
		earlier = append(earlier, rows)
	}
	s.dirty.earlier = earlier
}

// Head sums up the newest run.
func (s *State) Head() HeadRow {
	r := &s.run
	reason := r.Reason
	if r.Live && r.Replan != nil && r.Replan.Over == "" {
		reason = s.occasion()
	}
	return HeadRow{
		Stream: s.task, First: r.First, Isolation: r.Opened.Isolation, ApprovedBy: r.Opened.ApprovedBy, Run: r.Opened.Run, Plan: r.Opened.Plan, Version: r.Opened.Version, Title: r.Opened.Title,
		Path: r.Opened.Path, PlanHash: r.Opened.PlanHash, Source: r.Opened.Source, Program: r.Opened.Program, Status: r.Status, Reason: reason, Exit: r.Exit, Ended: !r.Live,
		Started: r.Started, Finished: r.Finished, Total: len(s.steps) - r.Apart, Settled: len(s.steps) - r.Unsat - r.ApartMet,
		Active: len(s.active), Open: s.open(), Proven: r.Proven, Unproven: r.Unproven, Missed: r.Missed, Flaky: r.Flaky, Waived: r.Waived, Skipped: r.Skipped,
		TokensIn: r.TokensIn, TokensOut: r.TokensOut, CostMicros: r.CostMicros, Budget: s.Budget(), Work: r.Used.Work, Parent: r.Opened.Parent, Landed: s.landed(), Branch: s.branch(),
		Foreseen: r.Foreseen, Effort: r.Effort, Bar: s.bar(), Weaker: r.Weaker,
	}
}

// open is how many items wait for a person.
func (s *State) open() int {
	if !s.run.Live {
		return 0
	}
	return len(s.items)
}

// Ends is the reason of a run that fails because of the step as it stands.
func (r StepRow) Ends() string {
	return fmt.Sprintf("step %s %q is %s: %s", r.Number, short(r.Title, maxTitled), r.Status, r.Reason)
}

// StepRow is what lists show of the i-th step.
func (s *State) StepRow(i int) StepRow {
	st, p := &s.steps[i], s.prog.Step(i)
	row := StepRow{
		Index: i, ID: p.ID, Number: p.Number, Title: p.Title, Status: s.shown(i), Phase: st.Phase, Reason: st.Reason,
		Agent: s.doer(i), Attempts: st.Attempt, Verdict: st.Verdict, Baseline: st.Baseline, Proven: st.Proven,
		Started: st.Started, Finished: st.Finished, Needs: s.prog.names[i],
		Loop: s.loopRow(i), Effort: s.run.Efforts[p.ID],
	}
	row.Bond = s.bond(i, row.Status)
	if st.Behind != nil {
		row.Reason = st.Behind.String()
		if row.Status == Ready {
			row.Phase = NoPhase
		}
	}
	if st.Expanded && row.Status == Running {
		row.Reason = s.progress(i)
	}
	if row.Status != st.Status && st.Status == Waiting {
		row.Phase = NoPhase
		if row.Status == Running {
			row.Phase = Revising
		}
	}
	if row.Status == Blocked {
		n := s.blocker(i)
		row.Reason = fmt.Sprintf("needs %q, which is %s", s.prog.Step(n).ID, s.shown(n))
	}
	return row
}

// shown is the step's status with what can be derived. Of a run that has ended
// nobody is asked anything: what a person was to judge did not pass.
func (s *State) shown(i int) Status {
	st := &s.steps[i]
	switch {
	case st.Status == Waiting && !s.run.Live && s.items[st.Item].Kind.early():
		return Pending
	case st.Status == Waiting && !s.run.Live:
		return Failed
	case s.run.Replan != nil && (s.replans(i) || st.Status == Waiting && st.Item == "" && s.revisedFor(i)):
		return Running
	case st.Status == Pending && st.dead > 0:
		return Blocked
	case st.Behind != nil && st.Status == Running && st.Phase == Baseline:
		return Ready
	case st.Status == Pending && s.eligible(i) && !s.stopping():
		return Ready
	}
	return st.Status
}
