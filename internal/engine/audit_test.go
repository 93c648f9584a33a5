package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// audit reads a task's journal and nothing else, and reports the first record
// that breaks a promise. It was written from the rules and shares no code with
// the fold, so that both would have to be wrong in the same way.
//
// What it holds a journal to:
//
//   - Records follow each other without a gap, and no record of an older owner
//     follows one of a newer.
//   - A step becomes done only by a settling that follows complete answers of
//     all its checks, for its newest attempt, whose work ended by itself and
//     touched nothing it may not, and of which every required one passed, and
//     passed as often as it was asked at once.
//   - It is proven only if its checks were seen to fail before, of other files, and
//     were never seen to be flaky.
//   - A strong step is done, and its worktree merged, only when its checks were seen to
//     fail with all of its newest change taken back, and to pass beside that with all of
//     it in place.
//   - No check passes with fewer tests than it ran before the work.
//   - It becomes skipped so that it counts, waived, or pending again only by a
//     person whose command or answer is in the journal.
//   - Work starts only when every need is satisfied, when a yes that is no
//     older than a day is there if one is asked for, while the run is neither
//     paused nor being stopped, and never for a step that is done and was
//     neither regressed nor ordered. No step has two live dispatches; no more
//     work than there is room, and one more is merged or asked for checks that
//     may run only once; no agent without a scope is live beside
//     another agent, and no two overlapping scopes.
//   - A step that others could disturb starts only with a lease of its owner, over
//     the scope it is defined with.
//   - A step with a worktree is merged only when its checks passed there, and
//     is done only when they passed again after a merge without conflicts.
//   - A step for each item is expanded once, when its needs are satisfied; it is
//     done only when all its instances are satisfied, and failed only if one is.
//   - A tool is called only as it was looked at since its newest dispatch, never
//     where that was refused or blocked, and where it asks for a yes, only with
//     one that a person gave for what is there now: one yes, one call.
//   - Attempts only grow, and dispatches of one have no gap. Retries without a
//     person's word are no more than the plan allows, faults of this machine
//     are tried three times, also those that an agent tells of, lost work three times;
//     checks that may run only
//     once are started once an attempt.
//   - A loop has no more iterations than it may, and no further one once it used
//     the tokens that it may. It ends with a reason, and where that is another one
//     than that all checks passed the step is not done. One that found its checks
//     passed and changed nothing is not done either.
//   - A step is done by the agent that a person forced, else by the one that its
//     plan names or, after that one failed, its fallback; where the plan names none,
//     by a listed one that could be run.
//   - Only work of an owner that is gone is lost.
//   - A run is done only when every step is satisfied and, with a ratchet,
//     everything that was proved has been proved again since the last work.
//   - A revision is of the same run and of the text before it. What it carries
//     over is defined as it was, did not fail, and needs nothing that was begun
//     and is not carried over; all of it is proved again at the end. Everything
//     else begins with a new attempt, and beside no work that conflicts.
//   - The plan is revised because a step failed that says so, or because a person
//     wants it, while nothing else is under way, and for failures no more often
//     than the plan allows. Only a person says yes to a revision that asks less.
//   - Work starts only within the budgets, and more is asked for only where they
//     are too tight.
//   - An agent asks only while it works, and one thing at a time; nobody but a person
//     says yes, and the time that a person takes is not the agent's.
//   - Where so many attempts were in vain, or so many steps in a row came to no good
//     end, as the policy or a person allows without a person's word, no work starts
//     before one has spoken.
//   - An ended run is not worked on before a person takes it up again.
func audit(journal []engine.Record) error {
	return (&auditor{}).goOn(journal)
}

// goOn reads what follows.
func (a *auditor) goOn(journal []engine.Record) error {
	for _, r := range journal {
		if err := a.read(r); err != nil {
			return fmt.Errorf("audit: record %d, %s: %w", r.Seq, r.Event.Type(), err)
		}
	}
	return nil
}

