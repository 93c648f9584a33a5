package api

import (
	"context"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Under lists the runs that carry out steps of a run, and of those, the newest
// first.
func (p *Product) Under(ctx context.Context, head engine.HeadRow) ([]engine.HeadRow, error) {
	all, err := p.Store.Heads(ctx, store.HeadFilter{Under: head.Stream})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	family := map[string]bool{head.Run: true}
	for grown := true; grown; {
		grown = false
		for _, h := range all {
			if family[h.Parent.Run] && !family[h.Run] {
				family[h.Run], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(h engine.HeadRow) bool { return !family[h.Run] }), nil
}

// Top is the run that a run is carried out for in the end: itself, if it carries
// out no step of another.
func (p *Product) Top(ctx context.Context, head engine.HeadRow) (engine.HeadRow, error) {
	for head.Parent != (engine.Parent{}) {
		up, err := p.Store.Heads(ctx, store.HeadFilter{Stream: head.Parent.Task, Run: head.Parent.Run, Limit: 1})
		if err != nil || len(up) == 0 {
			return head, err
		}
		head = up[0]
	}
	return head, nil
}

// Waiting lists the open items of a run and of those that carry out its steps.
func (p *Product) Waiting(ctx context.Context, head engine.HeadRow) ([]engine.ItemRow, error) {
	under, err := p.Under(ctx, head)
	if err != nil {
		return nil, err
	}
	var all []engine.ItemRow
	for _, h := range append([]engine.HeadRow{head}, under...) {
		items, err := p.Store.Items(ctx, store.ItemFilter{Open: true, Stream: h.Stream, Run: h.Run})
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// Asks lists the open items by the runs that wait for their answers: those that
// they are of, and those that these carry out steps of. The oldest come first.
func (p *Product) Asks(ctx context.Context) (map[string][]engine.ItemRow, error) {
	items, err := p.Store.Items(ctx, store.ItemFilter{Open: true})
	if err != nil {
		return nil, err
	}
	asks, above := map[string][]engine.ItemRow{}, map[engine.Parent]engine.Parent{}
	for _, it := range items {
		asks[it.Run] = append(asks[it.Run], it)
		for up := it.Parent; up.Run != ""; {
			asks[up.Run] = append(asks[up.Run], it)
			next, known := above[up]
			if !known {
				heads, err := p.Store.Heads(ctx, store.HeadFilter{Stream: up.Task, Run: up.Run, Limit: 1})
				if err != nil {
					return nil, err
				}
				next = head(heads).Parent
				above[up] = next
			}
			up = next
		}
	}
	return asks, nil
}
