package form

import (
	"errors"
	"slices"

	"github.com/piton-dev/piton/internal/plan"
)

// Markdown is the plan of a document as Markdown, of which each step has a place in the
// text, and what of the plan Markdown cannot hold. It fails where it can hold none of it.
func (d Document) Markdown() (*plan.Plan, []Loss, error) {
	if d.Form == Markdown {
		return d.Plan, nil, nil
	}
	text, losses, err := Document{Form: d.Form, Plan: d.Plan}.Write(Markdown)
	if err != nil {
		return nil, nil, err
	}
	p, _ := plan.Parse(d.Plan.Name, text)
	return p, losses, nil
}

// Rewritten is the document after its Markdown was edited, in its own form, and what
// that cannot hold. What the form holds beside the plan stays, of a step where the plan
// still has it.
func (d Document) Rewritten(text []byte) ([]byte, []Loss, error) {
	if d.Form == Markdown {
		return text, nil, nil
	}
	p, problems := plan.Parse(d.Plan.Name, text)
	if p == nil {
		return nil, nil, errors.New(problems[0].Message)
	}
	next := d
	next.Plan, next.kept, next.marked = p, kept{}, nil
	if all, ok := d.kept[-1]; ok {
		next.kept[-1] = all
	}
	for i, s := range p.Steps {
		was := slices.IndexFunc(d.Plan.Steps, func(o *plan.Step) bool { return o.ID.Value == s.ID.Value })
		if all, ok := d.kept[was]; ok && was >= 0 {
			next.kept[i] = all
		}
	}
	return next.Write(d.Form)
}
