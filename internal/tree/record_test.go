package tree_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

// newRun begins the worktree of a run in a repository of somebody that git knows.
func newRun(t *testing.T, script string) *pair {
	t.Helper()
	p := newPairOf(t, tree.Run, script, "")
	p.git("config", "user.name", "me")
	p.git("config", "user.email", "me@example.org")
	return p
}

// record does a step in the worktree, and records it.
func (p *pair) record(key, script string) tree.Recorded {
	p.Helper()
	p.aside.do(script)
	r, err := p.work.Record(p.Context(), tree.Entry{Key: key, Title: "Do it", Message: key})
	if err != nil {
		p.Fatal(err)
	}
	return r
}

// titles are those of the commits of a branch, the newest first.
func (p *pair) titles(branch string) string {
	p.Helper()
	return strings.TrimSpace(strings.ReplaceAll(p.asked("log", "--format=%s", branch), "\n", " "))
}

func (p *pair) branches() string {
	p.Helper()
	return strings.TrimSpace(strings.ReplaceAll(p.asked("for-each-ref", "--format=%(refname:short)", "refs/heads/piton"), "\n", " "))
}

// The branch of a run that somebody else moved, or has checked out, is theirs: the run goes on on
// another one, which has all that it did, and says so once.
func TestBranchOfAPersonIsNotMoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		theirs [][]string
		stays  string // what the branch is afterwards
		news   string
	}{
		"committed to": {
			[][]string{{"switch", "-q", "piton/do-it"}, {"commit", "-q", "--allow-empty", "-m", "mine"}},
			"mine one start", "branch piton/do-it was moved by somebody else, so it stays as it is: the work of run run is on branch piton/do-it-2 now",
		},
		"committed to and left": {
			[][]string{{"switch", "-q", "piton/do-it"}, {"commit", "-q", "--allow-empty", "-m", "mine"}, {"switch", "-q", "-"}},
			"mine one start", "moved by somebody else",
		},
		"amended":     {[][]string{{"switch", "-q", "piton/do-it"}, {"commit", "-q", "--amend", "-m", "mine"}, {"switch", "-q", "-"}}, "mine start", "moved by somebody else"},
		"rewound":     {[][]string{{"update-ref", "refs/heads/piton/do-it", "HEAD"}}, "start", "moved by somebody else"},
		"checked out": {[][]string{{"switch", "-q", "piton/do-it"}}, "one start", "branch piton/do-it is checked out in "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRun(t, "a 1")
			if r := p.record("one", "a 2"); r.Branch != "piton/do-it" || r.News != "" {
				t.Fatalf("recorded: %+v", r)
			}
			for _, args := range c.theirs {
				p.git(args...)
			}
			before := p.position() + p.asked("status", "--short")
			r := p.record("two", "a 3")
			if r.Branch != "piton/do-it-2" || !strings.Contains(r.News, c.news) {
				t.Errorf("recorded: %+v", r)
			}
			if b, err := p.work.Branch(); b != r.Branch || err != nil {
				t.Errorf("the branch of the run is %s, %v", b, err)
			}
			if r := p.record("three", "a 4"); r.Branch != "piton/do-it-2" || r.News != "" {
				t.Errorf("recorded: %+v", r)
			}
			if got := p.titles("piton/do-it"); got != c.stays {
				t.Errorf("the branch of the person has: %s", got)
			}
			if got := p.titles("piton/do-it-2"); got != "three two one start" {
				t.Errorf("the branch of the run has: %s", got)
			}
			if after := p.position() + p.asked("status", "--short"); after != before {
				t.Errorf("the checkout was\n%sand is\n%s", before, after)
			}
		})
	}
}

// A ref of the run that names another ref is written and removed itself: what it names stays.
func TestRefThatNamesAnotherStays(t *testing.T) {
	t.Parallel()
	p := newRun(t, "a 1")
	p.git("branch", "of-a-person")
	for _, name := range []string{"refs/heads/of-a-person", "refs/heads/none"} {
		p.git("symbolic-ref", "refs/piton/run/"+tree.Run, name)
		p.git("symbolic-ref", "refs/heads/piton/do-it", name)
		r := p.record(name, "a of "+filepath.Base(name))
		if r.Branch == "" {
			t.Errorf("recorded: %+v", r)
		}
	}
	p.git("symbolic-ref", "refs/piton/run/"+tree.Run, "refs/heads/of-a-person")
	if err := p.work.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if got := p.titles("of-a-person"); got != "start" {
		t.Errorf("the branch of the person has: %s", got)
	}
	if out := p.asked("for-each-ref", "refs/piton", "refs/heads/none"); out != "" {
		t.Errorf("there is still %s", out)
	}
}

