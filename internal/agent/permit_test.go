package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

// A command that a shell runs is known by its text, any other by all of its words.
func TestCommandOf(t *testing.T) {
	rules, err := plan.ParsePermissions("allow run git status, deny run rm")
	if err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]any{
		"git status":                    {"bash", "-lc", "git status"},
		"git diff":                      {"/usr/bin/sh", "-c", "git diff"},
		`python3 -c 'git status'`:       {"python3", "-c", "git status"},
		`rm -rc src`:                    {"rm", "-rc", "src"},
		`./bash -c 'git status'`:        {"./bash", "-c", "git status"},
		`/tmp/bin/sh -c 'git status'`:   {"/tmp/bin/sh", "-c", "git status"},
		`git log '--format=it'\''s' ''`: {"git", "log", "--format=it's", ""},
	} {
		got, _ := commandOf(map[string]any{"command": words})
		if got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
		allowed := plan.Permit(rules, plan.May{Kind: "run", Command: got}) == plan.SayAllow
		if allowed != (want == "git status") {
			t.Errorf("%q: allowed is %t", words, allowed)
		}
	}
}

// The rules judge what the agent would do, whole; people see what of it they cannot see as it is.
func TestJudgedAsItRuns(t *testing.T) {
	shell := func(command any) acpCall {
		return acpCall{Kind: "execute", Title: "shell", RawInput: map[string]any{"command": command}}
	}
	titled := func(title string) acpCall {
		return acpCall{Kind: "execute", Title: title}
	}
	edit := func(paths ...string) acpCall {
		call := acpCall{Kind: "edit"}
		for _, p := range paths {
			call.Locations = append(call.Locations, acpLocation{p})
		}
		return call
	}
	files := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("/w/src/f%d", i))
		}
		return all
	}
	for name, tt := range map[string]struct {
		rules   string
		call    acpCall
		allowed bool
		shown   string // to a person, by "ask" instead of these rules
		pattern string
	}{
		"plain":       {"allow run go test, deny", shell("go test ./..."), true, "  go test ./...\n", "run go test ./..."},
		"words":       {"allow run go test, deny", shell([]any{"go", "test"}), true, "  go test\n", "run go test"},
		"padded":      {"allow run go test, deny", shell("go test" + strings.Repeat(" ", 17000) + "; evil"), false, "cut: 17013 bytes", ""},
		"long":        {"allow run go test, deny", shell("go test " + strings.Repeat("a", 5000)), false, "cut: 5008 bytes", ""},
		"escapes":     {"allow run go test, deny", shell("go test\x1b];evil;:\a"), false, `go test\u001b];evil;:\u0007`, ""},
		"unseen":      {"allow run go test, deny", shell("go test\u00a0x\u200b\xff"), false, `go test\u00a0x\u200b\xff`, ""},
		"title":       {"allow run go test, deny", titled("go test " + strings.Repeat("a ", 1300) + "; evil"), false, "; evil\n", ""},
		"odd":         {"allow run shell, deny", shell([]any{"git", 5}), false, `{"command":["git",5]}`, ""},
		"odd denied":  {"deny run git push, allow", shell([]any{"git", 5}), false, "not a text or a list of words", ""},
		"array":       {"deny run git push, allow", shell([]any{"git", "push", "-f"}), false, "  git push -f\n", "run git push -f"},
		"late":        {"deny run git push, allow", shell(": " + strings.Repeat("a", 5000) + "; git push"), false, "cut: ", ""},
		"path":        {"allow edit src/**, deny", edit("/w/src/" + strings.Repeat("a/../", 70) + "../secret.txt"), false, "Path: secret.txt\n", "edit **"},
		"21st":        {"allow edit **, deny", edit(append(files(20), "/etc/passwd")...), false, "1 more path", ""},
		"21st denied": {"deny edit secret.txt, allow", edit(append(files(20), "/w/secret.txt")...), false, "1 more path", ""},
		"21 inside":   {"deny edit secret.txt, allow", edit(files(21)...), true, "1 more path", ""},
		"line":        {"allow edit src/**, deny", edit("/w/src/a\nPath: b"), false, `Path: src/a\u000aPath: b`, ""},
		"too many":    {"allow", edit(files(1001)...), false, "", ""},
	} {
		allows := func(text string) (asked Permission, allowed bool) {
			rules, err := plan.ParsePermissions(text)
			if err != nil {
				t.Fatal(err)
			}
			c := &acpClient{talk: &talk{attempt: &attempt{}}, whole: &limit{}, life: t.Context()}
			c.rulings = []ruling{{"the test", rules}}
			c.task.Dir = "/w"
			c.task.Ask = func(_ context.Context, p Permission) (Permit, error) { asked = p; return Permit{}, nil }
			r := c.permission(t.Context(), acpAsk{Call: tt.call, Options: []acpAnswer{{Kind: allowOnce, ID: "yes"}, {Kind: rejectOnce, ID: "no"}}})
			if r.Outcome.Outcome != "selected" {
				t.Fatalf("%s: %+v", name, r)
			}
			return asked, r.Outcome.ID == "yes"
		}
		if _, allowed := allows(tt.rules); allowed != tt.allowed {
			t.Errorf("%s: %s: allowed is %t", name, tt.rules, allowed)
		}
		p, _ := allows("ask")
		if about := p.About(); !strings.Contains(about, tt.shown) || len(about) > 8<<10 {
			t.Errorf("%s: %q is shown, without %q", name, about, tt.shown)
		}
		if p.Pattern != tt.pattern {
			t.Errorf("%s: a yes for the run is for %q, want %q", name, p.Pattern, tt.pattern)
		}
	}
}

// A yes for once is never given as one for always.
func TestYesForOnce(t *testing.T) {
	rules, err := plan.ParsePermissions("ask")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		once bool
		want string
	}{"once": {true, ""}, "for the run": {false, "always"}} {
		c := &acpClient{talk: &talk{attempt: &attempt{}}, whole: &limit{}, life: t.Context()}
		c.rulings = []ruling{{"the test", rules}}
		c.task.Ask = func(context.Context, Permission) (Permit, error) { return Permit{Allowed: true, Once: tt.once}, nil }
		got := c.permission(t.Context(), acpAsk{Options: []acpAnswer{{Kind: allowAlways, ID: "always"}}}).Outcome.ID
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A line whose id is null asks nothing, however many there are.
func TestNullIsNoID(t *testing.T) {
	ctx, flood := context.WithCancelCause(t.Context())
	k := &talk{flood: flood}
	for range 2 * maxOpen {
		k.message([]byte(`{"jsonrpc":"2.0","id":null,"method":"session/update","params":{}}`))
	}
	if errors.Is(context.Cause(ctx), errFlood) {
		t.Error("it counts as a flood of requests")
	}
}

func TestUnwrapped(t *testing.T) {
	for command, want := range map[string]string{
		`/bin/bash -lc 'echo '\''hi'\'''`: `echo 'hi'`,
		`bash -lc "echo \"hi\" \$A"`:      `echo "hi" $A`,
		`bash -lc true`:                   `true`,
		`go test ./...`:                   `go test ./...`,
	} {
		if got := unwrapped(command); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
