package probe_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/probe"
)

// filled is a workspace with files; with a repository where git is said.
func filled(tb testing.TB, git bool, files map[string]string) probe.Env {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if git {
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "make the first one"}} {
			c := exec.Command("git", args...)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				tb.Skipf("git %v: %v, %s", args, err, out)
			}
		}
	}
	return probe.Env{Workspace: dir, Environ: os.Environ()}
}

func TestLook(t *testing.T) {
	files := map[string]string{
		"go.mod": "module x\n", "main.go": "package main\n", "a/a.go": "package a\n", "web/index.ts": "", "Makefile": "VAR := 1\ntest: build\n\tgo test\nbuild:\n\tgo build\nclean:\n",
		"package.json": `{"scripts": {"test": "vitest", "deploy": "x"}}`, ".gitignore": "out/\n", "out/big.py": "", ".piton/config.yaml": "",
	}
	want := probe.Snapshot{
		Paths:     []string{".gitignore", "Makefile", "a/a.go", "go.mod", "main.go", "package.json", "web/index.ts"},
		Languages: []string{"Go", "TypeScript"},
		Commands:  []string{"go build ./...", "go test ./...", "go vet ./...", "make build", "make test", "npm run test"},
		Commits:   []string{"make the first one"},
	}
	if diff := cmp.Diff(want, probe.Look(t.Context(), filled(t, true, files))); diff != "" {
		t.Error(diff)
	}
	// Without git hidden directories are left out, and nothing is ignored.
	want.Commits, want.Languages = nil, []string{"Go", "Python", "TypeScript"}
	want.Paths = []string{".gitignore", "Makefile", "a/a.go", "go.mod", "main.go", "out/big.py", "package.json", "web/index.ts"}
	if diff := cmp.Diff(want, probe.Look(t.Context(), filled(t, false, files))); diff != "" {
		t.Error(diff)
	}
	empty := probe.Look(t.Context(), filled(t, false, nil))
	if diff := cmp.Diff(probe.Snapshot{}, empty); diff != "" {
		t.Error(diff)
	}
}

// many is a workspace with a file for each number.
func many(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("src/d%d/f%d.go", i%50, i)] = "package x\n"
	}
	return files
}

// TestLookIsBounded shows what is near the root, and counts the rest.
func TestLookIsBounded(t *testing.T) {
	files := many(400)
	files["README.md"] = ""
	s := probe.Look(t.Context(), filled(t, false, files))
	if len(s.Paths) != 300 || s.More != 101 || s.Paths[0] != "README.md" {
		t.Errorf("%d paths and %d more, the first is %s", len(s.Paths), s.More, s.Paths[0])
	}
}

// BenchmarkLook is what the question for a planner costs in a repository of 2,000 files.
func BenchmarkLook(b *testing.B) {
	env := filled(b, true, many(2000))
	for b.Loop() {
		if s := probe.Look(b.Context(), env); len(s.Paths) != 300 {
			b.Fatal(len(s.Paths))
		}
	}
}
