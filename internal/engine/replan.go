package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// replan is a revision that is being made of the plan of the run, for what its
// steps could not do. Nothing new starts meanwhile, and it is begun only when
// what was under way has ended.
type replan struct {
	Step    string      `json:",omitzero"` // whose failure it answers; "" where a person or an arbiter asked for it
	After   string      `json:",omitzero"` // the step that was done when an arbiter asked for it
	Only    string      `json:",omitzero"` // the only step that may change; "" for any
	Why     string      `json:",omitzero"`
	By      string      `json:",omitzero"`
	Failing []string    `json:",omitempty"` // what did not pass when it was asked for: step/check
	N       int         `json:",omitzero"`  // dispatches
	Lost    int         `json:",omitzero"`  // of them lost with their owner
	Live    bool        `json:",omitzero"`
	Epoch   uint64      `json:",omitzero"`  // of the newest dispatch
	Heard   []WorkHeard `json:",omitempty"` // answers of the planner, in all dispatches
	Counted bool        `json:",omitzero"`  // what they used: with the end of the work
	Drawn   *Drawn      `json:",omitzero"`
	Item    string      `json:",omitzero"` // by which people are asked about it
	Over    string      `json:",omitzero"` // why there is none, so that the run ends
	Exit    int         `json:",omitzero"` // with Over
}

// replans is what a run knows of those it had.
type replans struct {
	Asked   int        `json:",omitzero"`  // ever, for their numbers
	Used    int        `json:",omitzero"`  // because steps failed, or an arbiter asked for one
	Tried   [][]string `json:",omitempty"` // what failed before each revision that came of it
	Met     int        `json:",omitzero"`  // steps that were done when the last of these began
	Failure string     `json:",omitzero"`  // why the newest gave no revision
	For     string     `json:",omitzero"`  // with Failure: the step because of which it was to
	Away    int        `json:",omitzero"`  // with For: one more than its attempt for which no planner could be asked
	Advised *advice    `json:",omitzero"`  // a revision that is wanted, and not yet asked for
}

// advice is an arbiter's wish for a revision, after a step that is done.
type advice struct{ Step, Why string }

// Drawn is a revision that was made for a run while that went on. What it says,
// and what the verifier says of it, is in the workspace's stream.
type Drawn struct {
	Plan    string `json:"plan"` // id of the revision
	Version int    `json:"version"`
	Changes string `json:"changes,omitempty"`
	Reason  string `json:"reasoning,omitempty"`
	// Abort is why there is no revision, where the planner says that it cannot be done.
	Abort string `json:"abort,omitempty"`
	// Weakened says where it proves or guards less than the text of the run, for
	// people: only a person can say yes to that.
	Weakened []string `json:"weakened,omitempty"`
}

// Failure is a step that did not pass, as whoever revises the plan is told of it.
type Failure struct {
	Step     *Step
	Attempt  int
	Role     string
	Verdict  Verdict
	Reason   string
	Feedback []Feedback
	Claims   Claims
}

// Auto is the policy under which nobody is asked for a yes to a plan.
const Auto = "auto"

// proposes reports an item about a revision, which is of the run and of no step.
func (k ItemKind) proposes() bool { return k == Proposal || k == Weakened }

// replans reports whether the step failed so that the plan is to be revised.
func (s *State) replans(i int) bool {
	st := &s.steps[i]
	if s.prog.Step(i).OnFail.Then != Replan || st.Ask || !s.revises() {
		return false
	}
	switch st.Verdict {
	case Fail, Timeout, Tampered, OutOfScope:
		return st.Status == Waiting && st.Item == ""
	}
	return false
}

// revises reports whether plans of this run are revised because steps fail.
func (s *State) revises() bool {
	return s.run.Opened.Policy.Planner && s.prog.def.Replans > 0 && s.run.Opened.Parent == (Parent{})
}

// advisable reports whether an arbiter may have the plan revised though no step failed.
func (s *State) advisable() bool {
	return s.revises() && s.run.Replan == nil && s.run.Replans.Used < s.prog.def.Replans
}

// advised asks for the revision that an arbiter wants.
func (s *State) advised() (Command, bool) {
	a := s.run.Replans.Advised
	if a == nil || !s.goesOn() {
		return Command{}, false
	}
	return Command{Verb: DoReplan, Step: a.Step, Why: a.Why, By: Harness}, true
}

