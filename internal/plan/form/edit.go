package form

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// Markdown is the plan of a document as Markdown, of which each step has a place in the
// text, and what of the plan Markdown cannot hold. It fails where it can hold none of it.
// Each step says what it needs: in other forms its place in the list means nothing.
func (d Document) Markdown() (*plan.Plan, []Loss, error) {
	if d.Form == Markdown {
		return d.Plan, nil, nil
	}
	text, losses, err := Document{Form: d.Form, Plan: needsSaid(d.Plan)}.Write(Markdown)
	if err != nil {
		return nil, nil, err
	}
	p, _ := plan.Parse(d.Plan.Name, text)
	return p, losses, nil
}

// needsSaid is a plan in which no step needs another by its place alone.
func needsSaid(p *plan.Plan) *plan.Plan {
	said, refs := *p, p.Refs()
	said.Steps = slices.Clone(p.Steps)
	for i, s := range p.Steps {
		if s.Needs.Set {
			continue
		}
		c := *s
		c.Needs = plan.Field[[]plan.Text]{Set: true}
		if i > 0 {
			c.Needs.Value = []plan.Text{{Value: refName(p, refs, i-1)}}
		}
		said.Steps[i] = &c
	}
	return &said
}

// refName is the number of a step, or its id where the number is not the step's alone.
func refName(p *plan.Plan, refs plan.Refs, i int) string {
	if found := refs.Find(p.Steps[i].Number); len(found) == 1 && found[0] == i {
		return p.Steps[i].Number
	}
	return p.Steps[i].ID.Value
}

// Rewritten is the document after its Markdown was edited, in its own form, and what
// that cannot hold. What the form holds beside the plan stays, of a step where the plan
// still has it. It fails if the document says what would be gone even without the edit.
func (d Document) Rewritten(text []byte) ([]byte, []Loss, error) {
	if d.Form == Markdown {
		return text, nil, nil
	}
	if err := d.rewritable(); err != nil {
		return nil, nil, err
	}
	return d.rewritten(text)
}

func (d Document) rewritten(text []byte) ([]byte, []Loss, error) {
	p, problems := plan.Parse(d.Plan.Name, text)
	if p == nil {
		return nil, nil, errors.New(problems[0].Message)
	}
	next := d
	next.Plan, next.kept, next.marked = p, kept{}, nil
	if all, ok := d.kept[-1]; ok {
		next.kept[-1] = all
	}
	refs, refsWere := p.Refs(), d.Plan.Refs()
	for i, s := range p.Steps {
		was := slices.IndexFunc(d.Plan.Steps, func(o *plan.Step) bool { return o.ID.Value == s.ID.Value })
		if all, ok := d.kept[was]; ok && was >= 0 {
			next.kept[i] = all
		}
		first := i == 0 && len(s.Needs.Value) == 0 && (was != 0 || !d.Plan.Steps[0].Needs.Set)
		if first || needsLast(p, refs, i) && (was < 0 || !needsLast(d.Plan, refsWere, was)) {
			s.Needs = plan.Field[[]plan.Text]{} // what no label means here
		}
	}
	return next.Write(d.Form)
}

// needsLast reports a step that says that it needs the one before it and no other.
func needsLast(p *plan.Plan, refs plan.Refs, i int) bool {
	n := p.Steps[i].Needs
	if i == 0 || !n.Set || len(n.Value) != 1 {
		return false
	}
	found := refs.Find(n.Value[0].Value)
	return len(found) == 1 && found[0] == i-1
}

// rewritable is an error that names the first thing that the document says and that
// would be gone, or be another, if it were written back as it is.
func (d Document) rewritable() error {
	md, losses, err := d.Markdown()
	if err != nil {
		return err
	}
	if d.comments {
		return nil // which is a loss of its own
	}
	text, more, err := d.rewritten(md.Source)
	if err != nil {
		return err
	}
	_, problems := readAs(d.Form, "", d.Plan.Source)
	_, left := readAs(d.Form, "", text)
	for _, p := range problems {
		i := slices.IndexFunc(left, func(q plan.Problem) bool { return p.Code == q.Code && p.Message == q.Message })
		if i < 0 {
			return fmt.Errorf("line %d: %s", p.Pos.Line, p.Message)
		}
		left = slices.Delete(left, i, i+1)
	}
	if losses = append(losses, more...); len(losses) > 0 {
		return errors.New(losses[0].String())
	}
	r := &reader{}
	was, is := r.parse(string(d.Plan.Source)), r.parse(string(text))
	if at, key := was.gone(is, "the document"); at != nil {
		return fmt.Errorf("line %d: %s", at.at.Line, key)
	}
	return nil
}

// gone finds the first value that another document does not have in the same place, and
// says what it is. What that has besides is no matter, nor is what says the usual.
func (n *node) gone(m *node, name string) (*node, string) {
	if m == nil || n.kind != m.kind || len(n.items) != len(m.items) {
		return n, name
	}
	was, _ := trim(n.value)
	if is, _ := trim(m.value); was != is {
		return n, name
	}
	for i, v := range n.items {
		if at, key := v.gone(m.items[i], name); at != nil {
			return at, key
		}
	}
	for _, p := range n.pairs {
		is := m.get(p.key)
		if is == nil && p.usual(m) {
			continue
		}
		if at, key := p.value.gone(is, fmt.Sprintf("the key %q", p.key)); at != nil {
			return at, key
		}
	}
	return nil, ""
}

// usual reports a pair that says no more than the lack of its key, in an object as it is
// written.
func (p pair) usual(written *node) bool {
	switch p.key {
	case "needs", "dependsOn": // two words for one thing, of which the losses speak
		if both := written.get("dependsOn"); both != nil {
			return len(both.items) == len(p.value.items)
		}
		return p.value.kind == list && len(p.value.items) == 0
	case "owner":
		return strings.Trim(p.value.value, blank) == "orchestrator"
	case "required":
		return p.value.value == "true"
	}
	return p.value.kind == list && len(p.value.items) == 0 || p.value.kind == boolean && p.value.value == "false"
}
