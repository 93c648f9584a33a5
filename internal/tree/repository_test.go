package tree_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

// gitsOwn are guards of what belongs to the repository, as every step has them.
var gitsOwn = []string{".git/commondir", ".git/config#run", ".git/config.worktree", ".git/hooks/**", ".git/info/attributes", ".git/info/exclude"}

// A setting says how a workspace is made in a new repository, and where it and what
// git keeps for it are then.
type setting struct {
	name      string
	make      [][]string
	dir, kept string
}

var atTheTop = setting{"at the top", nil, ".", ".git"}

// places are workspaces that do not have their repository in a directory .git of
// their own.
var places = []setting{
	{"below the top", nil, "sub", ".git"},
	{"linked", [][]string{{"worktree", "add", "-q", "linked"}}, "linked", ".git"},
	{"below a linked one", [][]string{{"worktree", "add", "-q", "linked"}}, "linked/sub", ".git"},
	{"submodule", [][]string{{"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./", "module"}}, "module", ".git/modules/module"},
}

// place makes the workspace of a place; top is the repository that it belongs to.
func place(t *testing.T, make [][]string, dir string) (top, w *workspace) {
	t.Helper()
	top = newRepository(t, "sub/a 1\nother/b 1")
	top.commit()
	for _, args := range make {
		top.git(args...)
	}
	w = &workspace{T: t, dir: top.path(dir)}
	tr, err := tree.Open(w.dir, gitConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	w.tree = tr
	t.Cleanup(func() { _ = tr.Close() })
	return top, w
}

// Git's hooks and configuration are compared, and put back, where git has them.
func TestRepositoryElsewhere(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			top, w := place(t, p.make, p.dir)
			kept := &workspace{T: t, dir: top.path(p.kept)}
			kept.do("hooks/pre-push !true")
			b := w.protect(gitsOwn...)
			w.want(w.compare(b, gitsOwn...), "")
			kept.do("hooks/pre-commit !evil\nhooks/pre-push !evil\ninfo/attributes * filter=evil\ninfo/exclude *")
			w.git("config", "alias.st", "!evil")
			changes := w.compare(b, gitsOwn...)
			w.want(changes, `changed .git/config#run
				added .git/hooks/pre-commit
				changed .git/hooks/pre-push
				added .git/info/attributes
				changed .git/info/exclude`)
			if _, left := w.restore(changes, tree.Wanted{Base: b}); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
			w.want(w.compare(b, gitsOwn...), "")
			if got := kept.text("hooks/pre-push") + kept.text("hooks/pre-commit"); got != "true(absent)" {
				t.Errorf("the hooks are %q", got)
			}
		})
	}
}

// Whoever lets another repository be used is seen, also by one that begins anew.
func TestRepositoryIsReplaced(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			_, w := place(t, p.make, p.dir)
			b := w.protect(gitsOwn...)
			other := newRepository(t, "")
			w.do("rm .git\n.git gitdir: " + other.path(".git") + `\n`)
			if len(w.compare(b, gitsOwn...)) == 0 {
				t.Error("nothing is found")
			}
			anew, err := tree.Open(w.dir, gitConfig(t))
			if err != nil {
				t.Fatal(err)
			}
			defer anew.Close()
			changes, err := b.Compare(t.Context(), anew, gitsOwn, nil)
			if err != nil || len(changes) == 0 {
				t.Errorf("from then on: %v, %v", changes, err)
			}
			if _, left := w.restore(w.compare(b, gitsOwn...), tree.Wanted{Base: b}); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
			w.want(w.compare(b, gitsOwn...), "")
		})
	}
}

// What a linked worktree has for itself is guarded beside what is the repository's.
func TestConfigurationOfALinkedWorktree(t *testing.T) {
	t.Parallel()
	top, w := place(t, places[1].make, places[1].dir)
	b := w.protect(gitsOwn...)
	top.do(`.git/worktrees/linked/config.worktree [alias]\n\tst = !evil\n`)
	w.want(w.compare(b, gitsOwn...), "added .git/worktrees/linked/config.worktree")
}

// In the worktree of a step the repository's own files are those of the workspace.
func TestRepositoryOfAStepsWorktree(t *testing.T) {
	t.Parallel()
	for _, p := range append(slices.Clone(places), atTheTop) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			top, w := place(t, p.make, p.dir)
			b := w.protect(gitsOwn...)
			work, err := w.tree.Worktree(t.TempDir(), "run", "step")
			if err == nil {
				err = work.Begin(t.Context(), "", false, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			in, err := work.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			aside := &workspace{T: t, dir: work.Dir(), tree: in}
			aside.want(aside.compare(b, gitsOwn...), "")
			if m := aside.scan(nil); len(m.Files) == 0 || !m.Git {
				t.Errorf("it sees %v", m.Files)
			}
			top.do(filepath.Join(p.kept, "hooks/pre-commit") + " !evil")
			changes := aside.compare(b, gitsOwn...)
			aside.want(changes, "added .git/hooks/pre-commit")
			if _, left := aside.restore(changes, tree.Wanted{Base: b}); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
			if got := top.text(filepath.Join(p.kept, "hooks/pre-commit")); got != "(absent)" {
				t.Errorf("the hook is %q", got)
			}
		})
	}
}

