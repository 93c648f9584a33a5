package tree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

const benchFiles = 10_000

func benchTree(b *testing.B, dir string, c tree.Config) *tree.Tree {
	b.Helper()
	t, err := tree.Open(dir, c)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = t.Close() })
	return t
}

// A first scan reads and keeps everything.
func BenchmarkScanCold(b *testing.B) {
	dir := b.TempDir()
	files(b, dir, benchFiles)
	for b.Loop() {
		t := benchTree(b, dir, tree.Config{Keep: filepath.Join(b.TempDir(), "keep")})
		if _, err := t.Scan(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// A scan by a new process finds everything kept, and reads it.
func BenchmarkScanKept(b *testing.B) {
	dir, c := b.TempDir(), treeConfig(b)
	files(b, dir, benchFiles)
	for b.Loop() {
		t := benchTree(b, dir, c)
		if _, err := t.Scan(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// A later scan looks at each file and reads none.
func BenchmarkScanWarm(b *testing.B) {
	dir := b.TempDir()
	files(b, dir, benchFiles)
	t := benchTree(b, dir, treeConfig(b))
	for b.Loop() {
		if _, err := t.Scan(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// All files are covered by one glob.
func BenchmarkCompareAll(b *testing.B) { benchCompare(b, "**/*_test.go") }

// A step that protects a few of many protected files pays for those.
func BenchmarkCompareFew(b *testing.B) {
	benchCompare(b, "pkg007/sub/file0070?_test.go", "**/*_test.go")
}

func benchCompare(b *testing.B, guard string, more ...string) {
	dir := b.TempDir()
	files(b, dir, benchFiles)
	t := benchTree(b, dir, treeConfig(b))
	base, err := t.Protect(b.Context(), append(more, guard))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if cs, err := base.Compare(b.Context(), t, []string{guard}, nil); err != nil || len(cs) > 0 {
			b.Fatal(cs, err)
		}
	}
}

func BenchmarkProtect(b *testing.B) {
	dir, c := b.TempDir(), treeConfig(b)
	files(b, dir, benchFiles)
	for b.Loop() {
		if _, err := benchTree(b, dir, c).Protect(b.Context(), []string{"**/*_test.go", "GNUmakefile"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSplit divides 8,000 renames, and takes them back in a copy.
func BenchmarkSplit(b *testing.B) {
	const files = 8000
	dir := b.TempDir()
	name := func(kind string, n int) string { return filepath.Join(dir, fmt.Sprintf("%s-%d", kind, n)) }
	for n := range files {
		must(b, os.WriteFile(name("old", n), []byte(strconv.Itoa(n)), 0o600))
	}
	t, err := tree.Open(dir, tree.Config{Keep: b.TempDir()})
	must(b, err)
	defer t.Close()
	before, err := t.Scan(b.Context(), nil)
	must(b, err)
	for n := range files {
		must(b, os.Rename(name("old", n), name("new", n)))
	}
	after, err := t.Scan(b.Context(), &before)
	must(b, err)
	changes := tree.Diff(before, after)
	var s *tree.Split
	b.Run("Split", func(b *testing.B) {
		for b.Loop() {
			s, err = t.Split(b.Context(), before, after, changes)
			must(b, err)
		}
	})
	all := make([]int, files)
	for n := range all {
		all[n] = n
	}
	c, err := t.Copy(b.Context(), filepath.Join(b.TempDir(), "copy"))
	must(b, err)
	defer c.Close()
	b.Run("Without", func(b *testing.B) {
		for b.Loop() {
			must(b, c.Without(b.Context(), s, all...))
			must(b, c.Without(b.Context(), s))
		}
	})
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
