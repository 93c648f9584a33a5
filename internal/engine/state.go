package engine

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// maxLost is how often work may be lost with its owner before a person is
// asked: a step that kills the machine must not loop.
const maxLost = 3

// State is the fold of one task's stream: the zero State is an empty stream.
// It is not safe for concurrent use; its owner calls it from one goroutine.
type State struct {
	task  string
	seq   uint64
	epoch uint64
	run   run
	prog  *Program
	steps []step

	ready  queues // steps that may start when there is room
	active []int  // steps under way, ascending
	must   indexSet
	ask    indexSet
	due    dueList

	items map[string]ItemRow
	dirty rowsDirty
}

// run is what State knows of the newest run beside its steps.
type run struct {
	Opened     RunOpened
	Live       bool // opened and not ended
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
	Proven     int   // steps whose contract failed before and passed after
	Unproven   int   // steps done whose contract passed before too, or was not asked
	Moved      map[string]string
	TokensIn   int64
	TokensOut  int64
	CostMicros int64
}

// step is what State knows of one step. Fields are exported for the snapshot only.
type step struct {
	Status   Status
	Phase    Phase
	Verdict  Verdict
	Reason   string
	Attempt  int // current or last
	Tries    int // attempts used up since a person last had a say
	N        int // dispatches of this attempt
	Lost     int
	Infra    int
	Epoch    uint64 // of the live dispatch
	Live     bool
	Kind     WorkKind // of the live dispatch
	Prompt   string
	Tree     string
	HasBase  bool // the baseline was run
	Baseline Verdict
	Expected bool // a person accepted that the baseline was not as expected
	Seen     []answered
	Ended    *WorkEnded
	Checks   []CheckEnded
	Reruns   []Verdict
	Feedback []Feedback
	Restore  []Change
	Note     string
	Granted  time.Time
	Item     string
	Answer   *ItemAnswered
	Order    *Command
	Again    bool // re-entered by regression once
	Proven   bool
	Counts   bool // satisfied what needs it
	Active   bool
	RetryAt  time.Time
	Started  time.Time
	Finished time.Time

	open    int // needs that are not satisfied
	dead    int // needs that cannot be satisfied as things stand
	queued  bool
	waiters []int // steps whose scope overlaps this one's
}

// answered remembers what the checks said of a tree.
type answered struct {
	Tree string
	Pass bool
}

