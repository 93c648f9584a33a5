package engine

import (
	"fmt"
	"time"
)

// State is the fold of one task's stream: the zero State is an empty stream.
// It is not safe for concurrent use; its owner calls it from one goroutine.
type State struct {
	task  string
	seq   uint64
	epoch uint64
	run   run
	prog  *Program
	steps []step

	// The indexes are derived from the fields above. Whatever changes a step
	// touches it, and a touch renews its place in each.
	active []int // steps under way, ascending
	must   set   // steps for which a fact follows
	ask    set   // steps that wait for nothing but a person's yes
	ready  set   // steps that may start once there is room; the first of each class only
	// thrifty are those of the ready ones that use neither tokens nor money.
	thrifty set
	queues  []queue // by class
	due     dueHeap

	items map[string]ItemRow // open ones
	dirty dirty
}

// run is what State knows of the newest run beside its steps.
type run struct {
	Opened     RunOpened
	First      uint64 // sequence number of the record that opened it
	Live       bool   // opened and not ended
	Paused     bool
	Cancelled  bool // wanted; live work is being stopped
	Aborted    bool
	Status     Status
	Reason     string
	Exit       int
	Started    time.Time
	Finished   time.Time
	Items      int // opened ever, for their names
	Critical   int // failed critical steps
	Unsat      int
	Round      int   // ratchet rounds begun
	Proving    bool  // a ratchet round is under way
	ProveLeft  []int // steps it has still to prove, ascending
	Regressed  int   // in this round
	Regression []int // counts of the rounds that ended with regressions
	Proved     bool  // the last round found nothing, and nothing ran since
	Brought    bool  `json:",omitzero"` // the run's worktree got something that was not proved there
	Proven     int   // steps whose contract failed before and passed after
	Unproven   int   // steps done whose contract passed before too, or was not asked
	Waived     int
	Skipped    int
	Leaving    []leaving      // work of steps that a revision changed or took out
	Past       map[string]int // attempts of steps that revisions took out
	Moved      map[string]string
	TokensIn   int64
	TokensOut  int64
	CostMicros int64
	Limits     Amount            `json:",omitzero"` // in force: the plan's, or what a person raised them to
	Used       budget            `json:",omitzero"`
	Roles      map[string]Amount `json:",omitempty"` // the largest settled attempt of each role
	Unmetered  int               `json:",omitzero"`  // attempts that did not say what they used, with nothing reserved
	Excused    int               `json:",omitzero"`  // those that a person let pass
	Asking     string            `json:",omitzero"`  // the item that asks for more
	// Executables are those of the run's opening, and what baselines found since.
	Executables map[string]string `json:",omitempty"`
	Expanded    []StepExpanded    `json:",omitempty"` // of steps for each item, in their order
}

