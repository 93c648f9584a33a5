package tree_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/tier"
	"github.com/piton-dev/piton/internal/tree"
)

const project = `
	.gitignore *.log\nbuild/\n
	src/a.go 1
	src/b.go 1
	tests/a_test.go 1
	noise.log 1
	build/out 1`

func TestScanFindsChanges(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, work, want string }{
		{"nothing", "", ""},
		{
			"one of each", "src/a.go 2\nrm src/b.go\nsrc/c.go 1\nchmod +x tests/a_test.go",
			"changed src/a.go\nremoved src/b.go\nadded src/c.go\nmode tests/a_test.go",
		},
		{"a link for a file", "rm src/a.go\nsrc/a.go -> b.go", "type src/a.go"},
		{
			"a link for a directory", "mv src elsewhere\nsrc -> elsewhere",
			"added elsewhere/a.go\nadded elsewhere/b.go\nadded src\ntype src/a.go\ntype src/b.go",
		},
		{"what git and piton have for themselves", ".git/hooks/x y\n.piton/config.yaml x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newRepository(t, project)
			before := w.scan(nil)
			w.do(tt.work)
			w.want(tree.Diff(before, w.scan(&before)), tt.want)
		})
		t.Run(tt.name+" without git", func(t *testing.T) {
			w := newWorkspace(t, project)
			before := w.scan(nil)
			w.do(tt.work)
			w.want(tree.Diff(before, w.scan(&before)), tt.want)
		})
	}
}

func TestScanHonoursIgnore(t *testing.T) {
	t.Parallel()
	w := newRepository(t, project)
	before := w.scan(nil)
	if _, ok := before.Files["noise.log"]; ok || !before.Git {
		t.Errorf("an ignored file is in the manifest: %v", before.Files)
	}
	w.do("noise.log 2\nbuild/new 1\nmore.log 1")
	w.want(tree.Diff(before, w.scan(&before)), "")
}

// Nobody can hide what they did by telling git to ignore it.
func TestScanIsNotBlinded(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, work, want string }{
		{"by an ignore file", "src/a.go 2\n.gitignore *", "changed .gitignore\nchanged src/a.go"},
		{"by the repository's own exclude file", "src/a.go 2\n.git/info/exclude *", "changed .git/info/exclude\nchanged src/a.go"},
		{
			"by a variable", `.git/config [core]\n\texcludesFile = /tmp/x\n\tworktree = /tmp\n\tfsmonitor = false\n\tbare = true` + "\nsrc/a.go 2\nnew 1",
			"added new\nchanged src/a.go",
		},
		{"by breaking the index", ".git/index nonsense\nsrc/a.go 2\nbuild/x y", "type .git\nchanged src/a.go"},
		{"by removing the repository", "rm .git\nsrc/a.go 2\nbuild/x y", "type .git\nchanged src/a.go"},
		{
			"by a repository inside", "src/.git/HEAD ref: refs/heads/main\nsrc/.git/objects/\nsrc/.git/refs/\nsrc/a.go 2\nsrc/new.go 1",
			"changed src/a.go\nadded src/new.go",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newRepository(t, project)
			w.do(".git/info/exclude # none")
			before := w.scan(nil)
			w.do(tt.work)
			w.want(tree.Diff(before, w.scan(&before)), tt.want)
		})
	}
	t.Run("by taking a file out of the index", func(t *testing.T) {
		w := newRepository(t, project)
		before := w.scan(nil)
		w.git("rm", "-q", "--cached", "src/a.go")
		w.do("src/a.go 2\n" + `.gitignore *.log\nbuild/\nsrc/a.go`)
		w.want(tree.Diff(before, w.scan(&before)), "changed .gitignore\nchanged src/a.go")
	})
	t.Run("by making a repository", func(t *testing.T) {
		w := newRepository(t, project)
		w.do("rm .git")
		before := w.scan(nil)
		w.git("init", "-q")
		w.do(".gitignore *\nnew 1")
		w.want(tree.Diff(before, w.scan(&before)), "changed .gitignore\nadded new")
	})
}

