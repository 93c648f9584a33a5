package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/durable"
)

// A workspace may lie below the top of its repository. Git's worktrees have all of
// it; what is changed there outside of the workspace is no part of any merge.

// sub is where in the repository the workspace is, "" for all of it.
func (w *Worktree) sub() string {
	rel, err := filepath.Rel(w.top, w.home.dir)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel)
}

// Beyond puts back what the worktree holds outside of the workspace and did not
// begin with, and says what that was, with paths that begin in the workspace. A
// patch with it is added to the file outside.patch in the directory quarantine,
// which is made if it is missing. What git ignores is left alone. It costs nothing
// where the workspace is all of the repository.
func (w *Worktree) Beyond(ctx context.Context, quarantine string) ([]Change, error) {
	if w.sub() == "" {
		return nil, nil
	}
	is, err := w.snapshot(ctx, filepath.Join(w.dir, ".git"), w.dir)
	if err != nil {
		return nil, err
	}
	defer is.forget()
	m, err := w.marks()
	if err != nil {
		return nil, err
	}
	want, err := w.within(ctx, m, is.tree)
	if err != nil || want == is.tree {
		return nil, err
	}
	changed, err := w.strays(ctx, want, is.tree)
	if err == nil {
		err = w.keepPatch(ctx, want, is.tree, quarantine)
	}
	if err == nil {
		_, err = w.git(ctx, filepath.Join(w.dir, ".git"), w.dir, call{env: []string{"GIT_INDEX_FILE=" + is.index}}, "read-tree", "-m", "-u", is.tree, want)
	}
	if err != nil {
		return nil, fmt.Errorf("put back files outside the workspace: %w", err)
	}
	return changed, nil
}

// within returns a tree that has of another one what lies in the workspace, and
// all else as the worktree began.
func (w *Worktree) within(ctx context.Context, m marks, tree string) (string, error) {
	sub := w.sub()
	if sub == "" {
		return tree, nil
	}
	before, err := w.behind(m)
	if err != nil {
		return "", err
	}
	dir, err := w.temporary()
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	git := func(args ...string) (string, error) {
		return w.ask(ctx, []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}, args...)
	}
	if _, err = git("read-tree", before.work); err == nil {
		_, err = git("rm", "--cached", "--force", "-r", "--quiet", "--ignore-unmatch", "--", ":(top,literal)"+sub)
	}
	if err == nil {
		_, err = git("read-tree", "--prefix="+sub+"/", tree+":"+sub)
		if _, ok := errors.AsType[*refused](err); ok && !w.has(ctx, tree, sub) {
			err = nil // all of the workspace was removed
		}
	}
	if err != nil {
		return "", err
	}
	return git("write-tree")
}

func (w *Worktree) has(ctx context.Context, tree, name string) bool {
	_, err := w.ask(ctx, nil, "cat-file", "-e", tree+":"+name)
	return err == nil
}

// strays are the differences between two trees, with paths that begin in the workspace.
func (w *Worktree) strays(ctx context.Context, want, is string) ([]Change, error) {
	differences, err := w.diffTree(ctx, want, is)
	words := map[string]string{"A": "added", "D": "removed", "M": "changed", "T": "type"}
	up := strings.Repeat("../", 1+strings.Count(w.sub(), "/"))
	var all []Change
	for _, d := range differences {
		all = append(all, Change{Path: path.Clean(up + wire(d.name)), What: words[d.status]})
	}
	return sortedByPath(all), err
}

func (w *Worktree) keepPatch(ctx context.Context, from, to, quarantine string) error {
	patch, err := w.ask(ctx, nil, "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", from, to)
	if err == nil {
		err = durable.MakeDir(quarantine)
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(quarantine, "outside.patch"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(patch + "\n")
	return errors.Join(err, w.home.sync.file(f), f.Close(), w.home.sync.names(quarantine))
}