// rowsDirty is what changed since the rows were last taken.
type rowsDirty struct {
	head  bool
	steps map[int]bool
	items map[string]ItemRow
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
// under way, due or ready, and either items wait or the run is paused.
func (s *State) Idle() bool {
	return s.run.Live && len(s.active) == 0 && s.due.Len() == 0 &&
		(s.run.Paused || (s.openItems() > 0 && s.ready.empty()))
}

func (s *State) openItems() int { return len(s.items) }

// satisfied reports whether the step counts for what needs it.
func (st *step) satisfied() bool {
	return st.Status == Done || st.Status == Waived || (st.Status == Skipped && st.Counts)
}

// settled reports whether the step has come to an end, good or bad.
func (st *step) settled() bool {
	switch st.Status {
	case Done, Waived, Skipped, Failed:
		return true
	}
	return false
}

// hopeless reports whether what needs the step is blocked by it.
func (st *step) hopeless() bool {
	return (st.settled() && !st.satisfied()) || (st.Status == Pending && st.dead > 0)
}

// Apply folds one record into the state: the only mutation. An error means
// that the journal is corrupt at r.Seq; the state is then of no further use.
func (s *State) Apply(r Record) error {
	if err := s.apply(r); err != nil {
		return fmt.Errorf("stream %s, record %d: %w", r.Stream, r.Seq, err)
	}
	s.seq = r.Seq
	s.dirty.head = true
	s.fill()
	return nil
}

func (s *State) apply(r Record) error {
	switch e := r.Event.(type) {
	case EpochBegan:
		return s.applyEpoch(r)
	case TaskOpened:
		return s.applyTask(e)
	case RunOpened:
		return s.applyRun(e, r.At)
	case RunEnded:
		return s.applyRunEnded(e, r.At)
	case Command:
		return s.applyCommand(e)
	case WorkDispatched:
		return s.applyDispatched(e, r)
	case WorkEnded:
		return s.applyWorkEnded(e)
	case CheckEnded:
		return s.applyCheck(e, r.At)
	case StepSettled:
		return s.applySettled(e, r.At)
	case ItemOpened:
		return s.applyItem(e, r)
	case ItemAnswered:
		return s.applyAnswer(e, r.At)
	default:
		return fmt.Errorf("%T does not belong in a task's stream", r.Event)
	}
}

func (s *State) applyEpoch(r Record) error {
	if r.Epoch < s.epoch {
		return fmt.Errorf("epoch %d after %d", r.Epoch, s.epoch)
	}
	s.epoch = r.Epoch
	for _, i := range s.active {
		s.touch(i)
	}
	return nil
}

func (s *State) applyTask(e TaskOpened) error {
	if s.task != "" {
		return fmt.Errorf("task %s is opened twice", s.task)
	}
	s.task = e.Task
	return nil
}

func (s *State) applyRun(e RunOpened, at time.Time) error {
	switch {
	case s.task == "":
		return fmt.Errorf("run %s has no task", e.Run)
	case s.run.Live:
		return fmt.Errorf("run %s opens while %s is not ended", e.Run, s.run.Opened.Run)
	case e.Compiled == nil || e.Compiled.Hash() != e.Program:
		return fmt.Errorf("run %s: program %s is not at hand", e.Run, e.Program)
	}
	s.prog = e.Compiled
	s.run = run{Opened: e, Live: true, Status: Running, Started: at, Unsat: s.prog.Len()}
	s.items = map[string]ItemRow{}
	s.steps = make([]step, s.prog.Len())
	s.index()
	for i := range s.steps {
		s.steps[i].Status = Pending
		s.steps[i].open = len(s.prog.Step(i).Needs)
		s.touch(i)
	}
	return nil
}

// index makes the indexes empty, for as many steps as there are.
func (s *State) index() {
	s.active, s.ready, s.due = nil, queues{}, dueList{}
	s.must, s.ask = indexSet{}, indexSet{}
	s.dirty.steps, s.dirty.items = map[int]bool{}, map[string]ItemRow{}
}

func (s *State) applyRunEnded(e RunEnded, at time.Time) error {
	if !s.run.Live {
		return fmt.Errorf("run %s ends twice", s.run.Opened.Run)
	}
	s.run.Live, s.run.Status, s.run.Reason, s.run.Exit, s.run.Finished = false, e.Status, e.Reason, e.Exit, at
	for _, i := range slices.Clone(s.active) {
		s.stop(i)
	}
	s.closeItems()
	return nil
}

// closeItems closes what nobody will answer any more.
func (s *State) closeItems() {
	for _, name := range slices.Sorted(maps.Keys(s.items)) {
		i, _ := s.prog.Index(s.items[name].Step)
		s.closeItem(i)
	}
}

func (s *State) at(id string) (int, error) {
	if s.prog == nil {
		return 0, fmt.Errorf("step %q before a run was opened", id)
	}
	i, ok := s.prog.Index(id)
	if !ok {
		return 0, fmt.Errorf("unknown step %q", id)
	}
	return i, nil
}

func (s *State) applyDispatched(e WorkDispatched, r Record) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	switch {
	case !st.Active || st.Live:
		return fmt.Errorf("work of %q is dispatched while the step is %s", e.Step, st.Status)
	case e.Attempt != st.Attempt || e.N != st.N+1:
		return fmt.Errorf("work of %q is dispatched as attempt %d.%d after %d.%d", e.Step, e.Attempt, e.N, st.Attempt, st.N)
	}
	st.Live, st.Kind, st.N, st.Epoch = true, e.Kind, e.N, r.Epoch
	if e.Kind == ContractWork {
		s.touch(i)
		return nil
	}
	st.Status, st.Phase = Running, Working
	st.Prompt, st.Tree = e.Prompt, e.Tree
	st.Restore, st.Ended, st.Checks, st.Reruns = nil, nil, nil, nil
	s.run.Proved = false
	if st.Started.IsZero() {
		st.Started = r.At
	}
	s.touch(i)
	return nil
}