// broke reports whether the budget of the run has no room for a revision.
func (s *State) broke(now time.Time) bool {
	l := s.run.Limits
	return l != (Amount{}) && (s.spent(Amount{}, s.run.Used.Held) || over(l.Wall, s.run.Used.Work.At(now), 0))
}

// calls asks for a revision because a step failed, or a person what to do where the
// budget has no room for that, or nobody could be asked for one.
func (s *State) calls(i int, now time.Time) Event {
	if r := s.run.Replans; r.For == s.prog.Step(i).ID && r.Away == s.steps[i].Attempt+1 {
		return s.escalation(i)
	}
	if s.broke(now) {
		return s.escalation(i)
	}
	return Command{Verb: DoReplan, Step: s.prog.Step(i).ID, Why: s.steps[i].Reason, By: Harness}
}

// failing lists what does not pass as things stand: step/check. It looks at all
// steps, once for each revision that is asked for.
func (s *State) failing() (all []string) {
	for i := range s.steps {
		st, id := &s.steps[i], s.prog.Step(i).ID
		if st.Expanded || st.Status != Failed && (st.Status != Waiting || s.items[st.Item].Kind.early()) {
			continue
		}
		for _, f := range st.Feedback {
			if f.Verdict != NoVerdict {
				all = append(all, id+"/"+f.Check)
			}
		}
		if len(st.Feedback) == 0 {
			all = append(all, id)
		}
	}
	return sorted(all)
}

// stuck lists the steps that wait for a revision.
func (s *State) stuck() (ids []string) {
	for i := range s.steps {
		if s.replans(i) || s.revisedFor(i) && s.steps[i].Status == Waiting {
			ids = append(ids, s.prog.Step(i).ID)
		}
	}
	return ids
}

// diverges reports whether the last revision came to nothing: no step is done
// since, and what fails is not less than what failed before any of them.
func (r *replans) diverges(failing []string, met int) bool {
	return len(r.Tried) > 0 && met <= r.Met && !slices.ContainsFunc(r.Tried, func(was []string) bool { return lessThan(failing, was) })
}

// lessThan reports whether a is a strict subset of b.
func lessThan(a, b []string) bool {
	return len(a) < len(b) && !slices.ContainsFunc(a, func(x string) bool { return !slices.Contains(b, x) })
}

func (s *State) refuseReplan(c Command) error {
	name := "run " + s.run.Opened.Run
	switch {
	case s.run.Live && s.stopping():
		return refuse(Conflict, name+" is being stopped")
	case !s.run.Live && s.run.Status != Failed:
		return refuse(Conflict, fmt.Sprintf("%s is %s", name, s.run.Status), OpenRun)
	case s.run.Opened.Parent != (Parent{}):
		return refuse(Conflict, fmt.Sprintf("run %s is of a plan that was approved together with that of run %s", s.run.Opened.Run, s.run.Opened.Parent.Run), AwaitNextRun)
	case strings.TrimSpace(c.Why) == "":
		return refuse(Invalid, "a replan needs a reason", GiveReason)
	case !s.run.Opened.Policy.Planner:
		return refuse(Conflict, name+" has no planner: none was configured when it was opened", NamePlanner)
	case s.run.Replan != nil:
		return refuse(Conflict, "a revision for "+name+" is being made already")
	}
	return nil
}

// revisable reports whether a revision of the plan could help step i, which did not
// pass.
func (s *State) revisable(i int) bool {
	return s.run.Opened.Policy.Planner && s.run.Opened.Parent == (Parent{}) && !s.lands(i) && s.steps[i].Verdict != Clash
}

// revisedFor reports whether the plan is being revised because of step i, so that
// nobody need be asked about it.
func (s *State) revisedFor(i int) bool {
	return s.run.Replan != nil && s.run.Replan.Step == s.prog.Step(i).ID
}

// admitReplan takes the answer that asks for a revision, in the place of another
// attempt of the step.
func (s *State) admitReplan(it ItemRow, a ItemAnswered) ([]Event, error) {
	c := Command{Verb: DoReplan, Step: it.Step, Why: a.Text, By: a.By}
	if len(a.Args) > 0 {
		return nil, refuse(Invalid, fmt.Sprintf("%q of item %s takes no arguments", a.Choice, a.Item), NoArgs)
	}
	if err := s.refuseReplan(c); err != nil {
		return nil, err
	}
	return []Event{a, c}, nil
}

