package api_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/api"
)

// A process chooses its own name, and may make it look like the kernel's words.
func TestDescendsWhateverTheName(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"child", "x) S 1 ", "a) b) R 1 1"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, program, 0o755); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(path, "60")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if !api.Descends(c.Process.Pid) {
			t.Errorf("a child named %q does not count as one", name)
		}
		c.Process.Kill()
		c.Wait()
	}
	if api.Descends(os.Getppid()) {
		t.Error("the parent counts as a child")
	}
}