type auditor struct {
	frames     frames
	seq, epoch uint64
	actor      string
	last       time.Time     // of the newest record
	age        time.Duration // of the run
	back       time.Duration // by which clocks were put back, so that less was counted
	run        engine.RunOpened
	steps      map[string]*file
	items      map[string]engine.ItemOpened // open ones
	open       bool
	failed     bool
	over       engine.Status // that it ended with
	paused     bool
	stopping   bool
	leaving    []left
	past       map[string]int // attempts of steps that are gone
	room       int            // before the last revision
	replan     *drawing       // the revision that is being made
	wants      wanted         // the revision that the last answer asks for
	replans    int            // because steps failed
	draws      int
	purse      purse                    // of the run
	roles      map[string]engine.Amount // the largest attempt of each
	faults     map[string]time.Time     // when an agent could not be run, if that was the last of it
	silent     int                      // attempts that did not say what they used
	complete   bool                     // an arbiter says that nothing else is needed
	advice     map[string]string        // steps after which an arbiter wants a revision, and why
	vain       engine.Bounds            // attempts, and failures in a row, since a person spoke
	bounds     engine.Bounds            // those that a person gave
	asking     string                   // item that asks for more for the run
	work       int                      // dispatches and ends of work so far, to order proofs by
	seenTree   bool                     // at the tree, after the newest proof
	blind      bool                     // there was nothing to compare it with
	round      int                      // of proofs
	before     int                      // round before which the tree was looked at
	proofs     int                      // in this round
	makers     map[string]string        // of files that proofs opened: the step that made them
	changed    map[string][2]string     // what checks changed in this round: as it was before, and is
	stays      bool                     // the run's work stays on its branch
	brought    bool                     // the run's worktree got something that was not proved there
}

// file is what the auditor writes down of one step.
type file struct {
	def       *engine.Step
	status    engine.Status
	verdict   engine.Verdict
	counts    bool
	attempt   int
	away      int // one more than the attempt for which no planner could be asked
	n         int
	live      *engine.WorkDispatched
	liveEpoch uint64
	said      int64             // tokens that the live work told of
	begs      string            // item in which the live work asks a person
	end       *engine.WorkEnded // of the newest attempt's own work
	answers   []engine.CheckEnded
	complete  []set                // complete answers since the newest dispatch
	red       bool                 // its checks were seen to fail
	base      engine.Verdict       // of a baseline that nobody has acted upon yet
	aborted   bool                 // by a person
	ruling    *engine.ArbiterRuled // of the attempt that is judged
	votes     []engine.Vote        // of its judge, to one question
	doubted   doubted              // of a strong step
	asked     bool                 // an arbiter had a person asked
	forced    string               // whom a person gave it to
	granted   time.Time
	retries   int                 // without a person's word
	infra     int                 // in a row
	laps      int                 // iterations that are over, in this round of a loop
	tokens    int64               // that they used, or set aside without saying
	moved     bool                // a file of the step was changed
	before    engine.Verdict      // of its newest baseline
	observed  bool                // what a check opened before the work is known
	wrote     map[string]bool     // by check and path: what the checks changed before the work
	rests     bool                // its newest proof opened what it changed itself
	leans     []string            // on these
	unseen    bool                // or on what nobody saw
	owned     map[string]bool     // what a person calls its work
	tests     map[string]int      // that its checks ran before the work
	same      bool                // its newest proof contradicts what was said of the same files
	flaky     bool                // a check of it that counts gave two answers at once, ever
	lost      int                 // in this attempt
	lease     uint64              // epoch of the owner that let it use its scope
	once      int                 // starts of checks that may run only once, in this attempt
	look      *engine.PreviewMade // since the newest call
	shown     *engine.PreviewMade // what a person was asked about last
	edited    string
	regressed int
	merged    bool // the attempt's worktree is in the workspace
	stays     bool // the newest merge of the run's worktree leaves the work on the branch
	kept      bool // it was under way when a revision came, and keeps its place
	waits     *time.Time
	proved    int // how much work there had been when the ratchet last held
	order     *engine.Command
	reply     *engine.ItemAnswered
	question  bool // it answers the step's question
	purse     purse
	each      []json.RawMessage // what it was made for each of, not nil once it was
	of        *file             // that it is an instance of
}

// set is one complete round of answers.
type set struct {
	phase engine.Phase
	pass  bool
}

