package verify

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

// Options are what a program takes from elsewhere than the plan and the facts.
type Options struct {
	Plan   string        // id of the plan's revision
	Expect engine.Expect // where a step does not say; empty = any
	// Children are the plans that steps are delegated to, by path. A document
	// that is not among them is made during the run.
	Children map[string]engine.SubPlan
	Revises  *Revised // what the program takes the place of in a run, nil for nothing
	Below    bool     // a step of another plan is delegated to it: it works where that does, if it says nothing else
}

// Revised is the text of a run that a new one takes the place of. A step that
// says in both what it says keeps what was pinned for it: which files guard it
// was decided before any work was done.
type Revised struct {
	Plan    *plan.Plan
	Program *engine.Program
}

// Refusal is why a plan was not compiled: the findings that stop it.
type Refusal struct {
	Findings []Finding
}

// Error names the first finding and says how many follow.
func (r *Refusal) Error() string {
	text := r.Findings[0].String()
	if more := len(r.Findings) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return "plan cannot run: " + text
}

// Compile turns a plan that was checked into the program the machine accepts. It
// returns a [*Refusal] where [Analysis.Check] found an error, or something that
// this version cannot run. The cost is linear in the size of the plan.
func (a *Analysis) Compile(o Options) (*engine.Program, error) {
	var stops []Finding
	for _, f := range a.findings {
		if f.Stops() {
			stops = append(stops, f)
		}
	}
	if len(stops) > 0 {
		return nil, &Refusal{stops}
	}
	if a.doc == nil {
		return nil, errors.New("compile plan: there is none")
	}
	c := compiler{a.doc, a.facts, o}
	program, err := engine.NewProgram(c.definition())
	if err != nil {
		return nil, fmt.Errorf("compile plan: %w", err)
	}
	return program, nil
}

// compiler works on a plan that no rule stops.
type compiler struct {
	doc     *document
	facts   Facts
	options Options
}

func (c compiler) definition() engine.Definition {
	p := c.doc.plan
	def := engine.Definition{
		Plan: c.options.Plan, Title: p.Title.Value, Parallel: max(p.Parallel.Value, 1), Replans: p.Replans.Value,
		Context: p.Context.Value, Constraints: texts(p.Constraints.Value), Permissions: p.Permissions.Value, Tags: texts(p.Tags.Value), Budget: engine.Amount(p.Budget.Value),
	}
	if p.Priority.Value != "normal" {
		def.Priority = engine.Priority(p.Priority.Value)
	}
	for _, u := range c.doc.units {
		def.Steps = append(def.Steps, c.step(u))
	}
	if slices.ContainsFunc(def.Steps, func(s engine.Step) bool { return s.Kind == engine.Agent }) {
		def.Agents = c.facts.candidates()
	}
	if c.apart() {
		def.Steps = append(def.Steps, c.landing(def.Steps))
	}
	if c.options.Revises != nil {
		c.pin(def.Steps, *c.options.Revises)
	}
	return def
}

// apart reports whether the run works in a worktree of its own. A run that goes on with
// another plan, which does not say where, stays where it is.
func (c compiler) apart() bool {
	where := c.doc.plan.Workspace
	switch {
	case where.Set:
		return where.Value == inWorktree
	case c.options.Revises != nil:
		_, apart := c.options.Revises.Program.Landing()
		return apart
	case c.options.Below:
		return false
	}
	return c.doc.apart(c.facts)
}

// landing is the step by which a run in a worktree of its own ends: what it did
// is merged into the workspace.
func (c compiler) landing(steps []engine.Step) engine.Step {
	s := engine.Step{
		Title: "Merge into the workspace", Kind: engine.Landing, Task: "Merge the worktree of the run into the workspace.",
		Expect: engine.ExpectAny, OnFail: engine.OnFail{Then: engine.Escalate}, Critical: true, Rerunnable: true,
		Timeout: plan.DefaultTimeout, CheckTimeout: plan.DefaultTimeout, Mode: "edit", Network: "yes",
		Worktree: true, Setup: c.doc.plan.Setup.Value,
		Commit: c.doc.commits(c.facts), Leave: c.doc.leaves(c.facts) && !c.options.Below,
	}
	ids, last := plan.IDs{}, 0
	for i := range steps {
		s.Needs = append(s.Needs, i)
		ids.Take(steps[i].ID)
		if n, err := strconv.Atoi(engine.FirstNumber(steps[i].Number)); err == nil {
			last = max(last, n)
		}
	}
	s.Number = strconv.Itoa(last + 1)
	s.ID = ids.Free("merge")
	return s
}

