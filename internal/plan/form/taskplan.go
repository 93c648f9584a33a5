package form

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// task is a task plan while it is read or written: its step, and what the
// configuration says of the checks.
type task struct {
	*plan.Plan
	items  []checkItem
	config taskConfig
}

func (t *task) step() *plan.Step { return t.Steps[0] }

// checkItem is one line of the checklist.
type checkItem struct {
	id, description string
	at              plan.Pos
}

// taskConfig says which checks are made.
type taskConfig struct {
	at                          plan.Pos
	build, lint, tests, goOn    bool
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
		key: "checklist", must: true, about: "implement, build, lint and test; further items are criteria in words.",
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
				if usual := usualItem(it.id); usual == "" && plan.Slug(it.description) != it.id {
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
		bound("description", "", running(), func(it *checkItem) (plan.Text, bool) { return plan.Text{Value: it.description}, true },
			func(_ *reader, _ *node, to *checkItem, t plan.Text) { to.description, to.at = t.Value, t.Pos }).required(),
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
	}
}

// readTaskPlan makes a plan of one loop step.
func (r *reader) readTaskPlan(root *node, p *plan.Plan) {
	s := plan.NewStep("1", "")
	s.Pos = root.at
	p.Steps = []*plan.Step{s}
	t := &task{Plan: p, config: taskConfig{at: root.at, build: true, lint: true, goOn: true}}
	s.Iterations = plan.Is(plan.DefaultLoops)
	fieldsOf(r, root, t, taskFields())
	s.Title = p.Title
	r.criteria(t)
	r.commands(t)
	r.needs(p)
}

// criteria reads what the checklist says in words.
func (r *reader) criteria(t *task) {
	for _, it := range t.items {
		switch {
		case it.id == "implement":
			t.step().Task = plan.Text{Value: it.description, Pos: it.at}
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
			r.Add(c.at, plan.Warning, plan.MissingField, fmt.Sprintf("the check %q has no command, so it is left out", k.name),
				fmt.Sprintf("write config.%sCommand", k.name))
		default:
			if k.command.Fenced = strings.Contains(k.command.Value, "\n"); !k.command.Fenced {
				k.command.Value = strings.Trim(k.command.Value, blank)
			}
			checks := &t.step().Checks
			checks.Set = true
			checks.Value = append(checks.Value, plan.Check{Name: plan.Text{Value: k.name, Pos: k.command.Pos}, Optional: k.optional, Command: k.command})
		}
	}
}

// writeTaskPlan writes a plan of one loop step.
func (d Document) writeTaskPlan() ([]byte, error) {
	if len(d.Plan.Steps) != 1 || !d.Plan.Steps[0].Iterations.Set {
		return nil, fmt.Errorf("a task plan is one step with `iterations`; this plan has %d steps", len(d.Plan.Steps))
	}
	t := &task{Plan: d.Plan, config: taskConfig{goOn: true}}
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
	var history []pair
	if d.Form == TaskPlan {
		history = d.kept[-1]
	}
	return writeJSON(objectOf(t, taskFields(), history)), nil
}

// checklist writes the usual items and the criteria.
func (t *task) checklist(table []field[*checkItem]) *node {
	n := &node{kind: list}
	add := func(it checkItem) { n.items = append(n.items, objectOf(&it, table, nil)) }
	for _, u := range usualItems() {
		it := checkItem{id: u[0], description: u[1]}
		if task := t.step().Task; u[0] == "implement" && !task.IsZero() {
			it.description = task.Value
		}
		add(it)
	}
	for _, a := range t.step().Acceptance.Value {
		add(checkItem{id: plan.Slug(a.Value), description: a.Value})
	}
	return n
}