// applyReplan begins a replan. Where none is left, or the last one came to
// nothing, it only ends the run.
func (s *State) applyReplan(c Command) error {
	i, known := s.prog.Index(c.Step)
	own, r := c.By == Harness, &s.run.Replans
	want, advised := s.advised()
	advised = advised && own && c == want
	switch {
	case s.run.Replan != nil || s.run.Opened.Parent != (Parent{}):
		return fmt.Errorf("another revision of run %s is asked for", s.run.Opened.Run)
	case own && !advised && (!known || s.rule(i) != revises), c.Only && (own || !known), !own && !c.Only && c.Step != "" && (!known || !s.awaitsRevision(i)):
		return fmt.Errorf("a revision is asked for because of step %q by %q", c.Step, c.By)
	}
	if !s.run.Live {
		s.reopen()
	}
	next := &replan{Step: c.Step, Why: c.Why, By: c.By, Failing: s.failing()}
	switch {
	case advised:
		next.Step, next.After = "", c.Step
	case c.Only:
		next.Step, next.Only = "", c.Step
	}
	r.Advised = nil
	switch met := s.run.Proven + s.run.Unproven; {
	case !own:
	case advised:
		r.Used++
	case r.diverges(next.Failing, met):
		next.Over, next.Exit = "not converging: the last revision proved nothing more, and what fails did not become less: "+shortened(next.Failing), exitDiverges
	case r.Used >= s.prog.def.Replans:
		next.Over, next.Exit = fmt.Sprintf("not converging: all %d replans are used up, and these still fail: %s", r.Used, shortened(next.Failing)), exitDiverges
		if r.Failure != "" {
			next.Over += "; the last one made no revision: " + r.Failure
		}
	default:
		r.Used++
	}
	if next.Over == "" {
		r.Asked++
	}
	s.run.Replan = next
	s.afterReplan()
	return nil
}

// awaitsRevision reports whether step i failed, and nobody is asked about it any more.
func (s *State) awaitsRevision(i int) bool {
	st := &s.steps[i]
	return s.run.Live && st.Status == Waiting && st.Item == "" && st.Answer == nil && st.Order == nil && s.revisable(i)
}

// exitDiverges is the exit code of a run that does not converge.
const exitDiverges = 6

// shortened names the first few.
func shortened(list []string) string {
	const most = 5
	if more := len(list) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), more)
	}
	return strings.Join(list, ", ")
}

// afterReplan brings the run's status and the steps that wait in line with its replan.
func (s *State) afterReplan() {
	if s.run.Status == Running || s.run.Status == Replanning {
		s.run.Status = s.run.goes()
	}
	for i := range s.steps {
		if s.steps[i].Status == Waiting {
			s.show(i)
			s.touch(i)
		}
	}
}

// goes is the status of a run that is neither paused nor over.
func (r *run) goes() Status {
	if r.Replan != nil && r.Replan.Over == "" {
		return Replanning
	}
	return Running
}

// endReplan forgets the replan: what failed stands as it did.
func (s *State) endReplan() {
	if s.run.Replan == nil {
		return
	}
	if r := s.run.Replan; !r.Counted && len(r.Heard) > 0 { // nothing goes on from its last end
		u := heardUsage(r.Heard)
		s.account(WorkEnded{Kind: PlanWork, How: Stopped, Usage: u}, "", Amount{})
		s.toil("", spent(u))
	}
	s.closeProposal()
	s.run.Replan = nil
	s.afterReplan()
}

// giveUpReplan forgets a replan that a person, or the end of the run, has no use
// for any more. Its work is left to end.
func (s *State) giveUpReplan() {
	if r := s.run.Replan; r != nil && r.Live {
		l := s.draw()
		l.Heard, r.Counted = heardUsage(r.Heard), true
		s.run.Leaving = append(s.run.Leaving, l)
	}
	s.endReplan()
}

func (s *State) closeProposal() {
	row, open := s.items[s.run.Replan.Item]
	if !open {
		return
	}
	row.Open = false
	s.dirty.item(row)
	delete(s.items, row.Item)
}

