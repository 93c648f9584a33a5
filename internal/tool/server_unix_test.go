//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
	"github.com/piton-dev/piton/internal/tool"
)

func pool(t testing.TB) *proc.Pool {
	t.Helper()
	p, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// served makes a registry with one server "s" of testdata.
func served(t testing.TB, does string) *tool.Registry {
	t.Helper()
	program, err := filepath.Abs("testdata/server.sh")
	if err != nil {
		t.Fatal(err)
	}
	p := pool(t)
	r, _ := open(t, tool.Config{Pool: p, Environ: []string{"PASSED=p", "HIDDEN=h"}, Servers: map[string]tool.Server{"s": {
		Command: []string{"bash", program, does}, Env: map[string]string{"SECRET": "s"}, EnvPass: []string{"PASSED"},
	}}}, nil)
	return r
}

func TestServer(t *testing.T) {
	t.Parallel()
	r := served(t, "")
	for _, c := range []struct {
		name string
		args m
		want string // the output as JSON, or the code
		says string // in the message
	}{
		{"s.echo", m{"text": "hello"}, `{"said":"hello"}`, ""},
		{"s.echo", m{}, "invalid_arguments", `missing properties: ["text"]`},
		{"s.echo", m{"text": 1}, "invalid_arguments", `properties/text: type: 1 has type "integer", want "string"`},
		{"s.plain", m{}, `"one\ntwo"`, ""},
		{"s.image", m{}, `{"content":[{"data":"AAH/","mimeType":"image/png","type":"image"}]}`, ""},
		{"s.liar", m{}, "invalid_output", `want "integer"`},
		{"s.fails", m{}, "failed", "the tool says: it went wrong"},
		{"s.refuses", m{}, "failed", "not today"},
		{"s.large", m{}, "too_large", "bytes"},
		{"s.secret", m{}, `"s p none"`, ""},
		{"s.loops", m{}, "not_found", "has no tool"},
		{"s.remote", m{}, "not_found", "has no tool"},
		{"s.nope", m{}, "not_found", "has no tool"},
	} {
		o := r.Call(t.Context(), c.name, args(t, c.args), nil)
		got := string(o.Output)
		if !o.OK {
			got = string(code(o))
			if !strings.Contains(o.Problem.Message, c.says) || strings.Contains(o.Problem.Message, "\x1b") {
				t.Errorf("%s: says %q, want %q in it", c.name, o.Problem.Message, c.says)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s (%v), want %s", c.name, got, o.Problem, c.want)
		}
	}
}

func TestServerIsListed(t *testing.T) {
	t.Parallel()
	r := served(t, "")
	list, err := r.List(t.Context())
	for _, said := range []string{"remote", "pattern", "bad name"} {
		if err == nil || !strings.Contains(err.Error(), `tool "`+said+`" of server s is left out`) {
			t.Errorf("a tool that cannot be used is not said: %v", err)
		}
	}
	i := slices.IndexFunc(list, func(d tool.Definition) bool { return d.Name == "s.echo" })
	if i < 0 {
		t.Fatalf("%v", list)
	}
	if d := list[i]; d.Description != "Says it again" || !d.Foreign || d.Server != "s" || d.Effect != tool.Command {
		t.Errorf("%+v", d)
	}
	w, err := r.Weigh(t.Context(), "s.liar", nil)
	if err != nil || !w.Asks {
		t.Errorf("a foreign tool that calls itself harmless: %v %v", w, err)
	}
	for _, name := range []string{"s.bad name", "s.remote"} {
		if _, err := r.Get(t.Context(), name); err == nil {
			t.Errorf("%s can be had", name)
		}
	}
}

// TestServerCrash: the call that a crash hits is not repeated; the next one finds
// the server started again, once.
func TestServerCrash(t *testing.T) {
	t.Parallel()
	r := served(t, "")
	for _, c := range []struct {
		name string
		want tool.Code
		says string
	}{
		{"s.echo", "", ""},
		{"s.dies", tool.Failed, "server s ended during the call; its exit code was 7; it said: I am ill"},
		{"s.echo", "", ""},
		{"s.dies", tool.Failed, "server s ended during the call; its exit code was 7; it said: I am ill"},
		{"s.echo", tool.Unavailable, "server s is not started a third time: server s ended during the call; its exit code was 7; it said: I am ill"},
	} {
		o := r.Call(t.Context(), c.name, args(t, m{"text": "x"}), nil)
		if code(o) != c.want {
			t.Fatalf("%s: %q (%v), want %q", c.name, code(o), o.Problem, c.want)
		}
		if o.Problem != nil && !strings.Contains(o.Problem.Message, c.says) {
			t.Errorf("%s says %q", c.name, o.Problem.Message)
		}
	}
}

// TestServerFloods: a message without end ends the session and not the harness.
func TestServerFloods(t *testing.T) {
	t.Parallel()
	r := served(t, "")
	if o := r.Call(t.Context(), "s.floods", nil, nil); o.OK {
		t.Errorf("a flood is an output: %.100s", o.Output)
	}
	if o := r.Call(t.Context(), "s.echo", args(t, m{"text": "x"}), nil); !o.OK {
		t.Errorf("after a flood: %v", o.Problem)
	}
}

// TestServerHangs: a call ends with its context, and the server lives on.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	r := served(t, "")
	if o := r.Call(t.Context(), "s.plain", nil, nil); !o.OK {
		t.Fatal(o.Problem)
	}
	for _, c := range []struct {
		cause error
		want  tool.Code
	}{{context.DeadlineExceeded, tool.TimedOut}, {context.Canceled, tool.Cancelled}} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if errors.Is(c.cause, context.Canceled) {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		o := r.Call(ctx, "s.hangs", nil, nil)
		cancel()
		if code(o) != c.want {
			t.Errorf("%q (%v), want %q", code(o), o.Problem, c.want)
		}
	}
	if o := r.Call(t.Context(), "s.plain", nil, nil); !o.OK {
		t.Errorf("after a call that was given up: %v", o.Problem)
	}
}

// TestServerStarts: what does not start says why.
func TestServerStarts(t *testing.T) {
	t.Parallel()
	for does, says := range map[string]string{
		"dead":    "its exit code was 3; it said: cannot start: no licence",
		"garbage": "does not start",
	} {
		o := served(t, does).Call(t.Context(), "s.echo", nil, nil)
		if code(o) != tool.Unavailable || !strings.Contains(o.Problem.Message, says) {
			t.Errorf("%s: %q %v, want %q", does, code(o), o.Problem, says)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if o := served(t, "mute").Call(ctx, "s.echo", nil, nil); code(o) != tool.TimedOut {
		t.Errorf("a server that says nothing: %q %v", code(o), o.Problem)
	}
	r, _ := open(t, tool.Config{Pool: pool(t), Servers: map[string]tool.Server{"s": {Command: []string{"no-such-program"}}}}, nil)
	for range 4 { // each of them says why
		o := r.Call(t.Context(), "s.echo", nil, nil)
		if code(o) != tool.Unavailable || !strings.Contains(o.Problem.Message, "no-such-program") || !errors.Is(o.Problem, proc.ErrNoProgram) {
			t.Errorf("a program that is not there: %v", o.Problem)
		}
	}
	dead := served(t, "dead")
	for range 3 {
		if o := dead.Call(t.Context(), "s.echo", nil, nil); !strings.Contains(o.Problem.Message, "cannot start: no licence") {
			t.Errorf("a server that never started: %v", o.Problem)
		}
	}
	r, _ = open(t, tool.Config{Servers: map[string]tool.Server{"s": {Command: []string{"bash"}}}}, nil)
	if o := r.Call(t.Context(), "s.echo", nil, nil); code(o) != tool.Unavailable {
		t.Errorf("without a pool: %v", o.Problem)
	}
}

// TestServerDiesWhole: what a server started dies with the registry.
func TestServerDiesWhole(t *testing.T) {
	t.Parallel()
	p := pool(t)
	if p.Level() == proc.Group {
		t.Skip("process groups alone do not hold a tree; only Linux has better")
	}
	program, err := filepath.Abs("testdata/server.sh")
	if err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(marker, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := tool.Open(tool.Config{Workspace: t.TempDir(), Environ: os.Environ(), Pool: p, Servers: map[string]tool.Server{"s": {
		// The holder of the pipe's end outlives nothing: reading it ends with the last of the tree.
		Command: []string{"bash", "-c", "exec 9>" + marker + "; (trap '' TERM HUP; sleep 1000) & exec bash " + program},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		f, err := os.Open(marker)
		if err == nil {
			_, err = f.Read(make([]byte, 1))
			f.Close()
		}
		ended <- err
	}()
	if o := r.Call(t.Context(), "s.orphan", nil, nil); !o.OK {
		t.Fatal(o.Problem)
	} else if _, err := strconv.Atoi(strings.Trim(string(o.Output), `"`)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Fatalf("the tree ended before the registry did: %v", err)
	default:
	}
	r.Close()
	<-ended
	if o := r.Call(t.Context(), "s.echo", nil, nil); code(o) != tool.Unavailable {
		t.Errorf("after the end: %v", o.Problem)
	}
}

// A command reaches nothing that listens on this machine, and that is said of one
// that fails too.
func TestRunCommandIsOffline(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	reach := map[string]string{"reach.sh": "exec 3<>/dev/tcp/127.0.0.1/" + port}
	best := pool(t)
	group, err := proc.NewPool(proc.Config{Level: proc.Group})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(group.Close)
	for _, p := range []*proc.Pool{best, group} {
		r, _ := open(t, tool.Config{Pool: p, Environ: os.Environ()}, reach)
		o := r.Call(t.Context(), "run_command", args(t, m{"command": "bash reach.sh"}), nil)
		offline := p.Offline() == nil
		if o.OK == offline || o.Network != proc.Reach(p.Offline()) || offline == strings.HasPrefix(o.Network, "host: ") {
			t.Errorf("%s: %+v %v", p.Level(), o, o.Problem)
		}
	}
}

func TestRunCommand(t *testing.T) {
	t.Parallel()
	p := pool(t)
	r, dir := open(t, tool.Config{Pool: p, Environ: []string{"BASH_ENV=/nowhere", "TOKEN=secret"}}, map[string]string{"a.txt": "one\n"})
	for _, c := range []struct {
		name string
		args m
		want tool.Code
		says string
	}{
		{"arguments", m{"command": `printf '%s|' "$0" "$@"`, "args": []any{"a'; exit 3 #", "$(exit 4)", 5, true, ""}}, "", `"bash|a'; exit 3 #|$(exit 4)|5|true||"`},
		{"an argument with a zero byte", m{"command": "ls", "args": []any{"a\x00b"}}, tool.InvalidArguments, "zero byte"},
		{"an argument that is a list", m{"command": "ls", "args": []any{[]any{}}}, tool.InvalidArguments, "args"},
		{"output", m{"command": "cat a.txt; echo two >&2"}, "", `"stdout":"one\n"`},
		{"error output", m{"command": "echo two >&2"}, "", `"stderr":"two\n"`},
		{"the workspace", m{"command": "pwd -P"}, "", filepath.Base(dir)},
		{"no input", m{"command": "cat"}, "", `"stdout":""`},
		{"little environment", m{"command": `echo "[$TOKEN$BASH_ENV]"`}, "", `"stdout":"[]\n"`},
		{"escape sequences", m{"command": `printf 'a\033[2Jb\007'`}, "", `"stdout":"ab"`},
		{"no text", m{"command": `printf 'a\377b'`}, "", "a\uFFFDb"},
		{"much output", m{"command": "head -c 3000000 /dev/zero | tr '\\0' x"}, "", `"truncated":true`},
		{"isolation is said", m{"command": "true"}, "", `"network":"` + proc.Reach(p.Offline()) + `"`},
		{"exit code", m{"command": "echo bad >&2; exit 3"}, tool.Failed, "exit code 3 and not 0: bad"},
		{"another exit code", m{"command": "exit 3", "exit_code": 3}, "", `"exit_code":3`},
		{"not found", m{"command": "no-such-program"}, tool.Failed, "exit code 127"},
		{"signal", m{"command": "kill -9 $$"}, tool.Failed, "SIGKILL"},
		{"too slow", m{"command": "sleep 100", "timeout": 1}, tool.TimedOut, "longer than 1s"},
		{"zero byte", m{"command": "ls\x00"}, tool.InvalidArguments, "zero byte"},
		{"too patient", m{"command": "ls", "timeout": 61}, tool.InvalidArguments, "timeout"},
		{"nothing", m{"command": ""}, tool.InvalidArguments, "command"},
	} {
		o := r.Call(t.Context(), "run_command", args(t, c.args), nil)
		said := string(o.Output)
		if o.Problem != nil {
			said = o.Problem.Message
		}
		if code(o) != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: %q %.300s, want %q with %s", c.name, code(o), said, c.want, c.says)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if o := r.Call(ctx, "run_command", args(t, m{"command": "sleep 100"}), nil); code(o) != tool.Cancelled {
		t.Errorf("a command whose context ends: %v", o.Problem)
	}
	var out struct{ Leftover int }
	o := r.Call(t.Context(), "run_command", args(t, m{"command": "sleep 100 & true"}), nil)
	if err := json.Unmarshal(o.Output, &out); err != nil || out.Leftover < 1 {
		t.Errorf("what was left behind: %s", o.Output)
	}
	without, _ := open(t, tool.Config{}, nil)
	if o := without.Call(t.Context(), "run_command", args(t, m{"command": "ls"}), nil); code(o) != tool.Unavailable {
		t.Errorf("without a pool: %v", o.Problem)
	}
}

// TestBashOfTheWorkspace: a shell that the workspace provides is never the one that runs.
func TestBashOfTheWorkspace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "bin/bash", "#!/bin/sh\necho mine\n")
	if err := os.Chmod(filepath.Join(dir, "bin/bash"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, _ := open(t, tool.Config{Workspace: dir, Pool: pool(t), Environ: []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}}, nil)
	o := r.Call(t.Context(), "run_command", args(t, m{"command": "echo theirs"}), nil)
	if !o.OK || strings.Contains(string(o.Output), "mine") {
		t.Errorf("%s %v", o.Output, o.Problem)
	}
}

// A server sees what an agent sees, unless the configuration says that it has the rights of
// the harness; its list of hosts holds either way.
func TestServerIsHeld(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("testdata/server.sh")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	home, ws := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{home + "/key": "key", home + "/login": "login", ws + "/server.sh": string(script)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Furnish(proc.Cell{Level: proc.LevelSealed, Hidden: []string{home}, Temp: t.TempDir()}, 1)
	tier.Needs(t, p.Sealed())
	look := `read SECRET <$HOME/key; read PASSED <$HOME/login; : >made && HIDDEN=wrote; (exec 3<>/dev/tcp/` + strings.Replace(l.Addr().String(), ":", "/", 1) + `) && HIDDEN+=" reached"; . ./server.sh`
	held := tool.Server{Command: []string{"bash", "-c", look}, Login: []string{"login"}}
	open, listed := held, held
	open.Open, open.Login, listed.Network = true, nil, []string{"example.org"}
	r, err := tool.Open(tool.Config{
		Workspace: ws, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GITHUB_TOKEN=t"}, Pool: p,
		Servers: map[string]tool.Server{"held": held, "open": open, "listed": listed},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]string{"held": `"none login wrote reached"`, "open": `"key login wrote reached"`, "listed": `"none login wrote"`} {
		if o := r.Call(t.Context(), name+".secret", nil, nil); string(o.Output) != want {
			t.Errorf("%s: %s %v", name, o.Output, o.Problem)
		}
	}
}