func (s *State) applyWorkEnded(e WorkEnded) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if !st.Live || e.Attempt != st.Attempt || e.N != st.N || e.Kind != st.Kind {
		return fmt.Errorf("work %q %d.%d (%s) ended, which is not under way", e.Step, e.Attempt, e.N, e.Kind)
	}
	st.Live = false
	s.spend(e.Usage)
	switch {
	case e.Kind == ContractWork:
		if e.How == Lost {
			st.Ended = &e
		}
	case e.How == Lost || e.How == Stopped:
		s.cutOff(st, e)
	default:
		st.Ended, st.Phase = &e, Verifying
		st.Lost = 0
	}
	s.touch(i)
	return nil
}

// cutOff prepares the same attempt again: its work came to no end of its own.
// Work that was stopped on purpose is not held against the step.
func (s *State) cutOff(st *step, e WorkEnded) {
	st.Phase, st.Note = Baseline, lostNote
	if e.How != Lost {
		return
	}
	if st.Lost++; st.Lost >= maxLost {
		st.Ended = &e
	}
}

const lostNote = "An earlier start of this attempt was cut off when the machine or the harness stopped. What it left behind may be half done: look before you go on."

func (s *State) spend(u Usage) {
	add := func(sum *int64, v *int64) {
		if v != nil {
			*sum += *v
		}
	}
	add(&s.run.TokensIn, u.In)
	add(&s.run.TokensOut, u.Out)
	add(&s.run.CostMicros, u.CostMicros)
}

func (s *State) applyCheck(e CheckEnded, at time.Time) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if !st.Active || len(st.Checks) >= len(s.prog.Step(i).Checks) {
		return fmt.Errorf("check %q of %q ended, which is not under way", e.Check, e.Step)
	}
	st.Checks = append(st.Checks, e)
	if len(st.Checks) < len(s.prog.Step(i).Checks) {
		return nil
	}
	s.concludeChecks(i, e.Phase, at)
	s.touch(i)
	return nil
}

// concludeChecks takes the complete answers of one phase.
func (s *State) concludeChecks(i int, phase Phase, at time.Time) {
	st := &s.steps[i]
	v, _ := verdictOf(st.Checks)
	switch phase {
	case Baseline:
		st.HasBase, st.Baseline = true, v
		st.remember(st.Checks[0].Tree, v)
		st.Checks = nil
		if st.Started.IsZero() {
			st.Started = at
		}
	case Verifying:
		if st.contradicts(v) && s.prog.Step(i).Rerunnable {
			st.Phase, st.Checks = Flaky, nil
			return
		}
		st.remember(st.Checks[0].Tree, v)
	case Flaky:
		st.Reruns = append(st.Reruns, v)
		if len(st.Reruns) < 2 {
			st.Checks = nil
		}
	case Ratchet:
		s.proved(i, v)
	}
}

// remember keeps what the checks said of a tree, to know a flaky one.
func (st *step) remember(tree string, v Verdict) {
	if tree == "" || (v != Pass && v != Fail) {
		return
	}
	st.Seen = slices.DeleteFunc(st.Seen, func(a answered) bool { return a.Tree == tree })
	st.Seen = append(st.Seen, answered{tree, v == Pass})
}

func (st *step) contradicts(v Verdict) bool {
	tree := st.Checks[0].Tree
	return tree != "" && (v == Pass || v == Fail) &&
		slices.ContainsFunc(st.Seen, func(a answered) bool { return a.Tree == tree && a.Pass != (v == Pass) })
}

