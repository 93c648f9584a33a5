package view

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
)

// Fold follows one task's stream, and those of the runs that carry out its steps.
// It is all that a view knows: the state that the records make, and a little
// memory of the attempts under way that the state does not keep. It is not safe
// for concurrent use.
type Fold struct {
	stream  string           // the first record's, where it is not given
	Up      *Fold            // of the run that this one carries out a step of, nil for none
	step    string           // that one
	Below   map[string]*Fold // by step: of the run that carries it out
	State   engine.State
	Tries   map[string]*Try           // by step: the newest attempt
	Items   map[string]engine.ItemRow // open ones
	asked   map[string]string         // by item, open or not: its step
	Busy    map[int]engine.StepRow    // steps that run
	since   map[string]time.Time      // by step: when each of them began to
	Idle    []int                     // steps whose turn has not come, ascending
	free    map[string]int            // by step: attempts that used up no retry
	met     map[string]bool           // steps that were tried under this revision, or carried over to it
	Retries int                       // of the newest run
	lacks   bool                      // what its worktree did not begin with was told
	answers int
	scene   *scene       // that the fold looks steps up in, where it has no state
	mark    *engine.Mark // of the record that it tells of, where it does not apply it
}

// Try is an attempt as far as it has come.
type Try struct {
	Attempt, N int
	began      time.Time     // its newest start
	spent      time.Duration // of work and checks, over all its starts
	waited     time.Duration // for people, since the step was last told of
	since      time.Time     // when an item was opened that is open still
	Cost       *int64
	work       engine.WorkEnded    // how it ended last
	checks     []engine.CheckEnded // of the newest phase
	approved   bool                // the last answer was a yes to start, or to ask the checks again
	behind     bool                // its merge brought something to the worktree, and is done again
}

// Deed is what a happening is about.
type Deed string

const (
	Opened    Deed = "run"
	Revised   Deed = "revise"
	Started   Deed = "start"
	Merging   Deed = "merge"
	Passed    Deed = "pass"
	Failed    Deed = "fail"
	Retried   Deed = "retry"
	Asked     Deed = "ask"
	Answered  Deed = "answer"
	Skipped   Deed = "skip"
	Waived    Deed = "waive"
	Vouched   Deed = "vouch" // for what a step changed
	Redone    Deed = "redo"
	Regressed Deed = "regressed"
	CutOff    Deed = "stop"
	Undone    Deed = "undo"
	Brought   Deed = "bring"
	Lacking   Deed = "lacks"
	Committed Deed = "commit"
	behind    Deed = "wait"
	ruled     Deed = "rule" // of an arbiter, on what follows an attempt
	Commanded Deed = "order"
	// Configured is another configuration that the run goes on under.
	Configured Deed = "config"
	Forced     Deed = "force" // an agent on a step
	divided    Deed = "each"
	Replans    Deed = "replan" // a revision of the plan is asked for
	Drawn      Deed = "draft"  // and made, or not
	Over       Deed = "done"
)

// Happening is something that people want to know of, told once.
type Happening struct {
	Of        *Fold // of the run that it happened in
	At        time.Time
	What      Deed
	Step      int // index, or -1 for the run as a whole
	Attempt   int
	N         int            // starts of the attempt
	Allowed   int            // attempts; 0 = not of interest
	Loop      engine.LoopRow // of a loop: how far it is, or was with the attempt; else zero
	Agent     string
	Took      time.Duration // of work and checks
	Waited    time.Duration // for people
	Cost      *int64
	Checks    []engine.CheckEnded // a pass: all; a fail: those that did not pass
	Work      *engine.WorkEnded   // a fail: of work whose output says more than that of the checks
	Cause     *engine.Cause       // a fail: why the agent's work ended so, apart from its contract
	Words     string              // a fail: the beginning of what the agent said last, where Work does not show it
	Unchanged bool                // a fail: the agent ended its work, and no change of it was seen
	Verdict   engine.Verdict
	Proven    bool
	Text      string // reason or question
	Said      string // of an answer in a person's own words: the text, or the value
	Args      string // that a person gave with an answer
	By        string
	Item      engine.ItemOpened
	Wait      time.Duration // until the retry
	Verb      engine.Verb
	End       engine.RunEnded
	Child     string // the run that work opens
}