func (a *auditor) read(r engine.Record) error {
	if r.Seq != a.seq+1 {
		return fmt.Errorf("it follows record %d", a.seq)
	}
	if r.Epoch < a.epoch {
		return fmt.Errorf("an owner of epoch %d writes after epoch %d began", r.Epoch, a.epoch)
	}
	a.seq, a.actor = r.Seq, r.Actor
	a.pass(r)
	switch e := r.Event.(type) {
	case engine.EpochBegan:
		a.epoch = r.Epoch
	case engine.TaskOpened:
	case engine.FramePushed:
		return a.pushed(e)
	case engine.RunOpened:
		if err := a.frames.opened(e); err != nil {
			return err
		}
		if e.Revises != "" {
			return a.revised(e)
		}
		return a.opened(e)
	case engine.RunConfigured:
		return a.configured(e)
	case engine.RunEnded:
		return a.ended(e)
	case engine.Command:
		return a.commanded(e)
	case engine.WorkDispatched:
		if e.Kind == engine.PlanWork {
			return a.drawn(e, r)
		}
		return a.dispatched(e, r)
	case engine.WorkReported:
		return a.reported(e)
	case engine.WorkHeard:
		return a.hears(e)
	case engine.WorkEnded:
		return a.workEnded(e, r)
	case engine.JudgeVoted:
		return a.voted(e)
	case engine.ArbiterRuled:
		return a.ruled(e)
	case engine.PartTried:
		return a.tries(e)
	case engine.ChangeReverted:
		return a.reverted(e)
	case engine.PreviewMade:
		return a.looked(e)
	case engine.CheckEnded:
		return a.checked(e)
	case engine.StepSettled:
		if err := a.frames.settled(e); err != nil {
			return err
		}
		if f := a.steps[e.Step]; f != nil && f.each != nil && f.order == nil {
			return a.joined(f, e)
		}
		return a.settled(e, r)
	case engine.StepExpanded:
		return a.expanded(e)
	case engine.LeaseGranted:
		return a.leased(e, r)
	case engine.LeaseAwaited:
		return a.awaited(e)
	case engine.TreeSurveyed:
		return a.surveyed(e)
	case engine.ItemOpened:
		if e.Kind == engine.Proposal || e.Kind == engine.Weakened {
			return a.proposed(e)
		}
		if e.Kind == engine.Limit {
			return a.limited(e)
		}
		if e.Kind == engine.Permission {
			return a.wanted(e)
		}
		return a.asked(e)
	case engine.ItemAnswered:
		if a.items[e.Item].Kind == engine.Permission {
			return a.permitted(e, r)
		}
		if a.items[e.Item].Kind == engine.Limit {
			return a.bounded(e)
		}
		a.spoke()
		if a.replan != nil && a.replan.item == e.Item {
			return a.agreed(e)
		}
		return a.answered(e, r)
	default:
		return fmt.Errorf("it does not belong here")
	}
	return nil
}

func (a *auditor) opened(e engine.RunOpened) error {
	if a.open {
		return fmt.Errorf("the run before has not ended")
	}
	*a = auditor{frames: a.frames, seq: a.seq, epoch: a.epoch, last: a.last, changed: map[string][2]string{}, run: e, open: true, steps: map[string]*file{}, items: map[string]engine.ItemOpened{}, roles: map[string]engine.Amount{}, faults: map[string]time.Time{}}
	a.purse.limits = tightest(e.Compiled.Budget(), e.Grant)
	for i := range e.Compiled.Len() {
		p := e.Compiled.Step(i)
		a.steps[p.ID] = &file{def: p, status: engine.Pending, proved: -1, purse: purse{limits: p.Budget}}
		a.stays = a.stays || p.Leave
	}
	return nil
}

func (a *auditor) ended(e engine.RunEnded) error {
	if len(a.frames.owed)+a.frames.opens > 0 {
		return fmt.Errorf("frames of %v and %d openings are missing", a.frames.owed, a.frames.opens)
	}
	if !a.open || len(a.leaving) > 0 || a.replan != nil && a.replan.live != nil {
		return fmt.Errorf("it is not open, or left work has not ended: %v", a.leaving)
	}
	a.forgetReplan()
	for id, f := range a.steps {
		if f.live != nil {
			return fmt.Errorf("work of %q is under way", id)
		}
		f.ruling = nil
		if e.Status != engine.Done {
			f.status, f.waits, f.order, f.reply, f.base = rested(f.status), nil, nil, nil, ""
			continue
		}
		if !f.satisfied() {
			return fmt.Errorf("it is done, and step %q is %s", id, f.status)
		}
		if a.unproved(f) {
			return fmt.Errorf("it is done, and %q was not proved again since the last work", id)
		}
		if err := a.settledTree(); err != nil && a.proofs > 1 && (a.run.Policy.Ratchet || a.brought) {
			return err
		}
	}
	a.open, a.failed, a.over, a.advice = false, e.Status == engine.Failed, e.Status, nil
	return nil
}

// tightest is the lower of two limits of each kind; 0 is none.
func tightest(a, b engine.Amount) engine.Amount {
	low := func(x, y int64) int64 {
		if x > 0 && y > 0 {
			return min(x, y)
		}
		return x + y
	}
	return engine.Amount{
		Tokens: low(a.Tokens, b.Tokens), CostMicros: low(a.CostMicros, b.CostMicros), Wall: time.Duration(low(int64(a.Wall), int64(b.Wall))),
	}
}

// rested is what becomes of a step's status when its run ends.
func rested(s engine.Status) engine.Status {
	if s == engine.Running {
		return engine.Pending
	}
	return s
}

func (f *file) satisfied() bool {
	return f.status == engine.Done || f.status == engine.Waived || f.status == engine.Skipped && f.counts
}

func (a *auditor) step(id string) (*file, error) {
	if f := a.steps[id]; f != nil && a.open {
		return f, nil
	}
	return nil, fmt.Errorf("there is no open run with a step %q", id)
}

