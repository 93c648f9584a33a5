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
	for _, run := range runs {
		if !w.isTorn(run) {
			continue
		}
		if err := w.mend(ctx, run); err != nil {
			return fmt.Errorf("run %s cannot continue until its merge is finished: %w", run, err)
		}
	}
	return nil
}

func (w *World) isTorn(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.torn[run] != nil
}

// mend finishes the merge of a run, unless somebody else has meanwhile.
func (w *World) mend(ctx context.Context, run string) error {
	w.git.Lock()
	defer w.git.Unlock()
	if !w.isTorn(run) {
		return nil
	}
	if err := w.Tree.MendRun(ctx, w.Worktrees, run); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.torn, run)
	return nil
}
