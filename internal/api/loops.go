package api

import (
	"context"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/run"
)

// Loop, LoopItem and Iteration are what became of a step with iterations.
type (
	Loop      = project.Loop
	LoopItem  = project.LoopItem
	Iteration = project.Iteration
)

// Loops are those of a run, by step, with what their agents said. It reads the run's
// journal.
func (p *Product) Loops(ctx context.Context, head engine.HeadRow) (map[string]*Loop, error) {
	var loops project.Loops
	for r, err := range run.ReadRun(ctx, p.Store, head) {
		if err == nil {
			err = loops.Take(r)
		}
		if err != nil {
			return nil, err
		}
	}
	all := loops.All()
	for _, l := range all {
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
	}
	return all, nil
}
