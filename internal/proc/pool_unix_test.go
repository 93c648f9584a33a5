//go:build unix

package proc_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

var bareEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}

func newPool(t testing.TB, c proc.Config) *proc.Pool {
	t.Helper()
	c.Patience = time.Minute
	p, err := proc.NewPool(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// eachLevel runs a test at every level this system can have.
func eachLevel(t *testing.T, test func(t *testing.T, p *proc.Pool)) {
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			p := newPool(t, proc.Config{Level: level})
			if p.Level() != level {
				t.Fatalf("level is %q", p.Level())
			}
			test(t, p)
		})
	}
}

func sh(script string) proc.Spec {
	return proc.Spec{Argv: []string{"sh", "-c", script}, Env: bareEnv, Timeout: time.Minute}
}

func TestRunTellsHowAChildEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script           string
		exit                   int
		signal, stdout, stderr string
	}{
		{name: "success", script: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{name: "failure", script: "exit 7", exit: 7},
		{name: "all bits of the status", script: "exit 255", exit: 255},
		{name: "signal", script: "kill -SEGV $$", exit: -1, signal: "SIGSEGV"},
		{name: "killed", script: "kill -9 $$", exit: -1, signal: "SIGKILL"},
		{name: "signal of a grandchild is no signal", script: "sh -c 'kill -9 $$'; exit 3", exit: 3, stderr: "Killed\n"},
		{name: "missing command inside", script: "exec /nowhere/x 2>/dev/null", exit: 127},
	}
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				r := p.Run(context.Background(), sh(tt.script))
				if r.Err != nil || r.TimedOut || r.Cancelled || r.Exit != tt.exit || r.Signal != tt.signal {
					t.Errorf("got %+v", r)
				}
				if status, ok := r.Exited(); ok != (tt.signal == "") || status != tt.exit {
					t.Errorf("Exited() = %d, %t", status, ok)
				}
				if r.Stdout.String() != tt.stdout || r.Stderr.String() != tt.stderr {
					t.Errorf("stdout %q, stderr %q", r.Stdout, r.Stderr)
				}
				if r.Level != p.Level() || r.Duration <= 0 || r.Leftover != 0 {
					t.Errorf("level %q, duration %v, leftover %d", r.Level, r.Duration, r.Leftover)
				}
			})
		}
	})
}

func TestRunRefusesWhatCannotStart(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	lost := file("lost", "#!/nowhere/interpreter\n", 0o755)
	garbage := file("garbage", "\x00\x01\x02", 0o755)
	tests := []struct {
		name string
		spec proc.Spec
		is   error
		says string
	}{
		{"no argv", proc.Spec{}, nil, "no program is named"},
		{"empty name", proc.Spec{Argv: []string{""}}, nil, "no program is named"},
		{"NUL", proc.Spec{Argv: []string{"/bin/true", "a\x00b"}}, nil, "NUL byte"},
		{"missing program", proc.Spec{Argv: []string{"no-such-program"}, Env: bareEnv}, fs.ErrNotExist, `"no-such-program" is in no directory of PATH (/usr/local/bin:/usr/bin:/bin)`},
		{"no PATH", proc.Spec{Argv: []string{"sh"}}, fs.ErrNotExist, `"sh"`},
		{"missing file", proc.Spec{Argv: []string{"/nowhere/x"}}, fs.ErrNotExist, "run /nowhere/x"},
		{"not executable", proc.Spec{Argv: []string{plain}}, fs.ErrPermission, "run " + plain},
		{"not executable in PATH", proc.Spec{Argv: []string{"plain"}, Env: []string{"PATH=" + dir}}, fs.ErrPermission, plain},
		{"relative PATH", proc.Spec{Argv: []string{"plain"}, Dir: dir, Env: []string{"PATH=.::"}}, fs.ErrNotExist, "PATH ()"},
		{"missing interpreter", proc.Spec{Argv: []string{lost}}, fs.ErrNotExist, "interpreter it names is missing"},
		{"not a program", proc.Spec{Argv: []string{garbage}}, syscall.ENOEXEC, garbage},
		{"missing directory", proc.Spec{Argv: []string{"/bin/true"}, Dir: "/nowhere"}, fs.ErrNotExist, "enter working directory: stat /nowhere"},
		{"directory is a file", proc.Spec{Argv: []string{"/bin/true"}, Dir: plain}, syscall.ENOTDIR, "enter working directory"},
		{"too long", proc.Spec{Argv: []string{"/bin/true", strings.Repeat("x", 1<<20)}}, syscall.E2BIG, "run /bin/true"},
		{"far too long", proc.Spec{Argv: []string{"/bin/true", strings.Repeat("x", 20<<20)}}, nil, "too long"},
	}
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				r := p.Run(context.Background(), tt.spec)
				if !errors.Is(r.Err, proc.ErrNotStarted) || errors.Is(r.Err, proc.ErrLost) || !strings.Contains(r.Err.Error(), tt.says) {
					t.Errorf("got error %v, want %q", r.Err, tt.says)
				}
				if absent := slices.Contains([]string{"missing program", "no PATH", "missing file", "relative PATH"}, tt.name); errors.Is(r.Err, proc.ErrNoProgram) != absent {
					t.Errorf("%v: no program: %t", r.Err, !absent)
				}
				if tt.is != nil && !errors.Is(r.Err, tt.is) {
					t.Errorf("%v is not %v", r.Err, tt.is)
				}
				if _, ok := r.Exited(); ok {
					t.Error("counts as an exit")
				}
				if r := p.Run(context.Background(), sh("exit 5")); r.Exit != 5 {
					t.Errorf("next run: %+v", r)
				}
			})
		}
	})
}

