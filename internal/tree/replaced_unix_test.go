//go:build unix

package tree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

// Processes start in the path of the workspace, and a Tree holds the directory
// that was there when it was opened. Where the two part, what is compared is not
// what a contract runs, so nothing may be answered.
func TestReplacedWorkspace(t *testing.T) {
	for name, replace := range map[string]func(dir string) error{
		"by a copy":  func(dir string) error { return os.CopyFS(dir, os.DirFS(dir+".old")) },
		"by a link":  func(dir string) error { return os.Symlink(dir+".other", dir) },
		"by a file":  func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"by nothing": func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ws")
			for _, d := range []string{dir, dir + ".other"} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(d, "check.sh"), []byte("test -f proof\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w, err := tree.Open(dir, tree.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			b, err := w.Protect(t.Context(), []string{"check.sh"})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(dir, dir+".old"); err != nil {
				t.Fatal(err)
			}
			if err := replace(dir); err != nil {
				t.Fatal(err)
			}
			if cs, err := b.Tampered(t.Context(), w, []string{"check.sh"}, tree.Scopes{}, nil); err == nil || !strings.Contains(err.Error(), "moved or replaced") {
				t.Errorf("Tampered = %v, %v, want an error", cs, err)
			}
			if _, err := w.Scan(t.Context(), nil); err == nil {
				t.Error("Scan answered")
			}
			if _, err := w.Digest("check.sh"); err == nil {
				t.Error("Digest answered")
			}
		})
	}
}
