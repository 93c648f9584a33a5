package tree_test

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/tree"
)

// A pair is a checkout with a worktree that a step works in.
type pair struct {
	*workspace            // the checkout
	aside      *workspace // the worktree
	work       *tree.Worktree
}

// newPair commits the files of a script, does what people have not committed,
// and begins a worktree.
func newPair(t *testing.T, script, uncommitted string) *pair {
	t.Helper()
	return newPairOf(t, "step", script, uncommitted)
}

func newPairOf(t *testing.T, step, script, uncommitted string) *pair {
	t.Helper()
	return committed(t, script, uncommitted).pair(step)
}

func committed(t *testing.T, script, uncommitted string) *workspace {
	t.Helper()
	w := newRepository(t, script)
	w.commit()
	w.do(uncommitted)
	return w
}

// pair begins a worktree.
func (w *workspace) pair(step string) *pair {
	t := w.T
	t.Helper()
	work, err := w.tree.Worktree(t.TempDir(), "run", step)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{workspace: w, work: work, aside: &workspace{T: t, dir: work.Dir()}}
	if err := work.Begin(t.Context(), "", false, false); err != nil {
		t.Fatal(err)
	}
	return p
}

// position is all that a person's git knows and the files do not say.
func (w *workspace) position() string {
	w.Helper()
	return w.asked("rev-parse", "HEAD") + w.asked("symbolic-ref", "HEAD") + w.asked("ls-files", "--stage") + w.asked("stash", "list")
}

