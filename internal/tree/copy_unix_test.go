//go:build unix

package tree_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

// TestCopyKeepsModes, and so does what is put back; of a directory the owner may write in it.
func TestCopyKeepsModes(t *testing.T) {
	w := newWorkspace(t, "read/only 1\nmine 1\nrun !1")
	modes := map[string]fs.FileMode{"read/only": 0o440, "mine": 0o600, "run": 0o700}
	chmod := func() {
		for name, mode := range modes {
			ok(t, os.Chmod(w.path(name), mode))
		}
	}
	chmod()
	ok(t, os.Chmod(w.path("read"), 0o510))
	before := w.scan(nil)
	ok(t, os.Chmod(w.path("read"), 0o710))
	for name := range modes {
		ok(t, os.Remove(w.path(name)))
	}
	w.do("read/only 2\nmine 2\nrun !2")
	chmod()
	ok(t, os.Chmod(w.path("read"), 0o510))
	s, c := copied(t, w, before)
	look := func(when string) {
		for name, want := range modes {
			if info, err := os.Stat(filepath.Join(c.Dir, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s %s is %v, want %v; %v", when, name, info.Mode(), want, err)
			}
		}
		if info, err := os.Stat(filepath.Join(c.Dir, "read")); err != nil || info.Mode().Perm() != 0o710 {
			t.Errorf("%s the directory is %v; %v", when, info.Mode(), err)
		}
	}
	look("copied,")
	files, bytes := c.Counted()
	ok(t, c.Without(t.Context(), s, 0, 1, 2))
	look("taken back,")
	ok(t, c.Without(t.Context(), s))
	look("put back,")
	if f, b := c.Counted(); f != files || b != bytes || f != 3 {
		t.Errorf("%d files and %d bytes are counted, and %d and %d after they were put back", files, bytes, f, b)
	}
}

// TestFileThatGrows while it is copied: the copy has what was there when it was looked at. Nor is
// a file copied to its end for nobody.
func TestFileThatGrows(t *testing.T) {
	w := newWorkspace(t, "a 12345")
	in, err := os.OpenRoot(w.dir)
	ok(t, err)
	defer in.Close()
	out, err := os.OpenRoot(t.TempDir())
	ok(t, err)
	defer out.Close()
	info, err := in.Lstat("a")
	ok(t, err)
	for now, want := range map[string]string{"1234567": "12345", "123": "123"} {
		ok(t, in.WriteFile("a", []byte(now), 0o644))
		ok(t, new(tree.Copy).File(t.Context(), in, out, "a", info))
		if got, err := out.ReadFile("a"); err != nil || string(got) != want {
			t.Errorf("of %s the copy has %q; %v", now, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := new(tree.Copy).File(ctx, in, out, "a", info); !errors.Is(err, context.Canceled) {
		t.Errorf("copied for nobody: %v", err)
	}
}

// TestPipeKeepsNoCopyWaiting where a file was when it was looked at.
func TestPipeKeepsNoCopyWaiting(t *testing.T) {
	w := newWorkspace(t, "a 1")
	before := w.scan(nil)
	w.do("a 2")
	s, c := copied(t, w, before)
	ok(t, c.Without(t.Context(), s, 0))
	ok(t, os.Remove(w.path("a")))
	ok(t, syscall.Mkfifo(w.path("a"), 0o600))
	if err := c.Without(t.Context(), s); err == nil {
		t.Error("a pipe is put in the place of a file")
	}
}
