package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

func checkUnknownAgent(p *pass, u *unit) {
	p.fallback(u)
	if !u.works() || isAny(u.Target.Value) {
		return
	}
	if _, _, ok := p.facts.Agent(u.Target.Value); ok {
		return
	}
	p.unknownAgent(u, u.Target)
}

func (p *pass) unknownAgent(u *unit, name plan.Field[string]) {
	names := slices.Sorted(maps.Keys(p.facts.Agents))
	near := plan.Closest(name.Value, names)
	hint := plan.Meant(near)
	if hint == "" {
		hint = "add it to .piton/config.yaml; configured: " + strings.Join(names, ", ")
	}
	p.renamed(p.report(u, name.Pos, fmt.Sprintf("step %q asks for agent %q, which is not configured", u.ID.Value, name.Value), hint), name.Pos, name.Value, near)
}

// fallback judges who takes over from the agent of a step.
func (p *pass) fallback(u *unit) {
	if !u.Fallback.Set {
		return
	}
	says := func(text, hint string) {
		p.report(u, u.Fallback.Pos, fmt.Sprintf("step %q has a `fallback`, ", u.ID.Value)+text, hint)
	}
	a, known := p.facts.Agents[u.Fallback.Value]
	name, _, _ := p.facts.Agent(u.Target.Value)
	switch {
	case !u.works() || u.scripted(p.facts):
		says("and no agent does it", "take it out")
	case !known:
		p.unknownAgent(u, u.Fallback)
	case a.Shell:
		says(fmt.Sprintf("and %q runs scripts", u.Fallback.Value), "name an agent that has a model")
	case u.Fallback.Value == name && !isAny(u.Target.Value):
		says("which is the agent that it has already", "name another agent")
	}
}

func isAny(target string) bool { return target == anyAgent || target == "" }

func checkNoAgent(p *pass, u *unit) {
	if !u.works() || !isAny(u.Target.Value) || u.unread("target") {
		return
	}
	if _, _, ok := p.facts.Agent(u.Target.Value); ok {
		return
	}
	if _, fits := u.first(p.facts); fits {
		return
	}
	message, hint := "no agent is configured", "run `piton init`, which adds those that it finds to .piton/config.yaml, or write `target: script` if the task is a shell script"
	if len(p.facts.models()) > 0 {
		message, hint = "the configuration has several agents, no default, and no `when:` with a word of the step", "write a `target:`, or `default_agent:` in .piton/config.yaml"
	}
	p.report(u, u.Target.Pos, fmt.Sprintf("step %q names no agent, and %s", u.ID.Value, message), hint)
}

func checkNoTask(p *pass, u *unit) {
	switch {
	case !u.works() || !u.Task.IsZero() || u.unread("task"):
	case u.scripted(p.facts):
		p.report(u, u.Pos, fmt.Sprintf("step %q has no task, and a script has nothing else to run", u.ID.Value),
			"add a `task:` with a fenced shell block").Severity = Error
	default:
		p.report(u, u.Pos, fmt.Sprintf("step %q has no task; its agent gets the title alone", u.ID.Value), "add a `task:`")
	}
}

