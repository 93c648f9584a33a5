//go:build unix

package effect_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

// What an attempt has git ignore it cannot hide: the rule is put back, and what it
// hid is found and put back too. What git ignored before is nobody's addition.
func TestAttemptThatHidesWhatItMakes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	for name, ignore := range map[string]string{
		"gitignore": ".gitignore", "in a directory": "sub/.gitignore", "exclude": ".git/info/exclude",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, map[string]string{
				".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": "", ".git/info/exclude": "",
				".gitignore": "old\n", "old/theirs": "x\n", "sub/a": "x\n",
			})
			dir := "."
			if name == "in a directory" {
				dir = "sub"
			}
			step := s.step("mkdir -p in "+dir+"/build; touch in/a; echo evil >"+dir+"/build/hidden; echo build >>"+ignore, "test -e in/a", "in/**")
			in, work := s.prepared(step)
			end := s.ended(work)
			hidden := filepath.ToSlash(filepath.Join(dir, "build/hidden"))
			if diff := cmp.Diff(map[string]bool{hidden: true, ignore: true}, set(paths(end.OutOfScope))); diff != "" {
				t.Errorf("out of scope: %s", diff)
			}
			again := s.effect(engine.Prepare, step)
			again.Key.Attempt, again.Tree, again.Restore = 2, in.Dispatch.Tree, end.OutOfScope
			if r, ok := s.Do(t.Context(), again).Input.(engine.Prepared); !ok || r.Err != "" {
				t.Fatalf("%+v", r)
			}
			if _, err := os.Stat(filepath.Join(s.Dir, hidden)); err == nil {
				t.Error("the hidden file is still there")
			}
			if read(t, filepath.Join(s.Dir, "old/theirs")) != "x\n" {
				t.Error("what git ignored before is gone")
			}
		})
	}
}

func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, n := range names {
		all[n] = true
	}
	return all
}