func (w *workspace) asked(args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.dir
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

func (p *pair) merge(effect string, round int, held ...tree.Change) tree.Merge {
	p.Helper()
	m, err := p.work.Merge(p.Context(), effect, "", round, held)
	if err != nil {
		p.Fatal(err)
	}
	return m
}

// files lists what is below a directory, git's own apart: "path content", a
// leading "!" for what may be executed and "path -> target" for links.
func (w *workspace) files() string {
	w.Helper()
	var b strings.Builder
	err := filepath.Walk(w.dir, func(path string, info os.FileInfo, err error) error {
		rel, _ := filepath.Rel(w.dir, path)
		switch {
		case err != nil:
			return err
		case info.Name() == ".git" && info.IsDir():
			return filepath.SkipDir
		case info.Name() == ".git" || info.IsDir():
			return nil
		}
		mark := ""
		if info.Mode().IsRegular() && info.Mode()&0o100 != 0 {
			mark = "!"
		}
		b.WriteString(filepath.ToSlash(rel) + " " + mark + strings.ReplaceAll(w.text(filepath.ToSlash(rel)), "\n", `\n`) + "\n")
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return b.String()
}

func (w *workspace) holds(want string) {
	w.Helper()
	var b strings.Builder
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	if d := cmp.Diff(b.String(), w.files()); d != "" {
		w.Errorf("files (-want +got):\n%s", d)
	}
}

// merges has, for each case, what was committed, what a person had beside that,
// what the step and the person then did, and what the checkout holds at the end.
var merges = map[string]struct {
	begin, uncommitted, step, person, conflicts, want string
}{
	"both": {
		begin: "a 1\nb 1\nc 1", step: "a 2\nnew/x y\nrm c", person: "b 2\nmine z",
		want: "a 2\nb 2\nmine z\nnew/x y",
	},
	"the same": {begin: "a 1", step: "a 2\nnew 1", person: "a 2\nnew 1", want: "a 2\nnew 1"},
	"untracked is included, ignored is not": {
		begin: ".gitignore *.log\na 1", uncommitted: "draft 1\nx.log mine", step: "draft 2\nx.log theirs\ny.log theirs",
		want: ".gitignore *.log\na 1\ndraft 2\nx.log mine",
	},
	"what was not committed stays": {begin: "a 1\nb 1", uncommitted: "b 2", step: "a 2", want: "a 2\nb 2"},
	"executable bit":               {begin: "run 1\nstop !1", step: "chmod +x run\nchmod -x stop", want: "run !1\nstop 1"},
	"links":                        {begin: "a 1\nl -> a\nm -> a", step: "rm l\nl -> b\nn -> nowhere", person: "rm m\nm 2", want: "a 1\nl -> b\nm 2\nn -> nowhere"},
	"file becomes directory":       {begin: "a 1\nd/x 1", step: "rm a\na/x 2\nrm d\nd 2", want: "a/x 2\nd 2"},
	"directory becomes a link":     {begin: "d/x 1\nd/y 1\nk/x 2", step: "rm d\nd -> k", want: "d -> k\nk/x 2"},
	"link becomes a directory":     {begin: "d -> k\nk/x 2", step: "rm d\nd/x 1", want: "d/x 1\nk/x 2"},
	"link becomes a deep directory": {
		begin: "d -> k\nk/e/x 2", step: "rm d\nd/e/x 1\nd/e/f 1\nk/e/x 3", person: "k/y 4", want: "d/e/f 1\nd/e/x 1\nk/e/x 3\nk/y 4",
	},
	"directory becomes a link to nothing": {begin: "a 1\nd/e/x 1", step: "rm d\nd -> nowhere\na 2", want: "a 2\nd -> nowhere"},
	"directory becomes a link beside a person's file in it": {
		begin: "d/x 1\nk/x 2", step: "rm d\nd -> k", person: "d/mine 3", want: "d/mine 3\nd/x 1\nk/x 2",
		conflicts: "in the way: of the step d~",
	},
	"renamed beside a change": {begin: `a one\ntwo\nthree\nfour\n`, step: "mv a b", person: `a one\ntwo\nthree\nfour\nfive\n`, want: `b one\ntwo\nthree\nfour\nfive\n`},
	"one line": {
		begin: "a 1", step: "a 2\nother 1", person: "a 3", want: "a 3",
		conflicts: "changed in the workspace and by the step a",
	},
	"one new name": {begin: "a 1", step: "n 2", person: "n 3", want: "a 1\nn 3", conflicts: "added in the workspace and by the step n"},
	"removed and changed": {
		begin: "a 1\nb 1", step: "rm a\nb 2", person: "a 2\nrm b", want: "a 2",
		conflicts: "changed in the workspace, removed by the step a\nremoved in the workspace, changed by the step b",
	},
	"a file in the way of a directory": {
		begin: "k 1", step: "d/x 2", person: "d 3", want: "d 3\nk 1",
		conflicts: "in the way: of the workspace d~",
	},
	"link and file": {begin: "a 1", step: "rm a\na -> k", person: "a 2", want: "a 2", conflicts: "in the way: of the step a\nchanged in the workspace, removed by the step a~"},
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for name, c := range merges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := committed(t, c.begin, c.uncommitted)
			before := w.position()
			p := w.pair("step")
			p.aside.do(c.step)
			p.do(c.person)
			m := p.merge("e", 0)
			p.holds(c.want)
			if after := p.position(); after != before {
				t.Errorf("HEAD or the index of the checkout moved:\n%s", cmp.Diff(before, after))
			}
			if got := shortened(m.Conflicts); got != lines(c.conflicts) {
				t.Errorf("conflicts (-want +got):\n%s", cmp.Diff(lines(c.conflicts), got))
			}
			if (m.Commit == "") == (c.conflicts == "") {
				t.Errorf("commit %q with conflicts %q", m.Commit, c.conflicts)
			}
		})
	}
}

func lines(s string) string {
	if s == "" {
		return ""
	}
	return s + "\n"
}

