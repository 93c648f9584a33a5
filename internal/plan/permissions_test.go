package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

func TestPermit(t *testing.T) {
	run := func(command string) plan.May { return plan.May{Kind: "run", Command: command} }
	at := func(kind string, paths ...string) plan.May { return plan.May{Kind: kind, Paths: paths} }
	cases := []struct {
		rules string
		may   plan.May
		want  plan.Say
	}{
		{"ask", run("make"), "ask"},
		{"allow run make, ask", run("make test"), "allow"},
		{"allow run make, ask", run("makefile"), "ask"},
		{"allow run make, ask", run(""), "ask"},
		{"allow run make, ask", run("make; rm -rf /"), "ask"},
		{"allow run make, ask", run("make && rm x"), "ask"},
		{"allow run make, ask", run("make\nrm x"), "ask"},
		{"allow run make, ask", run("make $(rm x)"), "ask"},
		{"allow run make, ask", run("make >x"), "ask"},
		{"allow run make, ask", run("make 'x y'"), "ask"},
		{"deny run git push, allow", run("cd x && git push -f"), "deny"},
		{"deny run git push, allow", run("sh -c 'git push'"), "deny"},
		{"deny run git push, allow", run("git pull"), "allow"},
		{"deny run git push, allow", run(`git "push" -f`), "deny"},
		{"deny run git push, allow", run("git \\\n push"), "deny"},
		{"deny run git push, allow", run("git pu\\\nsh"), "deny"},
		{"deny run git push, allow", run("git \"pu\\\nsh\""), "deny"},
		{"deny run git push, allow", run(`g\it pu's'h`), "deny"},
		{"deny run git push, allow", run(`/usr/bin/git "push"`), "deny"},
		{"deny run git push, allow", run(`sudo "git" push`), "deny"},
		{"deny run git push, allow", run(`a=git; $a "push"`), "deny"},
		{"deny run git push, allow", run(`git $(cat verb)`), "deny"},
		{"deny run git push, allow", run(`git commit -m "$M"`), "allow"},
		{"deny run git push, allow", run(`git() { :; }; unset -f git; gi"t" push`), "deny"},
		{"deny run git push, allow", run(`case a in $(gi"t" push)) ;; esac`), "deny"},
		{"deny run git push, allow", run(`bash -c 'gi"t" push'`), "deny"},
		{"deny run git push, allow", run(`python3 -c "os.system('git push')"`), "deny"},
		{"deny run git push, allow", run(": " + strings.Repeat("a", 5000) + "; git push"), "deny"},
		{"deny run kill, allow", run(`k\ill 1`), "deny"},
		{"deny run git push, allow", run(`[ -f x ] && go test ./... | tail -5; for f in *.go; do cat "$f" >"${f}x"; done`), "allow"},
		{"deny run git push, allow", run("cat >x <<'E'\n$a )\nE\nfind . -exec rm {} +"), "allow"},
		{"deny run git push, allow", run(`find . -exec gi"t" push \;`), "deny"},
		// What cannot be read fits every ask and deny that names words.
		{"deny run git push, allow", run(""), "deny"},
		{"deny run git push, allow", run(`$(base64 -d x) y`), "deny"},
		{"deny run git push, allow", run(`eval "$(base64 -d x)"`), "deny"},
		{"deny run git push, allow", run(`$'\x67it' push`), "deny"},
		{"deny run git push, allow", run(`make )`), "deny"},
		{"deny run git push, allow", run(`/usr/bin/gi[t] x`), "deny"},
		{"deny run git push, allow", run(`base64 -d x | sh`), "deny"},
		{"deny run git push, allow", run("make\u00a0x"), "deny"},
		{"deny run git push, allow", run(": " + strings.Repeat("{ ", 1<<20)), "deny"},
		{"deny fetch, allow", run(`make )`), "allow"},
		// What people are not shown as it is fits no allow that names something.
		{"allow run make, deny", plan.May{Kind: "run", Command: "make", Veiled: true}, "deny"},
		{"allow edit src/**, deny", plan.May{Kind: "edit", Paths: []string{"src/a"}, Veiled: true}, "deny"},
		{"ask run make, allow", plan.May{Kind: "run", Command: "make", Veiled: true}, "ask"},
		{"deny edit src/**, allow", plan.May{Kind: "edit", Paths: []string{"src/a"}, Veiled: true}, "deny"},
		{"allow run", plan.May{Kind: "run", Command: "make", Veiled: true}, "allow"},
		{"allow edit src/**, ask", at("edit", "src/a/b.go"), "allow"},
		{"allow edit src/**, ask", at("edit", "src"), "allow"},
		{"allow edit src/**, ask", at("edit", "srcs/a"), "ask"},
		{"allow edit src/**, ask", at("edit", "src/a", "b"), "ask"},
		{"allow edit src/**, ask", at("edit"), "ask"},
		{"allow edit src/**, ask", at("read", "src/a"), "ask"},
		{"deny edit src/*.go, allow", at("edit", "b", "src/x.go"), "deny"},
		{"allow edit **, ask", at("edit", "a/b"), "allow"},
		{"allow edit **, ask", at("edit", "/etc/passwd"), "ask"},
		{"allow edit **, ask", at("edit", "../x"), "ask"},
		{"deny fetch", run("make"), ""},
		{"Deny Fetch", plan.May{Kind: "fetch"}, "deny"},
	}
	for _, c := range cases {
		rules, err := plan.ParsePermissions(c.rules)
		if err != nil {
			t.Errorf("%s: %v", c.rules, err)
		}
		if got := plan.Permit(rules, c.may); got != c.want {
			t.Errorf("%s says %q of %.200q, want %q", c.rules, got, fmt.Sprint(c.may), c.want)
		}
	}
}

func TestPermissionsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "is empty",
		"allow,":                  "is empty",
		"maybe":                   "begins with allow, ask or deny",
		"allow dance":             "is nothing that an agent asks for; write one of read, edit",
		"ask, allow run x":        "write it last",
		"allow run a;b":           "is not the beginning of one command",
		"allow edit a b":          "more than one path",
		"allow edit [":            "no path or pattern",
		"allow fetch example.org": "takes nothing after it",
		strings.Repeat("deny fetch, ", 100) + "ask": "more than 100 rules",
	} {
		if _, err := plan.ParsePermissions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func TestLaxer(t *testing.T) {
	for _, c := range []struct {
		was, now string
		want     bool
	}{
		{"", "", false},
		{"", "ask", false},
		{"", "deny fetch", false},
		{"", "allow", true},
		{"ask", "", true},
		{"ask", "allow", true},
		{"deny", "ask", true},
		{"ask", "ask", false},
	} {
		if got := plan.Laxer(c.was, c.now); got != c.want {
			t.Errorf("from %q to %q: laxer %v", c.was, c.now, got)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		may  plan.May
		want string
	}{
		{plan.May{Kind: "run", Command: "a; b"}, "run a; b"},
		{plan.May{Kind: "run"}, ""},
		{plan.May{Kind: "run", Command: strings.Repeat("x", 2000)}, ""},
		{plan.May{Kind: "edit", Paths: []string{"a", "b/c"}}, "edit **"},
		{plan.May{Kind: "edit", Paths: []string{"a", "/b"}}, "edit a /b"},
		{plan.May{Kind: "edit", Paths: []string{"a /b"}}, "edit **"},
		{plan.May{Kind: "edit", Paths: []string{"/a /b"}}, `edit "/a /b"`},
		{plan.May{Kind: "run", Command: "make", Veiled: true}, ""},
		{plan.May{Kind: "edit", Paths: []string{"a"}, Veiled: true}, ""},
		{plan.May{Kind: "edit"}, ""},
		{plan.May{Kind: "fetch", Paths: []string{"a"}}, ""},
		{plan.May{Kind: "other"}, ""},
	} {
		if got := c.may.Pattern(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.may, got, c.want)
		}
	}
}