// step is what State knows of one step. Fields are exported for the snapshot only.
type step struct {
	Status   Status        `json:",omitzero"`
	Phase    Phase         `json:",omitzero"`
	Verdict  Verdict       `json:",omitzero"`
	Reason   string        `json:",omitzero"`
	Attempt  int           `json:",omitzero"` // current or last
	Tries    int           `json:",omitzero"` // retries used up
	N        int           `json:",omitzero"` // dispatches of this attempt
	Lost     int           `json:",omitzero"` // of them lost with their owner
	Cut      bool          `json:",omitzero"`
	Infra    int           `json:",omitzero"` // faults of this machine in a row
	Epoch    uint64        `json:",omitzero"` // of the live dispatch
	Leased   time.Time     `json:",omitzero"` // when its newest lease was granted
	Began    Start         `json:",omitzero"` // of the newest dispatch, with Tree
	Left     Start         `json:",omitzero"` // the end of the newest work, or of its checks, and who did that
	Live     bool          `json:",omitzero"`
	Kind     WorkKind      `json:",omitzero"` // of the live dispatch
	Prompt   string        `json:",omitzero"`
	Tree     string        `json:",omitzero"` // before the newest dispatch
	HasBase  bool          `json:",omitzero"` // the baseline was run
	Baseline Verdict       `json:",omitzero"` // what it said
	Barred   Verdict       `json:",omitzero"` // why work must not start after such a baseline
	Seen     []answered    `json:",omitempty"`
	Ended    *WorkEnded    `json:",omitzero"`
	Checks   []CheckEnded  `json:",omitempty"` // of the phase under way
	Answers  []Verdict     `json:",omitempty"` // on one tree: the one that contradicts, then the reruns
	Feedback []Feedback    `json:",omitempty"`
	Claims   Claims        `json:",omitzero"` // of the newest attempt that is over
	Restore  []Change      `json:",omitempty"`
	Note     string        `json:",omitzero"`
	Granted  time.Time     `json:",omitzero"`
	Preview  *PreviewMade  `json:",omitzero"` // the newest look at the call
	Looked   bool          `json:",omitzero"` // it is of what is about to be called
	Edited   string        `json:",omitzero"` // object: arguments that a person gave
	Item     string        `json:",omitzero"`
	Child    string        `json:",omitzero"` // the run that does, or did, the newest attempt
	Answer   *ItemAnswered `json:",omitzero"`
	Order    *Command      `json:",omitzero"`
	Again    bool          `json:",omitzero"` // re-entered by regression once
	Proven   bool          `json:",omitzero"`
	Counts   bool          `json:",omitzero"` // skipped, and satisfies what needs it
	Active   bool          `json:",omitzero"`
	Merged   bool          `json:",omitzero"`  // the attempt's worktree is in the workspace
	Renew    bool          `json:",omitzero"`  // the next attempt begins with another worktree
	Merge    *WorkEnded    `json:",omitzero"`  // the merge, where it did not come to its end
	Stuck    bool          `json:",omitzero"`  // a person resolves a conflict
	Resolved bool          `json:",omitzero"`  // and has
	Round    int           `json:",omitzero"`  // conflicts so far
	Clashes  []Change      `json:",omitempty"` // the newest ones, until they are merged
	Lease    uint64        `json:",omitzero"`  // epoch of the owner that gave it, while the step is under way
	Behind   *Holder       `json:",omitzero"`  // whom it waits for instead
	Blocker  int           `json:",omitzero"`  // a need that cannot be satisfied; of meaning while there is one
	RetryAt  time.Time     `json:",omitzero"`
	Value    string        `json:",omitzero"` // the output itself, as JSON, where the core looks at it
	Chosen   bool          `json:",omitzero"` // its condition holds
	Output   string        `json:",omitzero"` // object: what the work of the last attempt put out
	Started  time.Time     `json:",omitzero"`
	Finished time.Time     `json:",omitzero"`
	Used     budget        `json:",omitzero"`
	Reserve  Amount        `json:",omitzero"` // of the live dispatch
	Raised   Amount        `json:",omitzero"` // limits that a person gave in place of the plan's
	Expanded bool          `json:",omitzero"` // its instances stand behind the steps of the plan

	open    int   // needs that are not satisfied
	dead    int   // needs that cannot be satisfied as things stand
	waiters []int // classes that wait for this step to release its scope
	left    int   // instances that are not satisfied
	spoilt  int   // of them hopeless
	failed  int   // of those failed
}

// answered remembers what the checks said of a tree.
type answered struct {
	Tree string
	Pass bool
}

// Before returns a state of r's task that takes r next, a record that opens a
// run: a run needs nothing of those before it, so it can be replayed alone.
func Before(r Record) *State { return &State{task: r.Stream, seq: r.Seq - 1, epoch: r.Epoch} }

// Task is the id of the task, "" before it was opened.
func (s *State) Task() string { return s.task }

// Seq is the sequence number of the last record applied.
func (s *State) Seq() uint64 { return s.seq }

// Program is the newest run's program, nil before one was opened.
func (s *State) Program() *Program { return s.prog }

// Run describes the newest run.
func (s *State) Run() RunOpened { return s.run.Opened }

// Live reports whether a run is open: opened and not ended.
func (s *State) Live() bool { return s.run.Live }

