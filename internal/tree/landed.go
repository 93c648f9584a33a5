package tree

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/durable"
)

// shown is how many paths an error names.
const shown = 5

// landed looks with Piton's own eyes at whether the workspace holds what the
// worktree of a run does: git's store and refs are open to whoever works there.
// Nobody needs to look at that of a step, whose contract is asked again behind
// the merge, and whose files may be those of both sides.
func (w *Worktree) landed(ctx context.Context) error {
	if w.step != Run {
		return nil
	}
	other, err := w.unlike(context.WithoutCancel(ctx))
	if err == nil && len(other) > 0 {
		err = fmt.Errorf("the workspace differs from the worktree: %s; compare it with %s, and copy by hand what is right",
			strings.Join(other[:min(len(other), shown)], ", "), w.dir)
	}
	return err
}

// unlike lists the paths that differ between the worktree and the workspace.
func (w *Worktree) unlike(ctx context.Context) ([]string, error) {
	theirs, err := w.look(ctx, w.Dir(), nil)
	if err != nil {
		return nil, err
	}
	ours, err := w.look(ctx, w.home.dir, &theirs)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range Diff(theirs, ours) {
		if !w.apart(c) && !w.home.isOutput(c.Path) && !w.sameText(path.Join(w.sub(), c.Path)) {
			names = append(names, c.Path)
		}
	}
	return names, nil
}

// look scans a workspace.
func (w *Worktree) look(ctx context.Context, dir string, since *Manifest) (Manifest, error) {
	t, err := Open(dir, Config{Git: w.home.git, Pool: w.home.pool})
	if err != nil {
		return Manifest{}, err
	}
	defer t.Close()
	return t.Scan(ctx, since)
}

// apart reports whether a difference is no matter of a merge: git's own files,
// and those of a repository in the checkout, of which a worktree has no copy.
func (w *Worktree) apart(c Change) bool {
	return c.Path == ".git" || below(c.Path, ".git") || c.What == "added" && slices.ContainsFunc(parents(c.Path), func(dir string) bool {
		_, err := os.Lstat(filepath.Join(w.home.dir, disk(dir), ".git"))
		return dir != "." && err == nil
	})
}

// sameText reports whether a file of the repository says the same on both sides: git may write
// other ends of lines, and know no executable files.
func (w *Worktree) sameText(name string) bool {
	text := func(top string) ([]byte, bool) {
		file := filepath.Join(top, disk(name))
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			return nil, false
		}
		body, err := durable.ReadFile(file, maxText)
		return bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), err == nil
	}
	ours, ok := text(w.top)
	theirs, too := text(w.dir)
	return ok && too && bytes.Equal(ours, theirs)
}
