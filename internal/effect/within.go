package effect

import (
	"context"
	"fmt"
	"sync"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tree"
)

// whole is the worktree that a whole run works in, with the world of its effects.
type whole struct {
	making sync.Mutex // it is made and prepared by one effect, and others wait
	aside  *aside     // nil before it was made
	ready  bool
}

// within finds the world that an effect acts in: the workspace, or the worktree
// of the run, which may lie within those of the runs above.
func (w *World) within(ctx context.Context, e engine.Effect, runs []string) (*World, error) {
	for n, run := range runs {
		setup := e.Landing
		if n < len(e.Within)-1 {
			setup = nil // a run above has begun long ago
		}
		a, err := w.whole(ctx, run, e, setup)
		if err != nil {
			return nil, err
		}
		w = a.world
	}
	return w, nil
}

// whole makes the worktree of a run, once, and prepares it as the plan says.
func (w *World) whole(ctx context.Context, run string, e engine.Effect, landing *engine.Step) (*aside, error) {
	at := w.wholeOf(run)
	at.making.Lock()
	defer at.making.Unlock()
	if at.aside != nil && !at.aside.Exists() {
		w.forget(at.aside)
		at.aside, at.ready = nil, false
	}
	if at.ready {
		return at.aside, nil
	}
	work, err := w.worktreeOf(run, tree.Run)
	if err == nil && at.aside == nil {
		if err = w.begin(ctx, work, run, e); err == nil {
			at.aside, err = w.asideOf(work, w.inside)
		}
	}
	if err == nil && landing != nil && landing.Setup != "" {
		e.Step = landing
		err = at.aside.setUp(ctx, e)
	}
	at.ready = err == nil
	return at.aside, err
}

func (w *World) wholeOf(run string) *whole {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wholes == nil {
		w.wholes = map[string]*whole{}
	}
	if w.wholes[run] == nil {
		w.wholes[run] = &whole{}
	}
	return w.wholes[run]
}

// begin makes the worktree of a run, also where somebody removed it.
func (w *World) begin(ctx context.Context, work *tree.Worktree, run string, e engine.Effect) error {
	w.git.Lock()
	defer w.git.Unlock()
	if run == e.Key.Run && e.Begun {
		anew, err := work.Regain(ctx, e.Loose)
		if err != nil {
			return err
		}
		if anew {
			w.tell(fmt.Sprintf("the worktree of run %s was gone: it is made anew from what the run had committed", run))
		}
	}
	return work.Begin(ctx, "", false, recorded(e.Landing))
}

// tell says something to whoever follows the runs of the workspace.
func (w *Common) tell(text string) {
	if w.Say != nil {
		w.Say(text)
	}
}

// forget lets go of a worktree that is gone.
func (w *World) forget(a *aside) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.asides, a.Dir())
	w.gone = append(w.gone, a)
}

// inside is the world of a run's worktree: all that happens in a workspace can
// happen there.
func (w *World) inside(dir string, t *tree.Tree) (*World, error) {
	in := &World{Common: w.Common, Dir: dir, Tree: t, outer: w}
	var err error
	if w.OpenTools != nil {
		in.Tools, err = w.OpenTools(dir)
	}
	return in, err
}

// land records what a run did on its branch, and merges its worktree unless that is left
// there, if nobody changed what is protected in the
// workspace meanwhile: nobody could tell whose doing that is.
func (w *World) land(ctx context.Context, e engine.Effect, end *engine.WorkEnded) error {
	a, err := w.whole(ctx, e.Key.Run, e, e.Step) // nothing may have needed it so far
	if err != nil {
		return err
	}
	work := a.Worktree
	end.Worktree = work.Dir()
	if end.Commits, err = w.recordAll(ctx, work, e); err != nil || e.Leave {
		return err
	}
	if end.Tampered, err = w.meddled(ctx, e); err != nil || len(end.Tampered) > 0 {
		return err
	}
	return w.mergeInto(ctx, work, e, end)
}

// meddled lists the protected files of the workspace that are neither what they
// were when the run opened, nor what its steps were allowed to make of them: a
// merge that was cut off may have brought that.
func (w *World) meddled(ctx context.Context, e engine.Effect) ([]engine.Change, error) {
	b, err := w.base(e.Base)
	if err != nil {
		return nil, err
	}
	return b.Changed(ctx, w.Tree, e.Guards, e.Moved)
}

// maxLacks is how many names the journal has of what a worktree lacks.
const maxLacks = 100

// lacks names what git ignores in the workspace and the worktree of the run did not begin with.
func (w *World) lacks(e engine.Effect) ([]string, error) {
	work, err := w.ofRun(e)
	if err != nil || work == nil {
		return nil, err
	}
	names, err := work.Lacks()
	return names[:min(len(names), maxLacks)], err
}

// catchUp brings what a person changed in the workspace while the run waited for them into
// its worktree, and names it.
func (w *World) catchUp(ctx context.Context, e engine.Effect) (engine.CaughtUp, error) {
	work, err := w.ofRun(e)
	if err != nil || work == nil || !e.News {
		return engine.CaughtUp{News: e.News}, err
	}
	w.git.Lock()
	defer w.git.Unlock()
	names, err := work.CatchUp(ctx)
	return engine.CaughtUp{News: err == nil, Brought: names[:min(len(names), maxChanged)]}, err
}

// recordFinished records what steps did that finished before.
func (w *World) recordFinished(ctx context.Context, e engine.Effect) ([]engine.Commit, error) {
	work, err := w.ofRun(e)
	if err != nil || work == nil {
		return nil, err
	}
	return w.record(ctx, work, e)
}

// ofRun is the worktree that the run of an effect works in, nil where it has none.
func (w *World) ofRun(e engine.Effect) (*tree.Worktree, error) {
	if e.Landing == nil {
		return nil, nil
	}
	for in := w; in != nil; in = in.outer {
		if in.worktree != nil && in.worktree.IsOf(e.Key.Run) {
			return in.worktree, nil
		}
	}
	return nil, nil
}
