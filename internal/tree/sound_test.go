package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSound: nothing that a step may write leads git to another repository.
func TestSound(t *testing.T) {
	top := t.TempDir()
	sh := func(script string) {
		t.Helper()
		c := exec.Command("sh", "-ec", script)
		c.Dir, c.Env = top, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	sh("git init -q ws && cd ws && git -c user.name=a -c user.email=a commit -q --allow-empty -m a && git worktree add -q ../aside && cp -r .git ../evil")
	home, aside := filepath.Join(top, "ws/.git"), filepath.Join(top, "aside/.git")
	for _, tt := range []struct{ do, undo, says string }{
		{"true", "true", ""},
		{"echo ../../../../evil >ws/.git/worktrees/aside/commondir", "echo ../.. >ws/.git/worktrees/aside/commondir", "leads git to"},
		{"echo ../../evil >ws/.git/commondir", "rm ws/.git/commondir", "leads git"},
		{"cp aside/.git was; echo gitdir: $PWD/evil >aside/.git", "mv was aside/.git", "leads git to"},
		{"mv aside/.git was; cp -r evil aside/.git", "rm -r aside/.git; mv was aside/.git", "leads git to"},
		{"echo '[filter \"x\"]' >ws/.git/worktrees/aside/config.worktree", "rm ws/.git/worktrees/aside/config.worktree", "is not that of the repository"},
	} {
		sh(tt.do)
		err := belongs(aside, home)
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v", tt.do, err)
		}
		sh(tt.undo)
		if err := belongs(aside, home); err != nil {
			t.Errorf("after %s: %v", tt.undo, err)
		}
	}
}
