package tree_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/tree"
)

// quarantine reads a quarantine's listing: path → what it was and what is kept.
func quarantine(t *testing.T, dir string) map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "listing.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e struct{ Path, What, Link, Kept string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join(dir, e.Kept)
		info, err := os.Lstat(kept)
		switch {
		case err != nil:
			t.Errorf("%s is listed and not kept: %v", e.Path, err)
		case e.Link != "":
			out[e.Path] = e.What + " -> " + e.Link
		case info.IsDir():
			out[e.Path] = e.What + " /"
		default:
			body, err := os.ReadFile(kept)
			if err != nil {
				t.Fatal(err)
			}
			out[e.Path] = e.What + " " + string(body)
		}
	}
	return out
}

// What a restore found is safe on disk, with the line that says what it was, before anything takes
// its place. Where that fails, it stays where it is.
func TestRestoreOnADiskThatFails(t *testing.T) {
	t.Parallel()
	const syncs = "listing.jsonl . listing.jsonl 0002-judge . listing.jsonl ."
	for fails := range 1 + len(strings.Fields(syncs)) {
		w := newWorkspace(t, "judge 1\nrun -> judge")
		b := w.protect("judge", "run", "new")
		w.do("judge 2\nrm run\nrun/deep/x y\nnew z")
		changes := w.compare(b, "judge", "run", "new")
		dir := filepath.Join(t.TempDir(), "quarantine")
		var synced []string
		w.tree.Syncs(func(name string) error {
			name, err := filepath.Rel(dir, name)
			if len(synced) < 5 && w.text("judge") != "2" {
				t.Error("judge is put back before what was there is safe")
			}
			if synced = append(synced, filepath.ToSlash(name)); len(synced) == fails {
				return errFull
			}
			return err
		})
		_, err := w.tree.Restore(t.Context(), changes, tree.Wanted{Base: b}, dir)
		if errors.Is(err, errFull) != (fails > 0) {
			t.Errorf("restored with a disk that fails in sync %d: %v", fails, err)
		}
		if got := strings.Join(synced, " "); fails == 0 && got != syncs {
			t.Errorf("made safe: %s, want %s", got, syncs)
		}
		w.tree.Syncs(func(string) error { return nil })
		if left, err := w.tree.Restore(t.Context(), changes, tree.Wanted{Base: b}, dir); err != nil || len(left.Left) > 0 {
			t.Errorf("not restored afterwards: %v, %v", left, err)
		}
		w.want(w.compare(b, "judge", "run", "new"), "")
	}
}

