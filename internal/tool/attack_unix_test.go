//go:build unix

package tool_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/piton-dev/piton/internal/tier"
	"github.com/piton-dev/piton/internal/tool"
)

// TestLinks: a link that stays inside can be read; no link is followed to write,
// and none leads out.
func TestLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	put(t, outside, "secret", "secret")
	r, dir := open(t, tool.Config{}, map[string]string{"a.txt": "one", "dir/b.txt": "two", ".git/config": "git", ".piton/config.yaml": "piton"})
	for name, to := range map[string]string{
		"in": "a.txt", "out": filepath.Join(outside, "secret"), "up": "../" + filepath.Base(outside) + "/secret",
		"outdir": outside, "indir": "dir", "git": ".git", "dir/piton": "../.piton", "loop": "loop", "etc": "/etc", "nowhere": "none",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		args m
		want tool.Code
	}{
		{"read_file", m{"path": "in"}, ""},
		{"read_file", m{"path": "indir/b.txt"}, ""},
		{"read_file", m{"path": "out"}, tool.OutsideWorkspace},
		{"read_file", m{"path": "up"}, tool.OutsideWorkspace},
		{"read_file", m{"path": "outdir/secret"}, tool.OutsideWorkspace},
		{"read_file", m{"path": "etc/passwd"}, tool.OutsideWorkspace},
		{"read_file", m{"path": "nowhere"}, tool.NotFound},
		{"list_directory", m{"path": "outdir"}, tool.OutsideWorkspace},
		{"list_directory", m{"path": "etc"}, tool.OutsideWorkspace},
		{"search", m{"text": "x", "path": "outdir"}, tool.OutsideWorkspace},
		{"write_file", m{"path": "out", "content": "x"}, tool.NotAFile},
		{"write_file", m{"path": "in", "content": "x"}, tool.NotAFile},
		{"write_file", m{"path": "nowhere", "content": "x"}, tool.NotAFile},
		{"write_file", m{"path": "outdir/x", "content": "x"}, tool.NotAFile},
		{"write_file", m{"path": "indir/x", "content": "x"}, tool.NotAFile},
		{"write_file", m{"path": "git/config", "content": "x"}, tool.NotAFile},
		{"write_file", m{"path": "dir/piton/config.yaml", "content": "x"}, tool.NotAFile},
		{"delete_file", m{"path": "git/config"}, tool.NotAFile},
		{"delete_file", m{"path": "out"}, tool.NotAFile},
		{"move_file", m{"from": "a.txt", "to": "outdir/x"}, tool.NotAFile},
		{"move_file", m{"from": "outdir/secret", "to": "x"}, tool.NotAFile},
		{"move_file", m{"from": "a.txt", "to": "git/hooks/x"}, tool.NotAFile},
		{"write_file", m{"path": "hard", "content": "mine"}, ""},
	} {
		if o := r.Call(t.Context(), c.tool, args(t, c.args), nil); code(o) != c.want {
			t.Errorf("%s %v: %q (%v), want %q", c.tool, c.args, code(o), o.Problem, c.want)
		}
	}
	if got := code(r.Call(t.Context(), "read_file", args(t, m{"path": "loop"}), nil)); got == "" {
		t.Error("a link to itself was read")
	}
	o := r.Call(t.Context(), "search", args(t, m{"text": "secret|root|two"}), nil)
	if strings.Contains(string(o.Output), "secret") || strings.Contains(string(o.Output), "indir") || !strings.Contains(string(o.Output), "dir/b.txt") {
		t.Errorf("a search followed a link: %s", o.Output)
	}
	if text(t, outside, "secret") != "secret" || text(t, dir, ".git/config") != "git" || text(t, dir, ".piton/config.yaml") != "piton" {
		t.Error("something was written through a link")
	}
}

// TestOddFiles: pipes and devices neither stop a call nor are changed.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	r, dir := open(t, tool.Config{}, map[string]string{"a.txt": "one"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		// A container may forbid it; the pipe is then all there is to try.
		_ = syscall.Mknod(filepath.Join(dir, "zero"), syscall.S_IFCHR|0o600, 1<<8|5)
	}
	for _, name := range []string{"pipe", "zero"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			continue
		}
		for _, c := range []struct {
			tool string
			args m
		}{
			{"read_file", m{"path": name}},
			{"write_file", m{"path": name, "content": "x"}},
			{"delete_file", m{"path": name}},
			{"move_file", m{"from": name, "to": "x"}},
			{"move_file", m{"from": "a.txt", "to": name, "overwrite": true}},
		} {
			if o := r.Call(t.Context(), c.tool, args(t, c.args), nil); code(o) != tool.NotAFile {
				t.Errorf("%s %v: %q (%v)", c.tool, c.args, code(o), o.Problem)
			}
		}
	}
	if o := r.Call(t.Context(), "search", args(t, m{"text": "one"}), nil); !o.OK {
		t.Errorf("search beside a pipe: %v", o.Problem)
	}
}

// TestRaces: somebody exchanges a directory for a link to outside, to Git's and
// back, as fast as they can, while files are written, moved and deleted below it.
// Nothing is ever changed there.
func TestRaces(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	put(t, outside, "f", "outside")
	r, dir := open(t, tool.Config{}, map[string]string{"d/f": "one", ".git/f": "git", "src": "x"})
	for name, to := range map[string]string{"link1": outside, "link2": ".git"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var rival sync.WaitGroup
	rival.Go(func() {
		at := func(name string) string { return filepath.Join(dir, name) }
		for ctx.Err() == nil {
			for _, link := range []string{"link1", "link2"} {
				os.Rename(at("d"), at("aside")) //nolint:errcheck // a rival does what it can
				os.Rename(at(link), at("d"))    //nolint:errcheck // a rival does what it can
				os.Rename(at("d"), at(link))    //nolint:errcheck // a rival does what it can
				os.Rename(at("aside"), at("d")) //nolint:errcheck // a rival does what it can
			}
		}
	})
	wrote := 0
	for range tier.Draws(50, 300) {
		for _, c := range []struct {
			tool string
			args m
		}{
			{"write_file", m{"path": "d/f", "content": "mine"}},
			{"write_file", m{"path": "d/new", "content": "mine"}},
			{"delete_file", m{"path": "d/new"}},
			{"move_file", m{"from": "d/f", "to": "d/g", "overwrite": true}},
		} {
			if r.Call(t.Context(), c.tool, args(t, c.args), nil).OK {
				wrote++
			}
		}
	}
	stop()
	rival.Wait()
	if wrote == 0 {
		t.Error("nothing was ever written: the race was no race")
	}
	for _, d := range []string{outside, filepath.Join(dir, ".git")} {
		list, err := os.ReadDir(d)
		if err != nil || len(list) != 1 {
			t.Errorf("%s has %v, error %v", d, list, err)
		}
	}
	if text(t, outside, "f") != "outside" || text(t, dir, ".git/f") != "git" {
		t.Error("a file was changed through a link")
	}
}