// What was ignored and is not any more was there before: it is no addition, and
// nobody removes it.
func TestScanKnowsWhatWasIgnored(t *testing.T) {
	t.Parallel()
	w := newRepository(t, project)
	before := w.scan(nil)
	w.do("rm .gitignore\nbuild/more 1\nfresh.log 1")
	cs := tree.Diff(before, w.scan(&before))
	w.want(cs, "removed .gitignore\nadded fresh.log")
	if _, left := w.restore(cs, tree.Wanted{Tree: before}); len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	if w.text("build/out") != "1" || w.text("noise.log") != "1" {
		t.Error("ignored files are gone")
	}
}

// A change that is out of scope is undone, whoever added what.
func TestScanAndRestore(t *testing.T) {
	t.Parallel()
	w := newRepository(t, project)
	before := w.scan(nil)
	w.do("src/a.go 2\nrm tests\nnew/deep/file 1\nchmod +x src/b.go\nlink -> src")
	cs := tree.OutOfScope(tree.Diff(before, w.scan(&before)), []string{"src/a.go"})
	w.want(cs, "added link\nadded new/deep/file\nmode src/b.go\nremoved tests/a_test.go")
	if _, left := w.restore(cs, tree.Wanted{Tree: before}); len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	w.want(tree.Diff(before, w.scan(&before)), "changed src/a.go")
}

