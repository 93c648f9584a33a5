package form

import (
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

// toolPlan is the title of a graph that names no task.
const toolPlan = "Tool plan"

// dagFields are the keys of a graph of tool calls.
func dagFields() []field[header] {
	return []field[header]{
		past[header]("id", "The plan's id.", name()),
		bound("taskId", "The task that the plan is for.", line(),
			func(p header) (plan.Text, bool) { return p.Title, p.Title.Value != toolPlan && !p.Title.IsZero() },
			func(_ *reader, _ *node, to header, t plan.Text) { to.Title = t }).as("title"),
		past[header]("version", "Counts the revisions of the plan.", integer(0, 1<<30)),
		past[header]("createdAt", "When the plan was made.", name()),
		bound("estimatedDuration", "How long it will take, in seconds.", integer(1, 366*24*60*60),
			func(p header) (int, bool) {
				return int(p.Estimate.Value / time.Second), p.Estimate.Set && p.Estimate.Value%time.Second == 0
			},
			func(_ *reader, n *node, to header, s int) {
				to.Estimate = plan.Field[time.Duration]{Value: time.Duration(s) * time.Second, Set: true, Pos: n.at}
			}).as("estimate"),
		bound("parallel", "How many steps may run at once. All that are ready if absent.", integer(1, plan.MaxSteps),
			func(p header) (int, bool) { return p.Parallel.Value, p.Parallel.Value != allAtOnce(p) },
			func(_ *reader, n *node, to header, v int) {
				to.Parallel = plan.Field[int]{Value: v, Set: true, Pos: n.at}
			}),
		stepsField(callFields(), &node{kind: list, items: []*node{schemaOf("required", []string{"tool"}), schemaOf("required", []string{"ask"})}}),
	}
}

// callFields are the keys of a step that calls a tool.
func callFields() []field[row] {
	needs := listOf(stepID(), 0)
	args := data("args", "Arguments of the tool. A text that is $step or $step.field is a reference to that step's output.", func(s row) *plan.Text { return &s.Args })
	args.schema = func() *node { return schemaOf("type", "object") }
	anyArgs := args.read
	args.read = func(r *reader, n *node, to row) {
		if r.is(n, object) {
			anyArgs(r, n, to)
		}
	}
	args.write = func(s row) *node {
		if n := valueOf(&s.Args); n != nil && n.kind == object {
			return n
		}
		return nil
	}
	return []field[row]{
		idField().required(),
		orderField(),
		description(),
		on("tool", "The tool that the step calls. A step has it, or `ask`.", name(), func(s row) *plan.Field[string] { return &s.Tool }),
		args,
		prose("ask", "A question to a person, instead of a call. The answer is the step's output.", func(s row) *plan.Text { return &s.Ask }),
		choicesField(),
		prose("when", "The step runs only if this expression is true.", func(s row) *plan.Text { return &s.When }),
		forEachField(),
		on("batch", "Items for each instance of `forEach`.", integer(1, 100_000), func(s row) *plan.Field[int] { return &s.Batch }),
		on("allowEmpty", "Whether `forEach` may come to no item at all. If not, a person is asked.", yesNo(), func(s row) *plan.Field[bool] { return &s.AllowEmpty }).as("allow_empty"),
		{
			key: "dependsOn", label: "needs", schema: needs.schema, about: "Ids of the steps that must be done before. Absent: none.",
			read: func(r *reader, n *node, to row) {
				if ids, ok := listOf(line(), 0).read(r, n); ok {
					*r.wish(to.i) = wish{set: true, at: n.at, refs: ids, named: true}
				}
			},
			write: func(s row) *node { return texts("") }, // writeDAG knows which steps there are
		},
		on("writes", "Directories and files that the call may change; [] for none. Absent: the whole workspace.", listOf(line(), 0), func(s row) *plan.Field[lines] { return &s.Writes }),
		bound("critical", "After its failure nothing new starts. No if absent.", yesNo(),
			func(s row) (bool, bool) { return true, s.Critical.Value },
			func(_ *reader, n *node, s row, v bool) { s.Critical = plan.Field[bool]{Value: v, Set: true, Pos: n.at} }),
		statusField[row]("pending", "blocked", "ready", "running", "completed", "failed", "skipped"),
		past[row](resultKey, "The step's output.", anything()),
	}
}

const orderKey = "order"

// orderField is the step's place among those that are ready: that of the list. Two places
// to say it could contradict each other, so they must not.
func orderField() field[row] {
	return bound(orderKey, "The step's place among those that are ready. The list must be in this order.", integer(0, 1<<30),
		func(s row) (int, bool) { return s.i, true },
		func(r *reader, n *node, to row, order int) {
			if order < r.order {
				r.wrong(n, plan.BadIndex, "put the steps into their order", "the step has the order %d, and a step before it %d", order, r.order)
			}
			r.order = max(r.order, order)
			r.keep(orderKey, n)
		})
}

// calls reports whether the form holds a step.
func calls(s *plan.Step) bool { return s.Tool.Set || !s.Ask.IsZero() }

// allAtOnce is how many steps may run at once if a graph does not say.
func allAtOnce(p *plan.Plan) int {
	n := 0
	for _, s := range p.Steps {
		if s.ForEach.Set {
			return plan.MaxSteps
		}
		if calls(s) {
			n++
		}
	}
	return max(n, plan.DefaultParallel)
}

// description is the step's title, unless that is only its id.
func description() field[row] {
	return bound("description", "The step's title, in one line; its id if absent.", line(),
		func(s row) (plan.Text, bool) { return s.Title, s.Title.Value != s.ID.Value && !s.Title.IsZero() },
		func(_ *reader, _ *node, s row, t plan.Text) { s.Title = t }).as("title")
}

// readDAG reads a graph of tool calls. Nothing in it is critical unless it says so.
func (r *reader) readDAG(root *node, p *plan.Plan) {
	fieldsOf(r, root, p, dagFields())
	if id := root.get("id"); p.Title.IsZero() && id != nil && id.kind == text {
		p.Title, _ = line().read(r, id)
	}
	if p.Title.IsZero() {
		p.Title = plan.Text{Value: toolPlan, Pos: root.at}
	}
	steps := root.get("steps")
	for i, s := range p.Steps {
		if s.Title.IsZero() {
			s.Title = plan.Text{Value: s.ID.Value, Pos: s.ID.Pos}
		}
		if steps.items[i].get("critical") == nil {
			s.Critical = plan.Is(false)
		}
		if w := r.wish(i); len(w.refs) == 0 {
			w.named = false
		}
		if !calls(s) && steps.items[i].kind == object {
			r.wrong(steps.items[i], plan.MissingField, "write the tool that the step calls, or `ask` and a question", "the key %q is missing", "tool")
		}
	}
	if n := allAtOnce(p); !p.Parallel.Set && n > 1 {
		p.Parallel = plan.Is(n)
	}
	r.needs(p)
}

// writeDAG writes the steps that call a tool or ask. It names those that it left out.
func (d Document) writeDAG() ([]byte, map[int]string, error) {
	history := d.past(DAG)
	root := objectOf(d.Plan, dagFields(), history[-1])
	steps, table, refs := root.get("steps"), callFields(), d.Plan.Refs()
	dropped := map[int]string{}
	for i, s := range d.Plan.Steps {
		if !calls(s) {
			dropped[i] = "this form holds nothing but tool calls and questions"
			continue
		}
		n := objectOf(row{s, d.Plan, refs, len(steps.items)}, table, history[i])
		if n.get("id") == nil {
			n.pairs = append([]pair{{key: "id", value: texts(s.ID.Value)}}, n.pairs...)
		}
		for k := range n.pairs {
			if n.pairs[k].key == "dependsOn" {
				n.pairs[k].value = callsBefore(d.Plan, refs, i)
			}
		}
		steps.items = append(steps.items, n)
	}
	if len(steps.items) == 0 {
		return nil, nil, fmt.Errorf("the plan has no step that calls a tool or asks, and %s holds nothing else", DAG)
	}
	return writeJSON(root), dropped, nil
}

// callsBefore are the ids of the steps of the form that a step needs.
func callsBefore(p *plan.Plan, refs plan.Refs, i int) *node {
	n := &node{kind: list}
	for _, k := range needed(p, refs, i) {
		if calls(p.Steps[k]) {
			n.items = append(n.items, texts(p.Steps[k].ID.Value))
		}
	}
	return n
}

// needed are the indexes of the steps that a step needs.
func needed(p *plan.Plan, refs plan.Refs, i int) []int {
	if s := p.Steps[i]; s.Needs.Set {
		var all []int
		for _, ref := range s.Needs.Value {
			all = append(all, refs.Find(ref.Value)...)
		}
		return all
	}
	if i == 0 {
		return nil
	}
	return []int{i - 1}
}
