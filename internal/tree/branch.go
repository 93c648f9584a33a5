package tree

import (
	"bytes"
	"os"
	"path/filepath"
)

// branches is the directory, to git, of the branches of worktrees.
const branches = "piton"

// Branch is the branch of a worktree.
func Branch(run, step string) string { return branches + "/" + run + "/" + step }

// Taken reports whether the repository around a directory has a branch that keeps
// git from making any of those: one with the name of their directory.
func Taken(dir string) bool {
	common, _ := repository(dir)
	if at, err := locate(dir); err == nil && at.common != "" {
		common = at.common
	}
	if common == "" {
		return false
	}
	const ref = "refs/heads/" + branches
	if info, err := os.Stat(filepath.Join(common, filepath.FromSlash(ref))); err == nil && !info.IsDir() {
		return true
	}
	packed, err := os.ReadFile(filepath.Join(common, "packed-refs"))
	return err == nil && bytes.Contains(append(packed, '\n'), []byte(" "+ref+"\n"))
}
