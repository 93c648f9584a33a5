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

// having is an environment in which these programs are installed, besides those of git.
func having(t *testing.T, env probe.Env, programs ...string) probe.Env {
	t.Helper()
	bin := t.TempDir()
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if git, err := exec.LookPath("git"); err == nil {
		if err := os.Symlink(git, filepath.Join(bin, "git")); err != nil {
			t.Fatal(err)
		}
	}
	env.Environ = append(env.Environ, "PATH="+bin)
	return env
}

func TestLook(t *testing.T) {
	installed := []string{"go", "make", "npm"}
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
	if diff := cmp.Diff(want, probe.Look(t.Context(), having(t, filled(t, true, files), installed...))); diff != "" {
		t.Error(diff)
	}
	// Without git hidden directories are left out, and nothing is ignored.
	want.Commits, want.Languages = nil, []string{"Go", "Python", "TypeScript"}
	want.Paths = []string{".gitignore", "Makefile", "a/a.go", "go.mod", "main.go", "out/big.py", "package.json", "web/index.ts"}
	if diff := cmp.Diff(want, probe.Look(t.Context(), having(t, filled(t, false, files), installed...))); diff != "" {
		t.Error(diff)
	}
	empty := probe.Look(t.Context(), filled(t, false, nil))
	if diff := cmp.Diff(probe.Snapshot{}, empty); diff != "" {
		t.Error(diff)
	}
}

// TestLookForCommands tells a planner of the commands that checks of loops are detected by, and of
// none whose program is missing.
func TestLookForCommands(t *testing.T) {
	files := map[string]string{"pyproject.toml": "", "composer.json": `{"scripts": {"test": "phpunit", "lint": "x"}}`, "build.gradle": "", "gradlew": "", "Cargo.toml": ""}
	env := having(t, filled(t, false, files), "python3", "composer", "cargo", "gradle")
	if err := os.Chmod(filepath.Join(env.Workspace, "gradlew"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"./gradlew assemble", "./gradlew test", "cargo build", "cargo test", "composer run-script lint", "composer run-script test",
		"python3 -m compileall -q -x '(^|/)([.].*|venv|node_modules)/' .", "python3 -m unittest",
	}
	if diff := cmp.Diff(want, probe.Look(t.Context(), env).Commands); diff != "" {
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