func (a *auditor) commanded(e engine.Command) error {
	if e.By != engine.Harness {
		a.spoke()
	}
	recalled := e.By == engine.Harness && e.Verb == engine.DoCancel && a.run.Parent.Run != ""
	if e.Verb == engine.DoReplan {
		return a.replanned(e)
	}
	if e.By == "" || e.By == engine.Harness && !recalled {
		return fmt.Errorf("no person gave it")
	}
	if !a.open && a.run.Parent.Run != "" {
		return fmt.Errorf("the run above has its end")
	}
	if e.Verb == engine.DoForce {
		return a.forced(e)
	}
	if f := a.steps[e.Step]; e.Verb == engine.DoVouch && f != nil && f.status == engine.Done && (a.open || a.over == engine.Done || a.failed) {
		return f.vouched()
	}
	goesOn := a.open
	if e.Verb == engine.DoLand {
		if err := a.lands(); err != nil {
			return err
		}
	} else if !a.open {
		if !a.failed || e.Verb == engine.DoPause || e.Verb == engine.DoCancel {
			return fmt.Errorf("the run cannot be taken up")
		}
		a.open, a.failed, a.paused, a.stopping = true, false, false, false
	}
	switch e.Verb {
	case engine.DoPause:
		a.paused = true
		for _, f := range a.steps {
			if f.live == nil {
				f.idle()
			}
		}
	case engine.DoResume:
		a.paused = false
		a.orderAll(e, func(f *file) bool {
			return !goesOn && (f.status == engine.Failed && f.each == nil && !f.aborted || a.replannable(f))
		})
	case engine.DoLand:
		a.orderAll(e, func(f *file) bool { return f.def.Kind == engine.Landing })
	case engine.DoCancel:
		a.stopping = true
	case engine.DoRetry:
		if e.From {
			below := a.below(e.Step)
			a.orderAll(e, func(f *file) bool {
				return below[f.def.ID] && (f.status != engine.Pending || f.each != nil) && (f.of == nil || f.def.ID == e.Step) && f != a.steps[e.Step].of
			})
			return nil
		}
		fallthrough
	default:
		f, err := a.step(e.Step)
		if err != nil {
			return err
		}
		a.orderParts(f, e)
	}
	return nil
}

func (a *auditor) orderAll(e engine.Command, which func(*file) bool) {
	for _, f := range a.steps {
		if which(f) {
			f.order = &e
			a.decided(f)
		}
	}
}

// below is the step and all that need it, found by going round and round.
func (a *auditor) below(id string) map[string]bool {
	below := map[string]bool{id: true}
	for grown := true; grown; {
		grown = false
		for other, f := range a.steps {
			if f.of != nil && below[f.of.def.ID] && !below[other] && a.steps[id].of != f.of {
				below[other], grown = true, true
			}
			if f.of != nil && below[other] && !below[f.of.def.ID] {
				below[f.of.def.ID], grown = true, true
			}
			for _, n := range f.def.Needs {
				if below[a.run.Compiled.Step(n).ID] && !below[other] {
					below[other], grown = true, true
				}
			}
		}
	}
	return below
}

func (a *auditor) dispatched(e engine.WorkDispatched, r engine.Record) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	if err := a.mayStart(f, e, r); err != nil {
		return err
	}
	if err := a.alone(f, e.Kind); err != nil {
		return err
	}
	var needs []string
	for _, n := range f.def.Needs {
		needs = append(needs, a.run.Compiled.Step(n).ID)
	}
	if err := a.gets(f.def, needs, e.Frames); err != nil {
		return err
	}
	if (e.Child != "") != (e.Kind == engine.ChildWork && e.Prompt != "") {
		return fmt.Errorf("%s work opens run %q", e.Kind, e.Child)
	}
	if (e.Kind == engine.ToolWork || e.Kind == engine.ChildWork) && e.Prompt != "" {
		if err := a.mayCall(f, e, r); err != nil {
			return err
		}
	}
	if a.shares(f) && f.lease != r.Epoch && f.def.Worktree == (e.Kind == engine.MergeWork) {
		return fmt.Errorf("nobody gave it a lease in epoch %d", r.Epoch)
	}
	if e.Kind != engine.ContractWork && e.Kind != engine.MergeWork {
		if err := a.mayPay(f, e); err != nil {
			return err
		}
		if of := a.exceeded(); of != "" {
			return fmt.Errorf("the limit of %s is met: %+v", of, a.vain)
		}
		if err := a.mayWork(f, e, r); err != nil {
			return err
		}
	}
	f.attempt, f.n, f.ruling = e.Attempt, e.N, nil
	f.live, f.liveEpoch = &e, r.Epoch
	switch e.Kind {
	case engine.ContractWork:
		f.once++
		return nil
	case engine.MergeWork:
		if f.def.Kind != engine.Landing {
			a.work++
		} else {
			f.status, f.stays = engine.Running, a.stays
		}
		f.complete, f.answers = nil, nil
		return nil
	}
	f.merged, f.owned = false, nil
	a.work++
	f.doubted = doubted{}
	f.status, f.end, f.complete, f.answers, f.base = engine.Running, nil, nil, nil, ""
	return nil
}

