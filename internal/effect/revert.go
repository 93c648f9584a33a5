package effect

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tree"
)

// revert takes back what a strong step changed, in a copy of the tree, and asks the checks
// there: all of it, nothing of it, and then one part after the other for as long as the
// plan allows. What the journal has already heard is not asked again.
func (w *World) revert(ctx context.Context, e engine.Effect, r Reporter) Result {
	in := engine.Reverted{Key: e.Key}
	err := w.takesBack(ctx, e, r, &in)
	if err == nil {
		err = w.unharmed(ctx, e, r, &in)
	}
	if stopped(ctx, err) {
		return Result{}
	}
	switch {
	case errors.Is(err, tree.ErrTooLarge), errors.Is(err, tree.ErrNotKept):
		in.Cannot = err.Error()
	case err != nil:
		in.Err = err.Error()
	}
	return Result{Input: in}
}

func (w *World) takesBack(ctx context.Context, e engine.Effect, r Reporter, in *engine.Reverted) error {
	before, err := w.before(e.First)
	if err != nil {
		return err
	}
	after, err := w.Tree.Scan(ctx, &before)
	if err != nil {
		return err
	}
	split, err := w.Tree.Split(ctx, before, after, w.own(e, r, tree.Diff(before, after)))
	if err != nil {
		return err
	}
	if in.Parts = len(split.Parts); in.Parts == 0 {
		return nil
	}
	scratch, done, err := w.Scratch()
	if err != nil {
		return err
	}
	defer done()
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	place := filepath.Join(scratch, "copy")
	defer proc.RemoveAll(place)
	c, err := w.Tree.Copy(ctx, place)
	if err != nil {
		return err
	}
	defer c.Close()
	t := trial{World: w, e: e, r: r, split: split, copy: c, heard: e.Parts}
	if len(t.heard) > 0 && t.heard[0].Change != split.Hash {
		t.heard = nil
	}
	err = t.run(ctx)
	in.Untried, in.Isolation = t.untried, string(w.Pool.Isolation())
	return err
}

// own leaves the changes that are the step's: in its scope, or in nobody's beside it.
func (w *World) own(e engine.Effect, r Reporter, changes []engine.Change) []engine.Change {
	if len(e.Step.Writes) > 0 {
		changes = without(changes, tree.OutOfScope(changes, e.Step.Writes))
	} else {
		changes = beyondScopes(changes, r.Beside())
	}
	return w.theirs(e, changes)
}

// theirs leaves out what Piton itself and git write.
func (w *World) theirs(e engine.Effect, changes []engine.Change) []engine.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c engine.Change) bool {
		return c.Path == filepath.ToSlash(e.Document) || c.Path == ".git" || strings.HasPrefix(c.Path, ".git/") || w.adopted(c)
	})
}

// maxParts is how many parts of a change are tried.
const maxParts = 200

// trial asks the checks of a strong step in a copy.
type trial struct {
	*World
	e       engine.Effect
	r       Reporter
	split   *tree.Split
	copy    *tree.Copy
	heard   []engine.PartTried
	untried []string
}

func (t *trial) run(ctx context.Context) error {
	all := make([]int, len(t.split.Parts))
	for n := range all {
		all[n] = n
	}
	said, err := t.try(ctx, engine.AllParts, "", engine.MaxReruns, t.e.Step.CheckTimeout, all...)
	if err != nil || said.Verdict != engine.Fail || slices.ContainsFunc(said.Reruns, func(v engine.Verdict) bool { return v != engine.Fail }) {
		return err
	}
	if said, err = t.try(ctx, engine.NoPart, "", 0, t.e.Step.CheckTimeout); err != nil || said.Verdict != engine.Pass {
		return err
	}
	left := t.e.Step.Strong
	for n, p := range t.split.Parts {
		if n >= maxParts {
			left = 0
		}
		if left > 0 {
			said, err = t.try(ctx, n+1, p.Place, 0, min(left, t.e.Step.CheckTimeout), n)
		}
		switch {
		case err != nil:
			return err
		case left <= 0 || said.Verdict == engine.NoVerdict:
			left, t.untried = 0, append(t.untried, p.Place)
		default:
			left -= time.Duration(said.Ms) * time.Millisecond
		}
	}
	return nil
}

// try says what the checks say without some parts: what was heard of it, else what they say
// now, and as often again. There is no verdict where the time for it was cut short.
func (t *trial) try(ctx context.Context, part int, place string, again int, timeout time.Duration, parts ...int) (engine.PartTried, error) {
	for _, p := range t.heard {
		if p.Part == part {
			return p, nil
		}
	}
	said := engine.PartTried{Change: t.split.Hash, Part: part, Place: place}
	if err := t.copy.Without(ctx, t.split, parts...); err != nil {
		return said, err
	}
	began := time.Now()
	v, reason, err := t.ask(ctx, timeout)
	said.Verdict, said.Reason = v, reason
	for range again {
		if err != nil || v != said.Verdict || v != engine.Fail {
			break
		}
		if v, _, err = t.ask(ctx, timeout); err == nil {
			said.Reruns = append(said.Reruns, v)
		}
	}
	if said.Ms = time.Since(began).Milliseconds(); err != nil {
		return said, err
	}
	if said.Verdict == engine.Timeout && timeout < t.e.Step.CheckTimeout {
		return engine.PartTried{}, nil
	}
	return said, t.r.Tried(ctx, said)
}

// ask asks the checks once. The error is this machine's fault.
func (t *trial) ask(ctx context.Context, timeout time.Duration) (engine.Verdict, string, error) {
	job, err := t.job(ctx, t.e, engine.Verifying)
	if err != nil {
		return "", "", err
	}
	step := *t.e.Step
	step.CheckTimeout = timeout
	if job.Step, job.Workspace = &step, t.copy.Dir; job.Room != nil {
		job.Room = &proc.Room{Dir: t.copy.Dir, Writable: []string{t.copy.Dir}, Fixed: true}
	}
	results := check.Run(ctx, job)
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	v, reason := engine.Judged(results)
	if v == engine.Infra {
		return "", "", errors.New(reason)
	}
	return v, reason, nil
}

// unharmed compares the protected files of the tree itself: no check can change them from
// the copy where it is held there.
func (w *World) unharmed(ctx context.Context, e engine.Effect, r Reporter, in *engine.Reverted) error {
	changed, err := w.tampered(ctx, e)
	if err != nil || len(changed) == 0 {
		return err
	}
	in.Tampered = changed
	in.Undone, err = w.undo(ctx, e, r, changed, tree.Manifest{})
	return err
}