// Follow folds a record of the run, or of one that carries out a step of it, and
// returns the fold that it is of, which is nil for none, and what people want to
// know of it. It fails as apply does.
func (f *Fold) Follow(r engine.Record) (*Fold, []Happening, error) {
	if !f.IsBelow(r.Stream) {
		hs, err := f.Apply(r)
		return f, hs, err
	}
	step, _, _ := strings.Cut(strings.TrimPrefix(r.Stream, f.stream+"/"), "/")
	if f.Index(step) < 0 {
		return nil, nil, nil // of an earlier run
	}
	below := f.Below[step]
	if _, opens := r.Event.(engine.RunOpened); below == nil && (opens || r.Seq == 1) {
		below = &Fold{stream: engine.ChildTask(f.stream, step), Up: f, step: step}
		f.Below[step] = below
	}
	if below == nil {
		return nil, nil, nil // the same
	}
	return below.Follow(r)
}

// IsBelow reports whether a stream is that of a run which carries out a step.
func (f *Fold) IsBelow(stream string) bool {
	return f.stream != "" && strings.HasPrefix(stream, f.stream+"/")
}

// Apply folds a record and returns what people want to know of it. Records
// that were seen already are nothing. An error means that the records do not
// follow each other.
func (f *Fold) Apply(r engine.Record) ([]Happening, error) {
	if r.Seq <= f.State.Seq() {
		return nil, nil
	}
	f.stream = r.Stream
	run, opens := r.Event.(engine.RunOpened)
	if opens && f.State.Seq() == 0 {
		f.State = *engine.Before(r)
	}
	was := f.before(r.Event)
	if err := f.State.Apply(r); err != nil {
		return nil, err
	}
	switch {
	case opens && (run.Revises == "" || f.Tries == nil):
		*f = Fold{
			stream: f.stream, Up: f.Up, step: f.step, Below: map[string]*Fold{}, State: f.State, Tries: map[string]*Try{},
			Items: map[string]engine.ItemRow{}, asked: map[string]string{}, Busy: map[int]engine.StepRow{}, since: map[string]time.Time{}, free: map[string]int{},
		}
	}
	f.keep(r.At)
	return f.tell(Happening{Of: f, At: r.At, Step: -1}, r.Event, was), nil
}

// keep takes over what changed in the state's rows.
func (f *Fold) keep(at time.Time) {
	rows := f.State.Rows()
	for _, it := range rows.Items {
		f.asked[it.Item] = it.Step
		if it.Open {
			f.Items[it.Item] = it
		} else {
			delete(f.Items, it.Item)
		}
	}
	if rows.All { // steps may have other places now
		f.Idle = nil
		clear(f.Busy)
	}
	for _, s := range rows.Steps {
		f.rests(s.Index, s.Status == engine.Pending || s.Status == engine.Ready || s.Status == engine.Blocked)
		if s.Status == engine.Running && !f.Pattern(s.Index) || s.Status == engine.Ready && s.Reason != "" || s.Status == engine.Done && s.Phase == engine.Ratchet {
			f.Busy[s.Index] = s
			if f.since[s.ID].IsZero() {
				f.since[s.ID] = at
			}
		} else {
			delete(f.Busy, s.Index)
			delete(f.since, s.ID)
		}
	}
}

// Pattern reports a step that its instances do.
func (f *Fold) Pattern(i int) bool { return f.Step(i).Each != nil }

// rests puts a step among those whose turn has not come, or takes it out.
func (f *Fold) rests(i int, idle bool) {
	switch at, known := slices.BinarySearch(f.Idle, i); {
	case idle && !known:
		f.Idle = slices.Insert(f.Idle, at, i)
	case known && !idle:
		f.Idle = slices.Delete(f.Idle, at, at+1)
	}
}

