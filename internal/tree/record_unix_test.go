//go:build unix

package tree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

// The branch of a run shows only what its worktree has noted: what could not be noted is
// recorded the next time, and the branch has it once.
func TestRecordNotesFirst(t *testing.T) {
	for name, e := range map[string]tree.Entry{
		"whole": {Key: "step", Title: "Do it", Message: "a is 2"},
		"loose": {Key: "step", Title: "Do it", Message: "a is 2", Loose: true},
	} {
		t.Run(name, func(t *testing.T) {
			conf, root := gitConfig(t), t.TempDir()
			marks, broken := filepath.Join(root, "run", tree.Run, "marks.json"), filepath.Join(t.TempDir(), "broken")
			program := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *commit-tree*) [ -e %[1]s ] && mv %[2]s %[2]s.was && mkdir %[2]s ;; esac\nexec %[3]s \"$@\"\n", broken, marks, conf.Git)
			conf.Git = filepath.Join(t.TempDir(), "git")
			if err := os.WriteFile(conf.Git, []byte(program), 0o700); err != nil {
				t.Fatal(err)
			}
			w := openWorkspace(t, "a 1", conf)
			w.git("init", "-q")
			w.git("config", "user.name", "me")
			w.git("config", "user.email", "me@example.org")
			w.git("add", "-A")
			w.commit()
			work, err := w.tree.Worktree(root, "run", tree.Run)
			if err == nil {
				err = work.Begin(t.Context(), "", false, true)
			}
			if err != nil {
				t.Fatal(err)
			}
			(&workspace{T: t, dir: work.Dir()}).do("a 2")
			if err := os.WriteFile(broken, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if r, err := work.Record(t.Context(), e); err == nil || !strings.Contains(err.Error(), "note what the worktree") {
				t.Errorf("recorded without a note: %v, %v", r, err)
			}
			if branches := w.asked("for-each-ref", "refs/heads/piton"); branches != "" {
				t.Errorf("the branch is ahead of what was noted: %s", branches)
			}
			for _, err := range []error{os.Remove(broken), os.Remove(marks), os.Rename(marks+".was", marks)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if r, err := work.Record(t.Context(), e); err != nil || r.Branch == "" || w.asked("log", "--format=%s", r.Branch) != "a is 2\nstart\n" {
				t.Errorf("the second time: %v, %v", r, err)
			}
		})
	}
}
