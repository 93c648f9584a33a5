package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tree"
)

// aside is a step's worktree with the world that its effects act on.
type aside struct {
	*tree.Worktree
	world *World
}

// worktreeOf describes the worktree of a step, or of a run; it opens and makes nothing.
func (w *World) worktreeOf(run, of string) (*tree.Worktree, error) {
	return w.Tree.Worktree(w.Worktrees, run, of)
}

// apart finds the world in the step's own worktree, where an effect is carried out
// as it would be in the workspace, and makes it one of that: what belongs to the
// repository itself is guarded where it is. To prepare an attempt makes the
// worktree, and runs what the plan wants before the first one.
func (w *World) apart(ctx context.Context, e *engine.Effect) (*World, error) {
	work, err := w.worktreeOf(e.Key.Run, e.Key.Step)
	if err != nil {
		return nil, err
	}
	if e.Key.Kind == engine.Prepare {
		if err := w.makeAside(ctx, work, e); err != nil {
			return nil, err
		}
	}
	a, err := w.asideOf(work, w.beneath)
	if err == nil && e.Key.Kind == engine.Prepare && e.Step.Setup != "" {
		err = a.setUp(ctx, *e)
	}
	if err != nil {
		return nil, err
	}
	return a.world, a.translate(ctx, e)
}

func (w *World) makeAside(ctx context.Context, work *tree.Worktree, e *engine.Effect) error {
	w.git.Lock()
	defer w.git.Unlock()
	if e.Renew {
		e.Cut, e.Tree, e.Restore = false, "", nil // of a worktree that is gone
	}
	return work.Begin(ctx, noteOf(e.Moved), e.Renew, false)
}

// asideOf opens a worktree, once; world makes the world of it.
func (w *World) asideOf(work *tree.Worktree, world func(dir string, t *tree.Tree) (*World, error)) (*aside, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.asides[work.Dir()]; a != nil {
		return a, nil
	}
	t, err := work.Open()
	if err != nil {
		return nil, err
	}
	in, err := world(work.Dir(), t)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	in.worktree = work
	a := &aside{work, in}
	if w.asides == nil {
		w.asides = map[string]*aside{}
	}
	w.asides[work.Dir()] = a
	return a, nil
}

// beneath is the world of a step's worktree.
func (w *World) beneath(dir string, t *tree.Tree) (*World, error) {
	return &World{Common: w.Common, Dir: dir, Tree: t, outer: w}, nil
}

// translate makes an effect one of the worktree: what protected files were
// allowed to become is what they were when the worktree began.
func (a *aside) translate(ctx context.Context, e *engine.Effect) error {
	note, err := a.Note(ctx)
	if err != nil {
		return err
	}
	e.Moved = movedOf(note)
	e.Shared = false
	return nil
}

const movedNote = "Piton-Moved: "

// noteOf writes down what protected files were allowed to become.
func noteOf(moved map[string]string) string {
	body, err := json.Marshal(moved)
	if err != nil || len(moved) == 0 {
		return ""
	}
	return movedNote + string(body)
}

func movedOf(note string) map[string]string {
	var moved map[string]string
	if body, ok := strings.CutPrefix(note, movedNote); ok {
		_ = json.Unmarshal([]byte(body), &moved) // what nobody can read allows nothing
	}
	return moved
}

// setUp prepares a fresh worktree as the plan says.
func (a *aside) setUp(ctx context.Context, e engine.Effect) error {
	if ready, err := a.Ready(); err != nil || ready {
		return err
	}
	values, err := a.world.values(e)
	if err != nil {
		return err
	}
	step := *e.Step
	step.CheckTimeout, step.Checks = step.Timeout, []engine.Check{{Name: "setup", Command: step.Setup, Required: true}}
	room, err := a.world.held(e)
	if err != nil {
		return err
	}
	said := check.Run(ctx, check.Job{
		Early: e.Early, Gate: a.world.gate(e, false), Unsealed: e.Unsealed, Room: room,
		Step: &step, Phase: engine.Baseline, Run: e.Key.Run, Attempt: e.Key.Attempt,
		Workspace: a.world.Dir, Environ: environ(ctx), Values: values, Pool: a.world.Pool, Bash: a.world.shellPath(),
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c := said[0]; c.Verdict != engine.Pass {
		last := c.Stderr
		if last == "" {
			last = c.Stdout
		}
		return fmt.Errorf("the setup of its worktree exited %d: %s", c.Exit, strings.TrimSpace(c.Reason+" "+last))
	}
	return a.Prepared()
}

// merge brings the step's worktree into the workspace, one at a time.
func (w *World) merge(ctx context.Context, e engine.Effect, _ Reporter) Result {
	ended := engine.Ended{Key: e.Key}
	end := &ended.WorkEnded
	end.How = engine.Exited
	err := w.mergeOf(ctx, e, end)
	switch {
	case end.Commit != "": // it is done, whatever is wanted now
	case ctx.Err() != nil:
		end.How, end.Reason = engine.Stopped, "stopped by Piton"
	case err != nil:
		end.How, end.Reason, end.Absent = engine.NoStart, err.Error(), lasts(err)
	}
	return Result{Input: ended}
}

func (w *World) mergeOf(ctx context.Context, e engine.Effect, end *engine.WorkEnded) error {
	if e.Step.Kind == engine.Landing {
		return w.land(ctx, e, end)
	}
	work, err := w.worktreeOf(e.Key.Run, e.Key.Step)
	if err != nil {
		return err
	}
	return w.mergeInto(ctx, work, e, end)
}

func (w *World) mergeInto(ctx context.Context, work *tree.Worktree, e engine.Effect, end *engine.WorkEnded) error {
	w.git.Lock()
	defer w.git.Unlock()
	w.begins()
	k := e.Key
	m, err := work.Merge(ctx, fmt.Sprintf("%s/%s/%s/%d/merge", k.Task, k.Run, k.Step, k.Attempt), noteOf(e.Moved), e.Round, e.Conflicts)
	end.Commit, end.Conflicts, end.Behind, end.Worktree = m.Commit, m.Conflicts, m.Behind, work.Dir()
	if len(m.Conflicts) > 0 {
		end.Worktree = work.Top() // which their paths begin at
	}
	end.Changed = m.Changed[:min(len(m.Changed), maxChanged)]
	return err
}
