package tree_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/tree"
)

// Each case protects guards, lets somebody work, and says what Compare must
// find; then all is put back and Compare must find nothing.
var attacks = []struct {
	name   string
	before string
	guards string
	work   string
	want   string
}{
	{
		name:   "nothing happens",
		before: "check.sh !exit 1\ntests/a_test.py assert",
		guards: "check.sh tests/** GNUmakefile",
		work:   "src/new.go package x",
	},
	{
		name:   "a test is edited",
		before: "tests/a_test.py assert\ntests/b_test.py assert",
		guards: "tests/**",
		work:   "tests/a_test.py pass",
		want:   "changed tests/a_test.py",
	},
	{
		name:   "a test is deleted",
		before: "tests/a_test.py assert\ntests/b_test.py assert",
		guards: "**/*_test.py",
		work:   "rm tests/a_test.py",
		want:   "removed tests/a_test.py",
	},
	{
		name:   "a new test may appear, a changed one may not",
		before: "tests/a_test.py assert",
		guards: "tests/*_test.py",
		work:   "tests/new_test.py assert",
	},
	{
		name:   "a script becomes a link to a program that says yes",
		before: "check.sh !exit 1",
		guards: "check.sh",
		work:   "rm check.sh\ncheck.sh -> /bin/true",
		want:   "type check.sh",
	},
	{
		name:   "a script is not executable any more",
		before: "check.sh !exit 1",
		guards: "check.sh",
		work:   "chmod -x check.sh",
		want:   "mode check.sh",
	},
	{
		name:   "a makefile is shadowed",
		before: "Makefile all:",
		guards: "Makefile GNUmakefile makefile",
		work:   "GNUmakefile all:",
		want:   "added GNUmakefile",
	},
	{
		name:   "a configuration of the runner appears as a link",
		before: "tests/a_test.py assert",
		guards: "tests/conftest.py",
		work:   "tests/conftest.py -> /tmp/conftest.py",
		want:   "added tests/conftest.py",
	},
	{
		name:   "a directory is swapped for a link to a copy of it",
		before: "tests/a_test.py assert\nother/a_test.py assert",
		guards: "tests/a_test.py tests/**",
		work:   "rm tests\ntests -> other",
		want:   "type tests/a_test.py",
	},
	{
		name:   "a directory becomes a link with a shadowing file behind it",
		before: "sub/x y\nevil/GNUmakefile all:",
		guards: "sub/GNUmakefile",
		work:   "mv sub gone\nsub -> evil",
		want:   "added sub/GNUmakefile",
	},
	{
		name:   "a directory becomes a file",
		before: "tests/deep/a_test.py assert",
		guards: "tests/**",
		work:   "rm tests\ntests oops",
		want:   "removed tests/deep/a_test.py",
	},
	{
		name:   "a file becomes a directory",
		before: "check.sh !exit 1",
		guards: "check.sh",
		work:   "rm check.sh\ncheck.sh/a b",
		want:   "type check.sh",
	},
	{
		name:   "a protected link is changed",
		before: "check.sh -> v1.sh\nv1.sh exit 1",
		guards: "check.sh",
		work:   "rm check.sh\ncheck.sh -> v2.sh\nv2.sh exit 0",
		want:   "changed check.sh",
	},
	{
		name:   "what a protected link leads to is changed",
		before: "check.sh -> lib/v1.sh\nlib/v1.sh exit 1",
		guards: "check.sh",
		work:   "lib/v1.sh exit 0",
		want:   "changed lib/v1.sh",
	},
	{
		name:   "what lies behind a directory that is a link is changed",
		before: "tests -> lib/tests\nlib/tests/a_test.py assert\nlib/tests/b_test.py assert",
		guards: "tests/a_test.py tests/*.py",
		work:   "lib/tests/a_test.py pass\nrm lib/tests/b_test.py",
		want:   "changed lib/tests/a_test.py\nremoved lib/tests/b_test.py",
	},
	{
		name:   "a link on the way is led elsewhere",
		before: "tests -> lib/tests\nlib/tests/a_test.py assert",
		guards: "tests/a_test.py",
		work:   "rm tests\ntests -> evil\nevil/a_test.py pass",
		want:   "changed tests\nchanged tests/a_test.py",
	},
	{
		name:   "a directory is protected with all that is in it",
		before: "tests/a_test.py assert\ntests/deep/b.txt x",
		guards: "tests",
		work:   "tests/deep/b.txt y\ntests/new.py z",
		want:   "changed tests/deep/b.txt",
	},
	{
		name:   "a name with brackets is a name too",
		before: "app/[id]/page.test.tsx assert",
		guards: "app/[id]/page.test.tsx",
		work:   "app/[id]/page.test.tsx pass",
		want:   "changed app/[id]/page.test.tsx",
	},
	{
		name:   "a hook appears",
		before: ".git/hooks/sample x\n.git/config [core]",
		guards: ".git/hooks/**",
		work:   ".git/hooks/pre-commit !evil",
		want:   "added .git/hooks/pre-commit",
	},
	{
		name:   "a repository leads elsewhere",
		before: ".git gitdir: /srv/repo/worktrees/a",
		guards: ".git/config#run .git/hooks/**",
		work:   ".git gitdir: /work/evil",
		want:   "changed .git\nchanged .git/config#run\nchanged .git/hooks",
	},
	{
		name:   "dependencies may change, scripts may not",
		before: `package.json {"name":"x","scripts":{"test":"jest"}}`,
		guards: "package.json#scripts package.json#jest",
		work:   `package.json {"scripts":{"test":"true"},"dependencies":{"a":"1"}}`,
		want:   "changed package.json#scripts",
	},
	{
		name:   "a configuration appears in a manifest",
		before: `package.json {"name":"x","scripts":{"test":"jest"}}`,
		guards: "package.json#scripts package.json#jest",
		work:   `package.json {"scripts":{"test":"jest"},"jest":{"testMatch":[]}}`,
		want:   "added package.json#jest",
	},
	{
		name:   "a manifest appears with scripts in it",
		before: "x y",
		guards: "package.json#scripts pyproject.toml#tool",
		work:   `package.json {"scripts":{}}`,
		want:   "added package.json#scripts",
	},
	{
		name:   "a manifest becomes unreadable",
		before: `package.json {"scripts":{"test":"jest"}}`,
		guards: "package.json#scripts",
		work:   `package.json {"scripts":{"test":"jest"}},`,
		want:   "changed package.json#scripts",
	},
	{
		name:   "a manifest becomes a link",
		before: "package.json {\"scripts\":{\"test\":\"jest\"}}\nmine.json {\"scripts\":{\"test\":\"jest\"}}",
		guards: "package.json#scripts",
		work:   "rm package.json\npackage.json -> mine.json",
		want:   "type package.json#scripts",
	},
	{
		name:   "a manifest is removed",
		before: `pyproject.toml [project]\nname = "x"\n[tool.pytest.ini_options]\naddopts = "-x"`,
		guards: "pyproject.toml#tool",
		work:   "rm pyproject.toml",
		want:   "removed pyproject.toml#tool",
	},
	{
		name:   "a git variable that runs something",
		before: `.git/config [core]\n\tbare = false\n[remote "origin"]\n\turl = a`,
		guards: ".git/config#run",
		work:   `.git/config [core]\n\tbare = false\n\tfsmonitor = ./evil\n[remote "origin"]\n\turl = b\n[branch "main"]\n\tremote = origin`,
		want:   "changed .git/config#run",
	},
	{
		name:   "a git variable that does not",
		before: `.git/config [core]\n\tbare = false`,
		guards: ".git/config#run",
		work:   `.git/config # mine\n[core]\n\tbare = false\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main`,
	},
}