// mayStart holds a dispatch against the step's own past.
func (a *auditor) mayStart(f *file, e engine.WorkDispatched, r engine.Record) error {
	switch next := e.Attempt > f.attempt; {
	case f.live != nil:
		return fmt.Errorf("its dispatch %d.%d is under way", f.attempt, f.n)
	case next && e.N != 1 || !next && (e.Attempt != f.attempt || e.N != f.n+1):
		return fmt.Errorf("dispatch %d.%d follows %d.%d", e.Attempt, e.N, f.attempt, f.n)
	case next:
		f.lost, f.once, f.end = 0, 0, nil
	}
	if f.def.Kind == engine.Landing {
		return a.mayLand(f, e)
	}
	if e.Kind == engine.MergeWork {
		if !f.def.Worktree || f.merged || f.end == nil || f.end.How != engine.Exited || f.def.Rerunnable && !f.passed() {
			return fmt.Errorf("its worktree is merged after %+v, answers %v", f.end, f.complete)
		}
		return nil
	}
	if e.Kind == engine.ContractWork {
		if f.def.Rerunnable || f.once > 0 || f.end == nil || f.end.How != engine.Exited {
			return fmt.Errorf("checks that may run only once start after %d starts, work %+v", f.once, f.end)
		}
		return nil
	}
	switch {
	case f.def.Each != nil:
		return fmt.Errorf("it is for each of its items, and does nothing itself")
	case a.paused || a.stopping:
		return fmt.Errorf("the run is paused (%v) or being stopped (%v)", a.paused, a.stopping)
	case f.status != engine.Pending && f.status != engine.Regressed && f.status != engine.Running:
		return fmt.Errorf("the step is %s", f.status)
	case f.waits != nil:
		return fmt.Errorf("the step waits until %s", f.waits)
	case f.lost >= 3:
		return fmt.Errorf("it was lost %d times", f.lost)
	case f.def.Kind != engine.Tool && f.def.Kind != engine.Delegate && f.def.Approval != "" && (f.granted.IsZero() || r.At.Sub(f.granted) >= 24*time.Hour):
		return fmt.Errorf("it needs a yes, and the newest is of %s", f.granted)
	case f.base == "" || f.def.Expect == engine.ExpectAny || !a.run.Policy.Baseline: // a new configuration asks no more before the work
	case (f.base == engine.Pass) != (f.def.Expect == engine.ExpectGreen), (f.base == engine.Fail) != (f.def.Expect == engine.ExpectRed):
		return fmt.Errorf("the checks said %s before the work, and the plan expects %s", f.base, f.def.Expect)
	}
	for _, n := range f.def.Needs {
		if need := a.steps[a.run.Compiled.Step(n).ID]; !need.satisfied() {
			return fmt.Errorf("it needs %q, which is %s", need.def.ID, need.status)
		}
	}
	return nil
}

// mayLand holds the merge of the run's worktree against what was proved in it.
func (a *auditor) mayLand(f *file, e engine.WorkDispatched) error {
	if e.Kind != engine.MergeWork || f.merged {
		return fmt.Errorf("%s work ends a run, merged %v", e.Kind, f.merged)
	}
	for id, other := range a.steps {
		if other != f && !other.satisfied() {
			return fmt.Errorf("step %q is %s", id, other.status)
		}
		if a.unproved(other) {
			return fmt.Errorf("%q was not proved again since the last work", id)
		}
	}
	return nil
}

// lands takes up a run of which nothing is left but the merge of its worktree.
func (a *auditor) lands() error {
	merges := false
	for id, f := range a.steps {
		lands := f.def.Kind == engine.Landing
		if merges = merges || lands; lands && f.status == engine.Done || !lands && !f.satisfied() {
			return fmt.Errorf("it is to land, and step %q is %s", id, f.status)
		}
	}
	if !merges || a.open || a.over != engine.Done && a.over != engine.Failed {
		return fmt.Errorf("it is to land, merges %v, open %v, %s", merges, a.open, a.over)
	}
	a.open, a.failed, a.paused, a.stopping, a.stays = true, false, false, false, false
	return nil
}

// lands reports whether the step is a merge of the run's worktree that is done.
func (f *file) lands() bool { return f.def.Kind == engine.Landing && f.merged }

