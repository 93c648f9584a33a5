package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// free looks at whether new files have room in the workspace: what git ignores
// there is in no side of a merge, and git would write over it.
func (w *Worktree) free(ctx context.Context, commit string) error {
	differences, err := w.diffTree(ctx, commit+"^1", commit)
	if err != nil {
		return err
	}
	var added []string
	gone := map[string]bool{}
	for _, d := range differences {
		switch d.status {
		case "D":
			gone[d.name] = true
		case "A":
			added = append(added, d.name)
		}
	}
	var taken []string
	for _, name := range added {
		if by := w.inTheWay(name, gone); by != "" && !slices.Contains(taken, by) {
			taken = append(taken, by)
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("ignored files are in the way of new files: %s; move them away, then answer retry", strings.Join(taken[:min(len(taken), shown)], ", "))
	}
	return nil
}

// inTheWay returns what the workspace has in the place of a new file, besides
// files that are gone with the merge, or "".
func (w *Worktree) inTheWay(name string, gone map[string]bool) string {
	for _, dir := range parents(name) {
		if info, err := os.Lstat(filepath.Join(w.top, dir)); err == nil && !info.IsDir() {
			if gone[dir] {
				return "" // what lies behind a link is not in the way
			}
			return wire(dir)
		}
	}
	var by string
	err := filepath.WalkDir(filepath.Join(w.top, name), func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(w.top, path)
		if err = errors.Join(err, relErr); err != nil || e.IsDir() || gone[filepath.ToSlash(rel)] || w.sameText(wire(filepath.ToSlash(rel))) {
			return err
		}
		by = wire(filepath.ToSlash(rel))
		return fs.SkipAll
	})
	if err != nil && by == "" {
		return "" // it is not there, or git says what is the matter
	}
	return by
}
