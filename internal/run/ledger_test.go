package run_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// A ledger is what an auditor makes of one run from its records alone. It
// shares nothing with the engine but the shapes of the events.
type ledger struct {
	find   func(rule, format string, args ...any)
	opened engine.RunOpened
	plan   engine.Definition // what was approved, whatever the run was given
	steps  map[string]*account
	items  map[string]*engine.ItemOpened
	asked  map[string]bool // items ever opened
	live   bool
	paused bool
	cancel bool
	failed bool // it ended so, and may be taken up again

	leaving []leaving      // work that revisions left, and that has not ended
	wasLeft bool           // the last end of work was of such
	past    map[string]int // attempts of steps that revisions changed or took out
	spent   int64          // tokens, as the ends of work say

	complete bool // nothing was left to do at some time since work was last dispatched
}

// An account is what is known of one step.
type account struct {
	step      *engine.Step
	status    engine.Status // of the last settlement, "" before
	satisfies bool
	lease     uint64 // epoch of the owner that gave the step its scope
	proven    bool

	attempt, n int
	live       *engine.Record // the dispatch under way
	ended      *engine.WorkEnded
	round      []engine.CheckEnded // the newest answers of the checks
	said       []engine.Verdict    // of the checks after the work, on one tree
	same       bool                // the newest proof contradicts an answer of the same files
	flaky      bool                // its checks gave different answers at once, ever
	before     engine.Verdict      // of the newest proof that counts as before the work
	regressed  bool                // since that proof
	proof      int                 // newest round in which it was proved again
	barred     []finding           // why the work under way must not really start

	tries, infra, lost int
	laps               int // iterations of a loop that are over, since it began anew
	notBefore          time.Time
	waits              bool   // until then
	epoch              uint64 // that said so
	granted            time.Time
	look               *engine.PreviewMade // at the call, since the newest one
	item               string
	told               map[string]bool // who gave an order or an answer that is not settled
	ordered            bool            // somebody ordered something for this step, which is not settled
}

func newAccount(s *engine.Step) *account { return &account{step: s, told: map[string]bool{}} }

func newLedger(find func(rule, format string, args ...any), opened engine.RunOpened, plan engine.Definition) *ledger {
	g := &ledger{
		find: find, opened: opened, plan: plan, live: true,
		steps: map[string]*account{}, items: map[string]*engine.ItemOpened{}, asked: map[string]bool{}, past: map[string]int{},
	}
	for i := range plan.Steps {
		g.steps[plan.Steps[i].ID] = newAccount(&plan.Steps[i])
	}
	return g
}

func (a *account) satisfied() bool {
	return a.status == engine.Done || a.status == engine.Waived || a.status == engine.Skipped && a.satisfies
}

func (g *ledger) unsatisfied() (n int) {
	for _, a := range g.steps {
		if !a.satisfied() {
			n++
		}
	}
	return n
}

// enter takes the next record of the run.
func (g *ledger) enter(r engine.Record) {
	if e, ok := r.Event.(engine.Command); ok {
		g.command(e)
		return
	}
	if _, ok := r.Event.(engine.EpochBegan); ok {
		return
	}
	if !g.live {
		g.find("ended", "%s after the end of its run", r.Event.Type())
	}
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		g.dispatched(e, r)
	case engine.WorkEnded:
		g.workEnded(e, r)
	case engine.CheckEnded:
		g.checked(e)
	case engine.StepSettled:
		g.settled(e, r)
	case engine.LeaseGranted:
		g.leased(e, r)
	case engine.LeaseAwaited:
		g.awaited(e)
	case engine.FramePushed: // the core's own auditor holds them
	case engine.TreeSurveyed:
		g.account(e.Step)
	case engine.PreviewMade:
		g.account(e.Step).look = &e
	case engine.WorkReported:
		if a := g.account(e.Step); a.live == nil || a.n != e.N {
			g.find("sequence", "%s %d.%d reports, and is not under way", e.Step, e.Attempt, e.N)
		}
	case engine.ItemOpened:
		g.itemOpened(e)
	case engine.ItemAnswered:
		g.itemAnswered(e, r)
	case engine.RunEnded:
		g.runEnded(e)
	default:
		g.find("sequence", "%s inside a run", r.Event.Type())
	}
	g.complete = g.complete || g.unsatisfied() == 0
}

func (g *ledger) account(id string) *account {
	if a := g.steps[id]; a != nil {
		return a
	}
	g.find("sequence", "step %q is none of the plan", id)
	return newAccount(&engine.Step{})
}

