package engine

import (
	"math"
	"slices"
	"time"
)

// Amount is how much of each kind: as a limit, zero is none of that kind.
type Amount struct {
	Tokens     int64         `json:"tokens,omitempty"`
	CostMicros int64         `json:"cost_micros,omitempty"` // millionths of a dollar
	Wall       time.Duration `json:"wall,omitempty"`        // time at work, in nanoseconds
}

// budget is what a run, or a step of it, has used of its limits.
type budget struct {
	Spent Amount `json:",omitzero"` // settled, less the time; what is not known settled at its reserve
	Held  Amount `json:",omitzero"` // reserves of work under way
	Most  Amount `json:",omitzero"` // the largest attempt that has settled
	Work  Clock  `json:",omitzero"`
}

// Clock is the time in which something was at work. It stands still while people
// are waited for, while no owner lives, and after the end.
type Clock struct {
	Ran   time.Duration `json:"ran,omitempty"`  // before Since
	Since time.Time     `json:"since,omitzero"` // from when it runs, while it does
}

// At is what the clock shows at now.
func (c Clock) At(now time.Time) time.Duration {
	if c.Since.IsZero() {
		return c.Ran
	}
	return c.Ran + max(0, now.Sub(c.Since))
}

// run lets the clock run from now on, or stand still.
func (c *Clock) run(runs bool, now time.Time) {
	if runs == !c.Since.IsZero() {
		return
	}
	if c.Ran = c.At(now); runs {
		c.Since = now
	} else {
		c.Since = time.Time{}
	}
}

// takeOver leaves the time out in which no owner lived.
func (c *Clock) takeOver(last, now time.Time) {
	if !c.Since.IsZero() {
		c.Ran, c.Since = c.At(last), now
	}
}

// tick lets the run's clock run while any step of it is at work.
func (s *State) tick(now time.Time) {
	s.run.Used.Work.run(s.run.Live && (s.run.drawing() || slices.ContainsFunc(s.active, s.busy)), now)
}

// busy reports whether a step under way waits neither for a lease nor for the end
// of a pause, nor its work for a person.
func (s *State) busy(i int) bool {
	st := &s.steps[i]
	if s.begged(i) {
		return false
	}
	return st.Live || !s.awaits(i) && !(s.run.Paused && st.Phase.first())
}

// fitness says whether a step may be dispatched.
type fitness int

const (
	ample     fitness = iota
	holds             // not before work under way has given back what it reserves, or a person has answered
	shortStep         // the step's own limits leave too little
	shortRun          // the run's limits do
)

// spends reports whether tokens or money are asked of the step: of agents, of what a
// model judges, and of scripts that have a budget for them.
func (p *Step) spends() bool {
	_, judged := p.Judge()
	return p.Each == nil && (judged || p.Kind == Agent || p.Kind == Delegate || p.Budget.Tokens > 0 || p.Budget.CostMicros > 0)
}

// limits are those of the step itself: the plan's, or what a person raised
// them to.
func (s *State) limits(i int) Amount {
	st, p := &s.steps[i], s.prog.Step(i)
	if st.Raised != (Amount{}) {
		return st.Raised
	}
	return p.Budget
}

// bounded reports whether any limit holds for the step.
func (s *State) bounded(i int) bool {
	return s.run.Limits != (Amount{}) || s.limits(i) != (Amount{})
}

// reserve is what the step's next attempt sets aside: what is left of the
// step's own budget, else what the largest attempt of its role came to, else
// nothing. Only kinds with a limit are reserved.
func (s *State) reserve(i int, now time.Time) Amount {
	if !s.bounded(i) {
		return Amount{}
	}
	st, p, own, all := &s.steps[i], s.prog.Step(i), s.limits(i), s.run.Limits
	var role Amount
	switch p.Kind {
	case Agent:
		role = s.run.Roles[s.picks(i, now).role]
	case Delegate:
		role = s.grant(i, now)
	}
	return Amount{
		Tokens:     aside(own.Tokens, st.Used.Spent.Tokens, role.Tokens, all.Tokens),
		CostMicros: aside(own.CostMicros, st.Used.Spent.CostMicros, role.CostMicros, all.CostMicros),
		Wall:       aside(own.Wall, st.Used.Work.At(now), role.Wall, all.Wall),
	}
}

// aside is the reserve of one kind.
func aside[T int64 | time.Duration](own, used, role, all T) T {
	switch {
	case own > 0:
		return max(0, own-used)
	case all > 0:
		return role
	}
	return 0
}

// fit says whether the step may be dispatched at now. Limits bind here and
// nowhere else: what is under way comes to its end.
func (s *State) fit(i int, now time.Time) fitness {
	if !s.bounded(i) || s.pattern(i) {
		return ample
	}
	st, p := &s.steps[i], s.prog.Step(i)
	if s.ownShort(i, now) != (Amount{}) {
		return shortStep
	}
	r, run := s.reserve(i, now), &s.run
	late := over(run.Limits.Wall, run.Used.Work.At(now), r.Wall)
	switch {
	case !p.spends() && !late:
		return ample
	case run.Asking != "" && run.Asking != st.Item:
		return holds
	case late, s.spent(r, Amount{}), s.unmeasured(i):
		return shortRun
	case s.spent(r, run.Used.Held), s.unsized(r) && s.gambles():
		return holds
	}
	return ample
}

