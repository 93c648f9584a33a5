package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// fold follows one task's stream, and those of the runs that carry out its steps.
// It is all that a view knows: the state that the records make, and a little
// memory of the attempts under way that the state does not keep. It is not safe
// for concurrent use.
type fold struct {
	stream  string           // the first record's, where it is not given
	up      *fold            // of the run that this one carries out a step of, nil for none
	step    string           // that one
	below   map[string]*fold // by step: of the run that carries it out
	state   engine.State
	tries   map[string]*try           // by step: the newest attempt
	items   map[string]engine.ItemRow // open ones
	asked   map[string]string         // by item, open or not: its step
	busy    map[int]engine.StepRow    // steps that run
	idle    []int                     // steps whose turn has not come, ascending
	free    map[string]int            // by step: attempts that used up no retry
	retries int                       // of the newest run
	answers int
}

// try is an attempt as far as it has come.
type try struct {
	attempt, n int
	began      time.Time     // its newest start
	spent      time.Duration // of work and checks, over all its starts
	waited     time.Duration // for people, since the step was last told of
	since      time.Time     // when an item was opened that is open still
	cost       *int64
	checks     []engine.CheckEnded // of the newest phase
	approved   bool                // the last answer was a yes to start
}

// deed is what a happening is about.
type deed string

const (
	opened    deed = "run"
	revised   deed = "revise"
	started   deed = "start"
	merging   deed = "merge"
	passed    deed = "pass"
	failed    deed = "fail"
	retried   deed = "retry"
	asked     deed = "ask"
	answered  deed = "answer"
	skipped   deed = "skip"
	waived    deed = "waive"
	redone    deed = "redo"
	regressed deed = "regressed"
	cutOff    deed = "stop"
	undone    deed = "undo"
	behind    deed = "wait"
	commanded deed = "order"
	divided   deed = "each"
	over      deed = "done"
)

// happening is something that people want to know of, told once.
type happening struct {
	of      *fold // of the run that it happened in
	at      time.Time
	what    deed
	step    int // index, or -1 for the run as a whole
	attempt int
	n       int // starts of the attempt
	allowed int // attempts; 0 = not of interest
	agent   string
	took    time.Duration // of work and checks
	waited  time.Duration // for people
	cost    *int64
	checks  []engine.CheckEnded // a pass: all; a fail: those that did not pass
	verdict engine.Verdict
	proven  bool
	text    string // reason or question
	said    string // of an answer in a person's own words: the text, or the value
	by      string
	item    engine.ItemOpened
	wait    time.Duration // until the retry
	verb    engine.Verb
	end     engine.RunEnded
	child   string // the run that work opens
}

// follow folds a record of the run, or of one that carries out a step of it, and
// returns the fold that it is of, which is nil for none, and what people want to
// know of it. It fails as apply does.
func (f *fold) follow(r engine.Record) (*fold, []happening, error) {
	if !f.isBelow(r.Stream) {
		hs, err := f.apply(r)
		return f, hs, err
	}
	step, _, _ := strings.Cut(strings.TrimPrefix(r.Stream, f.stream+"/"), "/")
	if f.index(step) < 0 {
		return nil, nil, nil // of an earlier run
	}
	below := f.below[step]
	if _, opens := r.Event.(engine.RunOpened); below == nil && (opens || r.Seq == 1) {
		below = &fold{stream: engine.ChildTask(f.stream, step), up: f, step: step}
		f.below[step] = below
	}
	if below == nil {
		return nil, nil, nil // the same
	}
	return below.follow(r)
}

// isBelow reports whether a stream is that of a run which carries out a step.
func (f *fold) isBelow(stream string) bool {
	return f.stream != "" && strings.HasPrefix(stream, f.stream+"/")
}

