package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// MarkedSteps reads the records of a run that are about some steps, in their order; those about
// "" are of the run as a whole.
func (p *Product) MarkedSteps(ctx context.Context, head engine.HeadRow, steps ...string) ([]store.Marked, error) {
	f, err := p.Within(ctx, head)
	if err != nil {
		return nil, err
	}
	f.Steps = steps
	return p.Store.Marked(ctx, f)
}

// Within selects the records of a run: those before the next run of its task.
func (p *Product) Within(ctx context.Context, head engine.HeadRow) (store.MarkFilter, error) {
	f := store.MarkFilter{Stream: head.Stream, From: head.First}
	heads, err := p.Store.Heads(ctx, store.HeadFilter{Stream: head.Stream})
	if n := slices.IndexFunc(heads, func(h engine.HeadRow) bool { return h.Run == head.Run }); n > 0 {
		f.Before = heads[n-1].First
	}
	return f, err
}

// Rows reads rows of steps of a run.
func (p *Product) Rows(ctx context.Context, head engine.HeadRow, f store.StepFilter) ([]engine.StepRow, error) {
	f.Stream, f.Run = head.Stream, head.Run
	return p.Store.Steps(ctx, f)
}

// ProgramSteps reads the steps of rows as the run's program has them, by index; an instance as its
// item makes it.
func (p *Product) ProgramSteps(ctx context.Context, head engine.HeadRow, rows ...engine.StepRow) (map[int]*engine.Step, error) {
	body, err := p.Store.Object(ctx, head.Program)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", head.Program, err)
	}
	var at []int
	var patterns []string
	for _, row := range rows {
		if of, instance := engine.InstanceOf(row.ID); instance {
			patterns = append(patterns, of)
		} else {
			at = append(at, row.Index)
		}
	}
	var of []engine.StepRow
	var within store.MarkFilter
	if len(patterns) > 0 {
		slices.Sort(patterns)
		if of, err = p.Rows(ctx, head, store.StepFilter{IDs: slices.Compact(patterns)}); err != nil {
			return nil, err
		}
		if within, err = p.Within(ctx, head); err != nil {
			return nil, err
		}
	}
	for _, row := range of {
		at = append(at, row.Index)
	}
	steps, err := engine.DecodeSteps(body, at...)
	for _, row := range of {
		if err == nil && steps[row.Index] != nil {
			err = p.instances(ctx, within, steps[row.Index], rows, steps)
		}
	}
	return steps, err
}

// instances adds those steps of rows that are instances of a step.
func (p *Product) instances(ctx context.Context, within store.MarkFilter, of *engine.Step, rows []engine.StepRow, to map[int]*engine.Step) error {
	within.Steps = []string{of.ID}
	marked, err := p.Store.Marked(ctx, within)
	if err != nil {
		return err
	}
	var made engine.StepExpanded
	for _, m := range marked {
		if e, ok := m.Event.(engine.StepExpanded); ok {
			made = e
		}
	}
	for _, row := range rows {
		if pattern, instance := engine.InstanceOf(row.ID); instance && pattern == of.ID {
			if to[row.Index], err = of.Instance(row.ID, made.Items); err != nil {
				return err
			}
		}
	}
	return nil
}