// tell says what the event, which is in the state already, means to people.
func (f *Fold) tell(h Happening, event engine.Event, was engine.StepRow) []Happening {
	switch e := event.(type) {
	case engine.RunOpened:
		h.What = Opened
		if e.Revises != "" {
			f.revise(e)
			h.What, h.Text = Revised, fmt.Sprintf("revision %d of the plan: %d of %d steps carried over", e.Version, len(e.Carried), f.State.Program().Len())
		}
	case engine.Command:
		if e.Verb == engine.DoForce {
			h.What, h.Step, h.Agent, h.By, h.Text = Forced, f.Index(e.Step), e.Role, e.By, e.Why
			break
		}
		if e.Verb == engine.DoReplan && f.State.Head().Status == engine.Running {
			return nil // none is left, so the run ends
		}
		if e.Verb == engine.DoReplan {
			h.What, h.Step, h.Text = Replans, f.Index(e.Step), e.Why
			if e.By != engine.Harness {
				h.By = e.By
			}
			break
		}
		if e.Verb == engine.DoVouch {
			f.vouched(&h, e)
			break
		}
		if e.Step != "" {
			return nil // what came of it is told
		}
		h.What, h.Verb, h.By, h.Text = Commanded, e.Verb, e.By, e.Why
	case engine.RunConfigured:
		h.What, h.By, h.Text = Configured, e.By, configured(e)
	case engine.WorkDispatched:
		return f.dispatched(h, e)
	case engine.WorkEnded:
		return f.workEnded(h, e)
	case engine.TreeSurveyed:
		return f.brought(h, e.Brought)
	case engine.CheckEnded:
		f.try(e.Step).check(e)
		return f.undone(h, e.Step, e.Attempt, e.Undone)
	case engine.ChangeReverted:
		return f.undone(h, e.Step, e.Attempt, e.Undone)
	case engine.StepSettled:
		return f.settled(h, e, was)
	case engine.ArbiterRuled:
		h.What, h.Step, h.Attempt, h.Text = ruled, f.Index(e.Step), e.Attempt, ruling(e)
	case engine.StepExpanded:
		h.What, h.Step = divided, f.Index(e.Step)
		h.Text = Plural(len(f.State.Program().Instances(h.Step)), "instance", "instances")
	case engine.LeaseAwaited:
		h.What, h.Step, h.Attempt, h.Text = behind, f.Index(e.Step), e.Attempt, e.Behind.String()
	case engine.ItemOpened:
		f.try(e.Step).since = h.At
		h.What, h.Step, h.Attempt, h.Text, h.Item = Asked, f.Index(e.Step), e.Attempt, e.Question, e
	case engine.ItemAnswered:
		f.answers++
		f.try(was.ID).answer(h.At)
		f.try(was.ID).approved = e.Choice == engine.ChooseApprove || e.Choice == engine.ChooseVouch
		h.What, h.Step, h.Text, h.By, h.Item.Item = Answered, f.Index(was.ID), e.Choice, e.By, e.Item
		switch e.Choice {
		case engine.ChooseAnswer:
			h.Said = string(e.Output())
		case engine.ChooseApprove: // what comes of others says their text
			h.Said, h.Args = e.Text, string(e.Args)
		case engine.ChooseRetry:
			h.Args = string(e.Args)
		}
	case engine.RunEnded:
		h.What, h.Text, h.End = Over, e.Reason, e
	default:
		return nil
	}
	return []Happening{h}
}

// ruling words what an arbiter chose, and why.
func ruling(e engine.ArbiterRuled) string {
	what := string(e.Say)
	if e.Role != "" {
		what += " by " + e.Role
	}
	return what + ": " + e.Why
}

// before is the step's row as it was before the event.
func (f *Fold) before(e engine.Event) engine.StepRow {
	step := ""
	switch e := e.(type) {
	case engine.StepSettled:
		step = e.Step
	case engine.ItemAnswered:
		step = f.asked[e.Item]
	}
	if i := f.Index(step); i >= 0 {
		return f.State.StepRow(i)
	}
	return engine.StepRow{}
}

func (f *Fold) Index(step string) int {
	if f.scene != nil {
		return f.scene.index(step)
	}
	if p := f.State.Program(); p != nil && step != "" {
		if i, ok := p.Index(step); ok {
			return i
		}
	}
	return -1
}

func (f *Fold) try(step string) *Try {
	if f.Tries[step] == nil {
		f.Tries[step] = &Try{}
	}
	return f.Tries[step]
}

