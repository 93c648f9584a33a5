package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

const oneStep = `---
type: plan
status: draft
owner: me
---

# Plan

## Steps

### 1. Only

**target:** script
**task:**
` + "```shell\ntouch a\n```\n\n**contract:**\n```shell\ntest -f a\n```\nexit_code == 0\n"

// TestFullDisk runs a plan on a disk that is full: it fails as the machine's
// fault, and goes on when there is room again.
func TestFullDisk(t *testing.T) {
	disk, ws := smallDisk(t), t.TempDir()
	t.Parallel()
	write(t, filepath.Join(ws, "plan.md"), []byte(oneStep))
	piton := func(want int, args ...string) string { return pitonIn(t, ws, disk, want, args...) }
	piton(0, "approve", "plan.md", "--yes")
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	if out := piton(9, "run", "plan.md", "--json"); !strings.Contains(out, "space") && !strings.Contains(out, "full") {
		t.Errorf("the error does not speak of the disk:\n%s", out)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	piton(0, "run", "plan.md", "--json")
	piton(0, "fsck")
}

// Verbs that write a document of the user's where the disk is full fail as the
// machine's fault, and leave what was there, or nothing.
func TestFullDiskOfTheWorkspace(t *testing.T) {
	ws, state := smallDisk(t), t.TempDir()
	t.Parallel()
	plan, ballast := filepath.Join(ws, "plan.md"), filepath.Join(ws, "ballast")
	loose := []byte(strings.Replace(oneStep, "# Plan", "#   Plan", 1))
	write(t, plan, loose)
	fill(t, ballast)
	for _, args := range [][]string{
		{"fmt", "-w", "plan.md"}, {"export", "plan.md", "--to", "json", "-o", "out.json"}, {"new", "Another", "-o", "new.md"}, {"init"},
	} {
		if out := pitonIn(t, ws, state, 9, args...); !strings.Contains(out, "no space left") || !strings.Contains(out, "hint: free some space") {
			t.Errorf("piton %s does not speak of the disk:\n%s", args[0], out)
		}
	}
	if body, err := os.ReadFile(plan); err != nil || !bytes.Equal(body, loose) {
		t.Errorf("the plan is not as it was: %v\n%s", err, body)
	}
	left, err := filepath.Glob(filepath.Join(ws, "*"))
	if err != nil || len(left) != 3 { // .piton is a directory only
		t.Errorf("left behind: %q, %v", left, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	pitonIn(t, ws, state, 0, "fmt", "-w", "plan.md")
	pitonIn(t, ws, state, 0, "export", "plan.md", "--to", "json", "-o", "out.json")
	pitonIn(t, ws, state, 0, "init")
}

// smallDisk is a file system of its own that is soon full.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("this system lets nobody mount: ", err)
	}
	t.Cleanup(func() {
		err := syscall.Unmount(disk, 0)
		for began := time.Now(); err == syscall.EBUSY && time.Since(began) < 30*time.Second; err = syscall.Unmount(disk, 0) {
			runtime.Gosched() // an owner on it is ending
		}
		if err != nil {
			t.Error(err)
		}
	})
	return disk
}

// pitonIn runs piton in a workspace with a state directory; it must end with the
// exit code.
func pitonIn(t *testing.T, ws, state string, want int, args ...string) string {
	t.Helper()
	c := exec.Command("piton", args...)
	c.Dir = ws
	c.Env = append(os.Environ(), "PITON_STATE="+state, "HOME="+ws)
	out, err := c.CombinedOutput()
	if code := exitCode(err); code != want {
		t.Fatalf("piton %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out)
	}
	return string(out)
}

func write(t *testing.T, path string, body []byte) {
	t.Helper()
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fill writes to a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := bytes.Repeat([]byte{1}, 4096)
	for range 1024 {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
	t.Fatal("the disk takes everything")
}
