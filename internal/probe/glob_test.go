package probe_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/verify"
)

// What git ignores matches no pattern, as in a run.
func TestAnswerGlobs(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	for name, text := range map[string]string{".gitignore": "build/\n", "build/a.o": "1", "src/a.go": "1"} {
		write(t, filepath.Join(work, name), text, 0o600)
	}
	env := probe.Env{Workspace: work, Environ: []string{path(filepath.Dir(git))}, Config: config.Default()}
	q := verify.Queries{Globs: []string{"build/*", "src/*", "s*", "none/*"}}
	want := map[string]bool{"build/*": true, "src/*": true, "s*": true, "none/*": false}
	for _, ignores := range []bool{false, true} {
		if ignores {
			if out, err := exec.Command(git, "-C", work, "init", "-q").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want["build/*"] = false
		}
		if diff := cmp.Diff(want, probe.Answer(t.Context(), q, env).Globs); diff != "" {
			t.Errorf("in a repository %t: %s", ignores, diff)
		}
	}
}
