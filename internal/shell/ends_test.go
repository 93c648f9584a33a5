package shell

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// outcomes is a table of scripts and of what is known of their exit codes.
func outcomes() []struct{ script, codes string } {
	return []struct{ script, codes string }{
		{"", "0"},
		{"true", "0"},
		{":", "0"},
		{"false", "1"},
		{"exit 0", "0"},
		{"exit 3", "3"},
		{"exit 256", "0"},
		{"exit", "any"},
		{"echo done", "0"},
		{"printf '%s' x > /dev/null", "0"},
		{": > build/x", "any"},
		{": >> build/x", "any"},
		{": > made", "0"},
		{"true() { make; }; true", "any"},
		{"make test", "any"},
		{"make test || true", "0"},
		{"make test || echo failed", "0"},
		{"make test || exit 1", "any"},
		{"make test; true", "0"},
		{"make test\necho done", "0"},
		{"set -e\nmake test\necho done", "any"},
		{"set -euo pipefail; make test; echo done", "any"},
		{"set -e; set +e; make test; echo done", "0"},
		{"set -e && make; true", "any"},
		{"make && echo yes || echo no", "0"},
		{"make && false", "256"},
		{"make || exit 0; false", "any"},
		{"exec 3>/dev/null; make", "any"},
		{"if make; then exit 3; fi; true", "any"},
		{"! true", "1"},
		{"! false", "0"},
		{"! make", "any"},
		{"make | tee log", "any"},
		{"make | true", "0"},
		{"set -o pipefail; make | true", "any"},
		{"(exit 3)", "3"},
		{"(exit 3); true", "0"},
		{"{ exit 3; }; true", "3"},
		{"{ make; exit 0; }", "0"},
		{"if make; then echo yes; else echo no; fi", "0"},
		{"if make; then echo yes; else exit 1; fi", "any"},
		{"if make; then true; fi", "0"},
		{"if make; then false; fi", "any"},
		{"if true; then make; fi", "any"},
		{"if true; then :; else make; fi", "0"},
		{"for f in *; do echo $f; done", "any"},
		{"while make; do echo again; done", "any"},
		{"case $x in a) true;; b) :;; esac", "any"},
		{"make &", "0"},
		{"x=1", "0"},
		{"x=$(make)", "any"},
		{"x=$(true)", "any"},
		{"export x=$(make)", "0"},
		{"test 1 = 1", "0"},
		{"test 1 -eq 01", "0"},
		{"test 1 -eq 2", "1"},
		{"[ x -eq x ]", "any"},
		{`printf '%d' "$(cat n)"`, "any"},
		{`printf '%s\n' "$(cat n)"`, "0"},
		{`date -d "$(cat day)"`, "any"},
		{`export "$(cat line)"`, "any"},
		{"shopt -q extglob", "any"},
		{"umask 999", "any"},
		{"set -o nosuch", "any"},
		{"[ x = y ]", "1"},
		{"[ -n '' ]", "1"},
		{"test -f x", "any"},
		{"test", "1"},
		{"[[ -f x ]]", "any"},
		{"(( x ))", "any"},
		{"sh -c 'exit 0'", "0"},
		{"bash -c 'make; true'", "0"},
		{"sh -c make", "any"},
		{"timeout 5 true", "0"},
		{"env A=1 true", "0"},
		{"command true", "0"},
		{"time true", "any"},
		{"exec true", "0"},
		{"exec true; make", "0"},
		{"trap 'exit 1' EXIT; true", "any"},
		{"trap 'rm -f x' EXIT; true", "0"},
		{"f() { make; }; true", "0"},
		{"f() { make; }; f", "any"},
		{"return 1", "any"},
		{"eval true", "any"},
		{"echo x < absent", "any"},
		{"true < /dev/null", "0"},
		{"cat <<E\nx\nE", "any"},
		{"# nothing but a comment", "0"},
	}
}

func TestResults(t *testing.T) {
	for _, test := range outcomes() {
		s := Parse(test.script)
		if s.Fault != "" {
			t.Errorf("%q: %s", test.script, s.Fault)
			continue
		}
		if got := codeWord(s.Ends); got != test.codes {
			t.Errorf("%q ends with %s, want %s", test.script, got, test.codes)
		}
	}
}

func codeWord(end int) string {
	if end == Any {
		return "any"
	}
	return strconv.Itoa(end)
}