// surveyed takes a look at the tree around a round of proofs.
func (a *auditor) surveyed(e engine.TreeSurveyed) error {
	a.seenTree = e.After
	if !e.After {
		a.changed, a.blind, a.before = map[string][2]string{}, e.Tree == "", e.Round
	}
	return nil
}

// settledTree reports checks of the last round of proofs that took back what
// another one saw, or that nobody looked for that.
func (a *auditor) settledTree() error {
	if !a.seenTree && !a.blind || a.before != a.round {
		return fmt.Errorf("it is done, and nobody looked whether one proof took another one back")
	}
	for path, c := range a.changed {
		if c[0] == c[1] {
			return fmt.Errorf("it is done, and proofs changed %s back and forth", path)
		}
	}
	return nil
}

// unproved reports whether a step that is done has to be proved again.
func (a *auditor) unproved(f *file) bool {
	again := f.def.Each == nil && f.def.Holds && f.def.Rerunnable && f.def.Checkable() && f.status == engine.Done
	return again && (a.run.Policy.Ratchet || a.brought) && f.proved != a.work
}

// passed reports whether the newest answers were all good.
func (f *file) passed() bool { return len(f.complete) > 0 && f.complete[len(f.complete)-1].pass }

// shares reports whether the step asks for what it uses before it works.
func (a *auditor) shares(f *file) bool {
	return f.def.Kind == engine.Agent || len(f.def.Writes) > 0 || f.def.Worktree
}

// idle notes that the step may have given its lease back.
func (f *file) idle() {
	if len(f.complete) == 0 && f.end == nil {
		f.lease = 0
	}
}

func (a *auditor) leased(e engine.LeaseGranted, r engine.Record) error {
	f, err := a.step(e.Step)
	switch {
	case err != nil:
		return err
	case !a.shares(f) || !slices.Equal(e.Scope, f.def.Writes):
		return fmt.Errorf("it wants no lease, or one of %v", f.def.Writes)
	case f.live != nil && f.liveEpoch == r.Epoch:
		return fmt.Errorf("it is at work already")
	}
	f.lease = r.Epoch
	return nil
}

func (a *auditor) awaited(e engine.LeaseAwaited) error {
	f, err := a.step(e.Step)
	if err == nil && (!a.shares(f) || e.Behind.Run == "" || e.Behind.Step == "") {
		err = fmt.Errorf("it waits for nobody, or wants no lease")
	}
	return err
}

func (a *auditor) working() bool {
	for _, f := range a.steps {
		if f.live != nil {
			return true
		}
	}
	return false
}

// alone holds a dispatch against the others under way.
func (a *auditor) alone(f *file, kind engine.WorkKind) error {
	live, working := len(a.leaving), len(a.leaving)
	for _, l := range a.leaving {
		if clash(f.def, l.def) {
			return fmt.Errorf("what a revision left of %q works in the same place", l.def.ID)
		}
	}
	for id, o := range a.steps {
		if o.live == nil || o == f {
			continue
		}
		live++
		if o.live.Kind.Effect() == engine.Work {
			working++
		}
		if clash(f.def, o.def) {
			return fmt.Errorf("%q works in the same place", id)
		}
	}
	room := roomOf(a.run)
	if f.kept {
		room = max(room, a.room)
	}
	// One is made ready while another is checked or merged.
	if kind.Effect() == engine.Work && working >= room || live >= room+min(1, room-1) {
		return fmt.Errorf("%d are under way already, %d of them at work, and there is room for %d", live, working, room)
	}
	return nil
}

func roomOf(r engine.RunOpened) int { return max(1, min(r.Compiled.Parallel(), r.Policy.MaxParallel)) }

// clash reports whether two steps must not be at work together.
func clash(a, b *engine.Step) bool {
	if a.Worktree || b.Worktree {
		return false
	}
	agents := a.Kind == engine.Agent && b.Kind == engine.Agent
	return agents && (len(a.Writes) == 0 || len(b.Writes) == 0) || meet(a.Writes, b.Writes)
}

// meet reports whether two scopes have a path in common. The scopes of the
// tests are folders, or globs below one.
func meet(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			x, _, _ := strings.Cut(x, "*")
			y, _, _ := strings.Cut(y, "*")
			if strings.HasPrefix(x, y) || strings.HasPrefix(y, x) {
				return true
			}
		}
	}
	return false
}

// ends checks that work is lost when its owner is gone, and only then. A run of
// its own is nobody's: it goes on under the next owner.
func ends(e engine.WorkEnded, began, now uint64) error {
	if gone := began < now && e.Kind != engine.ChildWork; gone != (e.How == engine.Lost) {
		return fmt.Errorf("it ended by %q, and its owner is gone: %v", e.How, gone)
	}
	return nil
}

