package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/durable"
)

// branches is the directory, to git, of the branches of runs.
const branches = "piton"

// Taken reports whether the repository around a directory has a branch that keeps
// git from making any of those: one with the name of their directory.
func Taken(dir string) bool {
	gitDir, _ := repository(dir)
	if gitDir == "" {
		return false
	}
	const ref = "refs/heads/" + branches
	common := commonDir(gitDir)
	if info, err := os.Stat(filepath.Join(common, filepath.FromSlash(ref))); err == nil && !info.IsDir() {
		return true
	}
	packed, err := durable.ReadFile(filepath.Join(common, "packed-refs"), maxText)
	return err == nil && bytes.Contains(append(packed, '\n'), []byte(" "+ref+"\n"))
}

// commonDir is what all worktrees of a repository share, given the .git of one.
func commonDir(gitDir string) string {
	if at, err := locate(filepath.Dir(gitDir)); err == nil && at.common != "" {
		return at.common
	}
	return gitDir
}

// A record is what a repository keeps of one of its worktrees.
type record struct {
	dir  string
	tree string // the directory of the worktree
}

// half reports a record that `git worktree add` was killed in. Many commands of git
// fail while there is one.
func (r record) half() bool {
	reason, _ := durable.ReadFile(filepath.Join(r.dir, "locked"), maxText)
	if strings.TrimSpace(string(reason)) == "initializing" {
		return true
	}
	for _, name := range []string{"HEAD", "commondir"} {
		if info, err := os.Stat(filepath.Join(r.dir, name)); err != nil || info.Size() == 0 {
			return true
		}
	}
	return false
}

// dropRecords removes the records of worktrees that drop selects.
func dropRecords(common string, drop func(record) bool) error {
	dir := filepath.Join(common, "worktrees")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		r := record{dir: filepath.Join(dir, e.Name())}
		file, unnamed := named(filepath.Join(r.dir, "gitdir"), "", r.dir)
		if r.tree = filepath.Dir(file); unnamed == nil && drop(r) {
			err = errors.Join(err, os.RemoveAll(r.dir))
		}
	}
	_ = os.Remove(dir) // where it is empty, as git does
	return err
}

// dropHalfMade removes the records of worktrees below root that `git worktree add`
// was killed in.
func (t *Tree) dropHalfMade(root string) error {
	gitDir, _ := repository(t.dir)
	if gitDir == "" {
		return nil
	}
	root, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = dropRecords(commonDir(gitDir), func(r record) bool { return liesIn(root, r.tree) && r.half() })
	}
	if err != nil {
		err = fmt.Errorf("remove what a killed git left of a worktree: %w", err)
	}
	return err
}

// liesIn reports a directory that is root, or lies in it.
func liesIn(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}