// pin gives the steps that say what they said their guards back.
func (c compiler) pin(steps []engine.Step, was Revised) {
	before := read(was.Plan, Facts{})
	if join(was.Plan.Protect.Value) != join(c.doc.plan.Protect.Value) {
		return
	}
	old := before.byID()
	for i, u := range c.doc.units {
		n, ok := was.Program.Index(steps[i].ID)
		if b := old[steps[i].ID]; ok && b != nil && len(differing(before.labels(b), c.doc.labels(u))) == 0 {
			steps[i].Guards, steps[i].Child = was.Program.Step(n).Guards, was.Program.Step(n).Child
		}
	}
}

func (c compiler) step(u *unit) engine.Step {
	role, agent, _ := c.facts.Agent(u.Target.Value)
	limit := agent.Time
	if name, fits := u.first(c.facts); fits {
		role, agent = name, c.facts.Agents[name]
	}
	if c.facts.Elective(u.Step) {
		limit = 0 // that of whoever is chosen holds when it starts
	}
	s := engine.Step{
		ID: u.ID.Value, Number: u.Number, Title: u.Title.Value,
		Kind: engine.Agent, Role: role, Target: u.Target.Value, Fallback: u.Fallback.Value,
		Needs: indexes(u.needs), Subscriptions: c.subscriptions(u), Reads: c.doc.reads(u, c.facts),
		Task: cmp.Or(u.Task.Value, u.Title.Value), Acceptance: texts(u.Acceptance.Value), Checks: checks(u),
		Expect: c.expect(u), OnFail: engine.OnFail{Retries: u.Failing().Retries, Then: engine.Then(u.Failing().Then)},
		Backoff: u.Backoff.Value, Critical: u.Critical.Value, Approval: approval(u.Approval.Value),
		Timeout: shorter(u.Timeout.Value, limit), CheckTimeout: u.CheckTimeout.Value,
		Holds: u.Holds.Value == "run", Rerunnable: u.Rerunnable.Value, Hidden: u.Reveal.Value == "after-failure",
		Mode: u.Mode.Value, Network: u.Network.Value, Isolation: c.isolation(u),
		Env: texts(u.Env.Value), Writes: writes(u), Guards: c.guards(u),
		Budget: engine.Amount(u.Budget.Value), Schema: u.Schema.Value,
		Worktree: u.apart(), Setup: c.setup(u),
	}
	if u.Strong.Value {
		s.Strong = strongTime
	}
	s.When, s.Each = u.When.Value, eachOf(u)
	if u.Iterations.Set {
		s.Iterations, s.Context, s.Omitted = u.Iterations.Value, int64(u.context()), u.omitted
	}
	if !u.Ask.IsZero() {
		return question(u, s)
	}
	if u.Tool.Set {
		return callOf(s, u)
	}
	if file, ok := Delegate(u.Step); ok {
		s.Protects = c.protects(u)
		return c.delegated(s, file)
	}
	if agent.Shell {
		s.Kind, s.Task, s.Fallback = engine.Script, u.Task.Code().Value, ""
	}
	return s
}

// eachOf says what the step is for each of.
func eachOf(u *unit) *engine.Each {
	if !u.ForEach.Set {
		return nil
	}
	var e engine.Each
	items := u.ForEach.Value.Items
	switch u.ForEach.Value.Kind() {
	case "step":
		e.Ref = items[0].Value
	case "glob":
		e.Glob = path.Clean(items[0].Value)
	default:
		for _, item := range items {
			value, _ := engine.EncodeValue(engine.Literal(item.Value)) // a text: it always encodes
			e.Items = append(e.Items, value)
		}
	}
	if u.Batch.Set {
		e.Batch = u.Batch.Value
	}
	e.Empty = u.AllowEmpty.Value
	return &e
}

// toolBackoff is the pause before a call is tried again, once more of it for
// each try.
const toolBackoff = time.Second

// callOf makes the step one that calls a tool.
func callOf(s engine.Step, u *unit) engine.Step {
	s.Kind, s.Role, s.Target, s.Fallback = engine.Tool, "", "", ""
	s.Tool, s.Timeout = u.Tool.Value, u.Timeout.Value
	s.Holds = s.Holds && s.Checkable()
	if !u.Backoff.Set {
		s.Backoff = toolBackoff
	}
	if !u.Args.IsZero() {
		s.Args, _ = engine.EncodeValue(u.args.Value) // plain values: they always encode
	}
	return s
}

