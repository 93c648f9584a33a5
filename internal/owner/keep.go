package owner

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tree"
)

// finish does what is left to do when a run has ended.
func (o *Owner) finish(stream string) {
	ctx := context.Background()
	heads, err := o.store.Heads(ctx, store.HeadFilter{Stream: stream, Limit: 1})
	if err != nil || len(heads) == 0 || !heads[0].Ended || heads[0].Parent.Task != "" {
		return
	}
	o.showRun(stream)
	if !heads[0].Branch.Waits { // the workspace has nothing of it yet
		o.mark(ctx, heads[0])
	}
	env := o.environ(stream)
	if err := o.release(stream); err != nil {
		o.say("%v", err)
	}
	o.lookBack(env)
}

// mark shows the outcome of a run in the plan document, if the policy says so and
// the document is the one that was run.
func (o *Owner) mark(ctx context.Context, head engine.HeadRow) {
	steps, err := o.store.Steps(ctx, store.StepFilter{Stream: head.Stream, Run: head.Run})
	if err != nil {
		o.say("%v", err)
		return
	}
	o.project(head, o.environ(head.Stream), func(path string) error {
		return project.Mark(o.cfg.Place.State, path, head.PlanHash, head.Status, steps)
	})
}

// unmark takes the marks of an earlier run from the plan document.
func (o *Owner) unmark(path, hash string, env []string) {
	o.project(engine.HeadRow{Path: path}, env, func(path string) error { return project.Unmark(o.cfg.Place.State, path, hash) })
}

// project writes into a plan document, if the policy of a person's environment says so.
func (o *Owner) project(head engine.HeadRow, env []string, write func(path string) error) {
	p, err := o.product(context.Background(), api.Caller{Env: env})
	if err != nil || p.Config.Policy.Mark != "end" || head.Path == "" {
		return
	}
	file, err := p.File(context.Background(), head)
	if err == nil {
		err = write(file)
	}
	if err != nil {
		o.say("%s keeps its marks as they are: %v", head.Path, err)
	}
}

// Worktrees is where the worktrees of a workspace are: beside its state directory.
// In the workspace they would be part of it, and an agent shall not be led into the
// state.
func Worktrees(p api.Place) string { return p.State + ".worktrees" }

// sweepAll removes what runs that have ended left behind.
func (o *Owner) sweepAll(ctx context.Context, t *tree.Tree) error {
	runs, err := os.ReadDir(Worktrees(o.cfg.Place))
	if err != nil {
		return nil //nolint:nilerr // there never was one
	}
	var errs []error
	for _, r := range runs {
		errs = append(errs, o.sweep(ctx, t, r.Name(), false))
	}
	return errors.Join(errs...)
}

// sweep removes the worktrees of a run that has ended, and what git keeps of them.
// Those of steps that did not come to a good end are kept, unless all says
// otherwise: a person may still want what is in them.
func (o *Owner) sweep(ctx context.Context, t *tree.Tree, run string, all bool) error {
	root := filepath.Join(Worktrees(o.cfg.Place), run)
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil //nolint:nilerr // the run has none
	}
	settled, title, err := o.settledSteps(ctx, run)
	if err != nil || settled == nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if all || settled[e.Name()] {
			errs = append(errs, discard(ctx, t, Worktrees(o.cfg.Place), run, e.Name()))
		} else {
			errs = append(errs, o.keep(ctx, t, run, e.Name(), title))
		}
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

// keep records what a run did in a worktree that was not merged.
func (o *Owner) keep(ctx context.Context, t *tree.Tree, run, step, title string) error {
	w, err := t.Worktree(Worktrees(o.cfg.Place), run, step)
	if err != nil || step != tree.Run {
		return nil //nolint:nilerr // the repository is gone
	}
	kept, err := w.Keep(ctx, title)
	o.say("%s", kept.News)
	return err
}

// dropWorktrees removes, or only counts, what is left of a run's worktrees.
func (o *Owner) dropWorktrees(ctx context.Context, run string, dry bool) (int, error) {
	entries, err := os.ReadDir(filepath.Join(Worktrees(o.cfg.Place), run))
	if err != nil || len(entries) == 0 || dry {
		return len(entries), nil //nolint:nilerr // the run has none
	}
	return len(entries), o.withTree(func(t *tree.Tree) error {
		return errors.Join(t.MendRun(ctx, Worktrees(o.cfg.Place), run), o.sweep(ctx, t, run, true))
	})
}

// settledSteps are the steps of a run whose worktree nobody needs any more; nil
// while the run has not ended. The title is that of its plan.
func (o *Owner) settledSteps(ctx context.Context, run string) (done map[string]bool, title string, err error) {
	heads, err := o.store.Heads(ctx, store.HeadFilter{Run: run, Limit: 1})
	if err != nil || len(heads) == 0 || !heads[0].Ended {
		return nil, "", err
	}
	steps, err := o.store.Steps(ctx, store.StepFilter{Stream: heads[0].Stream, Run: run})
	done = map[string]bool{tree.Run: heads[0].Landed}
	for _, st := range steps {
		switch st.Status {
		case engine.Done, engine.Waived, engine.Skipped:
			done[st.ID] = true
		}
	}
	return done, heads[0].Title, err
}
