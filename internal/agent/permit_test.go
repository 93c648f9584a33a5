package agent

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/piton-dev/piton/internal/plan"
)

// A command that a shell runs is known by its text, any other by all of its words.
func TestCommandOf(t *testing.T) {
	rules, err := plan.ParsePermissions("allow run git status, deny run rm")
	if err != nil {
		t.Fatal(err)
	}
	for want, words := range map[string][]any{
		"git status":                        {"bash", "-lc", "git status"},
		"git diff":                          {"/usr/bin/sh", "-c", "git diff"},
		`["python3","-c","git status"]`:     {"python3", "-c", "git status"},
		`["rm","-rc","src"]`:                {"rm", "-rc", "src"},
		`["./bash","-c","git status"]`:      {"./bash", "-c", "git status"},
		`["/tmp/bin/sh","-c","git status"]`: {"/tmp/bin/sh", "-c", "git status"},
	} {
		got := commandOf(map[string]any{"command": words})
		if got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
		allowed := plan.Permit(rules, plan.May{Kind: "run", Command: got}) == plan.SayAllow
		if allowed != (want == "git status") {
			t.Errorf("%q: allowed is %t", words, allowed)
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
		r, err := c.RequestPermission(t.Context(), acp.RequestPermissionRequest{
			Options: []acp.PermissionOption{{Kind: acp.PermissionOptionKindAllowAlways, OptionId: "always", Name: "Always"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if s := r.Outcome.Selected; s != nil {
			got = string(s.OptionId)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A line whose id is null asks nothing, however many there are.
func TestNullIsNoID(t *testing.T) {
	r, w := io.Pipe()
	go io.Copy(io.Discard, r) //nolint:errcheck // it is closed
	defer r.Close()
	ctx, flood := context.WithCancelCause(t.Context())
	k := &talk{feed: w, flood: flood}
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
