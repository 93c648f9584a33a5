package effect

import (
	"context"
	"fmt"
	"maps"
)

// Mend finishes the merges that an owner was killed in; call it once, before Do.
// A run whose merge cannot be finished has nothing done until it can: it returns
// those, and why.
func (w *World) Mend(ctx context.Context) map[string]error {
	torn := w.Tree.Mend(ctx, w.Worktrees)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.torn = maps.Clone(torn)
	return torn
}

// mended fails where a merge of one of the runs is still not finished: somebody may
// have removed what kept it from that.
func (w *World) mended(ctx context.Context, runs []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range runs {
		if w.torn[run] == nil {
			continue
		}
		if err := w.Tree.MendRun(ctx, w.Worktrees, run); err != nil {
			return fmt.Errorf("run %s cannot continue until its merge is finished: %w", run, err)
		}
		delete(w.torn, run)
	}
	return nil
}
