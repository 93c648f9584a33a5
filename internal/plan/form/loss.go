package form

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// comparison finds what was lost between a document and what was written of it.
type comparison struct {
	from   Document
	to     Form
	losses []Loss
}

// mark is why a status is not taken over.
const mark = "it is a mark: what became of a step only the record of a run says"

// losses compares the document with what is read from what was written. The
// steps that were left out are known, with the reason. A value that the form
// adds is no loss.
func (d Document) losses(to Form, again Document, dropped map[int]string) []Loss {
	c := &comparison{from: d, to: to}
	c.history()
	c.front(again.Plan)
	compare(c, "", d.Plan, again.Plan, append(sheetFields(), metadataFields()...))
	c.unread("", d.Plan.Labels)
	refs, refsAgain := d.Plan.Refs(), again.Plan.Refs()
	table, k := stepFields(), 0
	for i, s := range d.Plan.Steps {
		id := s.ID.Value
		if dropped[i] != "" || k == len(again.Plan.Steps) {
			c.lose(id, "step", dropped[i])
			continue
		}
		a, b := row{s, d.Plan, refs, i}, row{again.Plan.Steps[k], again.Plan, refsAgain, k}
		compare(c, id, a, b, table)
		c.needs(a, b)
		if c.to != Markdown && !d.recorded && (s.Mark != plan.NoMark || !s.Status.IsZero()) {
			c.lose(id, "status", mark)
		}
		if c.to == TaskPlan {
			c.checks(id, s, b.Step)
		}
		c.unread(id, s.Labels)
		k++
	}
	return c.losses
}

func (c *comparison) lose(step, label, why string) {
	c.losses = append(c.losses, Loss{step, label, why})
}

// why says why a form cannot hold a label.
func (c *comparison) why() string {
	switch c.to {
	case DAG:
		return "a graph of tool calls has no word for it"
	case TaskPlan:
		return "a task plan has no word for it"
	case Markdown:
		return "Markdown cannot say it like this"
	}
	return "this form cannot say it like this"
}

// history lists data about the past that only the form itself holds.
func (c *comparison) history() {
	d := c.from
	if d.comments {
		c.lose("", "comments", "comments of YAML are not kept")
	}
	id := func(place int) string {
		if place < 0 || place >= len(d.Plan.Steps) {
			return ""
		}
		return d.Plan.Steps[place].ID.Value
	}
	for _, place := range d.marked {
		c.lose(id(place), "status", mark)
	}
	for _, place := range slices.Sorted(maps.Keys(d.kept)) {
		var past []pair
		for _, p := range d.kept[place] {
			switch {
			case p.key == orderKey: // the order of the steps, which every form has
			case strings.HasPrefix(p.key, checklistOf):
				c.lose("", p.key, "it is data that only the file itself holds")
			default:
				past = append(past, p)
			}
		}
		if d.Form.holdsSame(c.to) {
			continue
		}
		for _, key := range unheld(past, d.Form, c.to, place < 0) {
			c.lose(id(place), key, fmt.Sprintf("it is data about the past, for which %s has no place", c.to))
		}
	}
}

// compare compares two values by the keys of a table.
func compare[T any](c *comparison, step string, a, b T, table []field[T]) {
	for _, f := range table {
		if f.past || separately(f.key) || f.key == "checks" && c.to == TaskPlan {
			continue
		}
		was, is := f.write(a), f.write(b)
		switch {
		case was != nil && !was.equal(is):
		case f.text != nil && (was == nil || was.kind == text) && bare(f.text(a)) != bare(f.text(b)):
		default:
			continue
		}
		why := c.why()
		if f.key == "args" && c.to == DAG {
			why = "arguments are an object here, and this text is none"
		}
		c.lose(step, f.name(), why)
	}
}

// bare is a text as a shell gets it, without blank lines around it.
func bare(t *plan.Text) string {
	s, _ := trim(t.Code().Value)
	if !strings.Contains(s, "\n") {
		s = strings.Trim(s, blank)
	}
	return s
}

// separately reports whether a key is compared by a function of its own.
func separately(key string) bool {
	return slices.Contains([]string{"metadata", "steps", "index", "dependsOn", "needs", "status", "owner"}, key)
}

// needs compares what a step waits for.
func (c *comparison) needs(a, b row) {
	have := map[string]bool{}
	for _, k := range needed(b.plan, b.refs, b.i) {
		have[b.plan.Steps[k].ID.Value] = true
	}
	for _, k := range needed(a.plan, a.refs, a.i) {
		if id := a.plan.Steps[k].ID.Value; !have[id] {
			c.lose(a.ID.Value, "needs", fmt.Sprintf("the step %q is not in this form", id))
		}
	}
	for _, ref := range a.Needs.Value {
		kept := slices.ContainsFunc(b.Needs.Value, func(t plan.Text) bool { return t.Value == ref.Value })
		if len(a.refs.Find(ref.Value)) == 0 && !kept {
			c.lose(a.ID.Value, "needs", fmt.Sprintf("there is no step %q", ref.Value))
		}
	}
}

// checks lists the checks that a task plan cannot hold, or not as they are.
func (c *comparison) checks(id string, a, b *plan.Step) {
	for _, was := range a.Checks.Value {
		i := slices.IndexFunc(b.Checks.Value, func(is plan.Check) bool { return is.Name.Value == was.Name.Value })
		switch {
		case i < 0:
			c.lose(id, "check "+was.Name.Value, "a task plan has commands for build, lint and test only")
		case b.Checks.Value[i].Optional != was.Optional:
			c.lose(id, "check "+was.Name.Value, "in a task plan build must pass and test need not")
		case b.Checks.Value[i].Command.Value != was.Command.Value:
			c.lose(id, "check "+was.Name.Value, c.why())
		}
	}
}

func (c *comparison) unread(step string, labels []plan.Label) {
	for _, l := range labels {
		if !l.Read && c.to != Markdown {
			c.lose(step, l.Name, "it could not be read, and only Markdown holds what cannot be read")
		}
	}
}

// front lists the entries of the frontmatter that only Markdown holds.
func (c *comparison) front(again *plan.Plan) {
	for _, k := range c.from.Plan.Front {
		switch {
		case c.to == Markdown || k.Name == "type" || k.Name == "owner" && k.Value == again.Owner() || k.Name == "status" && (c.from.recorded || k.Value == "draft"):
		case k.Name == "status":
			c.lose("", "status", mark)
		default:
			c.lose("", k.Name, "only the frontmatter of Markdown holds it")
		}
	}
}
