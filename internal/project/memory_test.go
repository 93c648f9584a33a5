package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/project"
)

// TestNewMemory: no file is written over, and the same text is no second file.
func TestNewMemory(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ text, want string }{
		{"one", ".piton/memories/the-parser-is-slow.md"}, {"two", ".piton/memories/the-parser-is-slow-2.md"}, {"one", ".piton/memories/the-parser-is-slow.md"},
	} {
		name, err := project.NewMemory(dir, ".piton/memories", "The parser is slow!", []byte(c.text))
		body, _ := os.ReadFile(filepath.Join(dir, name))
		if err != nil || name != c.want || string(body) != c.text {
			t.Errorf("%q: %s has %q, %v", c.text, name, body, err)
		}
	}
	all, err := os.ReadDir(filepath.Join(dir, ".piton"))
	if err != nil || len(all) != 1 {
		t.Errorf("%v is left, %v", all, err)
	}
	linked, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(linked, ".piton")); err != nil {
		t.Fatal(err)
	}
	if name, err := project.NewMemory(linked, ".piton/memories", "x", nil); err == nil {
		t.Errorf("it wrote %s through a link", name)
	}
}
