package tree

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mend finishes the files that were being written when a merge was cut off. Git
// takes a file away and writes the new one from its beginning on: where there is
// none, or a beginning, it is not yet written. All else that stands there is
// somebody's work, and what the next merge finds in the workspace.
func (w *Worktree) mend(ctx context.Context) error {
	m, err := w.marks()
	if err != nil || m.Writing == "" {
		return err
	}
	written, err := w.ask(ctx, nil, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", m.Writing+"^1", m.Writing)
	if err != nil {
		return err
	}
	dir, err := w.temporary()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index := call{env: []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}, stdin: written}
	if _, err := w.git(ctx, w.gitDir, w.top, index, "read-tree", m.Writing); err != nil {
		return err
	}
	want := filepath.Join(dir, "tree")
	if _, err := w.git(ctx, w.gitDir, w.top, index, "checkout-index", "--prefix="+want+"/", "-z", "--stdin"); err != nil {
		return err
	}
	if index.stdin, err = torn(w.top, want, written); err != nil {
		return err
	}
	if _, err := w.git(ctx, w.gitDir, w.top, index, "checkout-index", "--force", "-z", "--stdin"); err != nil {
		return err
	}
	m.Writing = ""
	return w.note(m)
}

// torn lists those files of a list, with a NUL behind each, that top does not hold
// to the end that want has.
func torn(top, want, files string) (string, error) {
	var list strings.Builder
	for name := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		if !inPlace(top, name) {
			continue
		}
		begun, err := begins(filepath.Join(top, name), filepath.Join(want, name))
		if err != nil {
			return "", err
		}
		if begun {
			list.WriteString(name + "\x00")
		}
	}
	return list.String(), nil
}

// inPlace reports whether what leads to a file is directories, as far as it is
// there: a link in the place of one is somebody's work.
func inPlace(top, name string) bool {
	return !slices.ContainsFunc(parents(name), func(dir string) bool {
		info, err := os.Lstat(filepath.Join(top, dir))
		return err == nil && !info.IsDir()
	})
}

// begins reports whether a file is missing or holds the beginning of what is
// wanted. Where nothing is wanted it does not, and what is no file, as a link, is
// there or is missing.
func begins(file, want string) (bool, error) {
	wanted, err := os.Lstat(want)
	if err != nil || wanted.IsDir() {
		return false, nil //nolint:nilerr // the merge has taken it away
	}
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || !info.Mode().IsRegular() || !wanted.Mode().IsRegular() {
		return false, nil //nolint:nilerr // something else is in its place
	}
	has, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	all, err := os.ReadFile(want)
	return len(has) < len(all) && bytes.HasPrefix(all, has), err
}