func (g *ledger) command(c engine.Command) {
	reopens := !g.live
	ofRun := c.Verb == engine.DoPause || c.Verb == engine.DoResume || c.Verb == engine.DoCancel
	if !g.live {
		if !g.failed || c.Verb == engine.DoPause || c.Verb == engine.DoCancel {
			g.find("ended", "%s by %s after the end of its run", c.Verb, c.By)
		}
		g.live, g.failed = true, false
	}
	switch {
	case c.Verb == engine.DoPause:
		g.paused = true
	case c.Verb == engine.DoResume:
		g.paused = false
	case c.Verb == engine.DoCancel:
		g.cancel = true
	}
	for id, a := range g.steps {
		if ofRun || c.From || id == c.Step {
			a.told[c.By] = true
			a.ordered = a.ordered || !ofRun || reopens
		}
	}
}

func (g *ledger) dispatched(e engine.WorkDispatched, r engine.Record) {
	a := g.account(e.Step)
	name := fmt.Sprintf("%s %d.%d", e.Step, e.Attempt, e.N)
	switch {
	case a.live != nil:
		g.find("twice", "%s is dispatched while its work is under way", name)
	case g.cancel:
		g.find("cancelled", "%s is dispatched after the run was cancelled", name)
	case e.Attempt < a.attempt || e.Attempt == a.attempt && e.N != a.n+1 || e.Attempt > a.attempt && e.N != 1:
		g.find("sequence", "%s is dispatched after %d.%d", name, a.attempt, a.n)
	case a.item != "":
		g.find("items", "%s is dispatched while %s waits for an answer", name, a.item)
	}
	if a.shares() && a.lease != r.Epoch {
		g.find("lease", "%s is dispatched in epoch %d, and the lease is of %d", name, r.Epoch, a.lease)
	}
	a.attempt, a.n, a.live = e.Attempt, e.N, &r
	if e.Kind == engine.ContractWork {
		a.round = nil
		return
	}
	g.mayStart(a, name, r.At)
	if e.Kind == engine.ToolWork && e.Prompt != "" {
		if l := a.look; l == nil || l.Args != e.Prompt || l.Refused != "" || l.Asks != "" || l.Must && a.granted.IsZero() {
			g.find("call", "%s is called as nobody looked at it, or allowed it: %+v, yes at %v", name, l, a.granted)
		}
		a.look, a.granted = nil, time.Time{}
	}
	if len(g.leaving) > 0 {
		g.find("leaving", "%s is dispatched while work that a revision left has not ended: %+v", name, g.leaving)
	}
	a.ended, a.round, a.said = nil, nil, nil
	g.complete = false
}

// mayStart judges the dispatch of an agent or a script.
func (g *ledger) mayStart(a *account, name string, at time.Time) {
	for _, n := range a.step.Needs {
		if need := g.plan.Steps[n].ID; !g.steps[need].satisfied() {
			g.find("needs", "%s is dispatched and needs %s, which is %q", name, need, g.steps[need].status)
		}
	}
	switch a.status {
	case "", engine.Pending, engine.Running, engine.Regressed:
	default:
		g.find("settled", "%s is dispatched while the step is %s", name, a.status)
	}
	if g.paused {
		g.find("paused", "%s is dispatched while the run is paused", name)
	}
	if at.Before(a.notBefore) {
		g.find("backoff", "%s is dispatched at %v, before %v", name, at, a.notBefore)
	}
	a.barred = nil
	bar := func(rule, format string, args ...any) {
		a.barred = append(a.barred, finding{rule, fmt.Sprintf(format, args...)})
	}
	if a.step.Kind != engine.Tool && a.step.Approval != "" && (a.granted.IsZero() || at.Sub(a.granted) > 24*time.Hour) {
		bar("approval", "%s is dispatched at %v, and was approved at %v", name, at, a.granted)
	}
	red, green := a.step.Expect == engine.ExpectRed, a.step.Expect == engine.ExpectGreen
	if a.step.Rerunnable && g.opened.Policy.Baseline && !a.regressed && (red && a.before != engine.Fail || green && a.before != engine.Pass) {
		bar("baseline", "%s is dispatched though its contract was %q before, not %s", name, a.before, a.step.Expect)
	}
}

// shares reports whether others could disturb the step, or it them.
func (a *account) shares() bool { return a.step.Kind == engine.Agent || len(a.step.Writes) > 0 }

