package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/tool"
)

// made is a tool whose function is given.
func made(name string, do func(context.Context, *tool.Call) (json.RawMessage, error)) tool.Tool {
	return tool.Tool{Definition: tool.Definition{
		Name: name, Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"integer"}`), Effect: tool.Create,
	}, Call: do}
}

func returns(text string) func(context.Context, *tool.Call) (json.RawMessage, error) {
	return func(context.Context, *tool.Call) (json.RawMessage, error) { return json.RawMessage(text), nil }
}

func TestRegister(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{}, nil)
	if err := r.Register(made("mine", returns("1"))); err != nil {
		t.Fatal(err)
	}
	bad := made("other", returns("1"))
	bad.Output = json.RawMessage(`{"pattern":"("}`)
	none := made("other", returns("1"))
	none.Input = nil
	for says, x := range map[string]tool.Tool{
		"already": made("mine", returns("1")), "cannot be called": made("a.b", returns("1")), "at most 64": made(strings.Repeat("x", 65), returns("1")),
		"letters": made("", returns("1")), "no function": made("other", nil), "no input schema": none, "read the schema": bad,
		"there is a tool read_file": made("read_file", returns("1")),
	} {
		if err := r.Register(x); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
	d, err := r.Get(t.Context(), "mine")
	if err != nil || d.Name != "mine" || d.Hash() == "" {
		t.Errorf("%+v %v", d, err)
	}
	w, err := r.Weigh(t.Context(), "mine", nil)
	if err != nil || w.Asks || w.Effect != tool.Create {
		t.Errorf("%+v %v", w, err)
	}
	list, err := r.List(t.Context())
	if err != nil || len(list) != 10 {
		t.Errorf("%d tools, %v", len(list), err)
	}
}

func TestObservations(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	for _, c := range []struct {
		name string
		do   func(context.Context, *tool.Call) (json.RawMessage, error)
		want tool.Code
	}{
		{"good", returns(" 1 "), ""},
		{"wrong output", returns(`"x"`), tool.InvalidOutput},
		{"no JSON", returns(`x`), tool.InvalidOutput},
		{"nothing", returns(``), tool.InvalidOutput},
		{"large", returns(`"` + strings.Repeat("x", 2<<20) + `"`), tool.TooLarge},
		{"an error", func(context.Context, *tool.Call) (json.RawMessage, error) { return nil, own }, tool.Failed},
		{"a problem", func(context.Context, *tool.Call) (json.RawMessage, error) {
			return nil, &tool.Problem{Code: tool.Denied, Message: "no"}
		}, tool.Denied},
	} {
		r, _ := open(t, tool.Config{}, nil)
		if err := r.Register(made("x", c.do)); err != nil {
			t.Fatal(err)
		}
		o := r.Call(t.Context(), "x", nil, nil)
		if code(o) != c.want || o.OK != (c.want == "") || c.want == tool.Failed && !errors.Is(o.Problem, own) {
			t.Errorf("%s: %+v, want %q", c.name, o, c.want)
		}
		if o.OK && string(o.Output) != "1" {
			t.Errorf("%s: %s", c.name, o.Output)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := tool.Open(tool.Config{Workspace: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		slow := made("slow", func(ctx context.Context, _ *tool.Call) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		slow.Timeout = 3 * time.Second
		if err := r.Register(slow); err != nil {
			t.Fatal(err)
		}
		o := r.Call(t.Context(), "slow", nil, nil)
		if code(o) != tool.TimedOut || o.Problem.Message != "slow took longer than 3s" || o.Duration != 3*time.Second {
			t.Errorf("%v after %v", o.Problem, o.Duration)
		}
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for says, c := range map[string]tool.Config{
		"open the workspace":             {Workspace: filepath.Join(dir, "nope")},
		"web_fetch.allow: \"a b\" is no": {Workspace: dir, Hosts: []string{"a b"}},
	} {
		if _, err := tool.Open(c); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// TestAllow: the configuration names a command word by word; arguments are no part of it.
func TestAllow(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{Allow: []string{"make test", `wc -l "$1"`}}, nil)
	for _, c := range []struct {
		args m
		want bool
	}{
		{m{"command": "make test"}, true},
		{m{"command": "make test "}, false},
		{m{"command": "make test; ls"}, false},
		{m{"command": "make"}, false},
		{m{"command": `wc -l "$1"`, "args": []any{"a"}}, false},
	} {
		if w, err := r.Weigh(t.Context(), "run_command", args(t, c.args)); err != nil || w.Named != c.want || w.Asks {
			t.Errorf("%v: %+v %v", c.args, w, err)
		}
	}
}

// TestCheck: what would reach the tool is what is checked.
func TestCheck(t *testing.T) {
	t.Parallel()
	r, _ := open(t, tool.Config{}, nil)
	got, err := r.Check(t.Context(), "read_file", json.RawMessage(` {"path": "x", "path":"y"} `))
	if err != nil || string(got) != `{"path":"y"}` {
		t.Errorf("%s %v", got, err)
	}
	for name, text := range map[string]string{"read_file": `{}`, "nope": `{}`, "search": `[]`} {
		if _, err := r.Check(t.Context(), name, json.RawMessage(text)); err == nil {
			t.Errorf("%s %s is good", name, text)
		}
	}
}

// TestWeighChangesNothing: whatever is weighed, the workspace stays as it is.
func TestWeighChangesNothing(t *testing.T) {
	t.Parallel()
	r, dir := open(t, tool.Config{}, map[string]string{"a.txt": "one"})
	before := snapshot(t, dir)
	for _, c := range []struct {
		tool string
		args m
	}{
		{"write_file", m{"path": "deep/new.txt", "content": "x"}},
		{"move_file", m{"from": "a.txt", "to": "deep/b.txt"}},
		{"delete_file", m{"path": "a.txt"}},
		{"run_command", m{"command": "rm a.txt"}},
	} {
		if _, err := r.Weigh(t.Context(), c.tool, args(t, c.args)); err != nil {
			t.Error(err)
		}
	}
	after := snapshot(t, dir)
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 || after["a.txt"] != before["a.txt"] {
		t.Errorf("%v %v", list, err)
	}
	for name, wrong := range map[string]m{
		"delete_file": {"path": "nope"}, "write_file": {"path": "../x", "content": ""}, "move_file": {"from": "nope", "to": "x"}, "web_fetch": {"url": "http://x.test"}, "nope": {},
	} {
		if _, err := r.Weigh(t.Context(), name, args(t, wrong)); err == nil {
			t.Errorf("%s %v has a weight", name, wrong)
		} else if _, ok := errors.AsType[*tool.Problem](err); !ok {
			t.Errorf("%s: %v has no code", name, err)
		}
	}
}
