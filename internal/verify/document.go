package verify

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/shell"
)

// document is a plan with what several rules want to know of it.
type document struct {
	plan   *plan.Plan
	refs   plan.Refs
	units  []*unit
	shells map[string]*reading // by text
	makers makers

	frame shell.Frame // that scripts start in

	needing bool // a step says what it needs; else each waits for the one before it

	// Made when asked for:
	ordered *order
	named   *namings
	known   map[string]*unit // by id
	loose   []bool           // steps behind one that may write anywhere

	variableNames stepsBy // steps by the variable of their output
}

// unit is a step.
type unit struct {
	*plan.Step
	index  int
	needs  []need    // that were found
	lost   []lostRef // that were not
	proofs []script  // contract, then checks
	setup  script
	args   form.Arguments // of a tool
	unfit  error          // why they cannot be read

	detected map[string]Detection // of checks without a command, by name
	omitted  []engine.Omission    // of them, those that nobody can make
}

// need is a step that another one waits for.
type need struct {
	index int
	at    plan.Pos // zero where the plan does not say it
}

// lostRef is a reference to no step or to several.
type lostRef struct {
	text  plan.Text
	found int
}

// script is a shell text of a step.
type script struct {
	label    string // "contract", "check \"lint\"", "setup", "task"
	text     plan.Text
	required bool
	exit     int
	*reading
}

// read resolves the references of a plan and parses its scripts, each text once,
// in the light of the facts.
func read(p *plan.Plan, facts Facts) *document { return readWith(p, facts, shell.NewParser()) }

// readWith is read with a parser that may have seen the scripts before.
func readWith(p *plan.Plan, facts Facts, sh *shell.Parser) *document {
	d := &document{plan: p, refs: p.Refs(), shells: map[string]*reading{}, makers: makers{names: map[string]bool{}}, frame: shell.Frame{Parser: sh, Root: strings.TrimSuffix(facts.Workspace, "/"), Git: facts.Files[".git"].Exists}}
	d.units = make([]*unit, 0, len(p.Steps))
	units := make([]unit, len(p.Steps))
	for i, s := range p.Steps {
		u := &units[i]
		u.Step, u.index = s, i
		u.detects(facts)
		d.needing = d.needing || s.Needs.Set
		d.needs(u)
		d.refers(u)
		if ref, ok := u.items(); ok {
			d.waits(u, ref, u.ForEach.Value.Items[0].Pos)
		}
		u.proven(d.script)
		d.makers.add(s)
		d.units = append(d.units, u)
	}
	return d
}

// proven notes the step's setup and proofs, each as read makes it of its text.
func (u *unit) proven(read func(label string, text plan.Text, required bool, exit int) script) {
	if c := u.Contract; c != nil && !c.Command.IsZero() {
		u.proofs = append(u.proofs, read("contract", c.Command, true, c.ExitCode.Value))
	}
	for _, c := range u.Checks.Value {
		u.proofs = append(u.proofs, read("check "+strconv.Quote(c.Name.Value), c.Command, !c.Optional, 0))
	}
	u.setup = read("setup", u.Setup, false, 0)
}

// distrust leaves scripts unread in which the parser found an error: a text
// that is not in a block, a language that is not shell, a block without an end.
// What the shell would make of them says nothing that the author does not know.
func (d *document) distrust(problems []plan.Problem) {
	bad := map[int]bool{}
	for _, p := range problems {
		if p.Severity != plan.Error {
			continue
		}
		bad[p.Pos.Line] = true
		if p.Code == plan.UnclosedFence {
			bad[p.Pos.Line+1] = true // where its text begins
		}
	}
	if len(bad) == 0 {
		return
	}
	for _, u := range d.units {
		for i := range u.proofs {
			if u.proofs[i].touches(bad) {
				u.proofs[i].reading = nil
			}
		}
		if u.setup.touches(bad) {
			u.setup.reading = nil
		}
	}
}

// touches reports whether one of the lines is of the script.
func (s script) touches(lines map[int]bool) bool {
	for i := range strings.Count(s.text.Value, "\n") + 1 {
		if lines[s.text.Pos.Line+i] {
			return true
		}
	}
	return false
}

// refers adds the steps whose outputs the arguments of a tool refer to: a call
// waits for what it is called with.
func (d *document) refers(u *unit) {
	if u.calls() {
		for at, ref := range engine.Refs(u.args.Value) {
			d.waits(u, ref, u.args.Places[at])
		}
	}
}

// waits adds the step whose output a reference means.
func (d *document) waits(u *unit, ref engine.Ref, at plan.Pos) {
	found := d.refs.Find(ref.Step)
	if len(found) != 1 || found[0] == u.index || d.plan.Steps[found[0]].ID.Value != ref.Step ||
		slices.ContainsFunc(u.needs, func(n need) bool { return n.index == found[0] }) {
		return
	}
	u.needs = append(u.needs, need{found[0], at})
}

// items is the reference that a step takes its items from.
func (u *unit) items() (engine.Ref, bool) {
	if !u.ForEach.Set || u.ForEach.Value.Kind() != "step" {
		return engine.Ref{}, false
	}
	return engine.ParseRef(u.ForEach.Value.Items[0].Value)
}