func (g *ledger) leased(e engine.LeaseGranted, r engine.Record) {
	a := g.account(e.Step)
	switch {
	case !a.shares():
		g.find("lease", "%s gets a lease and needs none", e.Step)
	case a.live != nil && a.live.Epoch == r.Epoch:
		g.find("lease", "%s gets a lease while its work is under way", e.Step)
	}
	a.lease = r.Epoch
}

func (g *ledger) awaited(e engine.LeaseAwaited) {
	if a := g.account(e.Step); !a.shares() || e.Behind.Run == "" || e.Behind.Step == "" {
		g.find("lease", "%s waits for %v", e.Step, e.Behind)
	}
}

func (g *ledger) workEnded(e engine.WorkEnded, r engine.Record) {
	if e.Usage.In != nil {
		g.spent += *e.Usage.In
	}
	if g.left(e, r) {
		return
	}
	a := g.account(e.Step)
	name := fmt.Sprintf("%s %d.%d", e.Step, e.Attempt, e.N)
	if a.live == nil {
		g.find("twice", "%s ended and is not under way", name)
		return
	}
	d, _ := a.live.Event.(engine.WorkDispatched)
	switch {
	case d.Attempt != e.Attempt || d.N != e.N || d.Kind != e.Kind:
		g.find("twice", "%s ended while %d.%d is under way", name, d.Attempt, d.N)
	case e.How == engine.Lost && r.Epoch <= a.live.Epoch:
		g.find("epoch", "%s is lost though its owner, epoch %d, lives", name, r.Epoch)
	case e.How != engine.Lost && r.Epoch != a.live.Epoch:
		g.find("epoch", "%s was dispatched in epoch %d and ended in %d", name, a.live.Epoch, r.Epoch)
	}
	a.live = nil
	if e.How == engine.Lost {
		a.lost++
	}
	if e.Kind == engine.ContractWork {
		return
	}
	a.ended = &e
	switch e.How {
	case engine.NoStart:
		a.barred = nil // it was dispatched to say why it could not be
	case engine.Exited, engine.TimedOut:
		a.infra = 0
	}
	for _, f := range a.barred {
		g.find(f.rule, "%s", f.text)
	}
}

func (g *ledger) checked(e engine.CheckEnded) {
	a := g.account(e.Step)
	if len(a.round) == len(a.step.Checks) {
		a.round = nil
	}
	a.round = append(a.round, e)
	if len(a.round) < len(a.step.Checks) {
		return
	}
	if e.Phase == engine.Ratchet && e.Round != a.proof {
		a.proof, a.infra = e.Round, 0 // another round, another question
	}
	a.flaky = a.flaky || slices.ContainsFunc(a.round, func(c engine.CheckEnded) bool {
		return c.Required && slices.ContainsFunc(c.Reruns, func(v engine.Verdict) bool { return v != c.Verdict })
	})
	switch v := verdict(a.round); e.Phase {
	case engine.Baseline:
		a.before, a.regressed = v, false
	case engine.Verifying:
		a.same = slices.ContainsFunc(a.round, func(c engine.CheckEnded) bool { return c.Same })
		if v != engine.Infra {
			a.said = append(a.said, v)
		}
	}
}

// verdict is the auditor's own judgement of all the checks of one round.
func verdict(round []engine.CheckEnded) engine.Verdict {
	verdict := engine.Pass
	for _, c := range slices.Backward(round) {
		if c.Required && c.Verdict != engine.Pass {
			verdict = c.Verdict
		}
	}
	for _, c := range round {
		if c.Required && slices.ContainsFunc(c.Reruns, func(v engine.Verdict) bool { return v != c.Verdict }) {
			verdict = engine.Flaky
		}
	}
	for _, c := range round {
		if c.Required && c.Verdict == engine.Infra {
			verdict = engine.Infra
		}
	}
	for _, c := range round {
		if len(c.Tampered) > 0 {
			verdict = engine.Tampered
		}
	}
	return verdict
}

func (g *ledger) settled(e engine.StepSettled, r engine.Record) {
	a := g.account(e.Step)
	switch {
	case a.live != nil:
		g.find("twice", "%s settles as %s while its work is under way", e.Step, e.Status)
	case e.By != "":
		g.settledByPerson(a, e)
	case a.waits:
		g.awake(a, e, r)
		return
	case e.RetryAt != nil && e.Verdict == engine.Infra && len(a.round) > 0:
		g.askLater(a, e, r)
		return
	default:
		g.settledByHarness(a, e, r)
	}
	if a.status, a.satisfies, a.proven = e.Status, e.Satisfies, e.Proven; e.RetryAt == nil {
		a.lease = 0
	}
	if e.Status != engine.Waiting {
		delete(g.items, a.item)
		a.item = ""
	}
	a.ended, a.round, a.said = nil, nil, nil
}

