package proc_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// A shed is a workspace with a home, and a pool for them.
type shed struct {
	pool *proc.Pool
	home string
	ws   string
	temp string
	env  []string
}

func newShed(t testing.TB) *shed {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &shed{home: filepath.Join(dir, "home"), ws: filepath.Join(dir, "ws")}
	s.temp = filepath.Join(s.home, ".local", "state", "rooms") // in the home, where a person's state is
	for _, dir := range []string{s.home, s.ws, s.temp} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.open(t)
	return s
}

// open makes the pool.
func (s *shed) open(t testing.TB) {
	t.Helper()
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		t.Fatal(err)
	}
	pool.Furnish(proc.Cell{Level: proc.LevelSealed, Hidden: []string{s.home, s.temp}, Temp: s.temp}, 1)
	t.Cleanup(func() {
		pool.Close()
		if left, err := os.ReadDir(s.temp); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
	tier.Needs(t, pool.Sealed())
	s.pool = pool
	s.env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "GOTOOLCHAIN=local", "CGO_ENABLED=0"}
}

func (s *shed) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.ws, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a script and answers what it printed.
func (s *shed) run(t testing.TB, room proc.Room, script string) string {
	t.Helper()
	room.Dir = s.ws
	r := s.pool.Run(t.Context(), proc.Spec{Argv: []string{"bash", "-c", script}, Dir: s.ws, Env: s.env, Room: &room})
	if r.Err != nil || r.Isolation != proc.LevelSealed {
		t.Fatalf("%+v\n%s", r, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout.String() + r.Stderr.String())
}

var (
	early = proc.Room{Checks: true, Early: true}
	later = proc.Room{Checks: true}
	agent = proc.Room{}
)

// TestKept sees who finds what in the caches of checks.
func TestKept(t *testing.T) {
	t.Parallel()
	s := newShed(t)
	const look = `cat ~/.cache/go-build/* ~/.npm/_cacache/* 2>/dev/null; true`
	if err := os.Mkdir(filepath.Join(s.home, ".npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name   string
		room   proc.Room
		script string
		want   string
	}{
		{"an early check", early, `echo one >~/.cache/go-build/1`, ""},
		{"another one", early, look + `; echo two >~/.npm/_cacache/2; echo changed >~/.cache/go-build/1`, "one"},
		{"one that removes", early, look + `; rm ~/.npm/_cacache/2; touch ~/.npm/_cacache/3; echo mine >~/mine`, "changed\ntwo"},
		{"one that has not read it", proc.Room{Checks: true, Early: true, Fixed: true}, look + `; echo fixed >~/.npm/_cacache/4`, "changed"},
		{"one that is killed", early, `echo killed >~/.npm/_cacache/5; kill -9 $$`, ""},
		{"a later check", later, look + `; echo later >~/.npm/_cacache/6; ls ~`, "changed"},
		{"an agent", agent, look + `; mkdir -p ~/.cache/go-build ~/.npm/_cacache; echo agent >~/.cache/go-build/1; echo agent >~/.npm/_cacache/7`, ""},
		{"an early check after it", early, look + `; echo late >~/.npm/_cacache/8`, "changed"},
		{"the last check", later, look, "changed"},
	} {
		if got := s.run(t, step.room, step.script); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	if left, err := os.ReadDir(s.home); err != nil || len(left) != 2 {
		t.Errorf("in the home: %v, %v", left, err)
	}
}

// TestKeptNoProgram has a check plant programs and start-up files where the tools of
// other checks would find them.
func TestKeptNoProgram(t *testing.T) {
	t.Parallel()
	s := newShed(t)
	places := []string{".local/bin", ".local/lib/python3/site-packages", ".cargo/bin", ".cargo/registry", ".cache/pip", ".cache/uv", ".cache/piton-python", ".npm", "go/bin", "go/pkg/mod", ".m2"}
	for _, dir := range []string{".local/bin", ".local/lib", ".cargo", ".npm", "go", ".m2"} {
		if err := os.MkdirAll(filepath.Join(s.home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := strings.Join(places, " ")
	s.run(t, early, `cd ~; for d in `+all+`; do mkdir -p $d && echo planted >$d/planted || exit; done; echo one >.cache/go-build/1`)
	if got := s.run(t, later, `cd ~; for d in `+all+`; do cat $d/planted 2>/dev/null; done; cat .cache/go-build/1`); got != "one" {
		t.Error(got)
	}
}

// TestChecksBesideEachOther has checks that run at once find the same and leave each its own.
func TestChecksBesideEachOther(t *testing.T) {
	t.Parallel()
	s := newShed(t)
	s.run(t, early, `echo one >~/.cache/go-build/1`)
	t.Run("checks", func(t *testing.T) {
		for _, name := range []string{"a", "b", "c", "d"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if got := s.run(t, early, `cat ~/.cache/go-build/1; echo `+name+` >~/.cache/go-build/`+name); got != "one" {
					t.Error(got)
				}
			})
		}
	})
	if got := s.run(t, later, `cat ~/.cache/go-build/*`); got != "one\na\nb\nc\nd" {
		t.Error(got)
	}
}

// TestNoStaleAnswer has a source change and keep its size and time: no check answers for the
// one that was there before.
func TestNoStaleAnswer(t *testing.T) {
	t.Parallel()
	s := newShed(t)
	for name, text := range map[string]string{
		"go.mod":    "module example.com/m\n\ngo 1.24\n",
		"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc Test(t *testing.T) {\n\tif d, _ := os.ReadFile(\"data.txt\"); string(d) != \"right\" {\n\t\tt.Fatal(string(d))\n\t}\n}\n",
		"data.txt":  "right", "m.py": "x = 'right'\n", "data": "wrong", "mod": "x = 'wrong'\n",
	} {
		s.write(t, name, text)
	}
	const older = `touch -d '1 hour ago' data.txt m.py`
	s.run(t, proc.Room{Checks: true}, older)
	checks := map[string]string{}
	if _, err := exec.LookPath("python3"); err == nil {
		checks["python3"] = `python3 -c 'import m; assert m.x == "right"'`
	}
	if tier.Gate { // it compiles the library
		checks["go"] = "go test ./..."
	}
	for name, script := range checks {
		if got := s.run(t, early, script+` >/dev/null 2>&1; echo $?`); got != "0" {
			t.Fatalf("%s: %s", name, got)
		}
	}
	// The agent plants answers of its own too.
	s.run(t, agent, `touch -r data.txt t; cat data >data.txt; touch -r t data.txt; touch -r m.py t; cat mod >m.py; touch -r t m.py
		for d in ~/.cache/go-build ~/.cache/piton-python$PWD; do mkdir -p $d; cp -r ~/.cache/go-build $d; done`)
	for name, script := range checks {
		if got := s.run(t, later, script+` >/dev/null 2>&1; echo $?`); got != "1" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestCacheThatIsEmpty has a cache that is there and holds nothing: each check can write to it.
func TestCacheThatIsEmpty(t *testing.T) {
	t.Parallel()
	s := newShed(t)
	if err := os.MkdirAll(filepath.Join(s.home, ".cache/go-build/7a"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, room := range []proc.Room{early, early, agent, later, later} {
		if got := s.run(t, room, `touch ~/.cache/go-build/7a/x && touch ~/.cache/go-build/00`); got != "" {
			t.Errorf("%+v: %s", room, got)
		}
	}
}

// TestKeptOfOneThatWasEnded has a check run out of time over a cache that was empty: what it
// made by then is there for the next.
func TestKeptOfOneThatWasEnded(t *testing.T) {
	t.Parallel()
	// A check that has filled nothing by then gets twice as long.
	for d := 400 * time.Millisecond; d < time.Minute; d *= 2 {
		s := newShed(t)
		if err := os.MkdirAll(filepath.Join(s.home, ".cache/go-build/7a"), 0o755); err != nil {
			t.Fatal(err)
		}
		fill := proc.Spec{
			Argv: []string{"bash", "-c", `cat ~/.cache/go-build/7a/1; echo one >~/.cache/go-build/7a/1; echo filled; exec sleep 100`},
			Dir:  s.ws, Env: s.env, Timeout: d, Room: &proc.Room{Dir: s.ws, Checks: true, Early: true},
		}
		first := s.pool.Run(t.Context(), fill)
		fill.Room = &proc.Room{Dir: s.ws, Checks: true, Early: true}
		then := s.pool.Run(t.Context(), fill)
		if !strings.Contains(first.Stdout.String(), "filled") || !strings.Contains(then.Stdout.String(), "filled") {
			continue
		}
		if !first.TimedOut || !slices.Equal(first.Cold, []string{"~/.cache/go-build"}) || first.Stdout.String() != "filled\n" {
			t.Errorf("%+v", first)
		}
		if !then.TimedOut || len(then.Cold) > 0 || then.Stdout.String() != "one\nfilled\n" {
			t.Errorf("%+v", then)
		}
		return
	}
	t.Error("it never filled it")
}

// TestCacheElsewhere has a cache that a link of the home leads to.
func TestCacheElsewhere(t *testing.T) {
	t.Parallel()
	s := newShed(t)
	disk := filepath.Join(filepath.Dir(s.home), "disk")
	if err := errors.Join(os.MkdirAll(filepath.Join(disk, "go-build"), 0o755), os.Symlink(disk, filepath.Join(s.home, ".cache"))); err != nil {
		t.Fatal(err)
	}
	s.run(t, early, `echo one >~/.cache/go-build/1`)
	if got := s.run(t, later, `cat ~/.cache/go-build/1`); got != "one" {
		t.Error(got)
	}
	if left, err := os.ReadDir(filepath.Join(disk, "go-build")); err != nil || len(left) > 0 {
		t.Errorf("in the person's cache: %v, %v", left, err)
	}
}

// TestChangesInMemory has rooms on a disk that is a layer over another one, as in a container:
// it takes up no changes.
func TestChangesInMemory(t *testing.T) {
	s := newShed(t)
	dir := filepath.Dir(s.home)
	lower, upper, work := filepath.Join(dir, "lower"), filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(lower, 0o755), os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755), os.MkdirAll(filepath.Join(s.home, ".cargo"), 0o755)); err != nil {
		t.Fatal(err)
	}
	tier.Needs(t, unix.Mount("overlay", s.temp, "overlay", 0, "lowerdir="+lower+",upperdir="+upper+",workdir="+work))
	t.Cleanup(func() {
		if err := unix.Unmount(s.temp, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s.open(t)
	for range 2 {
		if got := s.run(t, early, `cd && touch .cargo/lock && ls -A .cargo .cache/go-build && touch .cache/go-build/1`); got != ".cache/go-build:\n\n.cargo:\nlock" && got != ".cache/go-build:\n1\n\n.cargo:\nlock" {
			t.Errorf("%q", got)
		}
	}
}

// TestMountInTheHome has something mounted in what programs need: that can be read only, and
// the rest takes up changes.
func TestMountInTheHome(t *testing.T) {
	s := newShed(t)
	disk := filepath.Join(s.home, ".cargo", "registry")
	if err := errors.Join(os.MkdirAll(disk, 0o755), os.Mkdir(filepath.Join(s.home, ".npm"), 0o755)); err != nil {
		t.Fatal(err)
	}
	tier.Needs(t, unix.Mount("none", disk, "tmpfs", 0, ""))
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s.open(t)
	r := s.pool.Run(t.Context(), proc.Spec{
		Argv: []string{"bash", "-c", `cd && touch .npm/1 .cache/go-build/1 && ! touch .cargo/1`}, Dir: s.ws, Env: s.env, Room: &proc.Room{Dir: s.ws, Checks: true},
	})
	if status, ok := r.Exited(); !ok || status != 0 || !slices.Equal(r.Fixed, []string{filepath.Dir(disk)}) {
		t.Errorf("%+v", r)
	}
}

// TestCacheThatCannotBeHad sees that a child does not run with less than its seal says.
func TestCacheThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := newShed(t)
	outer, temp := filepath.Join(s.ws, "outer"), filepath.Join(s.ws, "temp")
	inner := filepath.Join(outer, ".cache/go-build")
	if err := errors.Join(os.MkdirAll(filepath.Join(inner, ".cache/go-build"), 0o755), os.Mkdir(temp, 0o755)); err != nil {
		t.Fatal(err)
	}
	r := s.pool.Run(t.Context(), proc.Spec{Argv: []string{"true"}, Dir: "/", Env: s.env, Seal: &proc.Seal{
		Home: s.home, Temp: temp, Made: []string{filepath.Join(s.home, ".cache/go-build")}, Kept: []string{inner, outer}, // one lies in the other
	}})
	if !errors.Is(r.Err, proc.ErrNotStarted) || !strings.Contains(r.Err.Error(), filepath.Join(s.home, ".cache/go-build")+": what is changed there cannot be kept apart") {
		t.Errorf("%+v", r)
	}
}

// BenchmarkGoTest compares a check with an empty cache with one that finds what another left.
func BenchmarkGoTest(b *testing.B) {
	for name, room := range map[string]proc.Room{"empty": later, "kept": early} {
		b.Run(name, func(b *testing.B) {
			s := newShed(b)
			s.write(b, "go.mod", "module example.com/m\n\ngo 1.24\n")
			s.write(b, "m_test.go", "package m\n\nimport \"testing\"\n\nfunc Test(t *testing.T) {}\n")
			s.run(b, room, "go test ./...")
			for b.Loop() {
				s.run(b, later, "go test ./...")
			}
		})
	}
}