// delegated makes the step one that a run of its own carries out.
func (c compiler) delegated(s engine.Step, file string) engine.Step {
	s.Kind, s.Role, s.Target, s.Fallback, s.Writes, s.Setup = engine.Delegate, "", "", "", nil, ""
	s.Holds = s.Holds && s.Checkable()
	child := c.options.Children[file]
	child.Path = file
	s.Child, s.Schema = &child, ""
	return s
}

// question makes of s the step by which a person is asked.
func question(u *unit, s engine.Step) engine.Step {
	s.Kind, s.Role, s.Target, s.Fallback, s.Task = engine.Ask, "", "", "", u.Ask.Value
	s.Choices = texts(u.Choices)
	s.Checks, s.Guards, s.Writes, s.Approval = nil, nil, nil, ""
	return s
}

func indexes(needs []need) []int {
	var list []int
	for _, n := range needs {
		list = append(list, n.index)
	}
	slices.Sort(list)
	return list
}

// subscriptions names steps by their ids, whatever the author called them.
func (c compiler) subscriptions(u *unit) []engine.Subscription {
	var list []engine.Subscription
	for _, s := range u.Subscriptions.Value {
		ref := s.Ref
		if found := c.doc.refs.Find(ref); s.Kind == "step" && len(found) == 1 {
			ref = c.doc.units[found[0]].ID.Value
		}
		list = append(list, engine.Subscription{Kind: s.Kind, Ref: ref})
	}
	return list
}

func texts(list []plan.Text) []string {
	var values []string
	for _, t := range list {
		values = append(values, t.Value)
	}
	return values
}

func checks(u *unit) []engine.Check {
	var list []engine.Check
	if u.Contract != nil && !u.Contract.Command.IsZero() {
		list = append(list, engine.Check{
			Name: engine.Contract, Command: u.Contract.Command.Value, Exit: u.Contract.ExitCode.Value, Required: true,
		})
	}
	for _, c := range u.Checks.Value {
		list = append(list, engine.Check{Name: c.Name.Value, Command: c.Command.Value, Required: !c.Optional})
	}
	if !u.Judge.IsZero() {
		list = append(list, engine.Check{Name: engine.Judge, Question: u.Judge.Value, Required: true})
	}
	return list
}

// strongTime is how long the checks of a strong step are asked for the parts of what it
// changed.
const strongTime = 5 * time.Minute

// expect is red for a strong step that does not say otherwise: checks that pass before the
// work will pass as well when it is taken back.
func (c compiler) expect(u *unit) engine.Expect {
	switch {
	case u.Expect.Set:
		return engine.Expect(u.Expect.Value)
	case u.Strong.Value:
		return engine.ExpectRed
	case c.options.Expect != "":
		return c.options.Expect
	}
	return engine.ExpectAny
}

// approval is the reason for which a person is asked, or "".
func approval(label string) string {
	switch label {
	case "", "auto":
		return ""
	case "required":
		return "the plan asks for it"
	}
	return label
}

// shorter is the timeout of an attempt: the plan's, or the agent's own limit
// where that is shorter.
func shorter(timeout, limit time.Duration) time.Duration {
	if limit > 0 {
		return min(timeout, limit)
	}
	return timeout
}

// isolation is the stronger of the step's and the plan's minimum.
func (c compiler) isolation(u *unit) string {
	whole := c.doc.plan.Isolation.Value
	if u.Isolation.Value == "" || whole == "sealed" {
		return whole
	}
	return u.Isolation.Value
}

// writes are the step's scopes. One that may change nothing has a scope too, since none at
// all would be the whole workspace.
func writes(u *unit) []string {
	if u.Writes.Set && len(u.Writes.Value) == 0 {
		return []string{engine.Nowhere}
	}
	var list []string
	for _, w := range u.Writes.Value {
		list = append(list, path.Clean(w.Value))
	}
	return list
}

// setup prepares the step's worktree: its own, else the plan's.
func (c compiler) setup(u *unit) string {
	if u.Setup.IsZero() && u.apart() {
		return c.doc.plan.Setup.Value
	}
	return u.Setup.Value
}