// shortened cuts the name that git makes up for what is in the way.
func shortened(cs []tree.Change) string {
	var b strings.Builder
	for line := range strings.Lines(words(cs)) {
		if name, _, made := strings.Cut(line, "~"); made {
			line = name + "~\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// Both sides are in the worktree; what a person makes of them there is merged.
func TestConflictKeepsBothSides(t *testing.T) {
	t.Parallel()
	p := newPair(t, `a start\n`, "")
	p.aside.do("a step\\n\nother 1")
	p.do(`a person\n`)
	first := p.merge("r/1", 0)
	if len(first.Conflicts) != 1 {
		t.Fatalf("conflicts: %v", first.Conflicts)
	}
	both := p.aside.text("a")
	for _, side := range []string{"<<<<<<< ", "person", "step", ">>>>>>> "} {
		if !strings.Contains(both, side) {
			t.Errorf("the worktree has no %q in %q", side, both)
		}
	}
	if got := p.aside.text("other"); got != "1" {
		t.Errorf("the worktree lost what was in no conflict: %q", got)
	}
	again := p.merge("r/2", 1, first.Conflicts...)
	p.want(again.Conflicts, "still has the marks of both sides a")
	p.do("later 1")
	p.aside.do(`a person and step\n`)
	if m := p.merge("r/3", 1, first.Conflicts...); m.Commit == "" {
		t.Fatalf("not merged: %v", m.Conflicts)
	}
	p.holds("a person and step\\n\nlater 1\nother 1")
}

// A conflict that nobody was told of is answered again; nothing is done twice.
func TestConflictThatNobodyHeardOf(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1", "")
	p.aside.do("a 2")
	p.do("a 3")
	first := p.merge("e", 0)
	both := p.aside.text("a")
	again := p.merge("e2", 0)
	if d := cmp.Diff(first.Conflicts, again.Conflicts); d != "" || p.aside.text("a") != both {
		t.Errorf("another answer: %s; the worktree has %q, and had %q", d, p.aside.text("a"), both)
	}
}

// What was merged is found by its trailer, and what a person did since stays.
func TestMergeIsNotRepeated(t *testing.T) {
	t.Parallel()
	p := newPair(t, `a 1\n`, "")
	p.aside.do("a 1\\n2\\n\nnew 1")
	first := p.merge("t/r/s/1/merge", 0)
	if d := cmp.Diff([]string{"a", "new"}, first.Changed); d != "" {
		t.Errorf("changed: %s", d)
	}
	if body := p.asked("log", "-1", "--format=%B", first.Commit); !strings.Contains(body, "Piton-Effect: t/r/s/1/merge") {
		t.Errorf("the commit does not say what it is for: %q", body)
	}
	p.do("a 1\\nmine\\n\nrm new")
	if again := p.merge("t/r/s/1/merge", 0); again.Commit != first.Commit || cmp.Diff(first.Changed, again.Changed) != "" {
		t.Errorf("merged again: %+v, after %+v", again, first)
	}
	p.holds(`a 1\nmine\n`)
}

// The worktree of a run gets what is new in the workspace before it is merged:
// only what was proved together gets there. It is never made anew.
func TestRunIsMergedWithWhatItKnows(t *testing.T) {
	t.Parallel()
	p := newPairOf(t, tree.Run, `a 1\n2\n3\n`, "")
	p.aside.do("a 1\\n2\\nrun\\n\nnew 1")
	p.do("a me\\n2\\n3\\n\nlater 1")
	if m := p.merge("e", 0); !m.Behind || m.Commit != "" || cmp.Diff([]string{"a", "later"}, m.Changed) != "" {
		t.Errorf("merged, and nobody proved it together: %+v", m)
	}
	p.holds("a me\\n2\\n3\\n\nlater 1")
	if again := p.merge("e", 0); !again.Behind {
		t.Errorf("nobody heard that it was behind: %+v", again)
	}
	for file, want := range map[string]string{"a": "me\n2\nrun\n", "later": "1", "new": "1"} {
		if got := p.aside.text(file); got != want {
			t.Errorf("the worktree has %q in %s, want %q", got, file, want)
		}
	}
	p.do("a me\\n2\\nmine\\n")
	m := p.merge("e", 1)
	p.want(m.Conflicts, "changed in the workspace and by the step a")
	p.aside.do("a both\\n")
	if m := p.merge("e", 2, m.Conflicts...); !m.Behind {
		t.Errorf("what a person resolved was merged, and nobody proved it: %+v", m)
	}
	if m := p.merge("e", 3); m.Commit == "" || m.Behind {
		t.Errorf("not merged: %+v", m)
	}
	p.holds("a both\\n\nlater 1\nnew 1")
	if err := os.RemoveAll(p.work.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := p.work.Begin(t.Context(), "", false, false); err == nil {
		t.Error("the worktree of a run was lost, and nobody said so")
	}
}

// What a run leaves behind is on its branch.
func TestKeptWorkIsCommitted(t *testing.T) {
	t.Parallel()
	p := newPairOf(t, tree.Run, "a 1", "b draft")
	p.aside.do("a 2\nnew 1")
	for range 2 {
		if _, err := p.work.Keep(t.Context(), "Do it"); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.asked("show", "--stat", "--format=%s", "piton/do-it"); !strings.Contains(got, "Unfinished: Do it") || !strings.Contains(got, "2 files changed") {
		t.Errorf("the branch has: %s", got)
	}
}

// The next attempt in a worktree brings in what it did, and not again what the
// workspace has of the one before.
func TestNextMergeBringsInWhatIsNew(t *testing.T) {
	t.Parallel()
	p := newPair(t, `a 1\n`, "")
	p.aside.do("a 1\\n2\\n\nnew 1")
	p.merge("1/merge", 0)
	p.do("a 1\\n2\\nmine\\n\nrm new")
	p.aside.do("more 1")
	if m := p.merge("2/merge", 0); cmp.Diff([]string{"more"}, m.Changed) != "" {
		t.Errorf("merged: %+v", m)
	}
	p.holds("a 1\\n2\\nmine\\n\nmore 1")
	p.aside.do("a 1\\n3\\n")
	m := p.merge("3/merge", 0)
	p.want(m.Conflicts, "changed in the workspace and by the step a")
	p.aside.do("a 1\\n3\\nmine\\n")
	if m := p.merge("4/merge", 1, m.Conflicts...); m.Commit == "" {
		t.Errorf("not merged: %v", m.Conflicts)
	}
	p.holds("a 1\\n3\\nmine\\n\nmore 1")
}

// A repository in the repository is git's own matter: a worktree has an empty
// directory for it, and a merge leaves it alone.
func TestWorktreeWithSubmodule(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"step", tree.Run} {
		t.Run(step, func(t *testing.T) { worktreeWithSubmodule(t, step) })
	}
}

func worktreeWithSubmodule(t *testing.T, step string) {
	t.Helper()
	other := newRepository(t, "lib 1")
	other.commit()
	w := newRepository(t, "a 1")
	w.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.dir, "sub")
	w.commit()
	work, err := w.tree.Worktree(t.TempDir(), "run", step)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{workspace: w, work: work, aside: &workspace{T: t, dir: work.Dir()}}
	if err := work.Begin(t.Context(), "", false, false); err != nil {
		t.Fatal(err)
	}
	p.aside.do("a 2")
	if m := p.merge("e", 0); m.Commit == "" || cmp.Diff([]string{"a"}, m.Changed) != "" {
		t.Errorf("merged: %+v", m)
	}
	if w.text("a") != "2" || w.text("sub/lib") != "1" {
		t.Errorf("a is %q, sub/lib is %q", w.text("a"), w.text("sub/lib"))
	}
}

// A worktree that has begun is left alone, unless it is to begin anew: then it
// is what the workspace is, and nothing of what was done in it is left.
func TestWorktreeBeginsOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1", "")
	p.aside.do("a 2\nnew 1")
	p.do("b 1")
	if err := p.work.Begin(t.Context(), "", false, false); err != nil {
		t.Fatal(err)
	}
	p.aside.holds("a 2\nnew 1")
	if err := p.work.Begin(t.Context(), "kept with it", true, false); err != nil {
		t.Fatal(err)
	}
	p.aside.holds("a 1\nb 1")
	if note, err := p.work.Note(t.Context()); err != nil || note != "kept with it" {
		t.Errorf("note %q, %v", note, err)
	}
	if err := p.work.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if refs := p.asked("for-each-ref", "refs/piton", "refs/heads/piton"); refs != "" {
		t.Errorf("left behind: %s", refs)
	}
}

// Only files that the merge changes are written.
func TestMergeWritesNoOtherFile(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1\nb 1", "")
	before, err := os.Stat(p.path("b"))
	if err != nil {
		t.Fatal(err)
	}
	p.aside.do("a 2")
	p.merge("e", 0)
	after, err := os.Stat(p.path("b"))
	if err != nil || !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Errorf("a file that no merge changed was written: %v", err)
	}
}

// What git is told to show in the place of an object is not what a step wrote.
func TestMergeSeesThroughReplacedObjects(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1", "")
	p.aside.do("a good\nevil EVIL")
	blob := func(name string) string { return strings.TrimSpace(p.aside.asked("hash-object", "-w", name)) }
	p.aside.git("replace", blob("a"), blob("evil"))
	p.aside.do("rm evil")
	p.merge("e", 0)
	p.holds("a good")
}

// What an index says of files that were changed counts for nothing.
func TestMergeTrustsNoIndex(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--assume-unchanged", "--skip-worktree"} {
		t.Run(flag, func(t *testing.T) {
			p := newPair(t, "a 1\nb 1\nc 1", "")
			p.aside.do("a good\nevil EVIL")
			evil := strings.TrimSpace(p.aside.asked("hash-object", "-w", "evil"))
			p.aside.do("rm evil\nrm c")
			p.aside.git("update-index", "--add", "--cacheinfo", "100644,"+evil+",b", "--cacheinfo", "100644,"+evil+",new")
			p.aside.git("update-index", flag, "a", "b", "c", "new")
			p.merge("e", 0)
			p.holds("a good\nb 1")
		})
	}
}

