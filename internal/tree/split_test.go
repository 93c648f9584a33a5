package tree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/tree"
)

// TestSplit takes every part of a change back alone, and all of them, in a copy: the copy is
// then what the workspace was, and the workspace as it is.
func TestSplit(t *testing.T) {
	t.Parallel()
	const was = `
		.gitignore cache/\n
		cache/big 1
		a.txt one\ntwo\nthree\nfour\n
		bytes \xff
		gone 1
		old 2
		run !go\n
		link -> a.txt
	`
	w := newRepository(t, was)
	w.do("bin zero\\nbytes")
	ok(t, os.WriteFile(w.path("bin"), []byte("a\x00b"), 0o600))
	before := w.scan(nil)
	w.do(`
		a.txt ONE\ntwo\nfour\nfive\nsix\n
		rm gone
		dir/
		mv old dir/new
		chmod -x run
		made/x 3
	`)
	ok(t, os.WriteFile(w.path("bin"), []byte("a\x00c"), 0o600))
	ok(t, os.Remove(w.path("link")))
	ok(t, os.Symlink("bin", w.path("link")))
	after := w.scan(&before)
	s, err := w.tree.Split(t.Context(), before, after, tree.Diff(before, after))
	ok(t, err)
	var places []string
	for _, p := range s.Parts {
		places = append(places, p.Place)
	}
	want := []string{
		"old to dir/new (renamed)", "a.txt:1", "a.txt:3 (lines taken out)", "a.txt:4-5", "bin (changed)", "gone (removed)",
		"link (changed)", "made/x (added)", "run (mode)",
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Fatalf("parts (-want +got):\n%s", diff)
	}
	to := filepath.Join(t.TempDir(), "copy")
	c, err := w.tree.Copy(t.Context(), to)
	ok(t, err)
	defer c.Close()
	in := &workspace{T: t, dir: c.Dir}
	look := func(all ...string) string {
		var b strings.Builder
		for _, name := range all {
			b.WriteString(name + "=" + in.text(name) + "|")
		}
		return b.String()
	}
	files := []string{"a.txt", "bin", "gone", "old", "dir/new", "link", "made/x", "cache/big"}
	now := look(files...)
	for n, want := range []string{
		"old=2|dir/new=(absent)|", "a.txt=one\ntwo\nfour\nfive\nsix\n|", "a.txt=ONE\ntwo\nthree\nfour\nfive\nsix\n|",
		"a.txt=ONE\ntwo\nfour\n|", "bin=a\x00b|", "gone=1|", "link=-> a.txt|", "made/x=(absent)|",
	} {
		ok(t, c.Without(t.Context(), s, n))
		if got := look(files...); !strings.Contains(got, want) {
			t.Errorf("without %s: %q, want %q", places[n], got, want)
		}
	}
	ok(t, c.Without(t.Context(), s, slices.Index(places, "run (mode)")))
	if info, err := os.Stat(in.path("run")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("without the mode: %v, %v", info.Mode(), err)
	}
	ok(t, os.WriteFile(in.path("a.txt"), []byte("a check did this"), 0o600))
	ok(t, c.Without(t.Context(), s))
	if got := look(files...); got != now {
		t.Errorf("with all in place: %q, want %q", got, now)
	}
	all := make([]int, len(s.Parts))
	for n := range all {
		all[n] = n
	}
	ok(t, c.Without(t.Context(), s, all...))
	if got, want := look(files...), "a.txt=one\ntwo\nthree\nfour\n|bin=a\x00b|gone=1|old=2|dir/new=(absent)|link=-> a.txt|made/x=(absent)|cache/big=1|"; got != want {
		t.Errorf("without any of it: %q, want %q", got, want)
	}
	if _, err := os.Stat(in.path("made")); err == nil {
		t.Error("a directory that held nothing else is still there")
	}
	if diff := cmp.Diff(after, w.scan(&before)); diff != "" {
		t.Errorf("the workspace is another one (-want +got):\n%s", diff)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestSplitOfWhatIsGone says so where what a file was is not known.
func TestSplitOfWhatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a 1")
	ok(t, os.WriteFile(w.path("big"), make([]byte, 2<<20), 0o600))
	before := w.scan(nil)
	w.do("big 1")
	after := w.scan(&before)
	if _, err := w.tree.Split(t.Context(), before, after, tree.Diff(before, after)); !errors.Is(err, tree.ErrNotKept) {
		t.Errorf("a change of what was not kept is split: %v", err)
	}
}

// TestCopyHasARepository: in a copy of a worktree, git works, and changes nothing of the
// repository that the worktree is of.
func TestCopyHasARepository(t *testing.T) {
	t.Parallel()
	w := newRepository(t, "a 1")
	w.commit()
	side := filepath.Join(t.TempDir(), "side")
	w.git("worktree", "add", "-q", side)
	tr, err := tree.Open(side, gitConfig(t))
	ok(t, err)
	defer tr.Close()
	c, err := tr.Copy(t.Context(), filepath.Join(t.TempDir(), "copy"))
	ok(t, err)
	defer c.Close()
	in := &workspace{T: t, dir: c.Dir}
	in.do("a 2")
	in.git("-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "-qam", "two")
	in.git("diff", "--exit-code", "HEAD")
	w.git("diff", "--exit-code", "side", "HEAD")
}

// TestPartsHaveOneTime: what is put back at once has the same time, so no product is older
// than what it was made of, and later than what was put there before.
func TestPartsHaveOneTime(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a.out 1\nz.in 1")
	before := w.scan(nil)
	w.do("z.in 2")
	w.do("a.out 2")
	s, c := copied(t, w, before)
	put, err := os.Stat(filepath.Join(c.Dir, "z.in"))
	ok(t, err)
	last := put.ModTime()
	for _, parts := range [][]int{{0, 1}, {}} {
		ok(t, c.Without(t.Context(), s, parts...))
		source, err := os.Stat(filepath.Join(c.Dir, "z.in"))
		ok(t, err)
		product, err := os.Stat(filepath.Join(c.Dir, "a.out"))
		ok(t, err)
		if !source.ModTime().Equal(product.ModTime()) || !source.ModTime().After(last) {
			t.Errorf("without %v the source is of %v, its product of %v, and before it was %v", parts, source.ModTime(), product.ModTime(), last)
		}
		last = source.ModTime()
	}
}

// TestLinksLeadIntoTheCopy: those that are put back too.
func TestLinksLeadIntoTheCopy(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a 1")
	for link, target := range map[string]string{"gone": w.path("a"), "stays": w.path("a"), "top": w.dir} {
		ok(t, os.Symlink(target, w.path(link)))
	}
	before := w.scan(nil)
	ok(t, os.Remove(w.path("gone")))
	s, c := copied(t, w, before)
	ok(t, c.Without(t.Context(), s, 0))
	for link, want := range map[string]string{"gone": filepath.Join(c.Dir, "a"), "stays": filepath.Join(c.Dir, "a"), "top": c.Dir} {
		got, err := os.Readlink(filepath.Join(c.Dir, link))
		if ok(t, err); got != want {
			t.Errorf("%s leads to %s, want %s", link, got, want)
		}
	}
}

// TestSplitCanBeCancelled, whatever it has to read.
func TestSplitCanBeCancelled(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a 1")
	before := w.scan(nil)
	w.do("a 2")
	after := w.scan(&before)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.tree.Split(ctx, before, after, tree.Diff(before, after)); !errors.Is(err, context.Canceled) {
		t.Errorf("it was cancelled: %v", err)
	}
}

// copied is what has changed since a scan, in parts, and a copy of what there is now.
func copied(t *testing.T, w *workspace, before tree.Manifest) (*tree.Split, *tree.Copy) {
	t.Helper()
	after := w.scan(&before)
	s, err := w.tree.Split(t.Context(), before, after, tree.Diff(before, after))
	ok(t, err)
	c, err := w.tree.Copy(t.Context(), filepath.Join(t.TempDir(), "copy"))
	ok(t, err)
	t.Cleanup(c.Close)
	return s, c
}
