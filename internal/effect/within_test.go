package effect

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
)

// What bounds the work in the workspace bounds it in every worktree.
func TestNetworkInWorktrees(t *testing.T) {
	t.Parallel()
	pool, err := proc.NewPool(proc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	w := &World{Common: &Common{Pool: pool, Network: []string{"example.org"}}}
	ofRun, err := w.inside(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ofStep, err := ofRun.beneath(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]*World{"workspace": w, "run": ofRun, "step": ofStep} {
		for of, step := range map[string]*engine.Step{"setup": {}, "contract": {Network: "contract"}} {
			if gate, err := in.gate(engine.Effect{Step: step}, of == "contract")(); gate == nil || err != nil {
				t.Errorf("%s: %s reaches every host (%v)", name, of, err)
			}
		}
	}
}

// What an agent made hard to remove is removed, and the note that leads to it stays until then.
func TestScratchOfPackages(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	s := &scratch{}
	dir, err := s.take(state)
	if err != nil {
		t.Fatal(err)
	}
	mod := filepath.Join(dir, "mod")
	for _, err := range []error{os.Mkdir(mod, 0o700), os.WriteFile(filepath.Join(mod, "f"), nil, 0o400), os.Chmod(mod, 0o500)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root := s.root
	s.give(dir)
	if err := s.close(); err != nil {
		t.Error(err)
	}
	for _, path := range []string{root, filepath.Join(state, scratchNote)} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}