// apply folds a record and returns what people want to know of it. Records
// that were seen already are nothing. An error means that the records do not
// follow each other.
func (f *fold) apply(r engine.Record) ([]happening, error) {
	if r.Seq <= f.state.Seq() {
		return nil, nil
	}
	f.stream = r.Stream
	run, opens := r.Event.(engine.RunOpened)
	if opens && f.state.Seq() == 0 {
		f.state = *engine.Before(r)
	}
	was := f.before(r.Event)
	if err := f.state.Apply(r); err != nil {
		return nil, err
	}
	switch {
	case opens && (run.Revises == "" || f.tries == nil):
		*f = fold{
			stream: f.stream, up: f.up, step: f.step, below: map[string]*fold{}, state: f.state, tries: map[string]*try{},
			items: map[string]engine.ItemRow{}, asked: map[string]string{}, busy: map[int]engine.StepRow{}, free: map[string]int{},
		}
	}
	f.keep()
	return f.tell(happening{of: f, at: r.At, step: -1}, r.Event, was), nil
}

// keep takes over what changed in the state's rows.
func (f *fold) keep() {
	rows := f.state.Rows()
	for _, it := range rows.Items {
		f.asked[it.Item] = it.Step
		if it.Open {
			f.items[it.Item] = it
		} else {
			delete(f.items, it.Item)
		}
	}
	if rows.All { // steps may have other places now
		f.idle = nil
		clear(f.busy)
	}
	for _, s := range rows.Steps {
		f.rests(s.Index, s.Status == engine.Pending || s.Status == engine.Ready || s.Status == engine.Blocked)
		if s.Status == engine.Running && !f.pattern(s.Index) || s.Status == engine.Ready && s.Reason != "" || s.Status == engine.Done && s.Phase == engine.Ratchet {
			f.busy[s.Index] = s
		} else {
			delete(f.busy, s.Index)
		}
	}
}

// pattern reports a step that its instances do.
func (f *fold) pattern(i int) bool { return f.state.Program().Step(i).Each != nil }

// rests puts a step among those whose turn has not come, or takes it out.
func (f *fold) rests(i int, idle bool) {
	switch at, known := slices.BinarySearch(f.idle, i); {
	case idle && !known:
		f.idle = slices.Insert(f.idle, at, i)
	case known && !idle:
		f.idle = slices.Delete(f.idle, at, at+1)
	}
}

// tell says what the event, which is in the state already, means to people.
func (f *fold) tell(h happening, event engine.Event, was engine.StepRow) []happening {
	switch e := event.(type) {
	case engine.RunOpened:
		h.what = opened
		if e.Revises != "" {
			h.what, h.text = revised, fmt.Sprintf("revision %d of the plan: %d of %d steps carried over", e.Version, len(e.Carried), f.state.Program().Len())
		}
	case engine.Command:
		if e.Step != "" {
			return nil // what came of it is told
		}
		h.what, h.verb, h.by, h.text = commanded, e.Verb, e.By, e.Why
	case engine.WorkDispatched:
		return f.dispatched(h, e)
	case engine.WorkEnded:
		return f.workEnded(h, e)
	case engine.CheckEnded:
		f.try(e.Step).check(e)
		return f.undone(h, e.Step, e.Attempt, e.Undone)
	case engine.StepSettled:
		return f.settled(h, e, was)
	case engine.StepExpanded:
		h.what, h.step = divided, f.index(e.Step)
		h.text = plural(len(f.state.Program().Instances(h.step)), "instance", "instances")
	case engine.LeaseAwaited:
		h.what, h.step, h.attempt, h.text = behind, f.index(e.Step), e.Attempt, e.Behind.String()
	case engine.ItemOpened:
		f.try(e.Step).since = h.at
		h.what, h.step, h.attempt, h.text, h.item = asked, f.index(e.Step), e.Attempt, e.Question, e
	case engine.ItemAnswered:
		f.answers++
		f.try(was.ID).answer(h.at)
		f.try(was.ID).approved = e.Choice == engine.ChooseApprove
		h.what, h.step, h.text, h.by, h.item.Item = answered, f.index(was.ID), e.Choice, e.By, e.Item
		if e.Choice == engine.ChooseAnswer {
			h.said = string(e.Output())
		}
	case engine.RunEnded:
		h.what, h.text, h.end = over, e.Reason, e
	default:
		return nil
	}
	return []happening{h}
}

// before is the step's row as it was before the event.
func (f *fold) before(e engine.Event) engine.StepRow {
	step := ""
	switch e := e.(type) {
	case engine.StepSettled:
		step = e.Step
	case engine.ItemAnswered:
		step = f.asked[e.Item]
	}
	if i := f.index(step); i >= 0 {
		return f.state.StepRow(i)
	}
	return engine.StepRow{}
}