// reported holds that only work under way reports, and takes nothing back.
func (a *auditor) reported(e engine.WorkReported) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	if f.live == nil || f.live.Attempt != e.Attempt || f.live.N != e.N || tokens(e.Usage) < f.said {
		return fmt.Errorf("work %d.%d of %q is not under way, or takes back what it said that it used", e.Attempt, e.N, e.Step)
	}
	f.said = tokens(e.Usage)
	return nil
}

func tokens(u engine.Usage) (sum int64) {
	for _, n := range []*int64{u.In, u.Out} {
		if n != nil {
			sum += *n
		}
	}
	return sum
}

func (a *auditor) workEnded(e engine.WorkEnded, r engine.Record) error {
	if left, err := a.leftEnded(e, r); left || err != nil {
		return err
	}
	if e.Kind == engine.PlanWork {
		return a.drew(e, r)
	}
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	if f.live == nil || f.live.Attempt != e.Attempt || f.live.N != e.N || f.live.Kind != e.Kind {
		return fmt.Errorf("work %d.%d of %q is not under way", e.Attempt, e.N, e.Step)
	}
	if err := ends(e, f.liveEpoch, r.Epoch); err != nil {
		return err
	}
	if tokens(e.Usage) < f.said {
		return fmt.Errorf("work %d.%d of %q takes back what it said that it used", e.Attempt, e.N, e.Step)
	}
	if f.def.Iterations > 0 && e.Kind == engine.AgentWork {
		f.iterated(e)
	}
	a.paid(&f.purse, *f.live, e)
	a.worked(*f.live, e, r.At)
	delete(a.items, f.begs)
	f.live, f.said, f.begs = nil, 0, ""
	if e.Kind == engine.ContractWork {
		if e.How != engine.Exited {
			f.end, f.complete, f.answers = &e, nil, nil
		}
		return nil
	}
	if f.def.Kind == engine.Landing {
		exited := e.How == engine.Exited && len(e.Conflicts)+len(e.Tampered) == 0
		f.end, f.merged = &engine.WorkEnded{How: e.How, Attempt: e.Attempt, N: e.N, Kind: e.Kind}, exited && !e.Behind
		if exited && e.Behind {
			a.work++
			a.brought = true
		}
		return nil
	}
	a.work++
	if e.Kind == engine.MergeWork {
		f.merged = e.How == engine.Exited && len(e.Conflicts) == 0
		if !f.merged && f.def.Rerunnable && e.How != engine.Exited {
			f.complete = []set{{engine.Verifying, true}} // what was proved of the worktree stands
		}
		return nil
	}
	f.end, f.complete, f.answers = &e, nil, nil
	if e.How == engine.Lost {
		f.lost++
	} else if e.How != engine.Stopped {
		f.lost = 0
	}
	if e.How == engine.Exited || e.How == engine.TimedOut {
		f.infra = 0
	}
	return nil
}

// askedIn is how many checks are asked in a phase: the judge only after the work.
func askedIn(def *engine.Step, phase engine.Phase) int {
	n := len(def.Checks)
	if n > 0 && def.Checks[n-1].Name == "judge" && phase != engine.Verifying {
		n--
	}
	return n
}

func (a *auditor) checked(e engine.CheckEnded) error {
	f, err := a.step(e.Step)
	if err != nil {
		return err
	}
	if e.Check == f.def.Checks[0].Name {
		f.answers = nil // the tail of the journal was cut off within an append
	}
	want := f.def.Checks[len(f.answers)]
	switch {
	case e.Check != want.Name || e.Required != want.Required || e.Want != want.Exit:
		return fmt.Errorf("%q answers where %q is asked", e.Check, want.Name)
	case e.Attempt < f.attempt:
		return fmt.Errorf("it is of attempt %d, and %d has begun", e.Attempt, f.attempt)
	case e.Verdict == engine.Pass && (e.Exit != want.Exit || e.Signal != ""):
		return fmt.Errorf("it passed by exit code %d, signal %q", e.Exit, e.Signal)
	case f.live != nil && f.live.Kind != engine.ContractWork:
		return fmt.Errorf("its work is under way")
	case e.Phase == engine.Ratchet && a.working():
		return fmt.Errorf("work is under way while everything is proved again")
	case e.Phase == engine.Ratchet && a.shares(f) && f.lease != a.epoch:
		return fmt.Errorf("it is proved again without a lease")
	}
	if e.Phase == engine.Ratchet {
		a.inRound(e)
	}
	a.advised(&f.purse, e.Usage, e.Voteless)
	if e.Check == engine.Judge && len(e.Votes) > 0 && !slices.Equal(e.Votes, f.votes) {
		return fmt.Errorf("it comes of the votes %v, and %v were heard", e.Votes, f.votes)
	}
	if e.Phase == engine.Baseline {
		if f.tests == nil {
			f.tests = map[string]int{}
		}
		f.tests[e.Check] = e.Tests
	} else if e.Verdict == engine.Pass && e.Tests > 0 && e.Tests < f.tests[e.Check] {
		return fmt.Errorf("it passed with %d tests, and there were %d before the work", e.Tests, f.tests[e.Check])
	}
	if f.answers = append(f.answers, e); len(f.answers) < askedIn(f.def, e.Phase) {
		return nil
	}
	a.completed(f, e.Phase)
	return nil
}

