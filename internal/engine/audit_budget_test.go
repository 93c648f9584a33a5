package engine_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// What the auditor holds against budgets: work starts only while what was used,
// what is set aside for work under way and what the attempt itself sets aside
// are no more than the limits. What an agent did not say counts as set aside.

// purse is what the auditor adds up for a run or a step.
type purse struct {
	limits engine.Amount
	spent  engine.Amount
	most   engine.Amount
	ran    time.Duration // while its work was live, under owners that lived: no clock may show less
}

// pass lets the time pass between two records.
func (a *auditor) pass(r engine.Record) {
	span := r.At.Sub(a.last)
	a.back += max(0, -span)
	span = max(0, span)
	a.last, a.age = r.At, a.age+span
	if _, gap := r.Event.(engine.EpochBegan); gap {
		return
	}
	live := a.replan != nil && a.replan.live != nil
	for _, f := range a.steps {
		if f.live != nil && f.begs == "" {
			live = true
			f.purse.ran += span
		}
	}
	if live {
		a.purse.ran += span
	}
}

// held is what is set aside, found by looking at all that is under way.
func (a *auditor) held() (sum engine.Amount) {
	take := func(d *engine.WorkDispatched) {
		sum.Tokens += d.Reserve.Tokens
		sum.CostMicros += d.Reserve.CostMicros
	}
	for _, f := range a.steps {
		if f.live != nil {
			take(f.live)
		}
	}
	for _, l := range a.leaving {
		take(&l.work)
	}
	return sum
}

// mayPay holds a dispatch against the budgets.
func (a *auditor) mayPay(f *file, e engine.WorkDispatched) error {
	own, all, held := f.purse, a.purse, a.held()
	role := a.roles[e.Role]
	if f.def.Kind == engine.Delegate {
		role = f.def.Child.Budget
		if role.Tokens == 0 {
			role.Tokens = max(0, all.limits.Tokens-all.spent.Tokens-held.Tokens)
		}
		if role.CostMicros == 0 {
			role.CostMicros = max(0, all.limits.CostMicros-all.spent.CostMicros-held.CostMicros)
		}
	}
	_, judged := f.def.Judge()
	asks := judged || f.def.Kind == engine.Agent || f.def.Kind == engine.Delegate || f.def.Budget.Tokens > 0 || f.def.Budget.CostMicros > 0
	if err := reserved("tokens", own.limits.Tokens, own.spent.Tokens, all.limits.Tokens, role.Tokens, e.Reserve.Tokens, f.def.Kind); err != nil {
		return err
	}
	if err := reserved("money", own.limits.CostMicros, own.spent.CostMicros, all.limits.CostMicros, role.CostMicros, e.Reserve.CostMicros, f.def.Kind); err != nil {
		return err
	}
	for _, x := range []struct {
		what               string
		limit, used, needs int64
		asks               bool
	}{
		{"tokens of the step", own.limits.Tokens, own.spent.Tokens, own.most.Tokens, true},
		{"money of the step", own.limits.CostMicros, own.spent.CostMicros, own.most.CostMicros, true},
		{"time of the step", int64(own.limits.Wall), int64(own.ran - a.back), int64(own.most.Wall), true},
		{"tokens of the run", all.limits.Tokens, all.spent.Tokens + held.Tokens, e.Reserve.Tokens, asks},
		{"money of the run", all.limits.CostMicros, all.spent.CostMicros + held.CostMicros, e.Reserve.CostMicros, asks},
		{"time of the run", int64(all.limits.Wall), int64(all.ran - a.back), int64(e.Reserve.Wall), true},
	} {
		if x.asks && x.limit > 0 && (x.used >= x.limit || x.used+x.needs > x.limit) {
			return fmt.Errorf("%d %s are used or set aside, %d are needed, and the limit is %d", x.used, x.what, x.needs, x.limit)
		}
	}
	unsized := func(r engine.Amount) bool {
		return all.limits.Tokens > 0 && r.Tokens == 0 || all.limits.CostMicros > 0 && r.CostMicros == 0
	}
	for _, other := range a.steps {
		if d := other.live; d != nil && d.Kind == engine.AgentWork && asks && unsized(d.Reserve) && unsized(e.Reserve) {
			return fmt.Errorf("nobody knows how much it uses, and the same is true of %q, which is at work", d.Step)
		}
	}
	if (f.def.Kind == engine.Agent || f.def.Kind == engine.Delegate) && a.run.Policy.Unmetered == "refuse" && a.silent > 0 &&
		own.limits.Tokens+own.limits.CostMicros+all.limits.Tokens+all.limits.CostMicros > 0 {
		return fmt.Errorf("%d attempts did not say what they used, and nobody let that pass", a.silent)
	}
	return nil
}

// reserved holds what is set aside against the rule for it.
func reserved(what string, own, spent, all, role, got int64, kind engine.Kind) error {
	want := int64(0)
	switch {
	case own > 0:
		want = own - spent
	case all > 0 && (kind == engine.Agent || kind == engine.Delegate):
		want = role
	}
	if got != want {
		return fmt.Errorf("%d %s are set aside, and the rule says %d", got, what, want)
	}
	return nil
}