// check keeps the newest phase's answers only.
func (t *Try) check(e engine.CheckEnded) {
	if n := len(t.checks); n > 0 {
		last := t.checks[n-1]
		again := last.Phase != e.Phase || last.Round != e.Round || last.Attempt != e.Attempt
		for _, c := range t.checks {
			again = again || c.Check == e.Check
		}
		if again {
			t.checks = nil
		}
	}
	t.checks = append(t.checks, e)
	if e.Phase == engine.Verifying {
		t.spent += Ms(e.Ms)
	}
}

// answer ends a wait for a person.
func (t *Try) answer(at time.Time) {
	if !t.since.IsZero() {
		t.waited += at.Sub(t.since)
	}
	t.since = time.Time{}
}

func (f *Fold) dispatched(h Happening, e engine.WorkDispatched) []Happening {
	if e.Kind == engine.ContractWork || e.Kind == engine.PlanWork {
		return nil
	}
	t := f.try(e.Step)
	if e.Attempt != t.Attempt || e.N == 1 {
		*t = Try{Attempt: e.Attempt, waited: t.waited}
	}
	f.tried(e.Step, e.Attempt)
	t.N, t.began = e.N, h.At
	h.Step, h.Attempt, h.N = f.Index(e.Step), e.Attempt, e.N
	h.Loop = f.loop(h.Step)
	start := h
	start.What, start.Agent, start.Child, start.Text = Started, e.Role, e.Child, e.Why
	if e.N > 1 && (e.Kind == engine.AgentWork || e.Kind == engine.ScriptWork) {
		start.Text = cutBefore
	}
	if green := f.Row(h.Step).Baseline == engine.Pass; green && e.Kind == engine.AgentWork && e.Attempt == 1 && e.N == 1 && f.Step(h.Step).Expect == engine.ExpectAny {
		start.Text = strings.Join(slices.DeleteFunc([]string{greenBefore, e.Why}, func(s string) bool { return s == "" }), "; ")
	}
	told := slices.Concat(f.lacking(h, e.Lacks), f.brought(h, e.Brought), f.committed(h, e.Commits), f.undone(h, e.Step, e.Attempt, e.Undone))
	if e.Kind == engine.MergeWork {
		start.What = Merging
	}
	if t.behind || e.Leave {
		return told // it was told that it is merged, or will be that it is not
	}
	return append(told, start)
}

// cutBefore says at a start what the end of the one before left.
const cutBefore = "the start before was cut off; its changes are still in the files"

// greenBefore says at the start of an agent's work what is of no use afterwards: that nothing
// can be proven.
const greenBefore = "the checks already pass before the work, so they cannot prove it"

// configured says what a person took for what a run goes by.
func configured(e engine.RunConfigured) string {
	var said []string
	if len(e.Changes) > 0 || len(e.Files) == 0 {
		said = append(said, "the configuration changed: "+strings.Join(e.Changes, "; "))
	}
	if len(e.Files) > 0 {
		var names []string
		for _, c := range e.Files {
			names = append(names, c.Path+" ("+c.What+")")
		}
		said = append(said, "taken as they are now: "+few(names))
	}
	return strings.Join(said, "; ")
}

// brought tells what the run's worktree got before the work.
func (f *Fold) brought(h Happening, names []string) []Happening {
	if len(names) == 0 {
		return nil
	}
	h.What, h.Step, h.Attempt, h.Text = Brought, -1, 0, "new in the checkout: "+few(names)
	return []Happening{h}
}

// committed tells what was recorded on the run's branch.
func (f *Fold) committed(h Happening, all []engine.Commit) (told []Happening) {
	for _, c := range all {
		if c.Commit == "" {
			continue
		}
		h.What, h.Step, h.Attempt, h.Text = Committed, f.Index(c.Step), 0, c.Commit[:min(len(c.Commit), 10)]+" on branch "+c.Branch
		told = append(told, h)
	}
	return told
}

// lacking tells once what the run's worktree did not begin with.
func (f *Fold) lacking(h Happening, names []string) []Happening {
	if len(names) == 0 || f.lacks {
		return nil
	}
	f.lacks = true
	h.What, h.Step, h.Attempt, h.Text = Lacking, -1, 0, few(names)+" not copied to the worktree: too much to copy; `setup:` can make it there, `workspace: shared` works in the checkout"
	return []Happening{h}
}