func TestRestoreKeepsWhatItFound(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, `
		check.sh !exit 1
		tests/a_test.py assert
		tests/b_test.py assert
		run -> check.sh
		package.json {"name":"x","scripts":{"test":"jest"}}`)
	guards := []string{"check.sh", "tests/**", "run", "GNUmakefile", "package.json#scripts", "conf"}
	b := w.protect(guards...)
	w.do(`
		mv tests real
		tests -> real
		real/b_test.py pass
		rm check.sh
		check.sh -> /bin/true
		rm run
		run/deep/x y
		GNUmakefile all:
		conf/x y
		package.json {"name":"y","scripts":{"test":"true"}}`)
	dir, left := w.restore(w.compare(b, guards...), tree.Wanted{Base: b})
	if len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	w.want(w.compare(b, guards...), "")
	for name, want := range map[string]string{
		"check.sh": "exit 1", "run": "-> check.sh", "GNUmakefile": "(absent)", "conf": "(absent)",
		"tests/a_test.py": "assert", "tests/b_test.py": "assert", "real/b_test.py": "pass",
		"package.json": "{\n  \"name\": \"y\",\n  \"scripts\": {\n    \"test\": \"jest\"\n  }\n}\n",
	} {
		if got := w.text(name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if info, err := os.Stat(w.path("check.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("check.sh is not executable again: %v %v", info.Mode(), err)
	}
	want := map[string]string{
		"check.sh": "type -> /bin/true", "run": "type /", "GNUmakefile": "added all:", "conf": "added /",
		"tests": "type -> real", "package.json": `changed {"name":"y","scripts":{"test":"true"}}`,
	}
	if d := cmp.Diff(want, quarantine(t, dir)); d != "" {
		t.Errorf("quarantine (-want +got):\n%s", d)
	}
}

// Restoring twice is restoring once, also into the same quarantine.
func TestRestoreRepeats(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a 1\nb 1")
	b := w.protect("a", "b")
	w.do("a 2\nb 2")
	cs := w.compare(b, "a", "b")
	dir, _ := w.restore(cs[:1], tree.Wanted{Base: b})
	if done, err := w.tree.Restore(t.Context(), cs, tree.Wanted{Base: b}, dir); err != nil || !cmp.Equal(done, tree.Restored{Back: []string{"b"}, Kept: true}) {
		t.Errorf("second restore: %+v, %v", done, err)
	}
	if d := cmp.Diff(map[string]string{"a": "changed 2", "b": "changed 2"}, quarantine(t, dir)); d != "" {
		t.Errorf("quarantine (-want +got):\n%s", d)
	}
	if done, err := w.tree.Restore(t.Context(), cs, tree.Wanted{Base: b}, filepath.Join(t.TempDir(), "none")); err != nil || !cmp.Equal(done, tree.Restored{}) {
		t.Errorf("third restore: %+v, %v", done, err)
	}
}

// A link that leads out of the workspace is never written through.
func TestRestoreStaysInside(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	w := newWorkspace(t, "sub/deep/check.sh exit 1")
	b := w.protect("sub/deep/check.sh", "sub/deep/new.sh")
	w.do("rm sub\nsub/x y\nsub/deep -> " + outside)
	if err := os.WriteFile(filepath.Join(outside, "new.sh"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	cs := w.compare(b, "sub/deep/check.sh", "sub/deep/new.sh")
	w.want(cs, "type sub/deep/check.sh\nadded sub/deep/new.sh")
	dir, left := w.restore(cs, tree.Wanted{Base: b})
	if len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	if d := cmp.Diff(map[string]string{"sub/deep": "type -> " + outside}, quarantine(t, dir)); d != "" {
		t.Errorf("quarantine (-want +got):\n%s", d)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside of the workspace: %v, %v; want new.sh untouched", entries, err)
	}
	if got := w.text("sub/deep/check.sh"); got != "exit 1" {
		t.Errorf("sub/deep/check.sh = %q", got)
	}
}

func TestRestoreSaysWhatItCannot(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 9<<20)
	w := newWorkspace(t, "small 1\nbig "+big)
	b := w.protect("small", "big")
	w.do("small 2\nbig 2")
	cs := append(w.compare(b, "small", "big"), tree.Change{Path: "unknown", What: "changed"})
	_, left := w.restore(cs, tree.Wanted{Base: b})
	want := []tree.Unrestored{
		{Path: "big", Reason: "its content was not kept"},
		{Path: "unknown", Reason: "nobody knows what it was"},
	}
	if d := cmp.Diff(want, left); d != "" {
		t.Errorf("not restored (-want +got):\n%s", d)
	}
	if got := w.text("big"); got != "2" {
		t.Error("what cannot be put back must be left alone")
	}
}

// Contents that were damaged since are not put back.
func TestRestoreVerifiesContents(t *testing.T) {
	t.Parallel()
	keep := filepath.Join(t.TempDir(), "keep")
	w := openWorkspace(t, "check.sh exit 1", tree.Config{Keep: keep})
	b := w.protect("check.sh")
	err := filepath.WalkDir(keep, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, bytes.Replace(body, []byte("exit 1"), []byte("exit 0"), 1), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.do("check.sh exit 2")
	_, left := w.restore(w.compare(b, "check.sh"), tree.Wanted{Base: b})
	if len(left) != 1 || !strings.Contains(left[0].Reason, "damaged") {
		t.Errorf("not restored: %v, want check.sh with damaged content", left)
	}
	if got := w.text("check.sh"); got != "exit 2" {
		t.Errorf("check.sh = %q", got)
	}
}

// The executable bit of a file that is too large to be kept comes back all the same.
func TestRestoreModeNeedsNoContent(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "big !"+strings.Repeat("x", 9<<20))
	b := w.protect("big")
	w.do("chmod -x big")
	if _, left := w.restore(w.compare(b, "big"), tree.Wanted{Base: b}); len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	w.want(w.compare(b, "big"), "")
}

// A directory that nobody may enter any more is opened again.
func TestRestoreOpensDirectories(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "tests/a/x 1")
	b := w.protect("tests/a/x")
	w.do("tests/a/x 2")
	if err := os.Chmod(w.path("tests/a"), 0o500); err != nil {
		t.Fatal(err)
	}
	if _, left := w.restore(w.compare(b, "tests/a/x"), tree.Wanted{Base: b}); len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	info, err := os.Stat(w.path("tests/a"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("tests/a has mode %v, %v; want it to be writable", info.Mode(), err)
	}
	w.want(w.compare(b, "tests/a/x"), "")
}

// A directory that nobody may move, in the place of a file or on the way to one, is moved.
func TestRestoreMovesClosedDirectories(t *testing.T) {
	t.Parallel()
	for _, mode := range []os.FileMode{0o555, 0o300, 0} {
		w := newWorkspace(t, "tests/a 1")
		b := w.protect("tests/a")
		if err := errors.Join(os.Remove(w.path("tests/a")), os.MkdirAll(w.path("tests/a/x"), 0o755), os.Chmod(w.path("tests/a"), mode), os.Chmod(w.path("tests"), 0o555)); err != nil {
			t.Fatal(err)
		}
		if _, left := w.restore(w.compare(b, "tests/a"), tree.Wanted{Base: b}); len(left) > 0 {
			t.Errorf("%v: not restored: %v", mode, left)
		}
		w.want(w.compare(b, "tests/a"), "")
	}
}

// Names that are no text survive a journal.
func TestStrangeNames(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "tests/a 1")
	names := []string{"tests/\xff\xfe", "tests/a\\b", "tests/ü\n", "tests/package.json#scripts", "tests/<&>"}
	for _, n := range names {
		if err := os.WriteFile(w.path(n), []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := tree.DecodeBase(w.protect("tests/**").Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := os.WriteFile(w.path(n), []byte("2"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	body, err := json.Marshal(w.compare(b, "tests/**"))
	if err != nil {
		t.Fatal(err)
	}
	var cs []tree.Change
	if err := json.Unmarshal(body, &cs); err != nil {
		t.Fatal(err)
	}
	if len(cs) != len(names) {
		t.Errorf("%d changes, want %d: %q", len(cs), len(names), words(cs))
	}
	if _, left := w.restore(cs, tree.Wanted{Base: b}); len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	for _, n := range names {
		if got := w.text(n); got != "1" {
			t.Errorf("%q = %q", n, got)
		}
	}
}
