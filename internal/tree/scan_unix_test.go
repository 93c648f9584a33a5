//go:build unix

package tree_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

func TestScanSpecialFiles(t *testing.T) {
	w := newWorkspace(t, "a 1")
	if err := syscall.Mkfifo(w.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat("d/", 150)
	w.do(deep + "x 1")
	before := w.scan(nil)
	if got := before.Files["pipe"]; got != "o:p" {
		t.Errorf("a pipe is %q", got)
	}
	top := strings.Repeat("d/", 101)
	if got := before.Files[strings.TrimSuffix(top, "/")]; got != "d" || len(before.Files) != 3 {
		t.Errorf("what lies too deep is %q, of %d files", got, len(before.Files))
	}
	w.do("rm pipe\npipe 1\nrm d")
	w.want(tree.Diff(before, w.scan(&before)), "removed "+strings.TrimSuffix(top, "/")+"\ntype pipe")
}

// A file costs what it has on the disk, not the size that it says it has. Holes and
// zeros are the same to whoever reads it.
func TestLargeFiles(t *testing.T) {
	w := newWorkspace(t, "")
	sparse := func(name string, size int64, at int64, text string) {
		t.Helper()
		f, err := os.Create(w.path(name))
		if err == nil {
			_, err = f.WriteAt([]byte(text), at)
		}
		if err = errors.Join(err, f.Truncate(size), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	const huge = 8 << 40
	sparse("huge", huge, huge/2, "x")
	sparse("same", huge, huge/2, "x")
	sparse("later", huge, huge/2+1, "x")
	sparse("longer", huge+1, huge/2, "x")
	sparse("holes", 20<<20, 10<<20, "x")
	zeros := make([]byte, 20<<20)
	zeros[10<<20] = 'x'
	if err := os.WriteFile(w.path("zeros"), zeros, 0o644); err != nil {
		t.Fatal(err)
	}
	is := w.scan(nil).Files
	if is["huge"] != is["same"] || is["holes"] != is["zeros"] {
		t.Errorf("the same content has other digests: %v", is)
	}
	if is["huge"] == is["later"] || is["huge"] == is["longer"] || is["huge"] == is["holes"] {
		t.Errorf("other content has the same digest: %v", is)
	}
}

// A file that is moved to quarantine on another disk takes no more room there.
func TestLargeFilesAreKeptSparse(t *testing.T) {
	w := newWorkspace(t, "a 1")
	b := w.protect("a")
	f, err := os.OpenFile(w.path("a"), os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt([]byte("end"), 1<<40)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	dir, _ := w.restore(w.compare(b, "a"), tree.Wanted{Base: b})
	kept, err := os.Open(filepath.Join(dir, "0001-a"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	text := make([]byte, 3)
	if _, err := kept.ReadAt(text, 1<<40); err != nil || string(text) != "end" {
		t.Errorf("%q, %v", text, err)
	}
	if w.text("a") != "1" {
		t.Errorf("a is %q", w.text("a"))
	}
}

// A git that lists the files and then refuses to say which it ignores is believed in nothing: else
// all that is ignored would look new.
func TestGitThatRefusesToListTheIgnored(t *testing.T) {
	c := gitConfig(t)
	script := filepath.Join(t.TempDir(), "git")
	ok(t, os.WriteFile(script, []byte("#!/bin/sh\ncase \"$*\" in *--ignored*) exit 128; esac\nexec "+c.Git+" \"$@\"\n"), 0o755))
	c.Git = script
	w := openWorkspace(t, ".gitignore log\nlog 1\na 1", c)
	w.git("init", "-q")
	if m, err := w.tree.Scan(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "what it ignores") {
		t.Errorf("scanned: %+v, %v", m, err)
	}
}

// Looking ends with its context, in the midst of a file too.
func TestLookingEnds(t *testing.T) {
	w := newWorkspace(t, "a 1")
	b := w.protect("a")
	if err := os.WriteFile(w.path("a"), bytes.Repeat([]byte("0123456789abcdef"), 4<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	changes := w.compare(b, "a")
	w.do("chmod +x a") // it has to be read again
	ctx := &patient{Context: t.Context(), left: 20}
	if _, err := w.tree.Restore(ctx, changes, tree.Wanted{Base: b}, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A patient context is done after it was asked a number of times.
type patient struct {
	context.Context
	left int
}

func (p *patient) Err() error {
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// Git knows no holes: a file of them would keep a merge busy for hours.
func TestMergeOfHoles(t *testing.T) {
	p := newPair(t, "a 1\n.gitignore image", "")
	for _, name := range []string{"image", "big"} {
		p.aside.do(name + " x")
		if err := os.Truncate(p.aside.path(name), 8<<40); err != nil {
			t.Fatal(err)
		}
		_, err := p.work.Merge(t.Context(), "merge of "+name, "", 0, nil)
		if refused := err != nil && strings.Contains(err.Error(), "big reads as 8192 GiB"); refused != (name == "big") || !refused && err != nil {
			t.Errorf("with %s: %v", name, err)
		}
	}
}
