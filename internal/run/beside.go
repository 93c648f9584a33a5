package run

import (
	"context"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// beside lists the scopes of the steps of other runs that were at work since the
// start that was cut off and that e prepares again, also of runs that nobody
// carries out now, or that have ended. What the journal does not say covers
// nothing, nor does a run that cannot be read: then a person is asked.
//
// It replays the runs that were open meanwhile, which only a crash or a stop makes
// worth it.
func beside(ctx context.Context, st store.Store, e engine.Effect) [][]string {
	if !e.Cut || e.Tree == "" || e.Worktree {
		return nil // nothing is compared, or with what nobody else changes
	}
	heads, err := st.Heads(ctx, store.HeadFilter{})
	if err != nil {
		return nil
	}
	var scopes [][]string
	for _, head := range heads {
		if head.Run == e.Key.Run || head.Ended && head.Finished.Before(e.Began.At) {
			continue
		}
		if head.Ended && head.Path != "" {
			scopes = append(scopes, []string{head.Path}) // the marks in its document
		}
		if s, err := loadRun(ctx, st, head); err == nil {
			scopes = append(scopes, s.Beside(e)...)
		}
	}
	return scopes
}

// loadRun replays one run, whether its task has a newer one or not.
func loadRun(ctx context.Context, st store.Store, head engine.HeadRow) (*engine.State, error) {
	if s, err := Load(ctx, st, head.Stream); err != nil || s.Run().Run == head.Run {
		return s, err
	}
	s := &engine.State{}
	for r, err := range ReadRun(ctx, st, head) {
		if err == nil && s.Task() == "" {
			s = engine.Before(r)
		}
		if err == nil {
			err = s.Apply(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}
