package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Torn reports whether there is anything for [Tree.Mend] below root, or nobody can
// say so. It asks no git.
func Torn(root string) bool {
	return slices.ContainsFunc(runsIn(root), func(run string) bool {
		places, err := tornIn(filepath.Join(root, run))
		return err != nil || len(places) > 0
	})
}

// runsIn lists the runs that have worktrees below root.
func runsIn(root string) (runs []string) {
	entries, _ := os.ReadDir(root) // none: there never was a worktree
	for _, e := range entries {
		runs = append(runs, e.Name())
	}
	return runs
}

// tornIn lists the places of a run's worktrees whose merge was cut off. Its error
// says of which others that is not known.
func tornIn(dir string) (places []string, err error) {
	found, err := fs.Glob(os.DirFS(dir), "*/"+marksFile)
	for _, name := range found {
		place := filepath.Dir(filepath.Join(dir, filepath.FromSlash(name)))
		m, unread := marksIn(place)
		switch {
		case unread != nil:
			err = errors.Join(err, fmt.Errorf("read what the worktree in %s has come to, from %s: %w", place, marksFile, unread))
		case m.Writing != "":
			places = append(places, place)
		}
	}
	return places, err
}

// Mend finishes the merges that were cut off while their files were written, of all
// worktrees below root, into this workspace or into the worktree of a run. To be
// called before anybody looks at the workspace, by whoever owns it. What somebody
// else has written since stays as it is. A merge that git does not have any more is
// taken back. It costs nothing where there are no worktrees. It returns, by run, why
// a merge is not finished: such a run must not go on. What a killed git left of
// worktrees below root, of these and of no others, is removed.
func (t *Tree) Mend(ctx context.Context, root string) map[string]error {
	torn := map[string]error{}
	_ = t.dropHalfMade(root) // Begin says what is wrong
	for _, run := range runsIn(root) {
		if err := t.MendRun(ctx, root, run); err != nil {
			torn[run] = err
		}
	}
	return torn
}

// MendRun is Mend for one run.
func (t *Tree) MendRun(ctx context.Context, root, run string) error {
	places, err := tornIn(filepath.Join(root, run))
	err = errors.Join(err, t.dropHalfMade(filepath.Join(root, run)))
	for _, place := range places {
		if cause := t.mendAt(ctx, root, place); cause != nil {
			err = errors.Join(err, fmt.Errorf("finish the merge of %s, which was cut off: %w", place, cause))
		}
	}
	return err
}

func (t *Tree) mendAt(ctx context.Context, root, place string) error {
	m, err := marksIn(place)
	if err != nil {
		return err
	}
	home := t
	if m.Into != t.dir {
		if home, err = t.beside(m.Into); errors.Is(err, fs.ErrNotExist) {
			return nil // it is gone, and all that was written there
		} else if err != nil {
			return err
		}
		defer home.Close()
	}
	run, step := filepath.Base(filepath.Dir(place)), filepath.Base(place)
	w, err := home.Worktree(root, run, step)
	if errors.Is(err, ErrNoRepository) {
		w = &Worktree{home: home, run: run, step: step, place: place}
		return w.backOut(ctx, m)
	}
	if err != nil {
		return err
	}
	return w.mend(ctx)
}

// mend finishes the files that were being written when a merge was cut off. What
// stands there and is neither what it was nor what was written is somebody's work,
// and what the next merge finds in the workspace.
func (w *Worktree) mend(ctx context.Context) error {
	m, err := w.marks()
	if err != nil || m.Writing == "" {
		return err
	}
	p, done, err := w.pen(ctx, m.Writing)
	if _, ok := errors.AsType[*refused](err); ok {
		return w.backOut(ctx, m)
	}
	if err != nil {
		return err
	}
	defer done()
	if !slices.EqualFunc(p.edits, m.Edits, func(a, b edit) bool { return a.Path == b.Path }) {
		return fmt.Errorf("the merge of %s that was cut off is not the one that is noted", w.what())
	}
	p.edits = m.Edits
	if err := p.finish(); err != nil {
		return err
	}
	if p.each(p.written) == nil {
		m.Merged = m.Writing
	}
	return w.note(m.written())
}

// backOut takes back a merge that was cut off and cannot be had from git again: the
// repository is another one, or none is there. One that was written to its end stays.
func (w *Worktree) backOut(ctx context.Context, m marks) error {
	p := &pen{ctx: ctx, t: w.home, kept: w.saved(), edits: m.Edits, during: w.during}
	through, err := p.through()
	switch {
	case err != nil:
	case through:
		err = p.settle()
	default:
		err = p.takeAllBack(p.order())
	}
	if err != nil {
		return err
	}
	return w.note(m.written())
}