// Of a workspace below the top of its repository a worktree merges what is in it,
// and no more, whatever is done with git there.
func TestWorktreeBelowTheTop(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"step", tree.Run} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			top, w := place(t, nil, "sub")
			top.do("other/c 1")
			work, err := w.tree.Worktree(t.TempDir(), "run", step)
			if err == nil {
				err = work.Begin(t.Context(), "", false, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := &pair{workspace: w, aside: &workspace{T: t, dir: work.Dir()}, work: work}
			p.aside.holds("a 1")
			beyond := &workspace{T: t, dir: filepath.Dir(work.Dir())}
			quarantine := t.TempDir()
			p.aside.do("a 2\nnew 1")
			beyond.do("other/b 2\nrm other/c\nother/d 1\nsubway 1")
			beyond.git("add", "other/b")
			changes, err := work.Beyond(t.Context(), quarantine)
			if err != nil {
				t.Fatal(err)
			}
			w.want(changes, "changed ../other/b\nremoved ../other/c\nadded ../other/d\nadded ../subway")
			beyond.holds("other/b 1\nother/c 1\nsub/a 2\nsub/new 1")
			patch := &workspace{T: t, dir: quarantine}
			if got := patch.text("outside.patch"); !strings.Contains(got, "+++ b/other/d") || strings.Contains(got, "sub/new") {
				t.Errorf("the patch is %s", got)
			}
			if again, err := work.Beyond(t.Context(), quarantine); err != nil || len(again) > 0 {
				t.Errorf("once more: %v, %v", again, err)
			}
			beyond.do("other/b 3")
			beyond.git("add", "-A")
			if m := p.merge("e", 0); m.Commit == "" {
				t.Fatalf("not merged: %+v", m)
			}
			top.holds("other/b 1\nother/c 1\nsub/a 2\nsub/new 1")
			p.aside.do("rm a")
			p.merge("f", 0)
			top.holds("other/b 1\nother/c 1\nsub/new 1")
		})
	}
}

// A file that git's configuration includes runs and redirects as that does.
func TestIncludedConfiguration(t *testing.T) {
	t.Parallel()
	for _, p := range append(slices.Clone(places), atTheTop) {
		t.Run(p.name, func(t *testing.T) {
			top, w := place(t, p.make, p.dir)
			w.do("tools/gitconfig [include]\\n\\tpath = more\\n[user]\\n\\tname = me\\n\ntools/more [user]\\n\\tname = me\\n\nfree 1")
			w.git("config", "include.path", w.path("tools/gitconfig"))
			w.git("config", "includeIf.onbranch:other.path", w.path("absent"))
			b := w.protect(gitsOwn...)
			w.do("tools/more [alias]\\n\\tst = !evil\\n\nabsent [alias]\\n\\tst = !evil\\n\nfree 2")
			changes := w.compare(b, gitsOwn...)
			w.want(changes, "added absent\nchanged tools/more")
			if _, left := w.restore(changes, tree.Wanted{Base: b}); len(left) > 0 {
				t.Errorf("left: %+v", left)
			}
			w.want(w.compare(b, gitsOwn...), "")
			kept := &workspace{T: t, dir: top.path(p.kept)}
			kept.do("beside [user]\\n\\tname = me\\n")
			w.git("config", "--add", "include.path", "beside")
			b = w.protect(gitsOwn...)
			kept.do("beside [alias]\\n\\tst = !evil\\n")
			w.want(w.compare(b, gitsOwn...), "changed .git/beside")
		})
	}
}

// TestCommon finds what all worktrees of a repository share, from anywhere in one of them,
// and takes no file for it that leads elsewhere.
func TestCommon(t *testing.T) {
	t.Parallel()
	for _, p := range append([]setting{atTheTop}, places...) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			top, w := place(t, p.make, p.dir)
			if got := tree.Common(w.dir); got != top.path(p.kept) {
				t.Errorf("it is %q, want %q", got, top.path(p.kept))
			}
		})
	}
	planted := t.TempDir()
	for _, text := range []string{"gitdir: /etc\n", "gitdir: nowhere\n", "anything\n", ""} {
		if err := os.WriteFile(filepath.Join(planted, ".git"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tree.Common(planted); got != "" {
			t.Errorf("after %q it is %q", text, got)
		}
	}
	if got := tree.Common(t.TempDir()); got != "" {
		t.Errorf("without a repository it is %q", got)
	}
}
