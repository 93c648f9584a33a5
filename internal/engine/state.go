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
	last  time.Time // of the newest record
	epoch uint64
	pipe  pipeline // of the intent: what all runs share
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
	// worked are those whose work counts, of the ones that leave anything to record.
	worked set
	// strays are those that were tried and do not count, or not yet: what they left is not proven.
	strays set
	queues []queue // by class
	due    dueHeap
	past   []presence // what ended under this owner, as it ended

	items map[string]ItemRow // open ones
	dirty dirty
}

// run is what State knows of the newest run beside its steps.
type run struct {
	Opened RunOpened
	First  uint64 // sequence number of the record that opened it
	Live   bool   // opened and not ended
	control
	ending
	sums `json:"-"`
	spending
	record
	Proof      proof             `json:",omitzero"`
	Leaving    []leaving         // work of steps that a revision changed or took out
	Past       map[string]int    // attempts of steps that revisions took out
	Moved      map[string]string // protected paths that steps were allowed to change
	News       bool              `json:",omitzero"`  // it waited for a person, and its worktree did not catch up with the workspace yet
	Judges     []string          `json:",omitempty"` // objects with what judges, as checks opened it
	Made       map[string]string `json:",omitempty"` // step whose proof first opened a file that a step had made
	Expanded   []StepExpanded    `json:",omitempty"` // of steps for each item, in their order
	Items      int               // opened ever, for their names
	Unrecorded []string          `json:",omitempty"` // steps that are done, and whose work is not on the run's branch yet
	Tip        Commit            `json:",omitzero"`  // the newest on its branch
	LandBy     string            `json:",omitzero"`  // who had its worktree merged after its end
	Loose      bool              `json:",omitzero"`  // of any step that is done
	Leave      bool              `json:",omitzero"`  // its work stays on its branch, and is not merged
	Grants     []Grant           `json:",omitempty"` // what agents may do that ask
	Replan     *replan           `json:",omitempty"` // the one under way
	Replans    replans           `json:",omitzero"`
	Futile     futile            `json:",omitzero"`
	Foreseen   Foreseen          `json:",omitzero"`
	Effort     RunEffort         `json:",omitzero"`
	Efforts    map[string]Effort `json:",omitempty"` // by step, also of those that revisions took out
	Weaker     string            `json:",omitzero"`  // revisions that prove or guard less, and who said yes to them
}

// control is what people made of a run, and failures that end it.
type control struct {
	Paused    bool
	Cancelled bool // wanted; live work is being stopped
	Aborted   bool
}

// ending is how a run stands, and how it ended.
type ending struct {
	Status   Status
	Reason   string
	Exit     int
	Started  time.Time
	Finished time.Time
}

// sums are counts of steps; see [State.tally]. They are derived.
type sums struct {
	Critical int // failed critical ones
	Unsat    int
	Proven   int // their contract failed before and passed after
	Unproven int // done, and their contract passed before too, or was not asked
	Missed   int // done, and an optional check did not pass
	Flaky    int // whose checks gave different answers for the same files, whatever became of them
	Waived   int
	Skipped  int
	Apart    int // steps that no sum counts: their instances are counted
	ApartMet int // of these the satisfied ones
}

// spending is what a run used, and may use.
type spending struct {
	TokensIn   int64
	TokensOut  int64
	CostMicros int64
	Limits     Amount            `json:",omitzero"` // in force: the plan's, or what a person raised them to
	Used       budget            `json:",omitzero"`
	Roles      map[string]Amount `json:",omitempty"` // the largest settled attempt of each role
	Unmetered  int               `json:",omitzero"`  // attempts, and questions to models, that did not say what they used, with nothing reserved
	Excused    int               `json:",omitzero"`  // those that a person let pass
	Asking     string            `json:",omitzero"`  // the item that asks for more
}