// awake: the step's wait is over, and nothing else has changed.
func (g *ledger) awake(a *account, e engine.StepSettled, r engine.Record) {
	if r.At.Before(a.notBefore) || e.RetryAt != nil || (e.Status == engine.Done) != (a.status == engine.Done) {
		g.find("backoff", "%s comes back at %v as %s, was %s and had to wait until %v", e.Step, r.At, e.Status, a.status, a.notBefore)
	}
	if r.Epoch == a.epoch && r.At.Sub(a.notBefore) > slack {
		g.find("late", "%s comes back at %v, due at %v", e.Step, r.At, a.notBefore)
	}
	a.waits = false
}

// askLater: this machine could not ask the checks, and asks them again.
func (g *ledger) askLater(a *account, e engine.StepSettled, r engine.Record) {
	if verdict(a.round) != engine.Infra || e.Status == engine.Done && a.status != engine.Done {
		g.find("proof", "%s is to be asked again as %s after %+v", e.Step, e.Status, a.round)
	}
	a.round = nil
	g.waits(a, e, r)
}

// waits holds the pause before a step goes on against the rules.
func (g *ledger) waits(a *account, e engine.StepSettled, r engine.Record) {
	wait := time.Duration(a.tries) * a.step.Backoff
	if a.step.Iterations > 0 && e.Exit == "" {
		wait = time.Duration(a.laps) * a.step.Backoff
	}
	if a.laps > 0 && a.laps >= a.step.Iterations {
		g.find("retries", "%s goes into iteration %d of %d", e.Step, a.laps+1, a.step.Iterations)
	}
	if e.Verdict == engine.Infra {
		a.infra++
		wait = []time.Duration{0, 1, 5, 25, 0}[min(a.infra, 4)] * time.Second
	}
	if a.tries > a.step.OnFail.Retries || a.infra > 3 {
		g.find("retries", "%s is tried again: %d of %d retries, %d faults of this machine", e.Step, a.tries, a.step.OnFail.Retries, a.infra)
	}
	if got := e.RetryAt.Sub(r.At); got != wait {
		g.find("backoff", "%s is tried again after %v, not %v", e.Step, got, wait)
	}
	a.notBefore, a.waits, a.epoch, a.lost = *e.RetryAt, wait > 0, r.Epoch, 0
}

func (g *ledger) settledByHarness(a *account, e engine.StepSettled, r engine.Record) {
	switch e.Status {
	case engine.Done:
		g.proved(a, e)
	case engine.Waived, engine.Pending:
		g.find("orders", "%s is %s by nobody", e.Step, e.Status)
	case engine.Regressed:
		if len(a.round) < len(a.step.Checks) || verdict(a.round) == engine.Pass || a.round[0].Phase != engine.Ratchet {
			g.find("proof", "%s is regressed, and no proof failed", e.Step)
		}
		a.tries, a.infra, a.laps, a.regressed = 0, 0, 0, true
		if e.Verdict == engine.Fail {
			a.before = engine.Fail
		}
		a.attempt, a.n = a.attempt+1, 0
	case engine.Running:
		if e.RetryAt == nil {
			g.find("backoff", "%s is tried again at no time", e.Step)
			return
		}
		switch {
		case e.Verdict == engine.Infra:
		case a.step.Iterations > 0 && e.Exit == "":
			a.laps, a.infra = a.laps+1, 0
		default:
			a.tries, a.infra, a.laps = a.tries+1, 0, 0
		}
		g.waits(a, e, r)
	}
	if a.passed() && e.Status != engine.Done && e.Verdict != engine.Flaky {
		g.find("proof", "%s is %s though all its checks passed", e.Step, e.Status)
	}
}

// passed reports whether the work ended well and every required check of the
// newest round passed.
func (a *account) passed() bool {
	return a.ended != nil && a.ended.How == engine.Exited && len(a.ended.Tampered)+len(a.ended.OutOfScope) == 0 &&
		len(a.round) == len(a.step.Checks) && verdict(a.round) == engine.Pass &&
		a.round[0].Phase != engine.Ratchet && a.round[0].Phase != engine.Baseline
}