// Idle reports whether a live run can move only when a person acts: nothing is
// under way or due, and items wait or the run is paused. What the runs of
// [State.Delegations] do is for their own states to say: where there is nothing
// but them, this run is idle. Ask it after Decide has nothing more to say. Its
// cost is that of the steps under way.
func (s *State) Idle() bool {
	if _, follows := s.must.first(); !s.run.Live || follows || len(s.run.Leaving) > 0 {
		return false
	}
	delegated := false
	for _, i := range s.active {
		st := &s.steps[i]
		if st.Live && st.Kind == ChildWork {
			delegated = true
			continue
		}
		prepares := s.stopping() || s.run.Paused && st.Phase.first() // and will not before the run goes on
		if _, wanted := s.wants(i); wanted || st.Live || (s.waits(i) || s.awaits(i)) && !prepares {
			return false
		}
	}
	return s.run.Paused || (delegated || len(s.items) > 0) && (len(s.due) == 0 || s.stopping())
}

// waits reports whether the step may not go on before a certain time.
func (s *State) waits(i int) bool { return !s.steps[i].RetryAt.IsZero() }

// satisfied reports whether the step counts for what needs it. One that a
// person takes back counts no more, nor does one of which an instance has to be
// done again.
func (st *step) satisfied() bool {
	if st.Order != nil {
		return false
	}
	return st.Status == Done && st.left == 0 || st.Status == Waived || st.Status == Skipped && st.Counts
}

// settled reports whether the step has come to an end, good or bad.
func (st *step) settled() bool {
	switch st.Status {
	case Done, Waived, Skipped, Failed:
		return true
	}
	return false
}

// lapsed reports whether the step has come to an end that does not count.
func (st *step) lapsed() bool {
	return st.Order == nil && st.settled() && st.Status != Done && !st.satisfied()
}

// hopeless reports whether what needs the step is blocked by it.
func (st *step) hopeless() bool { return st.lapsed() || st.Status == Pending && st.dead > 0 }

// Apply folds one record into the state: the only mutation. An error means
// that the journal is corrupt at r.Seq; the state is then of no further use.
//
// An event costs what it says and, when a step settles, its needs' edges. Only
// opening, revising, ending and taking up a run, aborting it and beginning a ratchet
// round look at all steps.
func (s *State) Apply(r Record) error {
	err := inOrder(r, s.seq, s.epoch)
	if err == nil {
		err = s.apply(r)
	}
	if err != nil {
		return fmt.Errorf("stream %s, record %d: %w", r.Stream, r.Seq, err)
	}
	s.seq = r.Seq
	s.dirty.head = true
	s.fill(r.At)
	return nil
}

func (s *State) apply(r Record) error {
	switch e := r.Event.(type) {
	case EpochBegan:
		return s.applyEpoch(r)
	case TaskOpened:
		return s.applyTask(e)
	case RunOpened:
		if e.Revises != "" {
			return s.applyRevision(e)
		}
		return s.applyRun(e, r)
	case RunEnded:
		return s.applyRunEnded(e, r.At)
	case Command:
		return s.applyCommand(e)
	case WorkDispatched:
		return s.applyDispatched(e, r)
	case WorkEnded:
		return s.applyWorkEnded(e, r.At)
	case CheckEnded:
		return s.applyCheck(e, r.At)
	case StepSettled:
		return s.applySettled(e, r.At)
	case LeaseGranted:
		return s.applyGranted(e, r.At)
	case LeaseAwaited:
		return s.applyAwaited(e)
	case PreviewMade:
		return s.applyPreview(e, r.At)
	case StepExpanded:
		return s.applyExpanded(e)
	case ItemOpened:
		return s.applyItem(e, r)
	case ItemAnswered:
		return s.applyAnswer(e, r.At)
	default:
		return fmt.Errorf("%T does not belong in a task's stream", r.Event)
	}
}

// at finds a step of the live run.
func (s *State) at(id string) (int, error) {
	if !s.run.Live {
		return 0, fmt.Errorf("step %q has no open run", id)
	}
	i, ok := s.prog.Index(id)
	if !ok {
		return 0, fmt.Errorf("unknown step %q", id)
	}
	return i, nil
}