// revise notes that every step is begun anew that is not carried over.
func (f *Fold) revise(e engine.RunOpened) {
	f.met = map[string]bool{}
	for _, id := range e.Carried {
		f.met[id] = true
	}
}

// tried notes the first attempt of a step under a revision: it has all its retries, however
// often it was tried before.
func (f *Fold) tried(step string, attempt int) {
	if f.met != nil && !f.met[step] {
		f.met[step], f.free[step] = true, max(0, attempt-1)
	}
}

// undone tells what was put back, and where what stood there is.
func (f *Fold) undone(h Happening, step string, attempt int, u engine.Undone) []Happening {
	if len(u.Restored) == 0 {
		return nil
	}
	h.What, h.Step, h.Attempt, h.Text = Undone, f.Index(step), attempt, few(u.Restored)+" put back as before"
	if u.Quarantine != "" {
		h.Text += "; " + u.Quarantine + " keeps the version that was replaced"
	}
	return []Happening{h}
}

// few names the first of many.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func (f *Fold) workEnded(h Happening, e engine.WorkEnded) []Happening {
	if e.Kind == engine.PlanWork {
		return drawn(h, e)
	}
	t := f.try(e.Step)
	t.spent += Ms(e.Ms)
	t.behind = e.Behind
	if e.Kind != engine.MergeWork && e.Kind != engine.ContractWork {
		t.work = e
	}
	if u := e.Usage.CostMicros; u != nil && (*u > 0 || e.Kind != engine.ChildWork) { // whose sum is 0 where nothing was measured
		sum := *u
		if t.Cost != nil {
			sum += *t.Cost
		}
		t.Cost = &sum
	}
	told := append(f.committed(h, e.Commits), f.undone(h, e.Step, e.Attempt, e.Undone)...)
	if e.How != engine.Lost && e.How != engine.Stopped {
		return told
	}
	h.What, h.Step, h.Attempt, h.N, h.Text = CutOff, f.Index(e.Step), e.Attempt, e.N, e.Reason
	if e.How == engine.Lost {
		h.Text = "its owner ended first"
	}
	return append(told, h)
}

// drawn tells what came of the making of a revision.
func drawn(h Happening, e engine.WorkEnded) []Happening {
	h.What, h.Cost, h.Took = Drawn, e.Usage.CostMicros, Ms(e.Ms)
	switch d := e.Drawn; {
	case d != nil && d.Abort != "":
		h.Text = "the planner gives up: " + d.Abort
	case d != nil && len(d.Weakened) > 0:
		less := "is weaker"
		if !slices.ContainsFunc(d.Weakened, func(line string) bool { return !verify.Unsure(line) }) {
			less = "may be weaker"
		}
		h.Text = fmt.Sprintf("revision %d, which %s: %s", d.Version, less, strings.Join(d.Weakened, "; "))
	case d != nil:
		h.Text = fmt.Sprintf("revision %d: %s", d.Version, d.Changes)
	case e.How == engine.Lost:
		h.Text = "the planner was cut off: its owner ended first"
	default:
		h.Text = "the planner made no revision: " + e.Reason
	}
	return []Happening{h}
}

