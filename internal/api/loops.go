package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/store"
)

// Loop, LoopItem and Iteration are what became of a step with iterations.
type (
	Loop      = project.Loop
	LoopItem  = project.LoopItem
	Iteration = project.Iteration
)

// Loops returns the loops among some steps of a run, by step, with what their agents said.
// It reads only the records that are marked with these steps.
func (p *Product) Loops(ctx context.Context, head engine.HeadRow, steps []engine.StepRow) (map[string]*Loop, error) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s engine.StepRow) bool { return s.Loop == nil })
	if len(steps) == 0 {
		return nil, nil
	}
	plan, err := p.ProgramSteps(ctx, head, steps...)
	if err != nil {
		return nil, err
	}
	within, err := p.Within(ctx, head)
	if err != nil {
		return nil, err
	}
	all := map[string]*Loop{}
	for _, row := range steps {
		if plan[row.Index] == nil {
			return nil, fmt.Errorf("the program of run %s does not have step %s", head.Run, row.ID)
		}
		if all[row.ID], err = p.loop(ctx, within, row, plan[row.Index]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (p *Product) loop(ctx context.Context, within store.MarkFilter, row engine.StepRow, step *engine.Step) (*Loop, error) {
	within.Steps = []string{row.ID}
	marked, err := p.Store.Marked(ctx, within)
	if err != nil {
		return nil, err
	}
	var told project.Looping
	for _, m := range marked {
		told.Take(m.Record, m.Mark.Was)
	}
	l := told.Loop(row, step)
	for i := range l.Activity {
		if l.Activity[i].Summary != "" {
			continue
		}
		body, err := p.Body(ctx, l.Activity[i].Output)
		if err != nil {
			return nil, err
		}
		l.Activity[i].Summary = project.Summary(body)
	}
	return l, nil
}