func (f *fold) index(step string) int {
	if p := f.state.Program(); p != nil && step != "" {
		if i, ok := p.Index(step); ok {
			return i
		}
	}
	return -1
}

func (f *fold) try(step string) *try {
	if f.tries[step] == nil {
		f.tries[step] = &try{}
	}
	return f.tries[step]
}

// check keeps the newest phase's answers only.
func (t *try) check(e engine.CheckEnded) {
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
	if e.Phase == engine.Verifying || e.Phase == engine.Flaky {
		t.spent += ms(e.Ms)
	}
}

// answer ends a wait for a person.
func (t *try) answer(at time.Time) {
	if !t.since.IsZero() {
		t.waited += at.Sub(t.since)
	}
	t.since = time.Time{}
}

func (f *fold) dispatched(h happening, e engine.WorkDispatched) []happening {
	if e.Kind == engine.ContractWork {
		return nil
	}
	t := f.try(e.Step)
	if e.Attempt != t.attempt || e.N == 1 {
		*t = try{attempt: e.Attempt, waited: t.waited}
	}
	t.n, t.began = e.N, h.at
	h.step, h.attempt, h.n = f.index(e.Step), e.Attempt, e.N
	start := h
	start.what, start.agent, start.child = started, e.Role, e.Child
	if e.Kind == engine.MergeWork {
		start.what = merging
	}
	return append(f.undone(h, e.Step, e.Attempt, e.Undone), start)
}

// undone tells what was put back, and where what stood there is.
func (f *fold) undone(h happening, step string, attempt int, u engine.Undone) []happening {
	if len(u.Restored) == 0 {
		return nil
	}
	h.what, h.step, h.attempt, h.text = undone, f.index(step), attempt, few(u.Restored)+" put back as before"
	if u.Quarantine != "" {
		h.text += "; " + u.Quarantine + " keeps what stood there"
	}
	return []happening{h}
}

// few names the first of many.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func (f *fold) workEnded(h happening, e engine.WorkEnded) []happening {
	t := f.try(e.Step)
	t.spent += ms(e.Ms)
	if u := e.Usage.CostMicros; u != nil && (*u > 0 || e.Kind != engine.ChildWork) { // whose sum is 0 where nothing was measured
		sum := *u
		if t.cost != nil {
			sum += *t.cost
		}
		t.cost = &sum
	}
	told := f.undone(h, e.Step, e.Attempt, e.Undone)
	if e.How != engine.Lost && e.How != engine.Stopped {
		return told
	}
	h.what, h.step, h.attempt, h.n, h.text = cutOff, f.index(e.Step), e.Attempt, e.N, e.Reason
	if e.How == engine.Lost {
		h.text = "its owner ended before it did"
	}
	return append(told, h)
}

// settled tells what became of a step. was is its row before.
func (f *fold) settled(h happening, e engine.StepSettled, was engine.StepRow) []happening {
	t := f.try(e.Step)
	h.step, h.attempt, h.verdict, h.text = f.index(e.Step), e.Attempt, e.Verdict, e.Reason
	h.cost, h.proven = t.cost, e.Proven
	if e.By != engine.Harness {
		h.by = e.By
	}
	if !t.began.IsZero() && was.Status == engine.Running {
		h.took = t.spent
	}
	bad := h
	bad.what, bad.checks = failed, failing(t.checks)
	switch e.Status {
	case engine.Running:
		if e.RetryAt == nil {
			return nil // its wait has ended
		}
		return []happening{bad, f.retry(h, *e.RetryAt, was)}
	case engine.Done:
		switch {
		case e.RetryAt != nil:
			return []happening{bad, f.retry(h, *e.RetryAt, was)}
		case was.Status == engine.Done:
			return nil
		}
		h.what, h.checks, h.waited, t.waited = passed, t.checks, t.waited, 0
		return []happening{h}
	case engine.Waiting, engine.Failed:
		return []happening{bad}
	case engine.Skipped:
		h.what = skipped
		if h.by == "" && e.Verdict != "" { // else its condition is false, and nothing failed
			return []happening{bad, h}
		}
	case engine.Waived:
		h.what = waived
	case engine.Regressed:
		h.what, h.checks = regressed, bad.checks
		f.free[e.Step] = was.Attempts
	case engine.Pending:
		if h.what = redone; h.by == "" || t.approved {
			t.approved = false
			return nil
		}
		f.again(was)
	}
	return []happening{h}
}