// checkNotInstalled finds agents whose programs are not here, each once: who would do a step,
// and who would take over from that one.
func checkNotInstalled(p *pass) {
	p.serversNotInstalled()
	reported := map[string]bool{}
	missing := func(u *unit, name string, at plan.Pos) *Finding {
		agent := p.facts.Agents[name]
		if agent.Missing == "" || reported[name] {
			return nil
		}
		reported[name] = true
		where := "which is not on this machine's PATH"
		if strings.ContainsAny(agent.Missing, `/\`) {
			where = "which is not there"
		}
		return p.report(u, at, fmt.Sprintf("agent %q starts %q, %s", name, agent.Missing, where), NotInstalled(agent.Instead))
	}
	for _, u := range p.doc.units {
		name, _, ok := p.facts.Agent(u.Target.Value)
		if _, fits := u.suited(p.facts); ok && u.works() && !fits {
			if f := missing(u, name, u.Target.Pos); f != nil {
				f.absent = true
			}
		}
	}
	for _, u := range p.doc.units {
		if u.works() && u.Fallback.Set {
			missing(u, u.Fallback.Value, u.Fallback.Pos)
		}
	}
}

// NotInstalled says what to do about an agent whose program is not here; instead is which one
// may be meant, as a question.
func NotInstalled(instead string) string {
	return strings.TrimPrefix(instead+" install it, or correct `command:` in .piton/config.yaml", " ")
}

// serversNotInstalled reports the first step of each program of a server that is
// not there.
func (p *pass) serversNotInstalled() {
	reported := map[string]bool{}
	for _, u := range p.doc.units {
		program := p.facts.Tools[u.Tool.Value].Absent
		if program == "" || reported[program] {
			continue
		}
		reported[program] = true
		p.report(u, u.Tool.Pos, fmt.Sprintf("the server of %s starts %q, which is not on this machine's PATH", u.Tool.Value, program), "install it, or correct `mcp_servers:` in the configuration").Severity = Warning
	}
}

// checkUnmetered says of each agent once that it does not report what the
// budgets need, at the first step that has it, or that it judges.
func checkUnmetered(p *pass) {
	h := p.doc.plan.Budget
	said := map[string]bool{}
	for _, u := range p.doc.units {
		if !spends(h) && !spends(u.Budget) {
			continue
		}
		paid := h.Value.CostMicros > 0 || u.Budget.Value.CostMicros > 0
		say := func(who, name string, agent Agent, at plan.Pos) {
			if agent.Shell || agent.Metered && !(paid && agent.Costless) || said[name] {
				return
			}
			said[name] = true
			p.unmetered(u, who, agent, at)
		}
		if name, agent, ok := p.facts.Agent(u.Target.Value); ok && u.works() {
			say(fmt.Sprintf("agent %q", name), name, agent, u.Target.Pos)
		}
		if j := p.facts.Judge; j != nil && !u.Judge.IsZero() {
			agent, ok := p.facts.Agents[j.Agent]
			if j.Agent == "" {
				agent, ok = Agent{Metered: true, Costless: j.Costless}, true
			}
			if ok {
				say("the judge", j.Agent, agent, u.Judge.Pos)
			}
		}
	}
}

func (p *pass) unmetered(u *unit, who string, agent Agent, at plan.Pos) {
	if spends(u.Budget) {
		at = u.Budget.Pos
	}
	says := "reports its usage only if it writes to `$PITON_REPORT`"
	hint := "set `parse:` of the agent in the configuration, let its program write usage lines to `$PITON_REPORT`, or limit the time"
	if agent.Metered {
		says, hint = "reports tokens but no cost", "add its price under `prices:` in the configuration, by agent or by model"
	}
	f := p.report(u, at, fmt.Sprintf("step %q has a budget, and %s %s", u.ID.Value, who, says), hint)
	if p.facts.RefuseUnmetered {
		f.Severity = Error
	}
}

// spends reports a budget of tokens or money.
func spends(b plan.Field[plan.Budget]) bool {
	return b.Value.Tokens > 0 || b.Value.CostMicros > 0
}

// Less than any attempt of an agent takes: its prompt and its start alone.
const (
	leastTokens = 1000
	leastCost   = 100 // millionths of a dollar
	leastTime   = 5 * time.Second
)

// checkTooLittle finds budgets in which no work of an agent fits: those of the plan and of
// steps, and timeouts that a budget of time cuts off.
func (p *pass) checkTooLittle() {
	whole, attempts := p.doc.plan.Budget, 0
	for _, u := range p.doc.units {
		if whole.Value.Wall > 0 && u.Timeout.Set && u.Timeout.Value > whole.Value.Wall {
			p.report(u, u.Timeout.Pos, fmt.Sprintf("step %q has a timeout of %s, and the plan's budget ends after %s", u.ID.Value, plan.FormatDuration(u.Timeout.Value), plan.FormatDuration(whole.Value.Wall)),
				"raise the plan's budget, or lower the timeout").Severity = Warning
		}
		if _, agent, ok := p.facts.Agent(u.Target.Value); !u.works() || !ok || agent.Shell {
			continue
		}
		if what := tooLittle(u.Budget.Value, 1); what != "" {
			p.report(u, u.Budget.Pos, fmt.Sprintf("no attempt of step %q fits into %s", u.ID.Value, what), "raise the budget, or leave it out").Severity = Warning
		}
		attempts += u.Instances()
	}
	if what := tooLittle(whole.Value, attempts); attempts > 0 && what != "" {
		steps := "the step of an agent does"
		if attempts > 1 {
			steps = fmt.Sprintf("%d steps of agents do", attempts)
		}
		p.report(nil, whole.Pos, fmt.Sprintf("%s not fit into %s", steps, what), "raise the budget, or leave it out").Severity = Warning
	}
}

// tooLittle is the part of a budget that not even so many attempts fit into; "" is none.
func tooLittle(b plan.Budget, attempts int) string {
	n := int64(attempts)
	switch {
	case b.Tokens > 0 && b.Tokens < n*leastTokens:
		return fmt.Sprintf("%d tokens: each takes %d at the very least", b.Tokens, leastTokens)
	case b.CostMicros > 0 && b.CostMicros < n*leastCost:
		return fmt.Sprintf("%s: each takes %s at the very least", dollars(b.CostMicros), dollars(leastCost))
	case b.Wall > 0 && b.Wall < leastTime: // they may work beside each other
		return fmt.Sprintf("%s: an agent takes %s at the very least", plan.FormatDuration(b.Wall), plan.FormatDuration(leastTime))
	}
	return ""
}

func dollars(micros int64) string {
	return "$" + strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64)
}

func checkBudget(p *pass) {
	p.checkTooLittle()
	h := p.doc.plan
	whole := h.Budget.Value
	if whole == (plan.Budget{}) {
		return
	}
	var sum plan.Budget
	fits := true
	for _, u := range p.doc.units {
		b := u.Budget.Value
		if what := exceeds(b, whole); what != "" {
			fits = false
			p.report(u, u.Budget.Pos, fmt.Sprintf("the budget of step %q has more %s than that of the plan", u.ID.Value, what),
				"raise the plan's, or lower the step's")
		}
		b, times := p.asked(u), int64(u.Instances())
		sum.Tokens = min(sum.Tokens+times*min(b.Tokens, mostSummed/times), mostSummed)
		sum.CostMicros = min(sum.CostMicros+times*min(b.CostMicros, mostSummed/times), mostSummed)
	}
	if what := exceeds(sum, whole); what != "" && fits {
		p.report(nil, h.Budget.Pos, fmt.Sprintf("the budgets of the steps together have more %s than that of the plan", what),
			"raise the plan's, or lower those of the steps").Severity = Warning
	}
	if e := h.Estimate.Value; whole.Wall > 0 && e > whole.Wall {
		p.report(nil, h.Estimate.Pos, fmt.Sprintf("the plan is estimated to take %s, but its budget ends after %s", plan.FormatDuration(e), plan.FormatDuration(whole.Wall)), "").Severity = Warning
	}
}

// mostSummed is what sums of budgets stop at.
const mostSummed = 1 << 61

// asked is the budget of one instance of a step: its own, else that of its
// sub-plan.
func (p *pass) asked(u *unit) plan.Budget {
	b := u.Budget.Value
	if file, ok := Delegate(u.Step); ok {
		sub := p.facts.Plans[file].Budget
		b.Tokens, b.CostMicros = cmp.Or(b.Tokens, sub.Tokens), cmp.Or(b.CostMicros, sub.CostMicros)
	}
	return b
}

func exceeds(b, whole plan.Budget) string {
	switch {
	case whole.Tokens > 0 && b.Tokens > whole.Tokens:
		return "tokens"
	case whole.CostMicros > 0 && b.CostMicros > whole.CostMicros:
		return "money"
	case whole.Wall > 0 && b.Wall > whole.Wall:
		return "time"
	}
	return ""
}

func checkShortLimit(p *pass, u *unit) {
	if !u.Timeout.Set || !u.works() {
		return
	}
	name, agent, ok := p.facts.Agent(u.Target.Value)
	if ok && agent.Time > 0 && agent.Time < u.Timeout.Value {
		p.report(u, u.Timeout.Pos, fmt.Sprintf("step %q asks for %s, and agent %q is limited to %s",
			u.ID.Value, plan.FormatDuration(u.Timeout.Value), name, plan.FormatDuration(agent.Time)), "")
	}
}
