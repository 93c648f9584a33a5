package form

import (
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// row is a step and its place in the plan.
type row struct {
	*plan.Step
	plan *plan.Plan
	refs plan.Refs
	i    int
}

type (
	header = *plan.Plan
	lines  = []plan.Text
)

// sheetFields are the keys of a plan in YAML and JSON.
func sheetFields() []field[header] {
	f := []field[header]{
		past[header]("id", "The plan's id.", name()),
		titleField(),
		statusField[header]("draft", "in_progress", "complete", "failed", "replanning"),
		past[header]("version", "Counts the revisions of the plan.", integer(0, 1<<30)),
		past[header]("previousPlanId", "The plan that this one replaced.", name()),
		past[header]("currentStepIndex", "The step that was next, counted from 0.", integer(0, plan.MaxSteps)),
		past[header]("createdAt", "When the plan was made.", name()),
		past[header]("updatedAt", "When the plan was changed last.", name()),
		past[header]("createdBy", "Who made the plan.", name()),
		ownerField(),
	}
	f = append(f, headerLabels()...)
	return append(f, metadataField(), stepsField(stepFields(), nil))
}

func titleField() field[header] {
	return at("task", "What the plan is for, in one line.", line(), func(p header) *plan.Text { return &p.Title }).as("title").required()
}

func headerLabels() []field[header] {
	return []field[header]{
		bound("issue", "The issue that the plan is for.", issueName(), func(p header) (string, bool) { return p.Issue, p.Issue != "" },
			func(_ *reader, _ *node, to header, s string) { to.Issue = s }),
		prose("context", "What an agent must know about the whole plan.", func(p header) *plan.Text { return &p.Context }),
		on("budget", "What the run may use.", budget(), func(p header) *plan.Field[plan.Budget] { return &p.Budget }),
		on("priority", "Which run is first where several wait for the same part of the workspace.", word("critical", "high", "normal", "low", "idle"), func(p header) *plan.Field[string] { return &p.Priority }),
		on("estimate", "How long it will take.", duration(), func(p header) *durationField { return &p.Estimate }),
		on("parallel", "How many steps may run at once.", integer(1, plan.MaxSteps), func(p header) *plan.Field[int] { return &p.Parallel }),
		on("replans", "How many revisions may be made after failures.", integer(0, 1000), func(p header) *plan.Field[int] { return &p.Replans }),
		on("protect", "Globs that no step may change unless it says so.", listOf(line(), 0), func(p header) *plan.Field[lines] { return &p.Protect }),
		on("isolation", "The least isolation that the plan accepts.", word("sealed", "fenced"), func(p header) *plan.Field[string] { return &p.Isolation }),
		on("permissions", "What follows when an agent asks whether it may do something, as in allow run go test, ask.", permissions(), func(p header) *plan.Field[string] { return &p.Permissions }),
		on("workspace", "", word("shared", "worktree"), func(p header) *plan.Field[string] { return &p.Workspace }),
		on("commit", "What of a run in a worktree becomes a commit on its branch.", word("step", "run", "none"), func(p header) *plan.Field[string] { return &p.Commit }),
		on("land", "Whether what a run in a worktree did is merged at its end, or stays on its branch.", yesNo(), func(p header) *plan.Field[bool] { return &p.Land }),
		script("setup", "Shell that prepares a fresh worktree.", func(p header) *plan.Text { return &p.Setup }),
		at("prose", "Text before the steps that has no label.", verbatim(), func(p header) *plan.Text { return &p.Prose }),
		at("notes", "Text after the steps.", verbatim(), func(p header) *plan.Text { return &p.Notes }),
	}
}

func issueName() shape[string] {
	return worded(tested(`^[ \t\r\n]*[^ \t\r\n()]+[ \t\r\n]*$`, plan.BadWord, "write 423 or ABC-423, in quotes", "no issue",
		func(s string) bool { return !strings.ContainsAny(s, blank+"()") }))
}

// metadataField is the object of seldom used paragraphs of the header.
func metadataField() field[header] {
	table := metadataFields()
	return field[header]{
		key: "metadata", schema: func() *node { return objectSchema(table) },
		read: func(r *reader, n *node, to header) { fieldsOf(r, n, to, table) },
		write: func(p header) *node {
			if n := objectOf(p, table, nil); len(n.pairs) > 0 {
				return n
			}
			return nil
		},
	}
}

func metadataFields() []field[header] {
	return []field[header]{
		on("complexity", "Estimated complexity.", integer(1, 10), func(p header) *plan.Field[int] { return &p.Complexity }),
		on("tags", "", listOf(line(), 0), func(p header) *plan.Field[lines] { return &p.Tags }),
		on("constraints", "Requirements on everything that is done.", listOf(running(), 0), func(p header) *plan.Field[lines] { return &p.Constraints }),
		on("informedByMemories", "Memories that informed the plan.", listOf(running(), 0), func(p header) *plan.Field[lines] { return &p.Memories }).as("memories"),
	}
}

// stepsField is the list of steps. anyOf is what the schema says of their keys, if anything.
func stepsField(table []field[row], anyOf *node) field[header] {
	return field[header]{
		key: "steps", must: true,
		schema: func() *node {
			step := objectSchema(table)
			step.put("anyOf", anyOf)
			return schemaOf("type", "array", "minItems", 1, "maxItems", plan.MaxSteps, "items", step)
		},
		read: func(r *reader, n *node, to header) { readSteps(r, n, to, table) },
		write: func(p header) *node {
			return &node{kind: list} // sheet and writeDAG fill it, with what was kept
		},
	}
}

func readSteps(r *reader, n *node, p header, table []field[row]) {
	if !r.is(n, list) {
		return
	}
	if len(n.items) == 0 {
		r.wrong(n, plan.NoSteps, "list at least one", "the plan has no steps")
	}
	for i, item := range n.items {
		if i == plan.MaxSteps {
			r.wrong(item, plan.TooManySteps, "use `forEach` or sub-plans", "a plan has at most %d steps", plan.MaxSteps)
			break
		}
		s := plan.NewStep(strconv.Itoa(i+1), "")
		s.Pos = item.at
		p.Steps = append(p.Steps, s)
		r.place = i
		fieldsOf(r, item, row{Step: s, plan: p, i: i}, table)
		r.place = -1
	}
}

// sheet is the document in the form of YAML and JSON.
func (d Document) sheet(to Form) *node {
	history := d.past(to)
	root := objectOf(d.Plan, sheetFields(), history[-1])
	steps, table, refs := root.get("steps"), stepFields(), d.Plan.Refs()
	for i, s := range d.Plan.Steps {
		steps.items = append(steps.items, objectOf(row{s, d.Plan, refs, i}, table, history[i]))
	}
	return root
}

// document makes a plan of a value that was read, nil if there is none.
func (r *reader) document(f Form, root *node) Document {
	r.place = -1
	d := Document{Form: f}
	if root == nil || !r.is(root, object) {
		return d
	}
	d.Plan = plan.New("")
	switch f {
	case DAG:
		r.readDAG(root, d.Plan)
	case TaskPlan:
		d.items = r.readTaskPlan(root, d.Plan)
	default:
		fieldsOf(r, root, d.Plan, sheetFields())
		r.needs(d.Plan)
	}
	d.kept, d.marked, d.comments = r.kept, r.marked, r.comments
	return d
}