// again notes that a person has a step done anew, or lets it have one more try.
func (f *fold) again(was engine.StepRow) {
	if was.Status == engine.Done || was.Status == engine.Skipped || was.Status == engine.Waived {
		f.free[was.ID] = was.Attempts
	} else if was.Attempts > 0 {
		f.free[was.ID]++
	}
}

// retry tells that the step is tried again. Where only its checks are asked
// again the attempt stays what it was.
func (f *fold) retry(h happening, at time.Time, was engine.StepRow) happening {
	f.retries++
	row := f.state.StepRow(h.step)
	h.what, h.attempt, h.text, h.took, h.cost = retried, row.Attempts, "", 0, nil
	switch {
	case row.Attempts == was.Attempts:
		h.text = "the same work, checked again"
	case h.verdict == engine.Infra:
		f.free[was.ID]++
		h.text = "this machine's fault uses up no retry"
	default:
		h.allowed = f.allowed(h.step)
	}
	h.wait = max(0, at.Sub(h.at))
	return h
}

// allowed is how many attempts a step may have.
func (f *fold) allowed(i int) int {
	p := f.state.Program().Step(i)
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

// elapsed is how long the attempt of a step has been under way.
func (f *fold) elapsed(step string, now time.Time) time.Duration {
	if t := f.tries[step]; t != nil && !t.began.IsZero() {
		return max(0, now.Sub(t.began))
	}
	return 0
}

// row is what lists show of a step, with its number and id as the run that all of
// this is for can name them: 2/1 and build/test.
func (f *fold) row(i int) engine.StepRow {
	row := f.state.StepRow(i)
	for up, step := f.up, f.step; up != nil; up, step = up.up, up.step {
		row.ID = step + "/" + row.ID
		if n := up.index(step); n >= 0 {
			row.Number = up.state.Program().Step(n).Number + "/" + row.Number
		}
	}
	return row
}

// depth is how many runs this one is below.
func (f *fold) depth() int {
	n := 0
	for up := f.up; up != nil; up = up.up {
		n++
	}
	return n
}

// family are this fold and those below it, each behind the one that it is below,
// in the order of their steps.
func (f *fold) family() []*fold {
	all := []*fold{f}
	steps := slices.SortedFunc(maps.Keys(f.below), func(a, b string) int { return f.index(a) - f.index(b) })
	for _, step := range steps {
		all = append(all, f.below[step].family()...)
	}
	return all
}

// delegates reports whether runs of their own carry out steps of the run.
func (f *fold) delegates() bool {
	p := f.state.Program()
	for i := range p.Len() {
		if p.Step(i).Kind == engine.Delegate {
			return true
		}
	}
	return false
}

// counts says how far a run is that carries out a step.
func (f *fold) counts() string {
	head := f.state.Head()
	parts := []string{fmt.Sprintf("%d/%d passed", head.Settled, head.Total)}
	if n := len(f.busy); n > 0 {
		parts = append(parts, fmt.Sprintf("%d running", n))
	}
	if n := len(f.waiting()); n > 0 {
		parts = append(parts, plural(n, "needs you", "need you"))
	}
	return join(parts)
}

// concerns reports whether an event is about the step.
func (f *fold) concerns(e engine.Event, step string) bool {
	switch e := e.(type) {
	case engine.Command:
		return e.Step == step
	case engine.WorkDispatched:
		return e.Step == step
	case engine.WorkEnded:
		return e.Step == step
	case engine.CheckEnded:
		return e.Step == step
	case engine.PreviewMade:
		return e.Step == step
	case engine.StepSettled:
		return e.Step == step
	case engine.StepExpanded:
		return e.Step == step
	case engine.LeaseGranted:
		return e.Step == step
	case engine.LeaseAwaited:
		return e.Step == step
	case engine.ItemOpened:
		return e.Step == step
	case engine.ItemAnswered:
		return f.asked[e.Item] == step
	}
	return false
}