// settled tells what became of a step. was is its row before.
func (f *Fold) settled(h Happening, e engine.StepSettled, was engine.StepRow) []Happening {
	t := f.try(e.Step)
	f.tried(e.Step, e.Attempt)
	h.Step, h.Attempt, h.Verdict, h.Text = f.Index(e.Step), e.Attempt, e.Verdict, e.Reason
	h.Cost, h.Proven = t.Cost, e.Proven
	if e.By != engine.Harness {
		h.By = e.By
	}
	if !t.began.IsZero() && was.Status == engine.Running {
		h.Took = t.spent
	}
	if was.Loop != nil {
		h.Loop = f.loop(h.Step)
		h.Loop.Iteration, h.Loop.Exit = was.Loop.Iteration, e.Exit
	}
	bad := h
	bad.What, bad.Checks = Failed, failing(t.checks)
	if t.work.Attempt == e.Attempt && len(bad.Checks) > 0 {
		bad.Cause = t.work.Cause
	}
	switch {
	case t.work.Attempt != e.Attempt || t.work.Cause.Outside(): // then that says it
	case t.work.Speaks(bad.Checks):
		bad.Work = &t.work
	default:
		bad.Words = t.work.Words
	}
	bad.Unchanged = t.work.Attempt == e.Attempt && t.work.Kind == engine.AgentWork && t.work.How == engine.Exited && !t.work.Cause.Outside() && len(t.work.Changed) == 0
	switch e.Status {
	case engine.Running:
		if e.RetryAt == nil {
			return nil // its wait has ended
		}
		return []Happening{bad, f.retry(h, *e.RetryAt, was)}
	case engine.Done:
		switch {
		case e.RetryAt != nil:
			return []Happening{bad, f.retry(h, *e.RetryAt, was)}
		case was.Status == engine.Done:
			return nil
		}
		h.What, h.Checks, h.Waited, t.waited = Passed, t.checks, t.waited, 0
		return []Happening{h}
	case engine.Waiting, engine.Failed:
		return []Happening{bad}
	case engine.Skipped:
		h.What = Skipped
		if h.By == "" && e.Verdict != "" && e.Verdict != engine.Pass { // else nothing failed
			return []Happening{bad, h}
		}
	case engine.Waived:
		h.What = Waived
	case engine.Regressed:
		h.What, h.Checks = Regressed, bad.Checks
		f.free[e.Step] = was.Attempts
	case engine.Pending:
		if h.What = Redone; h.By == "" || t.approved {
			t.approved = false
			return nil
		}
		f.again(was)
	}
	return []Happening{h}
}

// vouched tells of a person's word that what a step changed is its work. Of a step that waits the
// checks are asked again.
func (f *Fold) vouched(h *Happening, e engine.Command) {
	h.What, h.Step, h.By, h.Text = Vouched, f.Index(e.Step), e.By, e.Why
	row := f.row(h.Step)
	if h.Proven = row.Proven; row.Status == engine.Done {
		h.By, h.Text = "", strings.TrimRight(row.Reason+"; "+e.Why, "; ")
		return
	}
	f.try(e.Step).approved = true
}

// again notes that a person has a step done anew, or lets it have one more try.
func (f *Fold) again(was engine.StepRow) {
	if was.Status == engine.Done || was.Status == engine.Skipped || was.Status == engine.Waived {
		f.free[was.ID] = was.Attempts
	} else if was.Attempts > 0 {
		f.free[was.ID]++
	}
}

// retry tells that the step is tried again. Where only its checks are asked
// again the attempt stays what it was.
func (f *Fold) retry(h Happening, at time.Time, was engine.StepRow) Happening {
	row := f.row(h.Step)
	iterates := row.Loop != nil && h.Loop.Exit == "" && h.Verdict != engine.Infra
	if h.Loop = f.loop(h.Step); !iterates {
		f.Retries++
	}
	h.What, h.Attempt, h.Text, h.Took, h.Cost = Retried, row.Attempts, "", 0, nil
	switch {
	case row.Attempts == was.Attempts:
		h.Text = "the same work, checked again"
	case h.Verdict == engine.Infra:
		f.free[was.ID]++
		h.Text = "an environment error uses no retry"
	case row.Loop == nil:
		h.Allowed = f.Allowed(h.Step)
	}
	h.Wait = max(0, at.Sub(h.At))
	return h
}

// loop is how far a loop is, zero for a step that is none.
func (f *Fold) loop(i int) engine.LoopRow {
	if i >= 0 {
		if l := f.row(i).Loop; l != nil {
			return *l
		}
	}
	return engine.LoopRow{}
}

// Allowed is how many attempts a step may have.
func (f *Fold) Allowed(i int) int {
	p := f.Step(i)
	return p.OnFail.Retries + 1 + f.free[p.ID]
}

// failing keeps the answers that people want to see when a step did not pass.
func failing(checks []engine.CheckEnded) []engine.CheckEnded {
	var bad []engine.CheckEnded
	for _, c := range checks {
		if c.Required && (c.Verdict != engine.Pass || len(c.Tampered) > 0) {
			bad = append(bad, c)
		}
	}
	return bad
}