// replanning is the next fact of the replan.
func (s *State) replanning() (Event, bool) {
	r := s.run.Replan
	switch {
	case r == nil || r.Over != "" || s.stopping():
		return nil, false
	case r.Live && r.Epoch != s.epoch:
		end := s.draw().ended(Lost, "its owner stopped")
		if r.Lost+1 >= maxLost {
			end.Usage = heardUsage(r.Heard) // nothing goes on from there
		}
		return end, true
	case r.Live || r.Item != "":
		return nil, false
	case r.Drawn != nil:
		return s.proposal(), true
	case s.run.Paused || len(s.active)+len(s.run.Leaving) > 0:
		return nil, false
	}
	return WorkDispatched{Attempt: s.run.Replans.Asked, N: r.N + 1, Kind: PlanWork}, true
}

// drawing reports whether a revision is being made.
func (r *run) drawing() bool { return r.Replan != nil && r.Replan.Live }

// draw is the work of the replan.
func (s *State) draw() leaving {
	r := s.run.Replan
	return leaving{Attempt: s.run.Replans.Asked, N: r.N, Kind: PlanWork, Epoch: r.Epoch}
}

// draws is the making of a revision that should be under way.
func (s *State) draws() (Key, bool) {
	r := s.run.Replan
	if r == nil || !r.Live || r.Epoch != s.epoch || s.stopping() {
		return Key{}, false
	}
	return s.drawKey(), true
}

func (s *State) drawKey() Key {
	return Key{Task: s.task, Run: s.run.Opened.Run, Attempt: s.run.Replans.Asked, Kind: Draw, N: s.run.Replan.N}
}

// drawEffect is the making of a revision. It looks at all steps, once for each.
func (s *State) drawEffect(k Key) Effect {
	e := Effect{
		Key: k, Work: PlanWork, Title: s.prog.Title(), Context: s.prog.def.Context, Constraints: s.prog.def.Constraints,
		Document: s.run.Opened.Path, Note: s.run.Replan.Why, Asked: s.run.Replan.By != Harness, Advised: s.run.Replan.After != "", Answers: s.run.Replan.Heard, Only: s.run.Replan.Only,
	}
	for i := range s.steps {
		st := &s.steps[i]
		if st.Expanded || st.Status != Failed && (st.Status != Waiting || s.items[st.Item].Kind.early()) {
			continue
		}
		e.Failures = append(e.Failures, Failure{
			Step: s.prog.Step(i), Attempt: st.Attempt, Verdict: st.Verdict, Reason: st.Reason, Feedback: st.Feedback, Claims: st.Claims,
		})
	}
	return e
}

func (s *State) applyDrawDispatched(e WorkDispatched, r Record) error {
	p := s.run.Replan
	want, due := s.replanning()
	if d, is := want.(WorkDispatched); !due || !is || e.Step != d.Step || e.Attempt != d.Attempt || e.N != d.N {
		return fmt.Errorf("revision %d.%d is begun, which is not due", e.Attempt, e.N)
	}
	p.Live, p.N, p.Epoch = true, e.N, r.Epoch
	return nil
}

// admitDrawn takes a revision in. The run goes on with it at once where it weakens
// nothing and the policy says yes; else people are asked.
func (s *State) admitDrawn(in Ended) ([]Event, error) {
	r := s.run.Replan
	switch {
	case r == nil || !r.Live || r.Epoch != s.epoch || in.Key != s.drawKey():
		return nil, refuse(Conflict, in.Key.String()+" is not under way")
	case !in.How.known() || in.How == Lost:
		return nil, refuse(Invalid, fmt.Sprintf("%s cannot end by %q", in.Key, in.How))
	}
	e := WorkEnded{
		Attempt: in.Key.Attempt, N: in.Key.N, Kind: PlanWork, How: in.How, Ms: in.Ms, Usage: in.Usage, Log: in.Log,
		Reason: text(in.Reason), Notes: texts(in.Notes), Drawn: in.Drawn.plain(),
	}
	if e.Usage = e.Usage.least(heardUsage(r.Heard)); e.How == Stopped && !s.stopping() {
		e.Usage = Usage{} // it counts with the end of the dispatch that goes on from there
	}
	if e.How != Exited || s.stopping() {
		e.Drawn = nil
	}
	if e.Drawn == nil || in.Revise == nil || !s.lenient(e.Drawn, in.Revise.Run.ApprovedBy) {
		return []Event{e}, nil
	}
	next, err := s.admitDraw(*in.Revise, e.Drawn)
	if err != nil {
		e.Drawn, e.Reason = nil, text(err.Error())
		return []Event{e}, nil
	}
	return append([]Event{e}, next...), nil
}

