package form

import (
	"strconv"

	"github.com/piton-dev/piton/internal/plan"
)

// wish is what a step says it needs, before all steps are known.
type wish struct {
	set     bool
	at      plan.Pos
	indexes []*node     // of `dependsOn`
	refs    []plan.Text // of `needs`: ids and numbers
	named   bool        // there is a `needs`
}

// needsFields are the two ways to say what a step needs. `dependsOn` counts
// steps from 0; `needs` has ids and numbers as Markdown does. Neither means
// that the step needs none.
func needsFields() []field[row] {
	index, ref := listOf(integer(0, plan.MaxSteps-1), 0), listOf(line(), 0)
	return []field[row]{
		{
			key: "dependsOn", label: "needs", schema: index.schema, about: "Steps that must be done before, counted from 0. Absent: none.",
			read: func(r *reader, n *node, to row) {
				if _, ok := index.read(r, n); ok {
					r.wish(to.i).indexes, r.wish(to.i).at, r.wish(to.i).set = n.items, n.at, true
				}
			},
			write: func(s row) *node { return s.dependsOn() },
		},
		{
			key: "needs", schema: ref.schema, about: "Ids or numbers of the steps that must be done before, instead of `dependsOn`.",
			read: func(r *reader, n *node, to row) {
				refs, ok := ref.read(r, n)
				if !ok {
					return
				}
				if r.wish(to.i).set {
					r.wrong(n, plan.DuplicateField, "keep one of them", "the step has both `dependsOn` and `needs`")
				}
				*r.wish(to.i) = wish{set: true, at: n.at, refs: refs, named: true}
			},
			write: func(s row) *node {
				if s.Needs.Set && s.dependsOn() == nil && (len(s.Needs.Value) > 0 || s.i == 0) {
					return ref.write(s.Needs.Value)
				}
				return nil
			},
		},
	}
}

// wish is what the i-th step needs.
func (r *reader) wish(i int) *wish {
	for len(r.wishes) <= i {
		r.wishes = append(r.wishes, wish{})
	}
	return &r.wishes[i]
}

// dependsOn is the step's needs as indexes, nil if they say something else or
// nothing.
func (s row) dependsOn() *node {
	before := []int{s.i - 1}
	if s.Needs.Set {
		before = before[:0]
		for _, ref := range s.Needs.Value {
			found := s.refs.Find(ref.Value)
			if len(found) != 1 || s.plan.Steps[found[0]].Number != ref.Value {
				return nil
			}
			before = append(before, found[0])
		}
		if len(before) == 0 || len(before) == 1 && before[0] == s.i-1 {
			return nil
		}
	} else if s.i == 0 {
		return nil
	}
	n := &node{kind: list}
	for _, i := range before {
		n.items = append(n.items, numbers(strconv.Itoa(i)))
	}
	return n
}

// needs fills in what the steps need, now that all of them are known.
func (r *reader) needs(p *plan.Plan) {
	p.Complete(&r.Problems)
	refs := p.Refs()
	for i, s := range p.Steps {
		w := r.wish(i)
		switch {
		case w.named:
			s.Needs = plan.Field[[]plan.Text]{Value: w.refs, Set: true, Pos: w.at}
		case len(w.indexes) == 0:
			s.Needs = plan.Field[[]plan.Text]{Set: i > 0, Pos: w.at}
		default:
			r.byIndex(p, refs, i, w)
		}
	}
}

func (r *reader) byIndex(p *plan.Plan, refs plan.Refs, i int, w *wish) {
	needs := plan.Field[[]plan.Text]{Set: true, Pos: w.at}
	before := false
	for _, n := range w.indexes {
		k, err := strconv.Atoi(n.value)
		if err != nil || k < 0 || k >= len(p.Steps) {
			r.wrong(n, plan.BadIndex, "steps are counted from 0", "there is no step with index %s: the plan has %d steps", n.value, len(p.Steps))
			continue
		}
		before = k == i-1
		needs.Value = append(needs.Value, plan.Text{Value: refName(p, refs, k), Pos: n.at})
	}
	if len(w.indexes) == 1 && before {
		return // the step before: what Markdown means without a label
	}
	p.Steps[i].Needs = needs
}
