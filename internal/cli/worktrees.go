package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tree"
)

// worktrees is where the worktrees of this workspace are: beside its state
// directory. In the workspace they would be part of it, and an agent shall not
// be led into the state.
func (s *session) worktrees() string { return s.Place.State + ".worktrees" }

// sweep removes the worktrees of runs that have ended, and what git keeps of
// them. Those of steps that did not come to a good end are kept, unless all says
// otherwise: a person may still want what is in them.
func (s *session) sweep(ctx context.Context, t *tree.Tree, run string, all bool) error {
	root := filepath.Join(s.worktrees(), run)
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil //nolint:nilerr // the run has none
	}
	settled, err := s.settledSteps(ctx, run)
	if err != nil || settled == nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		do := keep
		if all || settled[e.Name()] {
			do = discard
		}
		errs = append(errs, do(ctx, t, s.worktrees(), run, e.Name()))
	}
	_ = os.Remove(root) // not while a worktree is kept
	return errors.Join(errs...)
}

func discard(ctx context.Context, t *tree.Tree, root, run, step string) error {
	w, err := t.Worktree(root, run, step)
	if err != nil {
		return os.RemoveAll(filepath.Join(root, run, step)) // the repository is gone
	}
	return w.Discard(ctx)
}

// keep commits what a run did in a worktree that was not merged.
func keep(ctx context.Context, t *tree.Tree, root, run, step string) error {
	w, err := t.Worktree(root, run, step)
	if err != nil || step != tree.Run {
		return nil //nolint:nilerr // the repository is gone
	}
	return w.Keep(ctx)
}

// workplace is the worktree of a run.
type workplace struct {
	Dir    string `json:"dir"`
	Branch string `json:"branch"`
}

// workplace finds the worktree that a run works in, or left behind.
func (s *session) workplace(h engine.HeadRow) *workplace {
	dir := tree.WorktreeDir(s.worktrees(), h.Run, tree.Run)
	if _, err := os.Lstat(dir); err != nil || h.Landed {
		return nil
	}
	return &workplace{dir, tree.Branch(h.Run, tree.Run)}
}

// mendAlone finishes merges that an owner was killed in, for a desk that has
// nothing to do so with: what it ends is gone into by nobody else.
func (s *session) mendAlone(ctx context.Context) error {
	if !tree.Torn(s.worktrees()) {
		return nil
	}
	return s.withTree(func(t *tree.Tree) error {
		s.app.showTorn(t.Mend(ctx, s.worktrees()))
		return nil
	})
}

// showTorn says which runs do not go on because a merge of theirs is not finished.
func (a *app) showTorn(torn map[string]error) {
	for _, run := range slices.Sorted(maps.Keys(torn)) {
		a.notice("run %s does not go on before its merge is finished: %s; mend that, or cancel the run", run, a.theme(a.err).line(torn[run].Error()))
	}
}

// withTree opens the workspace's files for as long as do takes.
func (s *session) withTree(do func(*tree.Tree) error) error {
	pool, err := proc.NewPool(proc.Config{})
	if err != nil {
		return fmt.Errorf("prepare to start processes: %w", err)
	}
	defer pool.Close()
	t, err := s.tree(pool)
	if err != nil {
		return err
	}
	defer t.Close()
	return do(t)
}

// dropWorktrees removes, or only counts, what is left of a run's worktrees.
func (s *session) dropWorktrees(ctx context.Context, run string, dry bool) (int, error) {
	entries, err := os.ReadDir(filepath.Join(s.worktrees(), run))
	if err != nil || len(entries) == 0 || dry {
		return len(entries), nil //nolint:nilerr // the run has none
	}
	return len(entries), s.withTree(func(t *tree.Tree) error {
		return errors.Join(t.MendRun(ctx, s.worktrees(), run), s.sweep(ctx, t, run, true))
	})
}

// settledSteps are the steps of a run whose worktree nobody needs any more; nil
// while the run has not ended.
func (s *session) settledSteps(ctx context.Context, run string) (map[string]bool, error) {
	heads, err := s.store.Heads(ctx, store.HeadFilter{Run: run, Limit: 1})
	if err != nil || len(heads) == 0 || !heads[0].Ended {
		return nil, err
	}
	steps, err := s.store.Steps(ctx, heads[0].Stream, run)
	done := map[string]bool{tree.Run: heads[0].Landed}
	for _, st := range steps {
		switch st.Status {
		case engine.Done, engine.Waived, engine.Skipped:
			done[st.ID] = true
		}
	}
	return done, err
}

// sweepAll removes what runs that have ended left behind, when their owner ends.
func (s *session) sweepAll(ctx context.Context, t *tree.Tree) error {
	runs, err := os.ReadDir(s.worktrees())
	if err != nil {
		return nil //nolint:nilerr // there never was one
	}
	var errs []error
	for _, r := range runs {
		errs = append(errs, s.sweep(ctx, t, r.Name(), false))
	}
	return errors.Join(errs...)
}