// What refs say of a worktree counts for nothing: whoever works there writes them.
func TestForgedRefsCountForNothing(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"step", tree.Run} {
		p := newPairOf(t, step, "a 1\nb 1", "")
		p.do("b of a person")
		p.aside.do("a good")
		now := strings.TrimSpace(p.asked("-c", "user.name=me", "-c", "user.email=me@example.org", "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Piton-Effect: e"))
		p.git("update-ref", "refs/piton/run/"+step, now)
		p.aside.git("update-ref", "HEAD", now)
		if m := p.merge("e", 0); step == tree.Run && m.Behind {
			p.merge("e2", 1)
		}
		p.holds("a good\nb of a person")
	}
}

// A git that is killed, or cannot write, leaves the workspace as it is.
func TestGitThatFailsHalfway(t *testing.T) {
	t.Parallel()
	for how, smudge := range map[string]string{"killed": "kill -9 $PPID", "failed": "exit 1; :"} {
		t.Run(how, func(t *testing.T) {
			p := newPair(t, "a 1\nb 1\nc 1\n.gitattributes b filter=fails", "")
			p.aside.do("a 2\nb 2\nc 2")
			p.git("config", "filter.fails.required", "true")
			p.git("config", "filter.fails.clean", "cat")
			p.git("config", "filter.fails.smudge", smudge)
			if m, err := p.work.Merge(t.Context(), "e", "", 0, nil); err == nil {
				t.Errorf("no error: %+v", m)
			}
			p.holds(".gitattributes b filter=fails\na 1\nb 1\nc 1")
			p.git("config", "filter.fails.smudge", "cat")
			if m := p.merge("e", 0); len(m.Conflicts) > 0 {
				t.Errorf("conflicts: %v", m.Conflicts)
			}
			p.holds(".gitattributes b filter=fails\na 2\nb 2\nc 2")
		})
	}
}