// admitDraw lets the run go on with what was drawn for it. What failed is begun
// anew.
func (s *State) admitDraw(in Revise, d *Drawn) ([]Event, error) {
	if in.Run.Plan != d.Plan {
		return nil, refuse(Invalid, fmt.Sprintf("revision %s is not the one that was drawn, %s", in.Run.Plan, d.Plan))
	}
	in.Stale = slices.Concat(in.Stale, s.stuck())
	return s.admitRevise(in)
}

// plain is what was drawn as a journal can hold it.
func (d *Drawn) plain() *Drawn {
	if d == nil {
		return nil
	}
	return &Drawn{Plan: text(d.Plan), Version: d.Version, Changes: text(d.Changes), Reason: text(d.Reason), Abort: brief(d.Abort), Weakened: texts(d.Weakened)}
}

// lenient reports whether nobody need be asked about a revision to which by says yes.
func (s *State) lenient(d *Drawn, by string) bool {
	p := s.run.Opened.Policy.Approve
	return by == ByPolicy && (p == Auto || p == LowRisk) && len(d.Weakened) == 0
}

func (s *State) applyDrawn(e WorkEnded) error {
	r := s.run.Replan
	if r == nil || !r.Live || e.Step != "" || e.Attempt != s.run.Replans.Asked || e.N != r.N || !e.How.known() || e.Drawn != nil && e.How != Exited {
		return fmt.Errorf("revision %d.%d ended by %q, which is not under way", e.Attempt, e.N, e.How)
	}
	s.account(e, "", Amount{})
	r.Live, s.run.Replans.For, s.run.Replans.Away = false, r.Step, 0
	r.Counted = e.How != Stopped && e.How != Lost || e.Usage != (Usage{})
	switch {
	case e.Drawn != nil && e.Drawn.Abort != "":
		s.run.Replans.Failure = "the planner gave up: " + e.Drawn.Abort
		if !r.needed() {
			s.endReplan()
			return nil
		}
		r.Over, r.Exit = s.run.Replans.Failure, 1
		return nil
	case e.Drawn != nil:
		r.Drawn, s.run.Replans.Failure = e.Drawn, ""
		return nil
	case e.How == Lost:
		r.Lost++
	}
	if e.How == Stopped || e.How == Lost && r.Lost < maxLost {
		return nil
	}
	s.run.Replans.Failure = e.Reason
	if e.How == NoStart && r.By == Harness {
		s.run.Replans.Used-- // a planner that cannot be reached is this machine's fault
		if i, known := s.prog.Index(r.Step); known {
			s.run.Replans.Away = s.steps[i].Attempt + 1
		}
	}
	s.endReplan()
	return nil
}

// needed reports whether a step has failed that needs the revision: the run cannot go
// on as it was.
func (r *replan) needed() bool { return r.By == Harness && r.After == "" }

// proposal asks whether the run may go on with what was drawn.
func (s *State) proposal() ItemOpened {
	r, d := s.run.Replan, s.run.Replan.Drawn
	e := ItemOpened{
		Item: s.itemName(), Kind: Proposal, Plan: d.Plan, Choices: []string{ChooseApprove, ChooseDeny},
		Question: fmt.Sprintf("May the run go on with revision %d of its plan? It was made because %s.", d.Version, s.occasion()),
	}
	if r.needed() {
		e.Step = r.Step // which fails without
	}
	var context strings.Builder
	if len(d.Weakened) > 0 {
		e.Kind = Weakened
		e.Question = fmt.Sprintf("Revision %d of the plan is weaker than the one that was approved. May the run go on with it? It was made because %s.", d.Version, s.occasion())
		context.WriteString("It proves or guards less:\n")
		for _, line := range d.Weakened {
			fmt.Fprintf(&context, "  %s\n", indented(line))
		}
	}
	fmt.Fprintf(&context, "Changes: %s\n", indented(d.Changes))
	if d.Reason != "" {
		fmt.Fprintf(&context, "The planner says: %s\n", indented(d.Reason))
	}
	e.Context = context.String()
	e.Hash = digest([]byte(e.Question + "\x00" + e.Context + "\x00" + e.Plan))
	return e
}