// record is what a run knows of its agents.
type record struct {
	Faults map[string]time.Time `json:",omitempty"` // when an agent could not be run, if that was the last of it
	Proofs map[string]int       `json:",omitempty"` // steps that it has proved, ever
}

// step is what State knows of one step, by concern. Fields are exported for the
// snapshot only.
type step struct {
	outcome
	trial
	attempt
	dispatch
	evidence
	slot
	asking
	worktree
	product
	loop
	Used   budget `json:",omitzero"`
	Raised Amount `json:",omitzero"` // limits that a person gave in place of the plan's
	needs
	instances
}

// outcome is how a step stands.
type outcome struct {
	Status   Status    `json:",omitzero"`
	Verdict  Verdict   `json:",omitzero"`
	Reason   string    `json:",omitzero"`
	Proven   bool      `json:",omitzero"`
	Missed   bool      `json:",omitzero"` // an optional check did not pass
	Counts   bool      `json:",omitzero"` // skipped, and satisfies what needs it
	Aborted  bool      `json:",omitzero"` // failed by a person's word
	Ask      bool      `json:",omitzero"` // waiting: a person is asked, though the plan could be revised
	Again    bool      `json:",omitzero"` // re-entered by regression once
	Started  time.Time `json:",omitzero"`
	Finished time.Time `json:",omitzero"`
}

// trial is what a step is about, and what was seen of that so far. A step that
// becomes anything else begins with nothing seen.
type trial struct {
	Phase  Phase        `json:",omitzero"`
	Barred Verdict      `json:",omitzero"` // why work must not start after the baseline
	Looked bool         `json:",omitzero"` // the preview is of what is about to be called
	Checks []CheckEnded `json:",omitempty"`
	Poll   Poll         `json:",omitzero"` // what a judge answered so far
	Ruling *ruling      `json:",omitzero"` // what an arbiter chose to follow
	Merge  *WorkEnded   `json:",omitzero"` // the merge, where it did not come to its end
}

// become lets the step be about something else. A baseline that barred the work
// is asked again.
func (st *step) become(p Phase) {
	st.HasBase = st.HasBase && st.Barred == NoVerdict
	st.trial = trial{Phase: p}
}

// attempt is how often a step was tried, and what the next attempt is told.
type attempt struct {
	Attempt  int        `json:",omitzero"` // current or last
	Tries    int        `json:",omitzero"` // retries used up
	N        int        `json:",omitzero"` // dispatches of this attempt
	Lost     int        `json:",omitzero"` // of them lost with their owner
	Cut      bool       `json:",omitzero"` // the newest of them was cut off
	Infra    int        `json:",omitzero"` // faults of this machine in a row
	RetryAt  time.Time  `json:",omitzero"`
	Feedback []Feedback `json:",omitempty"`
	Claims   Claims     `json:",omitzero"` // of the newest attempt that is over
	Cause    *Cause     `json:",omitzero"` // of its end, where one is known
	Restore  []Change   `json:",omitempty"`
	Note     string     `json:",omitzero"`
	// Touched is what its newest checks saw of protected paths that its scope lets it change.
	Touched map[string]string `json:",omitempty"`
	Named   *forced           `json:",omitzero"` // who is to do it, as an arbiter chose
}

// dispatch is the newest dispatched work of a step.
type dispatch struct {
	Live    bool      `json:",omitzero"`
	Kind    WorkKind  `json:",omitzero"`
	Role    string    `json:",omitzero"` // who does it, or did
	Epoch   uint64    `json:",omitzero"`
	Began   Start     `json:",omitzero"` // with Tree
	Left    Start     `json:",omitzero"` // the end of the newest work, or of its checks, and who did that
	Prompt  string    `json:",omitzero"`
	Tree    string    `json:",omitzero"` // before it
	Since   time.Time `json:",omitzero"` // of the first work: files that it did not touch are older
	First   string    `json:",omitzero"` // as Tree, before that
	Child   string    `json:",omitzero"` // the run that does, or did, the newest attempt
	Reserve Amount    `json:",omitzero"`
	Said    Usage     `json:",omitzero"` // what it says it used so far
	Claimed Claims    `json:",omitzero"` // and what else it says
}

