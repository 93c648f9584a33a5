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
	past            *node // as it was read
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

// taskWords are the statuses of plans and of task plans.
func taskWords() twins {
	return twins{{"draft", "pending"}, {"running", "running"}, {"paused", "paused"}, {"done", "completed"}, {"failed", "failed"}, {"cancelled", "aborted"}}
}

func taskFields() []field[*task] {
	status := word("pending", "running", "paused", "completed", "failed", "aborted")
	return []field[*task]{
		at("taskId", "The task, in one line.", line(), func(t *task) *plan.Text { return &t.Title }).as("title").required(),
		past[*task]("featureId", "What the task is a part of.", name()),
		past[*task]("iteration", "The iteration under way, counted from 1.", integer(0, 1000)),
		on("maxIterations", "A fresh agent each time, at most so often; 10 if absent.", integer(1, 1000), func(t *task) *plan.Field[int] { return &t.step().Iterations }).as("iterations"),
		{
			key: "status", schema: status.schema, about: "Shows how far the task is; writing it changes nothing.",
			read: func(r *reader, n *node, to *task) {
				if w, ok := status.read(r, n); ok {
					setFront(to.Plan, "status", taskWords().back(w), n.at)
				}
			},
			write: func(t *task) *node { return unlessEmpty(taskWords().there(t.Status())) },
		},
		checklistField(),
		past[*task]("activity", "What was done in each iteration.", listOf(anything(), 0)),
		past[*task]("createdAt", "When the task was made.", name()),
		past[*task]("updatedAt", "When it was changed last.", name()),
		past[*task]("completedAt", "When it was completed.", name()),
		configField(),
	}
}

func checklistField() field[*task] {
	table := itemFields()
	return field[*task]{
		key: "checklist", must: true, about: "implement, build, lint and test; further items are criteria in words.",
		schema: func() *node {
			return schemaOf("type", "array", "maxItems", plan.MaxItems, "items", objectSchema(table))
		},
		read: func(r *reader, n *node, to *task) {
			s := listOf(shape[checkItem]{read: func(r *reader, n *node) (checkItem, bool) {
				it := checkItem{past: n, at: n.at}
				outer := r.kept
				r.kept = nil // the items are kept as they are
				ok := fieldsOf(r, n, &it, table)
				r.kept = outer
				return it, ok && it.id != "" && it.description != ""
			}}, 0)
			to.items, _ = s.read(r, n)
		},
		write: func(t *task) *node { return t.checklist(table) },
	}
}

func itemFields() []field[*checkItem] {
	word := word("pending", "pass", "fail", "skipped")
	plain := func(key string, get func(*checkItem) *string) field[*checkItem] {
		return field[*checkItem]{
			key: key, must: true, schema: name().schema,
			read:  func(r *reader, n *node, to *checkItem) { *get(to), _ = name().read(r, n) },
			write: func(it *checkItem) *node { return texts(*get(it)) },
		}
	}
	text := plain("description", func(it *checkItem) *string { return &it.description })
	text.schema = running().schema
	text.read = func(r *reader, n *node, to *checkItem) {
		t, _ := running().read(r, n)
		to.description, to.at = t.Value, t.Pos
	}
	return []field[*checkItem]{
		plain("id", func(it *checkItem) *string { return &it.id }), text,
		past[*checkItem]("status", "How far it is; writing it changes nothing.", word),
		past[*checkItem]("error", "Why it failed.", anyText()),
		past[*checkItem]("output", "What the command printed.", anyText()),
		past[*checkItem]("verifiedAt", "When it was looked at last.", name()),
	}
}

func configField() field[*task] {
	table := configFields()
	return field[*task]{
		key: "config", schema: func() *node { return objectSchema(table) }, about: "Which checks are made, and how.",
		read: func(r *reader, n *node, to *task) {
			to.config.at = n.at
			fieldsOf(r, n, &to.config, table)
		},
		write: func(t *task) *node { return objectOf(&t.config, table, nil) },
	}
}

func configFields() []field[*taskConfig] {
	flag := func(key, about string, get func(*taskConfig) *bool) field[*taskConfig] {
		return field[*taskConfig]{
			key: key, about: about, schema: yesNo().schema,
			read: func(r *reader, n *node, to *taskConfig) {
				if yes, ok := yesNo().read(r, n); ok {
					*get(to) = yes
				}
			},
			write: func(c *taskConfig) *node { return booleans(*get(c)) },
		}
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
	if list := root.get("checklist"); list != nil {
		r.keep("checklist", list)
	}
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
			r.problem(c.at, plan.Warning, plan.MissingField, fmt.Sprintf("the check %q has no command, so it is left out", k.name),
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
		for _, p := range d.kept[-1] {
			if p.key == "checklist" {
				t.remember(p.value)
				continue
			}
			history = append(history, p)
		}
	}
	return writeJSON(objectOf(t, taskFields(), history)), nil
}

// remember takes in the checklist as it was read.
func (t *task) remember(list *node) {
	for _, n := range list.items {
		id, text := n.get("id"), n.get("description")
		if id != nil && text != nil {
			t.items = append(t.items, checkItem{id: id.value, description: strings.Trim(text.value, blank), past: n})
		}
	}
}

// checklist writes the usual items and the criteria. What an item was read as
// it stays, with its history.
func (t *task) checklist(table []field[*checkItem]) *node {
	n := &node{kind: list}
	for _, u := range usualItems() {
		it := checkItem{id: u[0], description: u[1]}
		if task := t.step().Task; u[0] == "implement" && !task.IsZero() {
			it.description = task.Value
		}
		n.items = append(n.items, t.item(it, func(old checkItem) bool {
			return old.id == it.id && (it.id != "implement" || old.description == it.description)
		}, table))
	}
	for _, a := range t.step().Acceptance.Value {
		it := checkItem{id: plan.Slug(a.Value), description: a.Value}
		n.items = append(n.items, t.item(it, func(old checkItem) bool { return usualItem(old.id) == "" && old.description == it.description }, table))
	}
	return n
}

// item writes an item, or the one that it was read from.
func (t *task) item(it checkItem, same func(checkItem) bool, table []field[*checkItem]) *node {
	for i, old := range t.items {
		if old.past != nil && same(old) {
			t.items[i].past = nil
			return old.past
		}
	}
	return objectOf(&it, table, nil)
}