func TestChildSeesOnlyWhatItIsGiven(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HARNESS", "1")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		r := p.Run(context.Background(), proc.Spec{Argv: []string{"/usr/bin/env"}})
		if got := r.Stdout.String(); got != "" {
			t.Errorf("nil environment: %q", got)
		}
		r = p.Run(context.Background(), proc.Spec{Argv: []string{"/usr/bin/env"}, Env: []string{"A=1", "B=\xff\n"}})
		if diff := cmp.Diff("A=1\nB=\xff\n\n", r.Stdout.String()); diff != "" {
			t.Error(diff)
		}
		spec := sh("pwd; ls -l /dev/stdin >/dev/null; readlink /proc/self/fd/0; exec ./rel '' \"a b\"")
		spec.Dir = dir
		if err := os.WriteFile(filepath.Join(dir, "rel"), []byte("#!/bin/sh\necho $# \"$2\" $0\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		r = p.Run(context.Background(), spec)
		want := dir + "\n/dev/null\n2 a b ./rel\n"
		if runtime.GOOS != "linux" {
			want = strings.Replace(want, "/dev/null\n", "", 1)
		}
		if diff := cmp.Diff(want, r.Stdout.String()); diff != "" {
			t.Errorf("%s%s", diff, r.Stderr)
		}
		r = p.Run(context.Background(), proc.Spec{Argv: []string{"./rel"}, Dir: dir})
		if r.Stdout.String() != "0 "+filepath.Join(dir, "rel")+"\n" && r.Stdout.String() != "0  "+filepath.Join(dir, "rel")+"\n" {
			t.Errorf("program relative to Dir: %q %v", r.Stdout, r.Err)
		}
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		if r = p.Run(context.Background(), sh("pwd")); r.Stdout.String() != wd+"\n" {
			t.Errorf("default directory: %q", r.Stdout)
		}
	})
}

func TestChildHasNoTerminal(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		r := p.Run(context.Background(), sh(`tty; (: </dev/tty) 2>/dev/null || echo no /dev/tty; read x || echo EOF`))
		if diff := cmp.Diff("not a tty\nno /dev/tty\nEOF\n", r.Stdout.String()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStdin(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		spec := sh("cat")
		spec.Stdin, spec.Output = big, proc.Output{Head: 2 << 20}
		r := p.Run(context.Background(), spec)
		if !bytes.Equal(r.Stdout.Head, big) {
			t.Errorf("cat gave %d of %d bytes, %v", r.Stdout.Total, len(big), r.Err)
		}
		spec = sh("exec <&-; exit 4") // closes it unread
		spec.Stdin = big
		if r := p.Run(context.Background(), spec); r.Exit != 4 {
			t.Errorf("unread input: %+v", r)
		}
		spec = sh("cat; echo end")
		spec.Stdin = []byte{}
		if r := p.Run(context.Background(), spec); r.Stdout.String() != "end\n" {
			t.Errorf("empty input: %+v", r)
		}
	})
}

func TestTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		spec := sh("echo begun; sleep 1000")
		spec.Timeout = 50 * time.Millisecond
		r := p.Run(context.Background(), spec)
		if _, ok := r.Exited(); ok || !r.TimedOut || r.Cancelled || r.Err != nil || r.Signal != "SIGKILL" {
			t.Errorf("timeout: %+v", r)
		}
		if r.Duration < spec.Timeout {
			t.Errorf("it had %v", r.Duration)
		}
		ctx, cancel := context.WithCancel(context.Background())
		spec = sh("echo begun; sleep 1000")
		spec.Tee = writerFunc(func([]byte) { cancel() })
		r = p.Run(ctx, spec)
		if _, ok := r.Exited(); ok || !r.Cancelled || r.TimedOut || r.Stdout.String() != "begun\n" {
			t.Errorf("cancel: %+v", r)
		}
		r = p.Run(ctx, sh("echo begun"))
		if !r.Cancelled || !errors.Is(r.Err, context.Canceled) || !errors.Is(r.Err, proc.ErrNotStarted) {
			t.Errorf("cancelled before: %+v", r)
		}
	})
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

func TestGrace(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		spec := sh(`trap 'echo asked; exit 0' TERM; echo begun; while :; do sleep 0.01; done`)
		spec.Grace = time.Minute
		spec.Tee = writerFunc(func([]byte) { cancel() })
		r := p.Run(ctx, spec)
		if _, ok := r.Exited(); ok || !r.Cancelled || r.Exit != 0 || r.Stdout.String() != "begun\nasked\n" {
			t.Errorf("child that heeds SIGTERM: %+v", r)
		}
		ctx, cancel = context.WithCancel(context.Background())
		defer cancel()
		spec = sh(`trap '' TERM; echo begun; while :; do sleep 0.01; done`)
		spec.Grace = 20 * time.Millisecond
		spec.Tee = writerFunc(func([]byte) { cancel() })
		if r := p.Run(ctx, spec); !r.Cancelled || r.Signal != "SIGKILL" {
			t.Errorf("child that does not: %+v", r)
		}
	})
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		p := newPool(t, proc.Config{Level: level})
		spec := sh("echo begun; sleep 1000")
		spec.Grace = time.Hour // Close does not wait for it
		begun := make(chan struct{})
		spec.Tee = writerFunc(func([]byte) { close(begun) })
		results := make(chan proc.Result)
		go func() { results <- p.Run(context.Background(), spec) }()
		<-begun
		go p.Close()
		if r := <-results; !r.Cancelled {
			t.Errorf("%s: %+v", level, r)
		}
		p.Close()
		if r := p.Run(context.Background(), sh(":")); !errors.Is(r.Err, proc.ErrClosed) || !errors.Is(r.Err, proc.ErrNotStarted) {
			t.Errorf("%s: run after close: %+v", level, r)
		}
	}
}

func TestOutputIsBoundedAndNeverBlocks(t *testing.T) {
	size := tier.Draws(30, 300) << 20
	sum := sha256.New()
	block := make([]byte, 1<<20)
	for range size >> 20 {
		sum.Write(block)
	}
	sum.Write([]byte("END\n"))
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := p.Run(context.Background(), sh(fmt.Sprintf("head -c %d /dev/zero; echo END; echo x >&2", size)))
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
			t.Errorf("allocated %d bytes", grown)
		}
		if r.Stdout.Total != int64(size+4) || r.Stdout.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
			t.Errorf("total %d, hash %s", r.Stdout.Total, r.Stdout.SHA256)
		}
		if len(r.Stdout.Head) != 4<<10 || len(r.Stdout.Tail) != 64<<10 || !bytes.HasSuffix(r.Stdout.Tail, []byte("\x00END\n")) {
			t.Errorf("kept %d and %d bytes", len(r.Stdout.Head), len(r.Stdout.Tail))
		}
		if r.Stderr.String() != "x\n" {
			t.Errorf("stderr %q", r.Stderr)
		}
		t.Logf("%d MB/s", int64(size)*1000/r.Duration.Milliseconds()>>20)
	})
}

