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
	// exact forms hold how a plan looks too; of the others only what it means
	// is compared, and a value that the form adds is no loss.
	exact bool
}

// losses compares the document with what is read from what was written. The
// steps that were left out are known, with the reason.
func (d Document) losses(to Form, again Document, dropped map[int]string) []Loss {
	c := &comparison{from: d, to: to, exact: to != DAG && to != TaskPlan}
	c.history()
	c.front(d.Plan, again.Plan)
	tables := append(sheetFields(), metadataFields()...)
	compare(c, "", d.Plan, again.Plan, tables)
	c.unread("", d.Plan.Labels)
	refs, refsAgain := d.Plan.Refs(), again.Plan.Refs()
	table, k := stepFields(), 0
	for i, s := range d.Plan.Steps {
		id := s.ID.Value
		if why := dropped[i]; why != "" {
			c.lose(id, "step", why)
			continue
		}
		if k == len(again.Plan.Steps) {
			c.lose(id, "step", "it could not be written")
			continue
		}
		t := again.Plan.Steps[k]
		compare(c, id, row{s, d.Plan, refs, i}, row{t, again.Plan, refsAgain, k}, table)
		c.needs(row{s, d.Plan, refs, i}, row{t, again.Plan, refsAgain, k})
		c.projection(id, s, t)
		if c.to == TaskPlan {
			c.checks(id, s, t)
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
	if d.Form.holdsSame(c.to) {
		return
	}
	for _, place := range slices.Sorted(maps.Keys(d.kept)) {
		id := ""
		if place >= 0 && place < len(d.Plan.Steps) {
			id = d.Plan.Steps[place].ID.Value
		}
		for _, p := range d.kept[place] {
			if p.key == "checklist" {
				c.checklist(p.value)
				continue
			}
			c.lose(id, p.key, "it is data about the past, which only the form it came in holds")
		}
	}
}

// checklist lists what a task plan's items say beside their words.
func (c *comparison) checklist(list *node) {
	for _, n := range list.items {
		for _, p := range n.pairs {
			id := n.get("id")
			switch {
			case id == nil || p.key == "id" && usualItem(p.value.value) != "":
				continue
			case p.key == "description" && (usualItem(id.value) == "" || id.value == "implement" || usualItem(id.value) == p.value.value):
				continue
			case p.key == "id" && n.get("description") != nil && plan.Slug(n.get("description").value) == p.value.value:
				continue
			}
			c.lose("", fmt.Sprintf("checklist %s: %s", id.value, p.key), "it is data that only a task plan holds")
		}
	}
}

// compare compares two values by the keys of a table.
func compare[T any](c *comparison, step string, a, b T, table []field[T]) {
	for _, f := range table {
		if f.past || f.layout && !c.exact || separately(f.key) || f.key == "checks" && c.to == TaskPlan {
			continue
		}
		was, is := f.write(a), f.write(b)
		if f.key == "args" && c.to == DAG && is == nil && was != nil {
			c.lose(step, f.name(), "arguments are an object here, and this text is none")
			continue
		}
		if was.equal(is) || was == nil && !c.exact || !c.exact && f.same != nil && f.same(a, b) {
			continue
		}
		c.lose(step, f.name(), c.why())
	}
}

// separately reports whether a key is compared by a function of its own.
func separately(key string) bool {
	switch key {
	case "metadata", "steps", "index", "dependsOn", "needs", "status", "owner", "frontmatter":
		return true
	}
	return false
}

// needs compares what a step waits for.
func (c *comparison) needs(a, b row) {
	if c.exact {
		table := needsFields()
		for _, f := range table {
			if !f.write(a).equal(f.write(b)) {
				c.lose(a.ID.Value, "needs", c.why())
				return
			}
		}
		return
	}
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
		if len(a.refs.Find(ref.Value)) == 0 {
			c.lose(a.ID.Value, "needs", fmt.Sprintf("there is no step %q", ref.Value))
		}
	}
}

// projection compares what the harness wrote into a step.
func (c *comparison) projection(id string, a, b *plan.Step) {
	if !c.from.recorded && (a.Mark != b.Mark || a.Status.Value != b.Status.Value) {
		c.lose(id, "status", "it shows how far a run was; the harness writes it anew")
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

// front compares the frontmatter, entry by entry.
func (c *comparison) front(a, b *plan.Plan) {
	names := func(p *plan.Plan) string {
		var all []string
		for _, k := range p.Front {
			all = append(all, k.Name)
		}
		return strings.Join(all, "\n")
	}
	lost := false
	for _, k := range a.Front {
		is, ok := b.Key(k.Name)
		if ok && is.Value == k.Value && (!c.exact || written(k) == written(is)) || k.Name == "status" && c.from.recorded {
			continue
		}
		lost = true
		why := c.why()
		switch {
		case k.Name == "status":
			why = "it shows how far a run was; the harness writes it anew"
		case ok && is.Value == k.Value:
			why = "its comments and quotes are layout of the frontmatter"
		}
		c.lose("", k.Name, why)
	}
	if c.exact && !lost && names(a) != names(b) {
		c.lose("", "frontmatter", "its entries are written in another order, or were completed")
	}
}

// written is an entry of the frontmatter as it stands in Markdown.
func written(k plan.Key) string {
	return string(plan.Format(&plan.Plan{Front: []plan.Key{k}}))
}