func TestCompareFindsAttacks(t *testing.T) {
	t.Parallel()
	for _, tt := range attacks {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkspace(t, tt.before)
			guards := strings.Fields(tt.guards)
			b := w.protect(guards...)
			w.want(w.compare(b, guards...), "")
			w.do(tt.work)
			cs := w.compare(b, guards...)
			w.want(cs, tt.want)

			_, left := w.restore(cs, tree.Wanted{Base: b})
			if len(left) > 0 {
				t.Errorf("not restored: %v", left)
			}
			w.want(w.compare(b, guards...), "")
		})
	}
}

// A base says the same after a round trip through its bytes, and the bytes are
// the same each time.
func TestBaseRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tt := range attacks {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorkspace(t, tt.before)
			guards := strings.Fields(tt.guards)
			body := w.protect(guards...).Encode()
			if d := cmp.Diff(string(body), string(w.protect(guards...).Encode())); d != "" {
				t.Errorf("taken twice (-first +second):\n%s", d)
			}
			b, err := tree.DecodeBase(body)
			if err != nil {
				t.Fatal(err)
			}
			w.do(tt.work)
			w.want(w.compare(b, guards...), tt.want)
		})
	}
}

func TestDecodeBaseRefuses(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		``, `{}x`, `[]`, `{"files":{"../a":"-"}}`, `{"files":{"/a":"-"}}`, `{"files":{"a":"?"}}`,
		`{"files":{"a":"f:12"}}`, `{"files":{},"along":{"a":["b"]}}`, `{"files":{},"more":1}`,
	} {
		if b, err := tree.DecodeBase([]byte(body)); err == nil {
			t.Errorf("DecodeBase(%q) = %v, want an error", body, b)
		}
	}
}

