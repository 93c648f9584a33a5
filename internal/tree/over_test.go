package tree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

// A base over a later one protects what it did as it was, whatever somebody
// made of the file since, and beside that what only the later one knows.
func TestBaseOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("kept", "as approved")
	w, err := tree.Open(dir, tree.Config{Keep: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	first, err := w.Protect(t.Context(), []string{"kept", "absent"})
	if err != nil {
		t.Fatal(err)
	}
	put("kept", "tampered with")
	put("absent", "made since")
	put("new", "guarded from now on")
	later, err := w.Protect(t.Context(), []string{"kept", "absent", "new"})
	if err != nil {
		t.Fatal(err)
	}
	over := first.Over(later)
	for name, from := range map[string]*tree.Base{"kept": first, "absent": first, "new": later} {
		want, _ := from.Digest(name)
		if got, ok := over.Digest(name); !ok || got != want {
			t.Errorf("%s is protected as %q, want %q", name, got, want)
		}
	}
	changed, err := over.Tampered(t.Context(), w, []string{"kept", "absent", "new"}, tree.Scopes{}, nil)
	if err != nil || len(changed) != 2 {
		t.Errorf("it finds %v, %v", changed, err)
	}
	if _, err := tree.DecodeBase(over.Encode()); err != nil {
		t.Error(err)
	}
}