// What somebody writes after git looked at the workspace is merged with, too. Here
// that is a filter of git, while b is looked at and a was.
func TestWorkspaceThatMovesMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1\nb 1\nc 1\n.gitattributes b filter=moves\n.gitignore once", "")
	p.aside.do("a 2\nc 2")
	p.do("once 1\nb 1") // written anew, so that git looks into b
	p.git("config", "filter.moves.clean", "if test -e once; then rm once; printf 3 >a; fi; cat")
	if m := p.merge("e", 0); len(m.Conflicts) != 1 || m.Conflicts[0].Path != "a" {
		t.Errorf("no conflict in a: %+v", m)
	}
	p.holds(".gitattributes b filter=moves\n.gitignore once\na 3\nb 1\nc 1")
}

// What git ignores in the workspace is nobody's to write over.
func TestMergeWritesOverNothingIgnored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ person, step, in string }{
		"a file":                     {"config mine", "rm .gitignore\nconfig theirs", "config"},
		"a directory for a file":     {"data/x mine", "rm .gitignore\ndata theirs", "data/x"},
		"a file for a directory":     {"data mine", "rm .gitignore\ndata/x theirs", "data"},
		"beside what is gone":        {"old/config mine", "rm .gitignore\nrm old\nold theirs", "old/config"},
		"the same text":              {"config same", "rm .gitignore\nconfig same", ""},
		"a directory of files to go": {"", "rm old\nold theirs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, ".gitignore config\\ndata\\n\nold/tracked 1", "")
			p.do(test.person)
			p.aside.do(test.step)
			before := p.files()
			m, err := p.work.Merge(t.Context(), "e", "", 0, nil)
			switch {
			case test.in == "" && (err != nil || m.Commit == ""):
				t.Errorf("not merged: %+v, %v", m, err)
			case test.in != "" && (err == nil || !strings.Contains(err.Error(), "new files: "+test.in+";")):
				t.Errorf("merged over %s: %+v, %v", test.in, m, err)
			case test.in != "" && p.files() != before:
				t.Errorf("files (-before +now):\n%s", cmp.Diff(before, p.files()))
			}
		})
	}
}