// A workspace below the top of a repository has its ignored files too.
func TestScanBelowTheTop(t *testing.T) {
	t.Parallel()
	w := newRepository(t, "sub/a 1\nsub/x.log 1\n.gitignore *.log\nother 1")
	in := openWorkspace(t, "", treeConfig(t))
	sub, err := tree.Open(w.path("sub"), gitConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	in.tree = sub
	m := in.scan(nil)
	if got := strings.Join(slices.Sorted(maps.Keys(m.Files)), " "); got != ".git/info/exclude a" || !m.Git {
		t.Errorf("manifest %v, want a, and what says what is ignored", m)
	}
}

func TestManifestRoundTrip(t *testing.T) {
	t.Parallel()
	w := newRepository(t, project)
	m := w.scan(nil)
	got, err := tree.DecodeManifest(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if string(m.Encode()) != string(w.scan(nil).Encode()) {
		t.Error("the same files have two encodings")
	}
	w.do("src/a.go 2")
	if string(m.Encode()) == string(w.scan(nil).Encode()) {
		t.Error("different files have one encoding")
	}
	for _, body := range []string{"", "{", `{"files":{"..":"-"}}`, `{"files":{"a":""}}`} {
		if _, err := tree.DecodeManifest([]byte(body)); err == nil {
			t.Errorf("DecodeManifest(%q) succeeded", body)
		}
	}
}

func TestOutOfScope(t *testing.T) {
	t.Parallel()
	paths := []string{"src", "src/a.go", "src/deep/b.go", "srcs/c.go", "SRC/a.go", "README.md", "docs/[id].md", "package.json#scripts", "a/x.go", "a/b/x.go"}
	tests := []struct {
		writes []string
		want   string // the paths outside
	}{
		{nil, ""},
		{[]string{"**"}, ""},
		{[]string{"."}, ""},
		{[]string{"src"}, "srcs/c.go SRC/a.go README.md docs/[id].md package.json#scripts a/x.go a/b/x.go"},
		{[]string{"./src/"}, "srcs/c.go SRC/a.go README.md docs/[id].md package.json#scripts a/x.go a/b/x.go"},
		{[]string{"src/**"}, "srcs/c.go SRC/a.go README.md docs/[id].md package.json#scripts a/x.go a/b/x.go"},
		{[]string{"src/*"}, "src src/deep/b.go srcs/c.go SRC/a.go README.md docs/[id].md package.json#scripts a/x.go a/b/x.go"},
		{[]string{"a/*.go", "package.json", "docs/[id].md"}, "src src/a.go src/deep/b.go srcs/c.go SRC/a.go README.md a/b/x.go"},
		{[]string{"**/*.{go,md}"}, "src package.json#scripts"},
		{[]string{"../src", "/src", "[", ""}, strings.Join(paths, " ")},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.writes, " "), func(t *testing.T) {
			var cs []tree.Change
			for _, p := range paths {
				cs = append(cs, tree.Change{Path: p, What: "changed"})
			}
			var outside []string
			for _, c := range tree.OutOfScope(cs, tt.writes) {
				outside = append(outside, c.Path)
			}
			got := strings.Join(outside, " ")
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("outside (-want +got):\n%s", d)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	w := newRepository(t, project)
	w.do("plan.md draft")
	began := time.Unix(1<<33, 0) // later than all that is written here
	print := func(opened ...string) string {
		t.Helper()
		h, err := w.tree.Print(t.Context(), opened, "plan.md", began)
		if err != nil || h == "" {
			t.Fatalf("Print = %q, %v", h, err)
		}
		return h
	}
	first := print()
	seen := map[string]string{first: "at first"}
	for _, work := range []string{"plan.md done", "noise.log 2", "src/a.go 1"} {
		w.do(work)
		if print() != first {
			t.Errorf("%q changes nothing that counts, and changes the print", work)
		}
	}
	for _, work := range []string{"src/a.go 2", "src/new.go 1", "README other", "GNUmakefile x", "chmod +x src/a.go", ".git/refs/tags/v1 x", ".git/logs/HEAD more"} {
		w.do(work)
		if was, ok := seen[print()]; ok {
			t.Errorf("after %q the print is as %s", work, was)
		}
		seen[print()] = "after " + work
	}
	ignored := print("noise.log")
	if w.do("noise.log 3"); print("noise.log") == ignored {
		t.Error("what git ignores and was opened does not count")
	}
	was := print()
	began = time.Unix(0, 0)
	if print() == was {
		t.Error("what was written to since counts")
	}
}

// treeConfig has a keep and no git.
func treeConfig(t testing.TB) tree.Config {
	t.Helper()
	return tree.Config{Keep: filepath.Join(t.TempDir(), "keep")}
}

// files makes n small files in directories of a hundred.
func files(t testing.TB, dir string, n int) {
	t.Helper()
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("pkg%03d/sub/file%05d_test.go", i/100, i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "package x // %d\n%s", i, strings.Repeat("// text\n", 300)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTenThousandFiles(t *testing.T) {
	t.Parallel()
	n := tier.Draws(1000, 10_000)
	w := newWorkspace(t, "")
	files(t, w.dir, n)
	b := w.protect("**/*_test.go")
	before := w.scan(nil)
	if len(before.Files) != n {
		t.Fatalf("manifest of %d", len(before.Files))
	}
	w.do(fmt.Sprintf("pkg%03d/sub/file%05d_test.go changed\nrm pkg%03d", n/200, n/2, n/200+1))
	cs := w.compare(b, "**/*_test.go")
	if d := cmp.Diff(words(tree.Diff(before, w.scan(&before))), words(cs)); d != "" || len(cs) != 101 {
		t.Errorf("%d changes; scan and base (-scan +base):\n%s", len(cs), d)
	}
	if _, left := w.restore(cs, tree.Wanted{Base: b}); len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	w.want(w.compare(b, "**/*_test.go"), "")
}

// What Piton prints to is left out by its path: a file that has its inode, or comes
// to have it later, is a change like any other.
func TestScanLeavesOutputOut(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tr, err := tree.Open(dir, tree.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	put("log", "begun\n")
	before, err := tr.Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tr.Output(filepath.Join(dir, "log"))
	tr.Output(filepath.Join(filepath.Dir(dir), "elsewhere"))
	put("log", "more\n")
	if err := os.Link(filepath.Join(dir, "log"), filepath.Join(dir, "hidden")); err != nil {
		t.Fatal(err)
	}
	after, err := tr.Scan(t.Context(), &before)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]tree.Change{{Path: "hidden", What: "added"}}, tree.Diff(before, after)); diff != "" {
		t.Error(diff)
	}
}
