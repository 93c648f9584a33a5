package api

import (
	"context"
	"errors"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Deeds are what a run's steps put out, the newest of each, as texts, and what
// they changed: a worktree when it was merged.
func (p *Product) Deeds(ctx context.Context, head engine.HeadRow) (project.Deeds, error) {
	done, asked := project.Deeds{Outputs: map[string]string{}, Changed: map[string][]string{}}, map[string]string{}
	for r, err := range run.ReadRun(ctx, p.Store, head) {
		if err != nil {
			return done, err
		}
		done.Updated = r.At
		switch e := r.Event.(type) {
		case engine.ItemOpened:
			if e.Kind == engine.Question {
				asked[e.Item] = e.Step
			}
		case engine.ItemAnswered:
			if step, ok := asked[e.Item]; ok {
				done.Outputs[step] = string(e.Output())
			}
		case engine.WorkEnded:
			if len(e.Changed) > 0 {
				done.Changed[e.Step] = e.Changed
			}
			if e.Kind == engine.MergeWork {
				continue // it puts out nothing
			}
			body, err := p.Output(ctx, e)
			if err != nil {
				return done, err
			}
			done.Outputs[e.Step] = string(body)
		}
	}
	return done, nil
}

// Output is what work put out; nothing where gc has removed it.
func (p *Product) Output(ctx context.Context, e engine.WorkEnded) ([]byte, error) {
	return p.Body(ctx, e.Output)
}

// Body is the body of an object; nil where there is none any more.
func (p *Product) Body(ctx context.Context, hash string) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	body, err := p.Store.Object(ctx, hash)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return body, err
}