// A record of somebody's own worktree stays, though its files are not here now.
func TestOtherWorktreesStay(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1", "")
	other := filepath.Join(t.TempDir(), "other")
	p.git("worktree", "add", "-q", other)
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(p.aside.dir), p.work.Begin(t.Context(), "", true, false), p.work.Discard(t.Context())); err != nil {
		t.Fatal(err)
	}
	if list := p.asked("worktree", "list"); !strings.Contains(list, other) || strings.Contains(list, p.aside.dir) {
		t.Errorf("worktrees are now:\n%s", list)
	}
}

// A `git worktree add` that was killed leaves a record that no git can read. Those
// of Piton's own worktrees go, and nobody else's.
func TestWorktreeAddIsKilled(t *testing.T) {
	t.Parallel()
	states := map[string]string{
		"no commondir":    "locked initializing\ngitdir %s\nHEAD ref: refs/heads/x",
		"empty commondir": "locked initializing\ngitdir %s\ncommondir",
		"no HEAD":         "locked initializing\ngitdir %s\ncommondir ../..",
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "a 1", "")
			root := filepath.Dir(filepath.Dir(filepath.Dir(p.aside.dir)))
			half := func(as, dir string) {
				record := &workspace{T: t, dir: p.path(".git/worktrees/" + as)}
				record.do(strings.ReplaceAll(state, "%s", filepath.Join(dir, ".git")))
			}
			p.do(".git/worktrees/theirs/locked initializing\n.git/worktrees/theirs/gitdir " + filepath.Join(t.TempDir(), ".git"))
			half("tree1", tree.WorktreeDir(root, "run", "dead"))
			if torn := p.tree.Mend(t.Context(), root); len(torn) > 0 {
				t.Fatal(torn)
			}
			if list := p.asked("worktree", "list"); !strings.Contains(list, p.aside.dir) || strings.Contains(list, "dead") {
				t.Errorf("worktrees are now:\n%s", list)
			}
			half("tree1", tree.WorktreeDir(root, "run", "dead"))
			half("tree2", tree.WorktreeDir(root, "run", "next"))
			next, err := p.tree.Worktree(root, "run", "next")
			if err == nil {
				err = next.Begin(t.Context(), "", false, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			p.asked("branch")
			if list := p.asked("worktree", "list"); !strings.Contains(list, next.Dir()) || strings.Contains(list, "dead") {
				t.Errorf("worktrees are now:\n%s", list)
			}
			if got := p.text(".git/worktrees/theirs/locked"); got != "initializing" {
				t.Errorf("somebody else's record is %s", got)
			}
		})
	}
}

// A git that was killed leaves what it had locked.
func TestLocksOfTheDead(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{
		"packed-refs.lock", "refs/piton/run/step.lock", "refs/heads/piton/run/step.lock",
		"worktrees/tree/HEAD.lock", "worktrees/tree/locked", "index.lock", "HEAD.lock",
	} {
		t.Run(path.Base(path.Dir(lock))+" "+path.Base(lock), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, "a 1", "")
			p.aside.do("a 2")
			p.do(".git/" + lock)
			if err := p.work.Begin(t.Context(), "", true, false); err != nil {
				t.Fatalf("begin anew: %v", err)
			}
			p.aside.holds("a 1")
			p.do("a 3")
			p.aside.do("a 4")
			p.do(".git/" + lock)
			m := p.merge("e", 0)
			p.do(".git/" + lock)
			if m = p.merge("e", 0); len(m.Conflicts) != 1 {
				t.Fatalf("no conflict: %+v", m)
			}
			p.aside.do("a 5")
			p.do(".git/" + lock)
			p.merge("e", 1, m.Conflicts...)
			p.holds("a 5")
			if err := os.RemoveAll(p.aside.dir); err != nil {
				t.Fatal(err)
			}
			p.do(".git/" + lock)
			if err := p.work.Begin(t.Context(), "", true, false); err != nil {
				t.Fatalf("begin where it is gone: %v", err)
			}
		})
	}
}

