package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	t.Parallel()
	disk, ws := filepath.Join(t.TempDir(), "disk"), t.TempDir()
	write(t, filepath.Join(ws, "plan.md"), []byte(oneStep))
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("this system lets nobody mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	piton := func(want int, args ...string) string {
		t.Helper()
		c := exec.Command("/proc/self/exe", args...)
		c.Args[0], c.Dir = "piton", ws
		c.Env = append(os.Environ(), "PITON_STATE="+disk, "HOME="+ws)
		out, err := c.CombinedOutput()
		if code := exitCode(err); code != want {
			t.Fatalf("piton %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out)
		}
		return string(out)
	}
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