// Only the paths that a step's own guards cover are compared.
func TestCompareLooksAtItsGuardsOnly(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a/x 1\nb/x 1\nc 1")
	b := w.protect("a/**", "b/**", "c", "d")
	w.do("a/x 2\nb/x 2\nc 2\nd 2")
	w.want(w.compare(b, "a/**"), "changed a/x")
	w.want(w.compare(b, "c", "b/x*"), "changed b/x\nchanged c")
	w.want(w.compare(b, "d"), "added d")
	if _, err := b.Compare(t.Context(), w.tree, []string{"e"}, nil); err == nil {
		t.Error("a guard that the base does not have was compared")
	}
}

func TestProtectRefuses(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "a 1")
	for _, guard := range []string{"", "/etc/passwd", "../x", "a/../../x", "a[", "{a,b", strings.Repeat("*", 2000), strings.Repeat("{a,b,c}", 5)} {
		if _, err := w.tree.Protect(t.Context(), []string{guard}); err == nil {
			t.Errorf("guard %q was accepted", guard)
		}
	}
}

// What finished steps were allowed to change is compared with what they made of it.
func TestMoved(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "tests/a_test.py 1\ntests/b_test.py 1\nsrc/x 1\n"+`package.json {"scripts":{"test":"a"}}`)
	guards := []string{"tests/**", "package.json#scripts", "lib/conftest.py", "gen/**"}
	b := w.protect(append(guards, "tests/**")...)
	w.do("tests/a_test.py 2\ntests/new_test.py 1\nsrc/x 2\nlib/conftest.py 1\ngen/a 1\n" + `package.json {"scripts":{"test":"b"}}`)

	writes := []string{"tests/a_test.py", "tests/new_test.py", "package.json", "lib", "lib/conftest.py"}
	moved, err := b.Moved(t.Context(), w.tree, guards, tree.Scopes{Writes: writes, Opens: writes}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []tree.Change
	for _, path := range []string{"gen/a", "lib/conftest.py", "package.json#scripts", "src/x", "tests/a_test.py", "tests/b_test.py", "tests/new_test.py"} {
		if _, ok := moved[path]; ok {
			got = append(got, tree.Change{Path: path, What: "moved"})
		}
	}
	w.want(got, "moved lib/conftest.py\nmoved package.json#scripts\nmoved tests/a_test.py\nmoved tests/new_test.py")

	cs, err := b.Compare(t.Context(), w.tree, guards, moved)
	if err != nil {
		t.Fatal(err)
	}
	w.want(cs, "")
	w.do("tests/a_test.py 3\nrm tests/new_test.py\nlib/conftest.py 2\n" + `package.json {"scripts":{"test":"c"},"x":1}`)
	if cs, err = b.Compare(t.Context(), w.tree, guards, moved); err != nil {
		t.Fatal(err)
	}
	w.want(cs, "changed lib/conftest.py\nchanged package.json#scripts\nchanged tests/a_test.py\nremoved tests/new_test.py")

	if _, left := w.restore(cs, tree.Wanted{Base: b, Moved: moved}); len(left) > 0 {
		t.Errorf("not restored: %v", left)
	}
	if got := w.text("tests/a_test.py"); got != "2" {
		t.Errorf("tests/a_test.py = %q, want what the finished step wrote", got)
	}
	if got, want := w.text("package.json"), "{\n  \"scripts\": {\n    \"test\": \"b\"\n  },\n  \"x\": 1\n}\n"; got != want {
		t.Errorf("package.json = %q, want %q", got, want)
	}
}