// evidence is what work and checks showed.
type evidence struct {
	HasBase  bool            `json:",omitzero"` // the baseline was run
	Baseline Verdict         `json:",omitzero"` // what it said
	Seen     []Seen          `json:",omitempty"`
	Ended    *WorkEnded      `json:",omitzero"`  // the work that is judged
	Before   []Opened        `json:",omitempty"` // of the baseline, by check
	Rests    []string        `json:",omitempty"` // what the newest proof opened of what the step itself changed
	Gone     []string        `json:",omitempty"` // what the baseline opened, and that proof does not
	Vouched  Vouched         `json:",omitzero"`  // what of that a person calls its work
	Observed bool            `json:",omitzero"`  // what the baseline opened is known
	Unseen   string          `json:",omitempty"` // why it is not known what that proof opened, where it could be
	Tests    []int           `json:",omitempty"` // that the checks ran before the work, by check
	Parts    []PartTried     `json:",omitempty"` // of what a strong step changed
	Reverted *ChangeReverted `json:",omitzero"`  // what these come to
	Same     bool            `json:",omitzero"`  // the newest proof says otherwise than before, of the same files
	Flaky    bool            `json:",omitzero"`  // asked at once again, the checks gave another answer
}

// slot is a step's place among those under way, and the use of its scope.
type slot struct {
	Active bool      `json:",omitzero"`
	Lease  uint64    `json:",omitzero"` // epoch of the owner that gave it, while the step is under way
	Leased time.Time `json:",omitzero"` // when its newest lease was granted
	Behind *Holder   `json:",omitzero"` // whom it waits for instead
}

// asking is what people are asked about a step, and said.
type asking struct {
	Granted time.Time     `json:",omitzero"`
	Preview *PreviewMade  `json:",omitzero"` // the newest look at the call
	Edited  string        `json:",omitzero"` // object: arguments that a person gave
	Item    string        `json:",omitzero"`
	Answer  *ItemAnswered `json:",omitzero"`
	Order   *Command      `json:",omitzero"`
	Forced  *forced       `json:",omitzero"` // who is to do it
	Heed    *ItemAnswered `json:",omitzero"` // what was said to the work under way, when it asked last
}

// worktree is how the merge of a step's worktree stands.
type worktree struct {
	Merged   bool     `json:",omitzero"`  // the attempt's worktree is in the workspace
	Apart    bool     `json:",omitzero"`  // of the run's worktree: the work is recorded on its branch, and not merged
	Stuck    bool     `json:",omitzero"`  // a person resolves a conflict
	Resolved bool     `json:",omitzero"`  // and has
	Renew    bool     `json:",omitzero"`  // the next attempt begins with another worktree
	Round    int      `json:",omitzero"`  // conflicts so far
	Clashes  []Change `json:",omitempty"` // the newest ones, until they are merged
	Site     string   `json:",omitzero"`  // the worktree that has both sides of the newest
}

// product is what a step put out, and what became of it by what others put out.
type product struct {
	Value    string `json:",omitzero"` // the output itself, as JSON, where the core looks at it
	Output   string `json:",omitzero"` // object: what the work of the last attempt put out
	Chosen   bool   `json:",omitzero"` // its condition holds
	Expanded bool   `json:",omitzero"` // its instances stand behind the steps of the plan
}

// needs is what a step waits for, and who waits for it. It is derived.
type needs struct {
	open    int   // that are not satisfied
	dead    int   // that cannot be satisfied as things stand
	waiters []int // classes that wait for this step to release its scope
}

// instances counts the instances of a step. It is derived.
type instances struct {
	left   int // that are not satisfied
	spoilt int // of them hopeless
	failed int // of those failed
}