// proved: a step is done by proof and by nothing else.
func (g *ledger) proved(a *account, e engine.StepSettled) {
	if !a.passed() {
		g.find("proof", "%s is done without proof: work %+v, checks %+v", e.Step, a.ended, a.round)
		return
	}
	for i, c := range a.round {
		want := a.step.Checks[i]
		if c.Check != want.Name || c.Attempt != e.Attempt || want.Required && (c.Verdict != engine.Pass || c.Exit != want.Exit) {
			g.find("proof", "%s is done, and check %d says %+v", e.Step, i+1, c)
		}
	}
	if slices.ContainsFunc(a.said, func(v engine.Verdict) bool { return v != engine.Pass }) {
		g.find("proof", "%s is done though its checks said %v of one tree", e.Step, a.said)
	}
	if e.Proven != (a.before == engine.Fail && !a.same && !a.flaky) {
		g.find("proof", "%s is done with proven=%v, and was %q before", e.Step, e.Proven, a.before)
	}
	if a.ended.Attempt != e.Attempt || a.attempt != e.Attempt {
		g.find("proof", "%s is done in attempt %d by the work of %d", e.Step, e.Attempt, a.ended.Attempt)
	}
}

func (g *ledger) settledByPerson(a *account, e engine.StepSettled) {
	if e.By == engine.Harness {
		if a.step.Approval == "" {
			g.find("approval", "%s lost an approval it does not need", e.Step)
		}
		a.granted = time.Time{}
		return
	}
	if !a.told[e.By] {
		g.find("orders", "%s is %s by %s, who never said so", e.Step, e.Status, e.By)
	}
	if e.Status == engine.Done {
		g.find("proof", "%s is done because %s says so", e.Step, e.By)
	}
	approved := a.item != "" && g.items[a.item] != nil && g.items[a.item].Kind == engine.Approval
	clear(a.told)
	a.ordered = false
	a.notBefore, a.waits, a.lost = time.Time{}, false, 0
	if e.Status == engine.Pending && !approved {
		a.infra, a.laps = 0, 0
		if a.satisfied() {
			a.tries = 0
		}
	}
}

func (g *ledger) itemOpened(e engine.ItemOpened) {
	a := g.account(e.Step)
	if g.asked[e.Item] || a.item != "" || a.live != nil {
		g.find("items", "%s opens for %s, which waits for %q", e.Item, e.Step, a.item)
	}
	g.asked[e.Item], g.items[e.Item], a.item, a.status = true, &e, e.Item, engine.Waiting
}

func (g *ledger) itemAnswered(e engine.ItemAnswered, r engine.Record) {
	it := g.items[e.Item]
	if it == nil || !g.live || !slices.Contains(it.Choices, e.Choice) {
		g.find("items", "%s is answered with %q, which cannot be", e.Item, e.Choice)
		return
	}
	a := g.account(it.Step)
	a.told[e.By] = true
	if e.Choice == "approve" {
		a.granted = r.At
	}
}

func (g *ledger) runEnded(e engine.RunEnded) {
	var proven, unproven int
	for id, a := range g.steps {
		switch {
		case a.live != nil:
			g.find("ended", "the run ends while work of %s is under way", id)
		case a.status == engine.Done && a.proven:
			proven++
		case a.status == engine.Done:
			unproven++
		}
		if a.status == engine.Running {
			a.status = engine.Pending
		}
		a.ended, a.round, a.notBefore, a.waits = nil, nil, time.Time{}, false
		clear(a.told)
		a.ordered = false
	}
	if len(g.leaving) > 0 {
		g.find("ended", "the run ends while work that a revision left is under way: %+v", g.leaving)
	}
	left := g.unsatisfied()
	if e.Left != left || e.Proven != proven || e.Unproven != unproven {
		g.find("left", "the run ends with %+v; the records have left %d, proven %d, unproven %d", e, left, proven, unproven)
	}
	switch {
	case e.Status == engine.Done && (left > 0 || e.Exit != 0),
		e.Status == engine.Failed && (left == 0 && e.Exit != 6 || e.Exit == 0),
		e.Status == engine.Cancelled && !g.cancel:
		g.find("ended", "the run ends as %+v with %d steps left", e, left)
	}
	g.live, g.paused, g.cancel, g.failed = false, false, false, e.Status == engine.Failed
}

func (g *ledger) String() string {
	var b strings.Builder
	for _, s := range g.plan.Steps {
		a := g.steps[s.ID]
		fmt.Fprintf(&b, "%s %s attempt %d.%d live %v item %q\n", s.ID, a.status, a.attempt, a.n, a.live != nil, a.item)
	}
	return b.String()
}