func TestTee(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		var got bytes.Buffer
		spec := sh("seq 1 200000; echo x >&2")
		spec.Tee, spec.Output = &got, proc.Output{Head: 2 << 20}
		r := p.Run(context.Background(), spec)
		if int64(got.Len()) != r.Stdout.Total+2 {
			t.Errorf("tee got %d of %d bytes", got.Len(), r.Stdout.Total+2)
		}
		if diff := cmp.Diff(string(r.Stdout.Head), strings.Replace(got.String(), "x\n", "", 1)); diff != "" {
			t.Error("order is lost")
		}
	})
}

func TestConcurrentChildren(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		var all sync.WaitGroup
		for i := range tier.Draws(24, 64) {
			all.Go(func() {
				r := p.Run(context.Background(), proc.Spec{
					Argv: []string{"sh", "-c", "cat; sleep 0.05; exit $1", "sh", string(rune('0' + i%10))},
					Env:  bareEnv, Stdin: []byte{byte(i)},
				})
				if r.Err != nil || r.Exit != i%10 || r.Stdout.String() != string([]byte{byte(i)}) {
					t.Errorf("child %d: %+v", i, r)
				}
			})
		}
		all.Wait()
	})
}

// A request to kill one child must never reach the next one of the same holder.
func TestKillMeetsTheEnd(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for range tier.Draws(15, 150) {
					ctx, cancel := context.WithCancel(context.Background())
					spec := sh("echo now")
					spec.Tee = writerFunc(func([]byte) { cancel() })
					if r := p.Run(ctx, spec); r.Err != nil {
						t.Errorf("%+v", r)
					}
					cancel()
				}
			})
			all.Go(func() {
				for range tier.Draws(15, 150) {
					if r := p.Run(context.Background(), sh("exit 6")); r.Exit != 6 {
						t.Errorf("%+v", r)
					}
				}
			})
		}
		all.Wait()
	})
}

func TestStartTalks(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, p *proc.Pool) {
		c, err := p.Start(context.Background(), sh(`while read -r x; do echo "got $x"; done; echo bye >&2; sleep 1000 & exit 3`))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Stdout.Close()
		for _, word := range []string{"one", "two"} {
			c.Stdin.Write([]byte(word + "\n"))
			buf := make([]byte, 100)
			if n, err := c.Stdout.Read(buf); string(buf[:n]) != "got "+word+"\n" {
				t.Fatalf("answer %q, %v", buf[:n], err)
			}
		}
		c.Stdin.Close()
		r := c.Wait()
		if r.Exit != 3 || r.Stderr.String() != "bye\n" || r.Stdout.Total != 0 || r.Err != nil {
			t.Errorf("%+v", r)
		}
		if n, err := c.Stdout.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Error("output goes on after the end")
		}

		ctx, cancel := context.WithCancel(context.Background())
		if c, err = p.Start(ctx, sh("sleep 1000")); err != nil {
			t.Fatal(err)
		}
		cancel()
		if r := c.Wait(); !r.Cancelled {
			t.Errorf("%+v", r)
		}
		c.Stdout.Close()
		if _, err := p.Start(context.Background(), proc.Spec{Argv: []string{"/nowhere"}}); !errors.Is(err, proc.ErrNotStarted) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing program: %v", err)
		}
	})
}

func TestNewPoolRefuses(t *testing.T) {
	if p, err := proc.NewPool(proc.Config{Level: "perfect"}); err == nil {
		t.Errorf("level %q", p.Level())
	}
	t.Setenv("PITON_HOLD", "namespace") // by somebody else
	if runtime.GOOS == "linux" {
		if _, err := proc.NewPool(proc.Config{}); err == nil || !strings.Contains(err.Error(), "unset it") {
			t.Errorf("got %v", err)
		}
	}
}

// A survivor that holds the output's pipe open does not hold the result up.
func TestGroupSurvivorHoldsNothingUp(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("setsid")
	tier.Needs(t, err)
	p := newPool(t, proc.Config{Level: proc.Group})
	spec := sh("mkfifo f; setsid sh -c 'echo $$ >f; exec sleep 1000' & read pid <f; echo $pid")
	spec.Dir = t.TempDir()
	r := p.Run(context.Background(), spec)
	if r.Err != nil || r.Exit != 0 || r.Stdout.Total == 0 {
		t.Errorf("%+v", r)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(r.Stdout.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the survivor: %v", err)
	}
}