func (s *State) applySettled(e StepSettled, at time.Time) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if st.Live {
		return fmt.Errorf("step %q settles while its work is under way", e.Step)
	}
	was, wasCritical := st.satisfied(), s.criticalFailure(i)
	wasDead := st.hopeless()
	s.tally(i, -1)
	s.release(i)
	s.settleFields(i, e, at)
	s.recount(i, was, wasCritical, wasDead)
	s.touch(i)
	return nil
}

// settleFields moves the step's own fields; counts and queues come after.
func (s *State) settleFields(i int, e StepSettled, at time.Time) {
	st := &s.steps[i]
	st.Verdict, st.Reason = e.Verdict, e.Reason
	if answer := st.Answer; answer != nil && answer.Choice == ChooseAbort {
		s.run.Aborted = true
	}
	if !st.RetryAt.IsZero() {
		s.due.remove(st.RetryAt, i)
		st.RetryAt = time.Time{}
	}
	answer := st.Answer
	if e.Status != Waiting {
		s.closeItem(i)
		st.Answer, st.Order = nil, nil
	}
	switch {
	case e.RetryAt != nil:
		s.retry(i, e, at)
		return
	case e.Status == Pending:
		s.reenter(i, e, answer)
		return
	case e.Status == Regressed:
		st.Feedback = feedback(st)
		st.Again, st.HasBase, st.Baseline = true, true, e.Verdict
		s.run.Regressed++
		st.Attempt++
		st.N, st.Lost, st.Tries, st.Infra = 0, 0, 0, 0
		st.Ended, st.Checks = nil, nil
		s.enqueue(i)
	case e.Status == Waiting:
		if st.Phase == Ratchet {
			s.run.Regressed++
			st.HasBase, st.Baseline = true, e.Verdict
		}
		st.Feedback, st.Restore = feedback(st), restore(st)
	}
	st.Status, st.Phase = e.Status, NoPhase
	st.Proven, st.Counts = e.Proven, e.Satisfies
	if st.Status == Done {
		st.Finished = at
		s.allow(st.Checks)
		st.Checks, st.Ended, st.Feedback = nil, nil, nil
	} else if st.settled() {
		st.Finished = at
	}
	if e.Status == Failed && s.prog.Step(i).OnFail.Then == Abort {
		s.run.Aborted = true
	}
}

// retry begins the next attempt, at once or when its time has come.
func (s *State) retry(i int, e StepSettled, at time.Time) {
	st := &s.steps[i]
	st.Feedback, st.Restore = feedback(st), restore(st)
	if e.Verdict == Infra {
		st.Infra++
	} else {
		st.Tries, st.Infra = st.Tries+1, 0
	}
	st.Attempt++
	st.N, st.Lost = 0, 0
	st.Ended, st.Checks, st.Reruns = nil, nil, nil
	st.Status, st.Phase = Running, Retrying
	if e.RetryAt.After(at) {
		st.RetryAt = *e.RetryAt
		s.due.push(st.RetryAt, i)
		return
	}
	s.enqueue(i)
}

// reenter puts a step back to the start: its backoff is over, or a person said so.
func (s *State) reenter(i int, e StepSettled, answer *ItemAnswered) {
	st := &s.steps[i]
	switch {
	case e.By == "": // the backoff is over
		st.Status = Running
		s.enqueue(i)
		return
	case e.By == Harness: // an approval grew too old
		st.Status, st.Phase, st.Granted = Pending, NoPhase, time.Time{}
		return
	}
	if answer != nil && answer.Choice == ChooseApprove {
		st.Status, st.Phase = Pending, NoPhase
		s.enqueue(i)
		return
	}
	if answer != nil {
		st.Note = answer.Text
	}
	if !s.expected(i) {
		st.HasBase = false // it was not what the plan expects: ask again
	}
	if st.N > 0 || st.settled() {
		st.Attempt++
	}
	// One attempt more is what a person's retry grants.
	st.Tries = s.prog.Step(i).OnFail.Retries
	st.N, st.Lost, st.Infra, st.Reruns = 0, 0, 0, nil
	st.Ended, st.Checks = nil, nil
	st.Status, st.Phase, st.Proven, st.Counts, st.Finished = Pending, NoPhase, false, false, time.Time{}
	s.enqueue(i)
}

