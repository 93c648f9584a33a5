package form

import (
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// task is a task plan while it is read or written: its step, and what the
// configuration says of the checks.
type task struct {
	*plan.Plan
	items  []checkItem
	made   map[string][]pair // of the record of a run: what became of each item
	config taskConfig
}

func (t *task) step() *plan.Step { return t.Steps[0] }

// checkItem is one line of the checklist. One with a command is a check.
type checkItem struct {
	id, description string
	command         plan.Text
	optional        bool
	at              plan.Pos
}

// taskConfig says which checks are made.
type taskConfig struct {
	at                          plan.Pos
	build, lint, tests, goOn    bool
	context                     plan.Field[int]
	buildCmd, lintCmd, testsCmd plan.Text
}

// usualItems are the lines of the checklist that every task plan has.
func usualItems() [][2]string {
	return [][2]string{
		{"implement", "Implement the task requirements"},
		{"build", "Build passes without errors"},
		{"lint", "Lint passes (if available)"},
		{"test", "Tests pass (if available)"},
	}
}

func usualItem(id string) string {
	for _, u := range usualItems() {
		if u[0] == id {
			return u[1]
		}
	}
	return ""
}

func taskFields() []field[*task] {
	return []field[*task]{
		at("taskId", "The task, in one line.", line(), func(t *task) *plan.Text { return &t.Title }).as("title").required(),
		past[*task]("featureId", "The feature that the task belongs to.", name()),
		past[*task]("iteration", "The current iteration, counted from 1.", integer(0, 1000)),
		on("maxIterations", "A fresh agent each time, at most this often; 10 if absent.", integer(1, 1000), func(t *task) *plan.Field[int] { return &t.step().Iterations }).as("iterations"),
		statusField[*task]("pending", "running", "paused", "completed", "failed", "aborted"),
		past[*task]("exitReason", "Why the loop ended.", word("all_checks_passed", "max_iterations", "context_limit", "aborted", "error")),
		checklistField(),
		past[*task]("activity", "What was done in each iteration.", listOf(anything(), 0)),
		past[*task]("createdAt", "When the task was made.", name()),
		past[*task]("updatedAt", "When it was changed last.", name()),
		past[*task]("completedAt", "When it was completed.", name()),
		configField(),
	}
}

// checklistOf begins the name of what no form keeps of an item.
const checklistOf = "checklist "

func checklistField() field[*task] {
	table := itemFields()
	return field[*task]{
		key: "checklist", must: true, about: "implement, build, lint and test; further items are checks with a command, or criteria in words.",
		schema: func() *node {
			return schemaOf("type", "array", "maxItems", plan.MaxItems, "items", objectSchema(table))
		},
		read: func(r *reader, n *node, to *task) {
			s := listOf(shape[checkItem]{read: func(r *reader, n *node) (checkItem, bool) {
				it := checkItem{at: n.at}
				outer := r.kept
				r.kept = nil
				ok := fieldsOf(r, n, &it, table)
				lost := r.kept[r.place]
				r.kept = outer
				if usual := usualItem(it.id); usual == "" && it.command.IsZero() && plan.Slug(it.description) != it.id {
					lost = append(lost, pair{key: "id"})
				} else if usual != "" && it.id != "implement" && it.description != usual {
					lost = append(lost, pair{key: "description"})
				}
				for _, p := range lost {
					r.keep(checklistOf+it.id+": "+p.key, n)
				}
				return it, ok && it.id != "" && it.description != ""
			}}, 0)
			to.items, _ = s.read(r, n)
		},
		write: func(t *task) *node { return t.checklist(table) },
	}
}

func itemFields() []field[*checkItem] {
	return []field[*checkItem]{
		bound("id", "", name(), func(it *checkItem) (string, bool) { return it.id, true },
			func(_ *reader, _ *node, to *checkItem, id string) { to.id = id }).required(),
		bound("description", "What is to be so.", running(), func(it *checkItem) (plan.Text, bool) { return plan.Text{Value: it.description}, true },
			func(_ *reader, _ *node, to *checkItem, t plan.Text) { to.description, to.at = t.Value, t.Pos }).required(),
		at("command", "Shell that checks it; not of implement, build, lint and test.", verbatim(), func(it *checkItem) *plan.Text { return &it.command }),
		bound("required", "It must pass. Yes if absent.", yesNo(), func(it *checkItem) (bool, bool) { return false, it.optional },
			func(_ *reader, _ *node, to *checkItem, v bool) { to.optional = !v }),
		statusField[*checkItem]("pending", "pass", "fail", "skipped"),
		past[*checkItem]("error", "Why it failed.", anyText()),
		past[*checkItem]("output", "What the command printed.", anyText()),
		past[*checkItem]("verifiedAt", "When it was looked at last.", name()),
	}
}

func configField() field[*task] {
	table := configFields()
	return field[*task]{
		key: "config", schema: func() *node { return objectSchema(table) }, about: "Which checks run, and how.",
		read: func(r *reader, n *node, to *task) {
			to.config.at = n.at
			fieldsOf(r, n, &to.config, table)
		},
		write: func(t *task) *node { return objectOf(&t.config, table, nil) },
	}
}

func configFields() []field[*taskConfig] {
	flag := func(key, about string, get func(*taskConfig) *bool) field[*taskConfig] {
		return bound(key, about, yesNo(), func(c *taskConfig) (bool, bool) { return *get(c), true },
			func(_ *reader, _ *node, to *taskConfig, v bool) { *get(to) = v })
	}
	return []field[*taskConfig]{
		flag("runBuild", "Yes if absent.", func(c *taskConfig) *bool { return &c.build }),
		flag("runLint", "Yes if absent.", func(c *taskConfig) *bool { return &c.lint }),
		flag("runTests", "No if absent.", func(c *taskConfig) *bool { return &c.tests }),
		flag("continueOnLintFail", "Lint need not pass. Yes if absent.", func(c *taskConfig) *bool { return &c.goOn }),
		at("buildCommand", "", verbatim(), func(c *taskConfig) *plan.Text { return &c.buildCmd }),
		at("lintCommand", "", verbatim(), func(c *taskConfig) *plan.Text { return &c.lintCmd }),
		at("testCommand", "", verbatim(), func(c *taskConfig) *plan.Text { return &c.testsCmd }),
		on("contextLimit", "Tokens that all iterations may use together; 150000 if absent.", integer(1, 1_000_000_000), func(c *taskConfig) *plan.Field[int] { return &c.context }),
	}
}

// readTaskPlan makes a plan of one loop step.
func (r *reader) readTaskPlan(root *node, p *plan.Plan) []checkItem {
	s := plan.NewStep("1", "")
	s.Pos = root.at
	p.Steps = []*plan.Step{s}
	t := &task{Plan: p, config: taskConfig{at: root.at, build: true, lint: true, goOn: true}}
	s.Iterations = plan.Is(plan.DefaultLoops)
	fieldsOf(r, root, t, taskFields())
	s.Title, s.ContextLimit = p.Title, t.config.context
	r.commands(t)
	r.criteria(t)
	r.needs(p)
	return t.items
}

// criteria reads what the checklist says in words.
func (r *reader) criteria(t *task) {
	for _, it := range t.items {
		switch {
		case it.optional && it.command.IsZero():
			r.Add(it.at, plan.Error, plan.BadCheck, fmt.Sprintf("the item %q has no command, so it cannot be optional", it.id), "write `command`, or take `required` out")
		case it.id == "implement":
			t.step().Task = plan.Text{Value: it.description, Pos: it.at}
		case !it.command.IsZero() && usualItem(it.id) != "":
			r.Add(it.at, plan.Error, plan.BadCheck, fmt.Sprintf("the item %q cannot have a command", it.id), "write it into config: buildCommand, lintCommand or testCommand")
		case !it.command.IsZero() && !plan.ValidCheck(it.id):
			r.Add(it.at, plan.Error, plan.BadCheck, fmt.Sprintf("%q is no name of a check", it.id), "write an id without :, ( and [")
		case !it.command.IsZero():
			t.check(plan.Check{Name: plan.Text{Value: it.id, Pos: it.at}, Optional: it.optional, Command: it.command})
			if it.description == it.id {
				continue
			}
			fallthrough
		case usualItem(it.id) == "":
			a := &t.step().Acceptance
			a.Value, a.Set, a.Pos = append(a.Value, plan.Text{Value: it.description, Pos: it.at}), true, it.at
		}
	}
}

// commands makes checks of what the configuration asks for.
func (r *reader) commands(t *task) {
	c := t.config
	for _, k := range []struct {
		name     string
		asked    bool
		optional bool
		command  plan.Text
	}{{"build", c.build, false, c.buildCmd}, {"lint", c.lint, c.goOn, c.lintCmd}, {"test", c.tests, true, c.testsCmd}} {
		switch {
		case !k.asked:
		case k.command.IsZero():
			t.check(plan.Check{Name: plan.Text{Value: k.name, Pos: c.at}, Optional: k.optional})
		default:
			t.check(plan.Check{Name: plan.Text{Value: k.name, Pos: k.command.Pos}, Optional: k.optional, Command: k.command})
		}
	}
}

// check adds a check to the step.
func (t *task) check(c plan.Check) {
	if c.Command.Fenced = strings.Contains(c.Command.Value, "\n"); !c.Command.Fenced {
		c.Command.Value = strings.Trim(c.Command.Value, blank)
	}
	checks := &t.step().Checks
	checks.Value, checks.Set = append(checks.Value, c), true
}

// writeTaskPlan writes a plan of one loop step.
func (d Document) writeTaskPlan() ([]byte, error) {
	if len(d.Plan.Steps) != 1 || !d.Plan.Steps[0].Iterations.Set {
		return nil, fmt.Errorf("a task plan is one step with `iterations`; this plan has %d steps", len(d.Plan.Steps))
	}
	t := &task{Plan: d.Plan, made: d.made, config: taskConfig{goOn: true, context: d.Plan.Steps[0].ContextLimit}}
	for _, c := range d.Plan.Steps[0].Checks.Value {
		switch c.Name.Value {
		case "build":
			t.config.build, t.config.buildCmd = true, c.Command
		case "lint":
			t.config.lint, t.config.lintCmd, t.config.goOn = true, c.Command, c.Optional
		case "test":
			t.config.tests, t.config.testsCmd = true, c.Command
		}
	}
	history := d.past(TaskPlan)[-1]
	if d.recorded {
		t.items = d.items // the ids that its writer gave, and their order
	}
	return writeJSON(objectOf(t, taskFields(), history)), nil
}

// checklist writes the usual items and the criteria.
func (t *task) checklist(table []field[*checkItem]) *node {
	n := &node{kind: list}
	written := map[string]bool{}
	add := func(it checkItem) {
		if !written[it.id] {
			n.items = append(n.items, objectOf(&it, table, t.made[it.id]))
		}
		written[it.id] = true
	}
	for _, it := range t.items {
		add(it)
	}
	for _, u := range usualItems() {
		it := checkItem{id: u[0], description: u[1]}
		if task := t.step().Task; u[0] == "implement" && !task.IsZero() {
			it.description = task.Value
		}
		add(it)
	}
	for _, c := range t.step().Checks.Value {
		if !plan.Found(c.Name.Value) {
			add(checkItem{id: c.Name.Value, description: c.Name.Value, command: c.Command, optional: c.Optional})
		}
	}
	for _, a := range t.step().Acceptance.Value {
		if slices.ContainsFunc(t.items, func(it checkItem) bool { return it.description == a.Value }) {
			continue
		}
		add(checkItem{id: plan.Slug(a.Value), description: a.Value})
	}
	return n
}
