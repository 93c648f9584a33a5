package owner

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/api"
)

// BenchmarkCopy copies a workspace of 2,000 files.
func BenchmarkCopy(b *testing.B) {
	dir := b.TempDir()
	for n := range 2000 {
		name := filepath.Join(dir, fmt.Sprint("d", n%50), fmt.Sprintf("f%d.go", n))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, make([]byte, 8<<10), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		p := &api.Product{Place: api.Place{Dir: dir}, Env: os.Environ()}
		if err := copyWorkspace(b.Context(), p, filepath.Join(b.TempDir(), "work")); err != nil {
			b.Fatal(err)
		}
	}
}
