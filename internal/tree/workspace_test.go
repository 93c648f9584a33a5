package tree_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tree"
)

// A workspace is a directory with a Tree on it.
type workspace struct {
	*testing.T
	dir  string
	tree *tree.Tree
}

// newWorkspace makes the files of a script: lines of "path content", "path -> target"
// for a link and "path/" for a directory. A content with a leading "!" is executable.
func newWorkspace(t *testing.T, script string) *workspace {
	t.Helper()
	return openWorkspace(t, script, tree.Config{Keep: filepath.Join(t.TempDir(), "keep")})
}

func openWorkspace(t *testing.T, script string, c tree.Config) *workspace {
	t.Helper()
	w := &workspace{T: t, dir: t.TempDir()}
	w.do(script)
	tr, err := tree.Open(w.dir, c)
	if err != nil {
		t.Fatal(err)
	}
	w.tree = tr
	t.Cleanup(func() { _ = tr.Close() })
	return w
}

// newRepository is a workspace that git knows, with all files of the script added.
func newRepository(t *testing.T, script string) *workspace {
	t.Helper()
	w := openWorkspace(t, script, gitConfig(t))
	w.git("init", "-q")
	w.git("add", "-A")
	return w
}

// pool runs git for all tests. What it holds ends with them.
var pool = sync.OnceValues(func() (*proc.Pool, error) { return proc.NewPool(proc.Config{}) })

// gitConfig has a keep, git, and something to run it.
func gitConfig(t *testing.T) tree.Config {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatalf("these tests need git: %v", err)
	}
	pool, err := pool()
	if err != nil {
		t.Fatal(err)
	}
	return tree.Config{Keep: filepath.Join(t.TempDir(), "keep"), Quarantine: filepath.Join(t.TempDir(), "quarantine"), Git: git, Pool: pool}
}

func (w *workspace) git(args ...string) {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// commit commits what was added.
func (w *workspace) commit() {
	w.Helper()
	w.git("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "maintenance.auto=false", "commit", "-qm", "start")
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// do runs a script as above; "rm path", "mv from to" and "chmod +x path" are
// done in their turn.
func (w *workspace) do(script string) {
	w.Helper()
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := w.doLine(line); err != nil {
			w.Fatalf("%s: %v", line, err)
		}
	}
}

func (w *workspace) doLine(line string) error {
	f := strings.Fields(line)
	switch {
	case f[0] == "rm":
		return os.RemoveAll(w.path(f[1]))
	case f[0] == "mv":
		return os.Rename(w.path(f[1]), w.path(f[2]))
	case f[0] == "chmod":
		mode := map[string]fs.FileMode{"+x": 0o755, "-x": 0o644}[f[1]]
		return os.Chmod(w.path(f[2]), mode)
	case strings.HasSuffix(f[0], "/"):
		return os.MkdirAll(w.path(f[0]), 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(w.path(f[0])), 0o755); err != nil {
		return err
	}
	if len(f) == 3 && f[1] == "->" {
		return os.Symlink(f[2], w.path(f[0]))
	}
	_, content, _ := strings.Cut(line, " ")
	perm := fs.FileMode(0o644)
	if c, ok := strings.CutPrefix(content, "!"); ok {
		content, perm = c, 0o755
	}
	return os.WriteFile(w.path(f[0]), []byte(strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(content)), perm)
}

func (w *workspace) protect(guards ...string) *tree.Base {
	w.Helper()
	b, err := w.tree.Protect(w.Context(), guards)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func (w *workspace) compare(b *tree.Base, guards ...string) []tree.Change {
	w.Helper()
	cs, err := b.Compare(w.Context(), w.tree, guards, nil)
	if err != nil {
		w.Fatal(err)
	}
	return cs
}

func (w *workspace) scan(since *tree.Manifest) tree.Manifest {
	w.Helper()
	m, err := w.tree.Scan(w.Context(), since)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// restore puts changes back and returns the quarantine.
func (w *workspace) restore(cs []tree.Change, want tree.Wanted) (dir string, left []tree.Unrestored) {
	w.Helper()
	dir = filepath.Join(w.TempDir(), "quarantine")
	done, err := w.tree.Restore(w.Context(), cs, want, dir)
	if err != nil {
		w.Fatal(err)
	}
	return dir, done.Left
}

// text is what a file holds, where a link leads, or "(absent)".
func (w *workspace) text(name string) string {
	w.Helper()
	if target, err := os.Readlink(w.path(name)); err == nil {
		return "-> " + target
	}
	body, err := os.ReadFile(w.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "(absent)"
	} else if err != nil {
		w.Fatal(err)
	}
	return string(body)
}

// words writes changes as "what path" lines.
func words(cs []tree.Change) string {
	var b strings.Builder
	for _, c := range cs {
		b.WriteString(c.What + " " + c.Path + "\n")
	}
	return b.String()
}

func (w *workspace) want(got []tree.Change, want string) {
	w.Helper()
	var b strings.Builder
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	if d := cmp.Diff(b.String(), words(got)); d != "" {
		w.Errorf("changes (-want +got):\n%s", d)
	}
}