// A branch that git shows as something else than what was recorded says so.
func TestReplacedObjectsAreNews(t *testing.T) {
	t.Parallel()
	p := newRun(t, "a 1")
	blob := func(name string) string { return strings.TrimSpace(p.aside.asked("hash-object", "-w", name)) }
	p.aside.do("a good\nevil EVIL")
	p.aside.git("replace", blob("a"), blob("evil"))
	p.aside.do("rm evil")
	if r := p.record("one", "a good"); !strings.Contains(r.News, "git replace -d "+blob("a")) {
		t.Errorf("recorded: %+v", r)
	}
}

// What was recorded is on the branch once: a person who moves or removes that since has it so.
func TestBranchIsSetOnce(t *testing.T) {
	t.Parallel()
	for _, theirs := range [][]string{{"branch", "-D", "piton/do-it"}, {"branch", "-f", "piton/do-it", "HEAD"}} {
		p := newRun(t, "a 1")
		p.aside.do("a 2")
		for n := range 3 {
			if kept, err := p.work.Keep(t.Context(), "Do it"); err != nil || kept.News != "" || (kept.Commit != "") != (n == 0) {
				t.Fatalf("kept: %+v, %v", kept, err)
			}
			if n == 0 {
				p.git(theirs...)
			}
		}
		if got := p.branches(); strings.Contains(got, "-2") || got != "" && p.titles(got) != "start" {
			t.Errorf("there are branches %q", got)
		}
		if r := p.record("one", "a 3"); p.titles(r.Branch) != "one start" {
			t.Errorf("recorded: %+v with %s", r, p.titles(r.Branch))
		}
	}
}

// What was kept unfinished goes when the run goes on, save where a person stands on it.
func TestUnfinishedCommitOfAPersonStays(t *testing.T) {
	t.Parallel()
	p := newRun(t, "a 1")
	p.aside.do("a 2")
	if _, err := p.work.Keep(t.Context(), "Do it"); err != nil {
		t.Fatal(err)
	}
	p.git("switch", "-q", "piton/do-it")
	for range 2 {
		if kept, err := p.work.Keep(t.Context(), "Do it"); err != nil || kept.News != "" {
			t.Fatalf("kept again: %+v, %v", kept, err)
		}
	}
	if r := p.record("one", "a 3"); r.Branch != "piton/do-it-2" || p.titles(r.Branch) != "one start" {
		t.Errorf("recorded: %+v", r)
	}
	if got := p.titles("piton/do-it"); got != "Unfinished: Do it start" {
		t.Errorf("the branch of the person has: %s", got)
	}
}

// A worktree that somebody removed counts as gone until it is made again to its end. Here git
// cannot write what was recorded, behind its `worktree add`.
func TestRegainThatIsCutOff(t *testing.T) {
	t.Parallel()
	p := newRun(t, "a 1\n.gitattributes new filter=fails")
	p.record("one", "a 2\nnew 1")
	p.git("config", "filter.fails.required", "true")
	p.git("config", "filter.fails.clean", "cat")
	p.git("config", "filter.fails.smudge", "false")
	if err := os.RemoveAll(p.aside.dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if anew, err := p.work.Regain(t.Context(), false); err == nil {
			t.Fatalf("made again: %t", anew)
		}
		if _, err := os.Lstat(p.aside.path(".git")); err != nil {
			t.Fatalf("it was cut off too early: %v", err)
		}
		if p.work.Exists() {
			t.Error("it counts as made again")
		}
		if err := p.work.Begin(t.Context(), "", false, false); err == nil {
			t.Error("the run goes on in it")
		}
		if kept, err := p.work.Keep(t.Context(), "Do it"); err != nil || kept.Commit != "" {
			t.Errorf("kept: %+v, %v", kept, err)
		}
	}
	p.git("config", "filter.fails.smudge", "cat")
	if anew, err := p.work.Regain(t.Context(), false); !anew || err != nil {
		t.Fatalf("not made again: %v", err)
	}
	p.aside.holds(".gitattributes new filter=fails\na 2\nnew 1")
	if r := p.record("two", "a 3"); p.asked("show", "--format=", "--name-only", r.Commit) != "a\n" {
		t.Errorf("the next commit has: %s", p.asked("show", "--format=", "--name-status", r.Commit))
	}
}
