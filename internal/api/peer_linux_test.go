package api_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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

// A process that some other owner has sealed is in a pid namespace of its own, and nobody's child
// here once its parent has ended.
func TestSealedElsewhereIsForeign(t *testing.T) {
	if api.Foreign(os.Getpid()) || api.Foreign(os.Getppid()) {
		t.Error("a process of this namespace is foreign")
	}
	if !api.Foreign(0) {
		t.Error("a process that cannot be seen is not foreign")
	}
	c := exec.Command("sleep", "60")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if err := c.Start(); err != nil {
		t.Skip("this machine has no namespaces: ", err)
	}
	defer c.Wait() //nolint:errcheck // it is killed
	defer c.Process.Kill()
	if !api.Nested(c.Process.Pid) {
		t.Error("a process in a namespace of its own is not foreign")
	}
}