// unsized reports whether r sets nothing aside of a kind that the run limits:
// nobody knows how much the attempt will use.
func (s *State) unsized(r Amount) bool {
	l := s.run.Limits
	return l.Tokens > 0 && r.Tokens == 0 || l.CostMicros > 0 && r.CostMicros == 0
}

// gambles reports whether an attempt of unknown size is at work. It may exceed
// the run's budget, so no other one may start beside it.
func (s *State) gambles() bool {
	return slices.ContainsFunc(s.active, func(i int) bool {
		st := &s.steps[i]
		return st.Live && st.Phase == Working && s.prog.Step(i).spends() && s.unsized(st.Reserve)
	}) || slices.ContainsFunc(s.run.Leaving, func(l leaving) bool { return l.Kind == AgentWork && s.unsized(l.Reserve) })
}

// spent reports whether the run's tokens or money are too few for r beside
// what is held.
func (s *State) spent(r, held Amount) bool {
	l, u := s.run.Limits, s.run.Used.Spent
	return over(l.Tokens, add(u.Tokens, held.Tokens), r.Tokens) ||
		over(l.CostMicros, add(u.CostMicros, held.CostMicros), r.CostMicros)
}

// over reports whether nothing is left of a limit, or less than what is needed.
func over[T int64 | time.Duration](limit, used, need T) bool {
	return limit > 0 && (used >= limit || need > limit-used)
}

// ownShort is what the step would need of its own limits and does not have
// left; nothing if it has. Another attempt is taken to use what the largest
// one of the step did.
func (s *State) ownShort(i int, now time.Time) (need Amount) {
	own, b := s.limits(i), &s.steps[i].Used
	if over(own.Tokens, b.Spent.Tokens, b.Most.Tokens) {
		need.Tokens = max(1, b.Most.Tokens)
	}
	if over(own.CostMicros, b.Spent.CostMicros, b.Most.CostMicros) {
		need.CostMicros = max(1, b.Most.CostMicros)
	}
	if over(own.Wall, b.Work.At(now), b.Most.Wall) {
		need.Wall = max(time.Second, b.Most.Wall)
	}
	return need
}

// unmeasured reports whether the policy keeps the step, an agent's or a sub-plan's,
// from going on because attempts did not say what they used, and nothing was
// reserved for them.
func (s *State) unmeasured(i int) bool {
	all, own, kind := s.run.Limits, s.limits(i), s.prog.Step(i).Kind
	if kind != Agent && kind != Delegate {
		return false
	}
	return s.run.Opened.Policy.Unmetered == UnmeteredRefuse && s.run.Unmetered > s.run.Excused &&
		(all.Tokens > 0 || all.CostMicros > 0 || own.Tokens > 0 || own.CostMicros > 0)
}

// UnmeteredRefuse is the policy under which no agent goes on whose use of a
// limited kind is not known.
const UnmeteredRefuse = "refuse"

// add adds up and stays at the largest number there is.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// valid reports whether no kind is below nothing.
func (a Amount) valid() bool { return a.Tokens >= 0 && a.CostMicros >= 0 && a.Wall >= 0 }

// larger takes the larger of each kind.
func larger(a, b Amount) Amount {
	return Amount{max(a.Tokens, b.Tokens), max(a.CostMicros, b.CostMicros), max(a.Wall, b.Wall)}
}

// hold sets the reserve of a dispatch aside.
func (b *budget) hold(r Amount) {
	b.Held.Tokens = add(b.Held.Tokens, r.Tokens)
	b.Held.CostMicros = add(b.Held.CostMicros, r.CostMicros)
}

// settle gives a reserve back and counts what was used in its place.
func (b *budget) settle(r, used Amount) {
	b.Held.Tokens = max(0, b.Held.Tokens-r.Tokens)
	b.Held.CostMicros = max(0, b.Held.CostMicros-r.CostMicros)
	b.Spent.Tokens = add(b.Spent.Tokens, used.Tokens)
	b.Spent.CostMicros = add(b.Spent.CostMicros, used.CostMicros)
	b.Most = larger(b.Most, used)
}