func (d *document) needs(u *unit) {
	if !u.Needs.Set {
		if u.index > 0 {
			u.needs = append(u.needs, need{index: u.index - 1})
		}
		return
	}
	seen := map[int]bool{}
	for _, ref := range u.Needs.Value {
		found := d.refs.Find(ref.Value)
		if len(found) != 1 {
			u.lost = append(u.lost, lostRef{ref, len(found)})
			continue
		}
		if !seen[found[0]] {
			seen[found[0]] = true
			u.needs = append(u.needs, need{found[0], ref.Pos})
		}
	}
}

func (d *document) script(label string, text plan.Text, required bool, exit int) script {
	s := script{label: label, text: text, required: required, exit: exit}
	if text.IsZero() {
		return s
	}
	s.reading = d.once(text.Value)
	return s
}

// once reads a shell text, each once.
func (d *document) once(text string) *reading {
	parsed, known := d.shells[text]
	if !known {
		parsed = d.read(text)
		d.shells[text] = parsed
	}
	return parsed
}

// works reports whether an agent or a script does the step: no tool, no
// sub-plan and no person.
func (u *unit) works() bool {
	return !u.Tool.Set && u.Plan.IsZero() && u.Ask.IsZero()
}

// anyAgent is the target that leaves the choice to the configuration.
const anyAgent = "any"

// Agent resolves the target of a step: the named agent, else the default one,
// else the only one that has a model. It returns the name, and false where no
// agent of that name is configured.
func (f Facts) Agent(target string) (string, Agent, bool) {
	name := target
	if isAny(target) {
		name = f.DefaultAgent
		if name == "" {
			name = f.onlyModel()
		}
	}
	a, ok := f.Agents[name]
	return name, a, ok
}

// candidates are the agents that a step may be given to which names none: those that
// have a model, and whose program is there.
func (f Facts) candidates() []engine.Candidate {
	var list []engine.Candidate
	for _, name := range f.models() {
		if a := f.Agents[name]; a.Missing == "" {
			list = append(list, engine.Candidate{Role: name, When: a.When})
		}
	}
	return list
}

// Elective reports whether the rules choose among several agents for the step.
func (f Facts) Elective(s *plan.Step) bool {
	_, a, _ := f.Agent(s.Target.Value)
	return isAny(s.Target.Value) && !a.Shell && len(f.candidates()) > 1
}

// first is who does a step at first that names no agent where the configuration has
// several and no default. False where no words fit.
func (u *unit) first(f Facts) (string, bool) {
	if f.DefaultAgent != "" {
		return "", false
	}
	return u.suited(f)
}

// suited is the agent whose words fit a step best that names none. False where none fit.
func (u *unit) suited(f Facts) (string, bool) {
	if !u.works() || !isAny(u.Target.Value) {
		return "", false
	}
	agents := f.candidates()
	best, most := "", 0
	for n, suits := range engine.Suits(agents, u.Title.Value, cmp.Or(u.Task.Value, u.Title.Value)) {
		if suits > most {
			best, most = agents[n].Role, suits
		}
	}
	return best, most > 0
}

// onlyModel is the agent that has a model, "" where several have one.
func (f Facts) onlyModel() string {
	if names := f.models(); len(names) == 1 {
		return names[0]
	}
	return ""
}

// models are the agents that have a model.
func (f Facts) models() []string {
	names := slices.Sorted(maps.Keys(f.Agents))
	return slices.DeleteFunc(names, func(name string) bool { return f.Agents[name].Shell })
}

// minded reports a step that an agent may work at, for all that the plan itself says.
func (u *unit) minded() bool {
	return !u.Plan.IsZero() || u.works() && u.Target.Value != scriptTarget
}

// agented reports whether an agent works at a step that has no worktree of its own, or may at
// what it is delegated to.
func (d *document) agented(f Facts) bool {
	return slices.ContainsFunc(d.units, func(u *unit) bool { return u.minded() && !u.scripted(f) && !u.apart() })
}

// scripted reports whether the step's task is a script under these facts.
func (u *unit) scripted(f Facts) bool {
	_, a, ok := f.Agent(u.Target.Value)
	return u.works() && ok && a.Shell
}

// offline reports a step of which scripts are to reach no network.
func (u *unit) offline() bool {
	return u.Network.Value == "no" && u.runs()
}

// scriptTarget is the agent that needs no configuration and runs a task as a script.
const scriptTarget = "script"

// task is the task of a step as a script.
func (d *document) task(u *unit) script { return d.script("task", u.Task.Code(), true, 0) }

// scripts are the proofs of a step, and its task where that is a script. The
// caller may append to them.
func (p *pass) scripts(u *unit) []script {
	list := u.proofs[:len(u.proofs):len(u.proofs)]
	if u.scripted(p.facts) {
		list = append(list, p.doc.task(u))
	}
	return list
}

// unread reports whether the author wrote the label, or what was probably meant
// to be it, and its value could not be read. The parser has said so.
func (u *unit) unread(label string) bool {
	for _, l := range u.Labels {
		if !l.Read && (l.Name == label || l.Meant == label) {
			return true
		}
	}
	return false
}
