package proc_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// TestInstalled starts programs as people install them in their homes: they find their
// packages, and nothing else of the home.
func TestInstalled(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{dir, "home"}, names...)...) }
	const script = "#!/bin/sh\n# it finds its own place, as node does\ncd \"$(dirname \"$(readlink -f \"$0\")\")\" && cat "
	for name, text := range map[string]string{
		"secret": "#!/bin/sh\necho secret", "tools/secret": "secret",
		"tools/lib/node_modules/@openai/codex/bin/codex.js": script + "../../codex-linux/binary; cat ~/secret ~/tools/secret",
		"tools/lib/node_modules/@openai/codex/package.json": "{}",
		"tools/lib/node_modules/@openai/codex-linux/binary": "found",
		"src/agent/dist/cli.js":                             script + "../lib; cat ~/secret",
		"src/agent/lib":                                     "found",
		"src/agent/package.json":                            "{}",
		"opt/agent-1.2/bin/agent":                           script + "../share; cat ~/secret",
		"opt/agent-1.2/share":                               "found",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o755), os.WriteFile(at(name), []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin", "../work", "../temp"} {
		if err := os.Mkdir(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range [][2]string{
		{"bin/one", at("tools/lib/node_modules/@openai/codex/bin/codex.js")},
		{"bin/two", at("tools/codex")},
		{"tools/codex", "lib/node_modules/@openai/codex/bin/codex.js"},
		{"bin/dist", "../src/agent/dist/cli.js"},
		{"bin/current", at("opt/current/bin/agent")},
		{"opt/current", "agent-1.2"},
		{"../work/planted", at("secret")},
	} {
		if err := os.Symlink(l[1], at(l[0])); err != nil {
			t.Fatal(err)
		}
	}
	pool := furnished(t, proc.Cell{Level: proc.LevelSealed, Hidden: []string{at()}, Temp: at("../temp")})
	run := func(argv ...string) string {
		r := pool.Run(t.Context(), proc.Spec{
			Argv: argv, Dir: at("../work"), Room: &proc.Room{Dir: at("../work")},
			Env: []string{"HOME=" + at(), "PATH=" + at("bin") + ":" + os.Getenv("PATH")},
		})
		return r.Stdout.String()
	}
	for _, name := range []string{"one", "two", "dist", "current"} {
		if got := run(name); got != "found" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := run(at("../work/planted")); got != "" {
		t.Errorf("what a child planted: %q", got)
	}
}

// TestRoom sees that a child cannot open what is closed to it by what another one left in
// the workspace: links in the place of what its room is made of.
func TestRoom(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for _, name := range []string{"home/.ssh", "home/.cargo", "home/tools/bin", "home/.agent", "work", "repo/.git/refs", "repo/.git/worktrees", "repo/.git/hooks", "temp"} {
		if err := os.MkdirAll(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"home/.ssh/id", "home/.cargo/credentials.toml", "home/.cargo/env", "home/tools/lib"} {
		if err := os.WriteFile(at(name), []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"work/bin": "home/.ssh", "work/program": "home/.ssh/id", "repo/.git/objects": "home/.ssh", "repo/.git/logs": "home"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	docker, err := net.Listen("unix", at("home", "docker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer docker.Close()
	pool := furnished(t, proc.Cell{
		Level: proc.LevelSealed, Hidden: []string{at("home")}, Git: at("repo", ".git"), Temp: at("temp"),
		Writable: []string{at("home", "docker.sock")}, Visible: []string{at("home", "tools")},
	})
	spec := proc.Spec{
		Dir: at("work"), Room: &proc.Room{Dir: at("work"), Login: []string{".agent", "../../.."}, Checks: true},
		Env: []string{"HOME=" + at("home"), "PATH=" + at("work", "bin") + ":" + at("home", "tools", "bin") + ":" + os.Getenv("PATH")},
		Argv: []string{"sh", "-c", `
			cat $HOME/.ssh/id $HOME/.cargo/credentials.toml bin/id program && echo "keys are read"
			for f in $HOME/.ssh/new $HOME/.cargo/new $HOME/tools/new $HOME/new ../repo/.git/hooks/evil ../repo/.git/config ../temp/evil; do
				echo evil >$f
			done
			test -S $HOME/docker.sock || echo "no socket"
			cat $HOME/.cargo/env $HOME/tools/lib
			echo login >$HOME/.agent/token; echo evil >../repo/.git/refs/new; echo object >../repo/.git/worktrees/new; echo new >new; mkdir $PYTHONPYCACHEPREFIX; echo >$PYTHONPYCACHEPREFIX/new || echo "no cache of checks"`},
	}
	r := pool.Run(t.Context(), spec)
	if status, ok := r.Exited(); !ok || status != 0 || r.Isolation != proc.LevelSealed || r.Stdout.String() != "keptkept" {
		t.Errorf("%+v\n%s\n%s", r, r.Stdout, r.Stderr)
	}
	spec.Argv = []string{at("work", "program")}
	if r := pool.Run(t.Context(), spec); r.Exit == 0 || strings.Contains(r.Stdout.String()+r.Stderr.String(), "kept") {
		t.Errorf("%+v\n%s\n%s", r, r.Stdout, r.Stderr)
	}
	for _, gone := range []string{"home/.ssh/new", "home/.cargo/new", "home/tools/new", "home/new", "repo/.git/hooks/evil", "repo/.git/refs/new", "repo/.git/config", "temp/evil"} {
		if _, err := os.Lstat(at(gone)); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
	for _, made := range []string{"home/.agent/token", "repo/.git/worktrees/new", "work/new"} {
		if _, err := os.Lstat(at(made)); err != nil {
			t.Error(err)
		}
	}
	pool.Close()
	if rooms, err := filepath.Glob(at("temp", "room-*")); err != nil || len(rooms) > 0 {
		t.Errorf("left: %v, %v", rooms, err)
	}
}

// TestFixedRoom has a child change files where it may and where not; one whose directory is a
// link by then is not started.
func TestFixedRoom(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ws/build", "ws/src", "other", "temp"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	pool := furnished(t, proc.Cell{Level: proc.LevelSealed, Temp: filepath.Join(dir, "temp"), Writable: []string{filepath.Join(dir, "other")}})
	ws := filepath.Join(dir, "ws")
	spec := proc.Spec{
		Argv: []string{"sh", "-c", "for d in build src . ../other; do touch $d/x && echo $d; done; true"}, Dir: ws, Env: os.Environ(),
		Room: &proc.Room{Dir: ws, Writable: []string{filepath.Join(ws, "build")}, Fixed: true},
	}
	if r := pool.Run(t.Context(), spec); r.Exit != 0 || r.Stdout.String() != "build\n" {
		t.Errorf("%+v: %s%s", r, r.Stdout, r.Stderr)
	}
	if err := os.Rename(filepath.Join(ws, "build"), filepath.Join(ws, "was")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../other", filepath.Join(ws, "build")); err != nil {
		t.Fatal(err)
	}
	if r := pool.Run(t.Context(), spec); r.Exit != 126 || r.Stdout.String() != "" {
		t.Errorf("%+v: %s%s", r, r.Stdout, r.Stderr)
	}
	none, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	if r := none.Run(t.Context(), spec); !errors.Is(r.Err, proc.ErrNotStarted) || none.Holds() == nil {
		t.Errorf("unsealed: %+v", r)
	}
}

// furnished is a pool with such a cell, on a machine that can seal.
func furnished(t *testing.T, c proc.Cell) *proc.Pool {
	t.Helper()
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	tier.Needs(t, pool.Sealed())
	pool.Furnish(c, 1)
	return pool
}
