package tree_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

// Whatever is written to is told, also where it is as it was before; what Piton
// writes is not.
func TestStamps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"doc/plan.md", "a", "b/one", "b/two", "c/old"} {
		put(name, name)
	}
	tr, err := tree.Open(dir, tree.Config{Keep: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	look := func() tree.Stamps {
		t.Helper()
		s, young, err := tr.Stamps(t.Context(), "doc/plan.md")
		if err != nil || !slices.Contains(young, "doc/") {
			t.Fatalf("%v, young %q", err, young)
		}
		return s
	}
	watch := []string{"a", "b/", "b/**", "gone", "doc/"}
	digests := func() map[string]string {
		t.Helper()
		d, err := tr.Digests(t.Context(), watch, "doc/plan.md")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before, was := look(), digests()
	if again := look(); len(before.Touched(again)) > 0 {
		t.Errorf("touched by looking: %q", before.Touched(again))
	}
	put("doc/plan.md", "marked")
	put("doc/.plan.md.123", "to be renamed")
	if err := os.Remove(filepath.Join(dir, "doc/.plan.md.123")); err != nil {
		t.Fatal(err)
	}
	put("a", "a")
	put("b/two", "other")
	if err := os.Remove(filepath.Join(dir, "c/old")); err != nil {
		t.Fatal(err)
	}
	decoded, err := tree.DecodeStamps(before.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded.Touched(look()); !slices.Equal(got, []string{"./", "a", "b/", "b/two", "c/", "c/old"}) {
		t.Errorf("touched: %q", got)
	}
	is := digests()
	for name, changed := range map[string]bool{"a": false, "b/": false, "b/**": true, "gone": false, "doc/": false} {
		if (was[name] != is[name]) != changed {
			t.Errorf("%s changed: %v", name, !changed)
		}
	}
}

// A document that lies elsewhere hides nothing of the workspace, and a path that
// leads elsewhere is named.
func TestStampsOfADocumentElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plan.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tr, err := tree.Open(dir, tree.Config{Keep: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, document := range []string{filepath.ToSlash(t.TempDir()) + "/plan.md", "../plan.md"} {
		all, young, err := tr.Stamps(t.Context(), document)
		if err != nil || all["plan.md"] == "" {
			t.Errorf("%s: %v, %v", document, all, err)
		}
		if _, err := tr.Digests(t.Context(), young, document); err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
	for _, odd := range []string{"/etc/", "../x", "/**", "a//b", ""} {
		if _, err := tr.Digests(t.Context(), []string{odd}, ""); err == nil || err.Error() != "look at "+odd+": that is no path in the workspace" {
			t.Errorf("%q: %v", odd, err)
		}
	}
}