// inRound notes an answer in a round of proofs.
func (a *auditor) inRound(e engine.CheckEnded) {
	if e.Round != a.round {
		a.round, a.proofs = e.Round, 0
	}
	a.seenTree = false
	for _, c := range e.Altered {
		was, known := a.changed[c.Path]
		if !known {
			was[0] = c.Was
		}
		a.changed[c.Path] = [2]string{was[0], c.Is}
	}
}

// strict reports whether a proof that rests on what the step changed is none that counts.
func (a *auditor) strict() bool {
	return a.run.Policy.Unproven == engine.UnprovenAsk || a.run.Policy.Unproven == engine.UnprovenRefuse
}

// restsOn takes what complete answers rest on.
func (a *auditor) restsOn(f *file, phase engine.Phase) {
	maker := f.def.ID
	if f.of != nil {
		maker = f.of.def.ID
	}
	switch phase {
	case engine.Baseline:
		f.wrote, f.observed = map[string]bool{}, false
	case engine.Verifying:
		f.leans, f.unseen = nil, false
	default:
		return
	}
	for _, c := range f.answers {
		if c.Opened == nil {
			continue
		}
		if phase == engine.Baseline {
			f.observed = f.observed || c.Opened.Unseen == ""
			for _, path := range c.Opened.Wrote {
				f.wrote[c.Check+" "+path] = true
			}
			continue
		}
		for _, path := range c.Opened.Made {
			if a.makers == nil {
				a.makers = map[string]string{}
			}
			if _, known := a.makers[path]; !known {
				a.makers[path] = maker
			}
			if a.makers[path] != maker {
				f.leans = append(f.leans, path)
			}
		}
		for _, path := range c.Opened.Changed {
			if !f.wrote[c.Check+" "+path] {
				f.leans = append(f.leans, path)
			}
		}
		f.leans = append(f.leans, c.Opened.Gone...)
		f.unseen = f.unseen || c.Opened.Unseen != "" && (f.observed || !c.Opened.Dark)
	}
	f.leans = slices.DeleteFunc(f.leans, func(path string) bool { return f.owned[path] })
	f.rests = (len(f.leans) > 0 || f.unseen) && len(f.def.Writes) == 0
}

// vouched takes a person's word that what its newest proof rests on is its work.
func (f *file) vouched() error {
	if !f.rests || f.unseen {
		return fmt.Errorf("its proof rests on no file that is known (%v, %v)", f.leans, f.unseen)
	}
	if f.owned == nil {
		f.owned = map[string]bool{}
	}
	for _, path := range f.leans {
		f.owned[path] = true
	}
	f.rests, f.leans = false, nil
	return nil
}

// completed takes the answers of all checks of a step.
func (a *auditor) completed(f *file, phase engine.Phase) {
	s := set{phase: phase, pass: true}
	fault := false
	f.base = engine.Pass
	for _, c := range f.answers {
		s.pass = s.pass && len(c.Tampered) == 0 && (!c.Required || c.Verdict == engine.Pass)
		if c.Required && slices.ContainsFunc(c.Reruns, func(v engine.Verdict) bool { return v != c.Verdict }) {
			f.flaky, s.pass = true, false
		}
		f.red = f.red || phase != engine.Verifying && c.Required && c.Verdict == engine.Fail
		fault = fault || c.Required && c.Verdict == engine.Infra
		if c.Required && f.base == engine.Pass {
			f.base = c.Verdict
		}
	}
	a.restsOn(f, phase)
	if phase == engine.Verifying && !s.pass && f.end != nil && f.end.Cause.Outside() {
		fault = true // what kept the agent from its work is no answer to it
	}
	if phase == engine.Verifying {
		f.same = slices.ContainsFunc(f.answers, func(c engine.CheckEnded) bool { return c.Same })
	}
	f.answers = nil
	if phase == engine.Baseline {
		f.before = f.base
	}
	if phase != engine.Baseline {
		f.base = ""
	}
	if !fault {
		f.infra = 0
		f.complete = append(f.complete, s)
	}
	if phase == engine.Ratchet && s.pass {
		f.proved = a.work
		a.proofs++
	}
}