// allow moves the protected base where a finished step's writes covered it.
func (s *State) allow(checks []CheckEnded) {
	for _, c := range checks {
		if len(c.Moved) == 0 {
			continue
		}
		moved := make(map[string]string, len(s.run.Moved)+len(c.Moved))
		maps.Copy(moved, s.run.Moved)
		maps.Copy(moved, c.Moved)
		s.run.Moved = moved // never changed in place: effects hold it
	}
}

// tally counts a done step in or out.
func (s *State) tally(i, by int) {
	switch st := &s.steps[i]; {
	case st.Status == Done && st.Proven:
		s.run.Proven += by
	case st.Status == Done:
		s.run.Unproven += by
	}
}

func (s *State) criticalFailure(i int) bool {
	return s.steps[i].Status == Failed && s.prog.Step(i).Critical
}

// recount brings counters and dependents in line with a step that changed.
func (s *State) recount(i int, wasSat, wasCritical, wasDead bool) {
	st := &s.steps[i]
	s.tally(i, 1)
	if is := s.criticalFailure(i); is != wasCritical {
		s.run.Critical += one(is)
	}
	if is := st.satisfied(); is != wasSat {
		s.run.Unsat -= one(is)
		for _, d := range s.prog.Dependents(i) {
			s.steps[d].open -= one(is)
			s.enqueue(d)
			s.touch(d)
		}
	}
	if is := st.hopeless(); is != wasDead {
		s.spread(i, is)
	}
}

// spread tells dependents, and theirs, that a need cannot be met any more, or
// can be again. Each step is told once, so a run pays for its edges only.
func (s *State) spread(i int, dead bool) {
	for stack := []int{i}; len(stack) > 0; {
		i, stack = stack[len(stack)-1], stack[:len(stack)-1]
		for _, d := range s.prog.Dependents(i) {
			was := s.steps[d].hopeless()
			s.steps[d].dead += one(dead)
			s.touch(d)
			if s.steps[d].hopeless() != was {
				stack = append(stack, d)
			}
		}
	}
}

func one(up bool) int {
	if up {
		return 1
	}
	return -1
}

func (s *State) applyItem(e ItemOpened, r Record) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if st.Item != "" {
		return fmt.Errorf("item %s opens while %s waits for step %q", e.Item, st.Item, e.Step)
	}
	s.run.Items++
	st.Item = e.Item
	st.Status, st.Phase = Waiting, Asking
	s.items[e.Item] = ItemRow{
		Item: e.Item, Stream: r.Stream, Run: s.run.Opened.Run, Step: e.Step, Kind: e.Kind, Cause: e.Cause,
		Question: e.Question, Context: e.Context, Hash: e.Hash, Choices: e.Choices, Opened: r.At, Open: true,
	}
	s.dirty.items[e.Item] = s.items[e.Item]
	s.touch(i)
	return nil
}

func (s *State) applyAnswer(e ItemAnswered, at time.Time) error {
	it, open := s.items[e.Item]
	if !open {
		return fmt.Errorf("item %s is answered, which is not open", e.Item)
	}
	i, err := s.at(it.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	st.Answer = &e
	if e.Choice == ChooseApprove {
		st.Granted = at
	}
	s.touch(i)
	return nil
}

func (s *State) closeItem(i int) {
	st := &s.steps[i]
	if st.Item == "" {
		return
	}
	row := s.items[st.Item]
	row.Open = false
	s.dirty.items[st.Item] = row
	delete(s.items, st.Item)
	st.Item = ""
}
