package cli

import (
	"os"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/tree"
	"github.com/piton-dev/piton/internal/view"
)

// workplace finds the worktree that a run works in, or left behind.
func (s *session) workplace(h engine.HeadRow) *view.Worktree {
	dir := tree.WorktreeDir(owner.Worktrees(s.Place), h.Run, tree.Run)
	if _, err := os.Lstat(dir); err != nil && !h.Branch.Waits || h.Landed {
		return nil
	}
	return &view.Worktree{Dir: dir, Branch: tree.BranchOf(owner.Worktrees(s.Place), h.Run)}
}