// Seen is what the checks said of a tree.
type Seen struct {
	Tree string `json:",omitzero"` // as in [CheckEnded]; "" is the tree before the work
	Pass bool
}

// Before returns a state of r's task that takes r next, a record that opens a
// run: a run needs nothing of those before it, so it can be replayed alone.
func Before(r Record) *State {
	s := &State{task: r.Stream, seq: r.Seq - 1, epoch: r.Epoch}
	if e, ok := r.Event.(RunOpened); ok {
		s.pipe.Last = e.Frames.End - 1
	}
	return s
}

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
	if _, follows := s.must.first(); !s.run.Live || follows || len(s.run.Leaving) > 0 || s.run.drawing() {
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
	if _, looks := s.surveys(); looks {
		return false
	}
	return s.run.Paused || (delegated || len(s.items) > 0) && (len(s.due) == 0 || s.stopping())
}

// Working is a step whose work is under way, whoever does it; "" for none. Where nobody
// carries the run, the owner died meanwhile.
func (s *State) Working() string {
	for _, i := range s.active {
		if st := &s.steps[i]; st.Live && st.Kind != ChildWork {
			return s.prog.Step(i).ID
		}
	}
	return ""
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
// opening, revising, configuring, ending and taking up a run, aborting it and beginning a ratchet
// round look at all steps.
func (s *State) Apply(r Record) error {
	was, err := s.last, inOrder(r, s.seq, s.epoch)
	mark, marks := s.marks(r)
	if err == nil {
		s.last = r.At
		err = s.apply(r, was)
	}
	if err != nil {
		s.last = was
		return fmt.Errorf("stream %s, record %d: %w", r.Stream, r.Seq, err)
	}
	s.seq = r.Seq
	s.dirty.head = true
	if marks {
		s.mark(mark)
	}
	s.toils(r)
	s.fill(r.At)
	s.tick(r.At)
	return nil
}

func (s *State) apply(r Record, was time.Time) error {
	switch e := r.Event.(type) {
	case EpochBegan:
		return s.applyEpoch(r, was)
	case TaskOpened:
		return s.applyTask(e)
	case RunOpened:
		if e.Revises != "" {
			return s.applyRevision(e, r.Actor)
		}
		return s.applyRun(e, r)
	case RunConfigured:
		return s.applyConfigured(e)
	case RunEnded:
		return s.applyRunEnded(e, r.At)
	case Command:
		return s.applyCommand(e)
	case WorkDispatched:
		return s.applyDispatched(e, r)
	case WorkHeard:
		return s.applyHeard(e)
	case WorkReported:
		return s.applyReported(e)
	case WorkEnded:
		return s.applyWorkEnded(e, r.At)
	case CheckEnded:
		return s.applyCheck(e, r.At)
	case TreeSurveyed:
		return s.applySurveyed(e)
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
		it := s.items[e.Item]
		err := s.applyAnswer(e, r.At)
		if err == nil {
			s.run.Effort.WaitMs += r.At.Sub(it.Opened).Milliseconds()
		}
		return err
	case JudgeVoted:
		return s.applyVoted(e)
	case PartTried:
		return s.applyTried(e)
	case ChangeReverted:
		return s.applyReverted(e)
	case ArbiterRuled:
		return s.applyRuled(e)
	case FramePushed:
		return s.applyFrame(e)
	default:
		return fmt.Errorf("%T does not belong in a task's stream", r.Event)
	}
}

// at finds a step of the live run.
func (s *State) at(id string) (int, error) {
	if !s.run.Live {
		return 0, refuse(Conflict, "no run is open")
	}
	return s.find(id)
}

// find finds a step of the newest run.
func (s *State) find(id string) (int, error) {
	i, ok := s.prog.Index(id)
	if !ok {
		return 0, refuse(NotFound, fmt.Sprintf("run %s has no step %q", s.run.Opened.Run, id), ListSteps)
	}
	return i, nil
}