// What a step's explicit writes cover it may change, but for what it protects itself, and
// of what may judge only what they name.
func TestTampered(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t, "tests/a_test.py 1\ntests/b_test.py 1\ntests/own/x 1\nother/c_test.py 1\n"+`package.json {"scripts":{"test":"a"}}`)
	guards := []string{"**/*_test.py", "tests/own/**", "package.json#scripts", "tests/b_test.py"}
	b := w.protect(append(guards, "tests/**")...)
	w.do("tests/a_test.py 2\ntests/b_test.py 2\ntests/own/x 2\nother/c_test.py 2\n" + `package.json {"scripts":{"test":"b"}}`)
	for _, tt := range []struct{ writes, never, want string }{
		{"", "", "changed other/c_test.py\nchanged package.json#scripts\nchanged tests/a_test.py\nchanged tests/b_test.py\nchanged tests/own/x"},
		{"src", "", "changed other/c_test.py\nchanged package.json#scripts\nchanged tests/a_test.py\nchanged tests/b_test.py\nchanged tests/own/x"},
		{"tests/**", "", "changed other/c_test.py\nchanged package.json#scripts\nchanged tests/a_test.py\nchanged tests/b_test.py\nchanged tests/own/x"},
		{"other", "", "changed other/c_test.py\nchanged package.json#scripts\nchanged tests/a_test.py\nchanged tests/b_test.py\nchanged tests/own/x"},
		{"other/c_test.py", "", "changed package.json#scripts\nchanged tests/a_test.py\nchanged tests/b_test.py\nchanged tests/own/x"},
		{"tests/a_test.py other/c_test.py", "tests/**", "changed package.json#scripts\nchanged tests/a_test.py\nchanged tests/b_test.py\nchanged tests/own/x"},
		{"tests/a_test.py other", "other/c_test.py", "changed other/c_test.py\nchanged package.json#scripts\nchanged tests/b_test.py\nchanged tests/own/x"},
	} {
		cs, err := b.Tampered(t.Context(), w.tree, guards, tree.Scopes{Writes: strings.Fields(tt.writes), Opens: strings.Fields(tt.writes), Never: strings.Fields(tt.never)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Log("writes:", tt.writes, "never:", tt.never)
		w.want(cs, tt.want)
	}
}

// Setting a file's times back does not hide that it changed.
func TestTimesDoNotHideAChange(t *testing.T) {
	w := newWorkspace(t, "check.sh exit 1")
	old := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(w.path("check.sh"), old, old); err != nil {
		t.Fatal(err)
	}
	b := w.protect("check.sh")
	w.want(w.compare(b, "check.sh"), "")
	w.do("check.sh exit 0")
	if err := os.Chtimes(w.path("check.sh"), old, old); err != nil {
		t.Fatal(err)
	}
	w.want(w.compare(b, "check.sh"), "changed check.sh")
}

// Many changes of one file, as fast as they come, are all seen: what is younger
// than the clock's tick is never taken from the cache.
func TestFastChangesAreSeen(t *testing.T) {
	w := newWorkspace(t, "f 0")
	last := w.protect("f")
	for i := range 300 {
		f, err := os.OpenFile(w.path("f"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(string(rune('1' + i%9))); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if cs := w.compare(last, "f"); len(cs) != 1 {
			t.Fatalf("change %d was not seen", i)
		}
		last = w.protect("f")
	}
}