// Elapsed is how long the attempt of a step has been under way. Before the first attempt it is how
// long the step has been at its checks.
func (f *Fold) Elapsed(step string, now time.Time) time.Duration {
	began := f.since[step]
	if t := f.Tries[step]; t != nil && !t.began.IsZero() {
		began = t.began
	}
	if began.IsZero() {
		return 0
	}
	return max(0, now.Sub(began))
}

// Row is what lists show of a step, with its number and id as the run that all of
// this is for can name them: 2/1 and build/test.
func (f *Fold) Row(i int) engine.StepRow {
	row := f.row(i)
	for up, step := f.Up, f.step; up != nil; up, step = up.Up, up.step {
		row.ID = step + "/" + row.ID
		if n := up.Index(step); n >= 0 {
			row.Number = up.State.Program().Step(n).Number + "/" + row.Number
		}
	}
	return row
}

// Depth is how many runs this one is below.
func (f *Fold) Depth() int {
	n := 0
	for up := f.Up; up != nil; up = up.Up {
		n++
	}
	return n
}

// Family are this fold and those below it, each behind the one that it is below,
// in the order of their steps.
func (f *Fold) Family() []*Fold {
	all := []*Fold{f}
	steps := slices.SortedFunc(maps.Keys(f.Below), func(a, b string) int { return f.Index(a) - f.Index(b) })
	for _, step := range steps {
		all = append(all, f.Below[step].Family()...)
	}
	return all
}

// Delegates reports whether runs of their own carry out steps of the run.
func (f *Fold) Delegates() bool {
	p := f.State.Program()
	for i := range p.Len() {
		if p.Step(i).Kind == engine.Delegate {
			return true
		}
	}
	return false
}

// Counts says how far the run is.
func (f *Fold) Counts() []string {
	head := f.State.Head()
	parts := []string{fmt.Sprintf("%d/%d finished", head.Settled, head.Total)}
	if n := len(f.Busy); n > 0 {
		parts = append(parts, fmt.Sprintf("%d running", n))
	}
	if n := len(f.Waiting()); n > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting for you", n))
	}
	return parts
}

// Concerns reports whether an event is about the step.
func (f *Fold) Concerns(e engine.Event, step string) bool {
	if e, ok := e.(engine.ItemAnswered); ok {
		return f.asked[e.Item] == step
	}
	of := reflect.ValueOf(e).FieldByName("Step")
	return of.IsValid() && of.String() == step
}

// Waiting are the open items of the run and of those below it, the oldest first.
func (f *Fold) Waiting() []engine.ItemRow {
	var all []engine.ItemRow
	for _, one := range f.Family() {
		all = slices.AppendSeq(all, maps.Values(one.Items))
	}
	slices.SortFunc(all, func(a, b engine.ItemRow) int { return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.Item, b.Item)) })
	return all
}

// Open reports whether an item still waits.
func (f *Fold) Open(it engine.ItemRow) bool {
	return slices.ContainsFunc(f.Waiting(), func(o engine.ItemRow) bool { return o.Item == it.Item })
}

// Member is the fold of a run, or nil where it is none of the family.
func (f *Fold) Member(run string) *Fold {
	all := f.Family()
	if i := slices.IndexFunc(all, func(o *Fold) bool { return o.State.Run().Run == run }); i >= 0 {
		return all[i]
	}
	return nil
}

// Ask tells of an item that waits already.
func (f *Fold) Ask(it engine.ItemRow, at time.Time) Happening {
	of := f.Member(it.Run)
	return Happening{
		Of: of, At: at, What: Asked, Step: of.Index(it.Step), Text: it.Question,
		Item: engine.ItemOpened{Item: it.Item, Kind: it.Kind, Choices: it.Choices, Schema: it.Schema},
	}
}

// Shown are the steps that run, by index.
func (f *Fold) Shown() []engine.StepRow {
	rows := make([]engine.StepRow, 0, len(f.Busy))
	for _, i := range slices.Sorted(maps.Keys(f.Busy)) {
		rows = append(rows, f.Busy[i])
	}
	return rows
}

// Child is the run that carries the step out now; nil for none.
func (f *Fold) Child(s engine.StepRow) *Fold {
	if c := f.Below[s.ID]; c != nil && c.State.Live() {
		return c
	}
	return nil
}