// TestResultsAgainstBash runs the scripts whose end is said to be certain: bash
// must agree, whether make succeeds or fails.
func TestResultsAgainstBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range outcomes() {
		for _, status := range []string{"0", "1"} {
			if test.script == "while make; do echo again; done" && status == "0" {
				continue // never ends
			}
			cmd := exec.Command(bash, "--noprofile", "--norc", "-c", "make() { return "+status+"; }; export -f make\n"+test.script)
			cmd.Dir = t.TempDir()
			err := cmd.Run()
			code := cmd.ProcessState.ExitCode()
			if s := Parse(test.script); s.Ends != Any && s.Ends != code && (s.Ends != Nonzero || code == 0) {
				t.Errorf("%q ends with %d (%v), and %d is said", test.script, code, err, s.Ends)
			}
		}
	}
}

func TestCalls(t *testing.T) {
	for _, test := range []struct{ script, want string }{
		{"a; b && c || d | e", "a b c d e"},
		{"! a", "a"},
		{"env X=1 a b", "env a"},
		{"timeout -k 1 5 a", "timeout a"},
		{"timeout --signal=KILL 5 a", "timeout a"},
		{"taskset -c 0 a", "taskset a"},
		{"git bisect run a", "git a"},
		{"nice -n 5 nohup a", "nice nohup a"},
		{"command a; builtin echo; exec b", "a b"},
		{"command -v a && a", "a"},
		{"f() { a; }; f", "a"},
		{"sh -c 'a && b'", "sh a b"},
		{"bash -ec \"a\"", "bash a"},
		{"sh -c \"$x\"", "sh"},
		{"$x a", ""},
		{"uv run a", "uv"},
		{"X=$(a) b <(c) >(d) \"$(e)\" `g`", "a c d e g b"},
		{"a <<E\n$(b)\nE", "b a"},
		{"test -f x; [ -d y ]; echo z; cd w", ""},
		{"eval 'a b'; trap 'c' EXIT", "a c"},
		{"\\ls; 'a'b; \"l\"d", "ls ab ld"},
		{"./a*; ~/b", "~/b"},
		{"xargs -0 a; sudo -u me b", "xargs a sudo b"},
		{"for i in $(a); do b; done; while c; do d; done; until e; do :; done", "a b c d e"},
		{"case $(a) in b) c;; esac", "a c"},
		{"time a; coproc b; (c); { d; }", "a b c d"},
		{"let x=1; ((x++)); [[ $(a) == b ]]; declare y=$(c)", "a c"},
	} {
		var got []string
		s := Parse(test.script)
		for _, c := range s.Calls {
			got = append(got, c.Name())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q runs %q, want %q (%s)", test.script, strings.Join(got, " "), test.want, s.Fault)
		}
	}
}

// What a script runs may be named in a usual way.
func TestPaths(t *testing.T) {
	for _, script := range []string{
		"bash tools/x", "cd tools && bash x", `T=tools/x; bash "$T"`, `bash "$PWD/tools/x"`, `bash "$(pwd)/tools/x"`, `bash $(git rev-parse --show-toplevel)/tools/x`,
		`bash "$(realpath tools/x)"`, `bash $(readlink -f tools/x)`, `bash "$(dirname tools/y)/x"`, `bash "$(cd tools && pwd)/x"`, `bash "${D:-tools}/x"`,
		`D=tools/y; bash "${D%/*}/x"`, "for f in y x; do bash tools/$f; done", `f() { bash "$1"; }; f tools/x`, "bash /ws/tools/x",
		`eval "bash tools/x"`, `sh -c "cd tools && bash x"`, `bash "$PITON_WORKSPACE/tools/x"`, "taskset 1 bash tools/x", `(cd tools; bash x)`, `cd tools; bash ../tools/x`,
	} {
		s := Read(script, Frame{Parser: NewParser(), Root: "/ws", Git: true})
		found := false
		for _, c := range s.Calls {
			for _, w := range c.Args() {
				found = found || c.Tool() == "bash" && w.Known && Within(c.Dir, w.Text) == "tools/x"
			}
		}
		if !found {
			t.Errorf("%s runs %+v", script, s.Calls)
		}
	}
}

// TestOthersHomes: where another user's home is depends on the machine that is asked.
func TestOthersHomes(t *testing.T) {
	for _, c := range Read("cat ~root/x", Frame{Parser: NewParser(), Root: "/ws"}).Calls {
		for _, w := range c.Args() {
			if w.Known {
				t.Errorf("~root/x is known as %s", w.Text)
			}
		}
	}
}

func TestDeepNesting(t *testing.T) {
	for _, text := range []string{strings.Repeat("(", 60_000), strings.Repeat("$((", 20_000), strings.Repeat("a=$(", 15_000)} {
		if s := Parse(text); s.Fault == "" {
			t.Errorf("%d bytes of %q have no fault", len(text), text[:4])
		}
	}
	if s := Parse(strings.Repeat("( ", 100) + "true" + strings.Repeat(" )", 100)); s.Fault != "" || s.Ends != 0 {
		t.Errorf("100 subshells: %s, %d", s.Fault, s.Ends)
	}
}
