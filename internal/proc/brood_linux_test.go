package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// Both ways to find children see the same one.
func TestChildrenAreFound(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for name, find := range map[string]func(int) []int{"lists": children, "parents": childrenByParent} {
		if pids := find(os.Getpid()); !slices.Contains(pids, cmd.Process.Pid) {
			t.Errorf("%s: %d is not among %v", name, cmd.Process.Pid, pids)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	for name, find := range map[string]func(int) []int{"lists": children, "parents": childrenByParent} {
		if pids := find(os.Getpid()); slices.Contains(pids, cmd.Process.Pid) {
			t.Errorf("%s: the dead %d is among %v", name, cmd.Process.Pid, pids)
		}
	}
	if got := parentOf(os.Getpid()); got != os.Getppid() {
		t.Errorf("my parent is %d, not %d", got, os.Getppid())
	}
	if got := parentOf(cmd.Process.Pid); got != 0 {
		t.Errorf("the dead one's parent is %d", got)
	}
}