// The lock of an index may be that of a commit whose message somebody writes.
func TestLockOfTheLiving(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1", "")
	p.do("a 2")
	p.aside.do("a 3")
	const lock = ".git/worktrees/tree/index.lock"
	p.do(lock + " theirs")
	if _, err := p.work.Merge(t.Context(), "e", "", 0, nil); err == nil || !strings.Contains(err.Error(), "index.lock exists") {
		t.Errorf("a conflict is put beside it: %v", err)
	}
	p.aside.holds("a 3")
	p.do("rm " + lock)
	if m := p.merge("e", 0); len(m.Conflicts) != 1 {
		t.Errorf("no conflict: %+v", m)
	}
}

// A lock that Piton took itself is known again by whoever comes after it.
func TestLockOfPiton(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1", "")
	p.do("a 2")
	p.aside.do("a 3")
	p.do(".git/worktrees/tree/piton-index half\n.git/worktrees/tree/piton-index.lock half")
	if err := os.Link(p.path(".git/worktrees/tree/piton-index"), p.path(".git/worktrees/tree/index.lock")); err != nil {
		t.Fatal(err)
	}
	if m := p.merge("e", 0); len(m.Conflicts) != 1 {
		t.Errorf("no conflict: %+v", m)
	}
	if got := p.asked("ls-files", "--others", "--exclude-standard"); got != "" {
		t.Errorf("there is %s", got)
	}
}

// What git wrote is compared with what the run made, whatever git says it wrote:
// this store holds another content under the name of one that is yet to come.
func TestMergeIsLookedAt(t *testing.T) {
	t.Parallel()
	p := newPairOf(t, tree.Run, "a 1", "")
	p.aside.do("a good\nevil EVIL")
	object := func(name string) string {
		sum := strings.TrimSpace(p.aside.asked("hash-object", "-w", name))
		return p.path(".git/objects/" + sum[:2] + "/" + sum[2:])
	}
	good, evil := object("a"), object("evil")
	p.aside.do("rm evil")
	if err := errors.Join(os.Remove(good), os.Rename(evil, good)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.work.Merge(t.Context(), "e", "", 0, nil); err == nil || !strings.Contains(err.Error(), "worktree: a;") {
		t.Errorf("a is %q, and nobody was told: %v", p.text("a"), err)
	}
	p.aside.holds("a good")
}

// What git leaves out or writes in its own way is no other content.
func TestRunIsMergedAsGitWritesIt(t *testing.T) {
	t.Parallel()
	p := newPairOf(t, tree.Run, ".gitattributes *.bat eol=crlf\n.gitignore *.log\na 1", "mine.log 1")
	p.aside.do("x.bat one\\ntwo\\n\nbuild.log 1\nforced.log 1\nrun !1")
	p.aside.git("add", "-f", "forced.log")
	if m := p.merge("e", 0); m.Commit == "" {
		t.Errorf("not merged: %+v", m)
	}
	for file, want := range map[string]string{"forced.log": "1", "mine.log": "1", "run": "1"} {
		if got := p.text(file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
}

// What shows runs comes and goes while git looks, and is nobody's work.
func TestProjectionsAreNotTakenAlong(t *testing.T) {
	t.Parallel()
	p := newPair(t, "a 1", ".piton/.gitignore /current-task.yaml\n.piton/current-task.yaml x\n.piton/..gitignore.new x\n.piton/plans/p.yaml x\n.piton/plans/.p.yaml.new x\n.piton/plans/own.md mine\nb 1")
	p.aside.holds(".piton/.gitignore /current-task.yaml\n.piton/plans/own.md mine\na 1\nb 1")
}

// So it is where all of Piton's own directory is ignored: git complains of no path.
func TestIgnoredProjections(t *testing.T) {
	t.Parallel()
	p := newPair(t, ".gitignore .piton/\na 1", ".piton/current-task.yaml x\n.piton/plans/.p.yaml.new x\nb 1")
	p.aside.holds(".gitignore .piton/\na 1\nb 1")
}