// occasion words why the replan was begun.
func (s *State) occasion() string {
	r := s.run.Replan
	if r.After != "" {
		return fmt.Sprintf("the arbiter asked for it after step %q: %s", r.After, r.Why)
	}
	i, known := s.prog.Index(r.Step)
	if !known || r.By != Harness {
		return fmt.Sprintf("%s asked for it: %s", r.By, r.Why)
	}
	p := s.prog.Step(i)
	return fmt.Sprintf("step %s failed: %s", p.named(), r.Why)
}

func (s *State) applyProposal(e ItemOpened, r Record) error {
	want, due := s.replanning()
	if is, ok := want.(ItemOpened); !due || !ok || is.Item != e.Item || is.Kind != e.Kind || is.Step != e.Step || is.Plan != e.Plan {
		return fmt.Errorf("item %s asks for %s of %s, which was not drawn", e.Item, e.Kind, e.Plan)
	}
	s.run.Items++
	s.items[e.Item] = ItemRow{ItemOpened: e, Stream: r.Stream, Run: s.run.Opened.Run, Opened: r.At, Open: true}
	s.dirty.item(s.items[e.Item])
	s.run.Replan.Item = e.Item
	return nil
}

// admitProposed takes the answer to a revision. A yes comes with the revision, as
// it fits the workspace now.
func (s *State) admitProposed(in Reply) ([]Event, error) {
	a := in.ItemAnswered
	if len(a.Args) > 0 {
		return nil, refuse(Invalid, "an answer about a revision takes no arguments", NoArgs)
	}
	if a.Choice != ChooseApprove {
		return []Event{a}, nil
	}
	if in.Revise == nil {
		return nil, refuse(Invalid, fmt.Sprintf("item %s is approved without the revision", a.Item))
	}
	if in.Revise.By != a.By || in.Revise.Run.ApprovedBy != a.By {
		return nil, refuse(Invalid, fmt.Sprintf("item %s is approved by %s, and its revision by %s", a.Item, a.By, in.Revise.Run.ApprovedBy))
	}
	next, err := s.admitDraw(*in.Revise, s.run.Replan.Drawn)
	return append([]Event{a}, next...), err
}

func (s *State) applyProposed(a ItemAnswered) error {
	r := s.run.Replan
	if r == nil || r.Item != a.Item {
		return fmt.Errorf("item %s is answered, and asks about no revision", a.Item)
	}
	s.closeProposal()
	switch {
	case a.Choice == ChooseApprove: // the revision is the next record
	case r.needed():
		r.Over, r.Exit = worded(fmt.Sprintf("revision %d was denied by", r.Drawn.Version), a.By, a.Text), 1
	default:
		s.endReplan()
	}
	return nil
}

// mayAdopt holds the law that nobody but a person says yes to a revision that was
// drawn, unless it weakens nothing and the policy does.
func (s *State) mayAdopt(e RunOpened, actor string) error {
	r := s.run.Replan
	drawn := r != nil && r.Drawn != nil && r.Drawn.Plan == e.Plan
	given := drawn && r.Over == "" && s.lenient(r.Drawn, e.ApprovedBy)
	if given || actor != Harness && (!drawn || actor != ByPolicy && e.ApprovedBy != ByPolicy) {
		return nil
	}
	return fmt.Errorf("revision %s was drawn, and nobody said yes to it", e.Plan)
}

// adopted notes that the run goes on with revision e: one that was drawn for it, or
// another one that a person wrote. The replan is over.
func (s *State) adopted(e RunOpened, was *replan) {
	if len(e.Weakened) > 0 {
		s.run.Weaker = strings.TrimPrefix(fmt.Sprintf("%s, v%d is weaker (approved by %s)", s.run.Weaker, e.Version, e.ApprovedBy), ", ")
	}
	all := &s.run.Replans
	all.Advised = nil
	switch {
	case was == nil || was.Drawn == nil || was.Drawn.Plan != e.Plan:
		all.Tried = nil
	case was.needed():
		all.Tried = append(slices.Clip(all.Tried), was.Failing)
		all.Met = s.run.Proven + s.run.Unproven
	}
}