// paid counts the end of work. p is nil where the step is gone.
func (a *auditor) paid(p *purse, d engine.WorkDispatched, e engine.WorkEnded) {
	if d.Kind == engine.ContractWork || d.Kind == engine.MergeWork {
		return
	}
	r := d.Reserve
	if e.How == engine.NoStart {
		r = engine.Amount{}
	}
	u := engine.Amount{CostMicros: r.CostMicros, Wall: time.Duration(e.Ms) * time.Millisecond}
	known := 0
	for _, n := range []*int64{e.Usage.In, e.Usage.Out} {
		if n != nil {
			known++
			u.Tokens += *n
		}
	}
	if known < 2 {
		u.Tokens = max(u.Tokens, r.Tokens)
	}
	if e.Usage.CostMicros != nil {
		u.CostMicros = *e.Usage.CostMicros
	}
	if e.Ending != nil {
		u.Tokens, u.CostMicros = e.Ending.Spent.Tokens, e.Ending.Spent.CostMicros
		a.silent += e.Ending.Unmetered
	}
	all := a.purse.limits
	own := engine.Amount{}
	purses := []*purse{&a.purse}
	if p != nil {
		own = p.limits
		purses = append(purses, p)
	}
	if d.Kind == engine.AgentWork && e.How != engine.NoStart || d.Kind == engine.PlanWork && (e.How == engine.Exited || e.How == engine.TimedOut) {
		a.hushed(e.Usage, d.Reserve, all, own)
	}
	for _, p := range purses {
		p.spent.Tokens += u.Tokens
		p.spent.CostMicros += u.CostMicros
		p.most = highest(p.most, u)
	}
	if d.Kind == engine.AgentWork {
		a.roles[d.Role] = highest(a.roles[d.Role], u)
	}
}

// hushed counts what a model did without a word on a kind that is limited.
func (a *auditor) hushed(u engine.Usage, reserve, all, own engine.Amount) {
	if u.In == nil && u.Out == nil && reserve.Tokens == 0 && all.Tokens+own.Tokens > 0 ||
		u.CostMicros == nil && reserve.CostMicros == 0 && all.CostMicros+own.CostMicros > 0 {
		a.silent++
	}
}

// advised counts what the model used that judges a step.
func (a *auditor) advised(p *purse, used engine.Usage, asked bool) {
	if asked {
		a.hushed(used, engine.Amount{}, a.purse.limits, p.limits)
	}
	u := engine.Amount{Tokens: tokens(used)}
	if used.CostMicros != nil {
		u.CostMicros = *used.CostMicros
	}
	for _, p := range []*purse{&a.purse, p} {
		p.spent.Tokens += u.Tokens
		p.spent.CostMicros += u.CostMicros
		p.most = highest(p.most, u)
	}
}

func highest(a, b engine.Amount) engine.Amount {
	return engine.Amount{Tokens: max(a.Tokens, b.Tokens), CostMicros: max(a.CostMicros, b.CostMicros), Wall: max(a.Wall, b.Wall)}
}

// begged holds the question for more against what is there: nobody is asked
// for what work under way would give back.
func (a *auditor) begged(f *file, e engine.ItemOpened) error {
	if a.paused || a.stopping {
		return fmt.Errorf("more is asked for while the run is paused (%v) or being stopped (%v)", a.paused, a.stopping)
	}
	if f.status != engine.Pending && f.status != engine.Running && f.status != engine.Regressed {
		return fmt.Errorf("more is asked for a step that is %s", f.status)
	}
	p, whose := a.purse, "run"
	if e.Shortage.Of == "step" {
		p, whose = f.purse, "step"
	} else if a.asking != "" {
		return fmt.Errorf("more is asked for by %s already", a.asking)
	}
	if e.Shortage.Limits != p.limits || e.Shortage.Spent != p.spent {
		return fmt.Errorf("it says %+v, and the %s has used %+v of %+v", *e.Shortage, whose, p.spent, p.limits)
	}
	if since := e.Shortage.Since; since < p.ran-a.back || since > a.age {
		return fmt.Errorf("it says that %s was at work for %s; it was for %s at least, in %s", whose, since, p.ran, a.age)
	}
	short := a.silent > 0
	for _, x := range [][3]int64{
		{p.limits.Tokens, p.spent.Tokens, e.Shortage.Needs.Tokens},
		{p.limits.CostMicros, p.spent.CostMicros, e.Shortage.Needs.CostMicros},
		{int64(p.limits.Wall), int64(e.Shortage.Since), int64(e.Shortage.Needs.Wall)},
	} {
		short = short || x[0] > 0 && (x[1] >= x[0] || x[1]+x[2] > x[0])
	}
	if !short {
		return fmt.Errorf("more is asked for, and there is enough: %+v", *e.Shortage)
	}
	if whose == "run" {
		a.asking = e.Item
	}
	return nil
}

// raised takes new limits from an answer.
func (a *auditor) raised(f *file, it engine.ItemOpened, e engine.ItemAnswered) error {
	if it.Shortage == nil || e.Choice != engine.ChooseApprove {
		return nil
	}
	var x struct {
		Tokens int64   `json:"tokens"`
		USD    float64 `json:"cost_usd"`
		Wall   string  `json:"wall"`
	}
	if err := json.Unmarshal(e.Args, &x); err != nil {
		return err
	}
	given := engine.Amount{Tokens: x.Tokens, CostMicros: int64(x.USD*1e6 + 0.5)}
	if x.Wall != "" {
		var err error
		if given.Wall, err = time.ParseDuration(x.Wall); err != nil {
			return err
		}
	}
	p := &a.purse
	if it.Shortage.Of == "step" {
		p = &f.purse
	} else {
		a.silent = 0
	}
	p.limits = highest(p.limits, given)
	return nil
}
