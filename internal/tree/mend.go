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

// Torn reports whether there is anything for [Tree.Mend] below root. It asks no git.
func Torn(root string) (bool, error) {
	places, err := tornIn(root)
	return len(places) > 0, err
}

// tornIn lists the places of the worktrees whose merge was cut off.
func tornIn(root string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(root), "*/*/"+marksFile)
	if err != nil {
		return nil, err
	}
	var places []string
	for _, name := range found {
		place := filepath.Dir(filepath.Join(root, filepath.FromSlash(name)))
		m, err := marksIn(place)
		if err != nil {
			return nil, fmt.Errorf("read what the worktree in %s has come to: %w", place, err)
		}
		if m.Writing != "" {
			places = append(places, place)
		}
	}
	return places, nil
}

// Mend finishes the merges that were cut off while their files were written, of all
// worktrees below root, into this workspace or into the worktree of a run. To be
// called before anybody looks at the workspace, by whoever owns it. What somebody
// else has written since stays as it is. A merge that git does not have any more is
// taken back. It costs nothing where there are no worktrees.
func (t *Tree) Mend(ctx context.Context, root string) error {
	places, err := tornIn(root)
	if err != nil {
		return err
	}
	var errs []error
	for _, place := range places {
		if err := t.mendAt(ctx, root, place); err != nil {
			errs = append(errs, fmt.Errorf("finish the merge of %s, which was cut off: %w", place, err))
		}
	}
	return errors.Join(errs...)
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
		return w.backOut(m)
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
		return w.backOut(m)
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
func (w *Worktree) backOut(m marks) error {
	p := &pen{t: w.home, kept: w.saved(), edits: m.Edits, during: w.during}
	through, err := p.through()
	switch {
	case err != nil:
	case through:
		err = p.clear()
	default:
		err = p.takeAllBack(p.order())
	}
	if err != nil {
		return err
	}
	return w.note(m.written())
}
