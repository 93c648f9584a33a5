package view

import (
	"context"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// keep finds what keeps the step, and what keeps that in the end.
func (x *Account) keep(ctx context.Context, r Reader) error {
	a := engine.Around{Head: x.Head, Row: x.Row(x.Index), Step: x.Fold.Step(x.Index)}
	if a.Row.Rests() {
		return nil
	}
	n := near{Reader: r, head: x.Head, by: map[string]engine.StepRow{}, parts: map[string][]string{}}
	err := n.bring(ctx, a.Row)
	if err != nil {
		return err
	}
	a.Needs = n.needs(a.Row)
	if x.Head.Bar.Fatal > 0 && a.Row.Status != engine.Blocked {
		if a.Fatal, err = r.Rows(ctx, x.Head, store.StepFilter{Status: engine.Failed}); err != nil {
			return err
		}
	}
	if a.Row.Queues() && len(x.Head.Bar.Active) > 0 {
		if err := x.beside(ctx, r, &a); err != nil {
			return err
		}
	}
	x.Hold = a.Hold()
	x.see(a.Fatal...)
	roots, err := n.roots(ctx, a.Row, a.Row.Lacks(a.Needs))
	if err != nil {
		return err
	}
	for _, root := range roots {
		x.Roots = append(x.Roots, root.Index)
	}
	slices.Sort(x.Roots)
	shown := slices.Concat(x.Hold.Needs, x.Roots)
	if len(shown) == 0 {
		return nil
	}
	rows, err := r.Rows(ctx, x.Head, store.StepFilter{At: shown})
	x.see(rows...)
	return err
}

// beside reads the steps that are under way.
func (x *Account) beside(ctx context.Context, r Reader, a *engine.Around) error {
	rows, err := r.Rows(ctx, x.Head, store.StepFilter{At: x.Head.Bar.Active})
	if err != nil {
		return err
	}
	x.see(rows...)
	err = x.look(ctx, r, x.Head.Bar.Active...)
	for _, i := range x.Head.Bar.Active {
		a.Beside = append(a.Beside, x.Fold.Step(i))
	}
	return err
}

// near are rows of steps that keep others, read as they are asked for.
type near struct {
	Reader
	head  engine.HeadRow
	by    map[string]engine.StepRow
	parts map[string][]string // by step for each item: its instances
	waves int
}

// needs are the rows of what has to count before a step can, in their order, once they are
// brought.
func (n *near) needs(of engine.StepRow) []engine.StepRow {
	names := n.names(of)
	rows := make([]engine.StepRow, len(names))
	for i, name := range names {
		rows[i] = n.by[name]
	}
	return rows
}

func (n *near) names(of engine.StepRow) []string {
	if of.Bond.Parts {
		return n.parts[of.ID]
	}
	return of.Needs
}

// bring reads what steps need. After a few steps in a row the whole run is read at once.
func (n *near) bring(ctx context.Context, of ...engine.StepRow) error {
	if n.waves++; n.waves == 3 {
		if err := n.take(ctx, store.StepFilter{Brief: true}); err != nil {
			return err
		}
	}
	var missing []string
	for _, row := range of {
		if row.Bond.Parts && n.parts[row.ID] == nil {
			if err := n.instances(ctx, row.ID); err != nil {
				return err
			}
		}
		for _, name := range n.names(row) {
			if _, known := n.by[name]; !known {
				missing = append(missing, name)
			}
		}
	}
	if len(missing) == 0 || n.waves > 2 {
		return nil
	}
	slices.Sort(missing)
	return n.take(ctx, store.StepFilter{IDs: slices.Compact(missing), Brief: true})
}

func (n *near) take(ctx context.Context, f store.StepFilter) error {
	rows, err := n.Rows(ctx, n.head, f)
	for _, row := range rows {
		n.by[row.ID] = row
	}
	return err
}

func (n *near) instances(ctx context.Context, of string) error {
	rows, err := n.Rows(ctx, n.head, store.StepFilter{Word: of + ".", Brief: true})
	n.parts[of] = []string{}
	for _, row := range rows {
		n.by[row.ID] = row
		n.parts[of] = append(n.parts[of], row.ID)
	}
	return err
}

// roots follows what a step lacks to the steps that lack nothing, beside the first of
// them themselves.
func (n *near) roots(ctx context.Context, of engine.StepRow, first []engine.StepRow) (ends []engine.StepRow, err error) {
	seen, direct := map[int]bool{of.Index: true}, map[int]bool{}
	for _, row := range first {
		direct[row.Index] = true
	}
	for wave := first; len(wave) > 0; {
		if err := n.bring(ctx, wave...); err != nil {
			return nil, err
		}
		var further []engine.StepRow
		for _, row := range wave {
			if seen[row.Index] {
				continue
			}
			seen[row.Index] = true
			lacks := row.Lacks(n.needs(row))
			if len(lacks) == 0 && !direct[row.Index] {
				ends = append(ends, row)
			}
			further = append(further, lacks...)
		}
		wave = further
	}
	return ends, nil
}