// used is what an attempt counts for. What its agent did not say counts as
// reserved; what could not start has used nothing.
func used(e WorkEnded, r Amount) Amount {
	if e.How == NoStart {
		r = Amount{}
	}
	a := Amount{Wall: time.Duration(min(max(0, e.Ms), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond}
	if e.Ending != nil {
		a.Tokens, a.CostMicros = e.Ending.Spent.Tokens, e.Ending.Spent.CostMicros
		return a
	}
	in, out := count(e.Usage.In), count(e.Usage.Out)
	a.Tokens, a.CostMicros = add(in, out), count(e.Usage.CostMicros)
	if e.Usage.In == nil || e.Usage.Out == nil {
		a.Tokens = max(a.Tokens, r.Tokens)
	}
	if e.Usage.CostMicros == nil {
		a.CostMicros = r.CostMicros
	}
	return a
}

func count(v *int64) int64 {
	if v == nil {
		return 0
	}
	return max(0, *v)
}

// silent reports whether a model's work did not tell its use of a kind that is
// limited, and nothing was set aside for it.
func silent(e WorkEnded, r, limits Amount) bool {
	switch {
	case e.Kind == AgentWork:
		return e.How != NoStart && e.Usage.untold(r, limits)
	case e.Kind == PlanWork:
		return (e.How == Exited || e.How == TimedOut) && e.Usage.untold(r, limits)
	}
	return false
}

// untold reports whether a usage leaves out a kind that is limited and of which nothing
// was set aside.
func (u Usage) untold(r, limits Amount) bool {
	return limits.Tokens > 0 && r.Tokens == 0 && u.In == nil && u.Out == nil || limits.CostMicros > 0 && r.CostMicros == 0 && u.CostMicros == nil
}

// account counts what work that has ended used, in the place of what was set aside.
func (s *State) account(e WorkEnded, role string, r Amount) {
	s.spend(e.Usage)
	if e.Kind == ContractWork || e.Kind == MergeWork {
		return
	}
	u, limits := used(e, r), s.run.Limits
	s.run.Used.settle(r, u)
	if i, stays := s.prog.Index(e.Step); stays {
		limits = larger(limits, s.limits(i))
		s.steps[i].Used.settle(r, u)
		if s.prog.Step(i).loops() {
			s.steps[i].Tokens = add(s.steps[i].Tokens, u.Tokens)
		}
	}
	if e.Ending != nil {
		s.run.Unmetered += e.Ending.Unmetered
		s.move(e.Ending.Moved)
	}
	if silent(e, r, limits) {
		s.run.Unmetered++
	}
	if e.Kind == AgentWork && u != (Amount{}) {
		if s.run.Roles == nil {
			s.run.Roles = map[string]Amount{}
		}
		s.run.Roles[role] = larger(s.run.Roles[role], u)
	}
}

// charge counts what the judge of a step used, if it was asked. Nothing is set aside for
// it.
func (s *State) charge(i int, u Usage, asked bool) {
	if asked && u.untold(Amount{}, larger(s.run.Limits, s.limits(i))) {
		s.run.Unmetered++
	}
	s.spend(u)
	a := used(WorkEnded{Usage: u}, Amount{})
	s.run.Used.settle(Amount{}, a)
	s.steps[i].Used.settle(Amount{}, a)
}

// allot gives the run its limits: those of the plan, and in a revision that
// changes none those that are in force.
func (s *State) allot(was, is *Program) {
	if was == nil || was.def.Budget != is.def.Budget {
		s.run.Limits = narrower(is.def.Budget, s.run.Opened.Grant)
	}
}

// startable is the first ready step that may be dispatched at now. One that
// does not fit keeps back all behind it that use what it is short of; scripts,
// which use neither tokens nor money, go on.
func (s *State) startable(now time.Time) (int, bool) {
	i, ok := s.ready.first()
	if !ok || s.fit(i, now) == ample {
		return i, ok
	}
	i, ok = s.thrifty.first()
	return i, ok && s.fit(i, now) == ample
}

// begs finds the ready step for which a person has to be asked for more: it
// would be the next, and nothing that is under way will give back what it needs.
func (s *State) begs(now time.Time) (ItemOpened, bool) {
	if !s.free() || s.run.Proof.Stage != noRound {
		return ItemOpened{}, false
	}
	for _, set := range [...]*set{&s.ready, &s.thrifty} {
		i, ok := set.first()
		if !ok {
			continue
		}
		if f := s.fit(i, now); f == shortStep || f == shortRun {
			return s.plea(i, f, now), true
		}
	}
	return ItemOpened{}, false
}

// Budget describes what is in force for the run: what is limited, and what was
// used and set aside of it.
func (s *State) Budget() Budget {
	r := &s.run
	if r.Limits == (Amount{}) {
		return Budget{}
	}
	return Budget{Limits: r.Limits, Spent: r.Used.Spent, Held: r.Used.Held, Work: r.Used.Work, Unmetered: r.Unmetered}
}

// Budget is a run's, or a step's, limits and what was used of them.
type Budget struct {
	Limits    Amount `json:"limits,omitzero"`
	Spent     Amount `json:"spent,omitzero"` // attempts that did not say count as reserved
	Held      Amount `json:"held,omitzero"`  // set aside for what is under way
	Work      Clock  `json:"work,omitzero"`  // the time used
	Unmetered int    `json:"unmetered,omitempty"`
}

// Left is what is left of each limit at now; kinds without a limit are 0, and
// so is what is used up.
func (b Budget) Left(now time.Time) Amount {
	left := func(limit, used int64) int64 { return max(0, limit-min(limit, used)) }
	return Amount{
		Tokens:     left(b.Limits.Tokens, add(b.Spent.Tokens, b.Held.Tokens)),
		CostMicros: left(b.Limits.CostMicros, add(b.Spent.CostMicros, b.Held.CostMicros)),
		Wall:       max(0, b.Limits.Wall-b.Work.At(now)),
	}
}
