//go:build unix

package check_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/check"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/tier"
)

// bench has what a job needs.
type bench struct {
	*testing.T
	check.Job
}

func newBench(t *testing.T, commands ...string) *bench {
	t.Helper()
	pool, err := proc.NewPool(proc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	step := &engine.Step{ID: "build", CheckTimeout: time.Minute}
	for i, c := range commands {
		name := engine.Contract
		if i > 0 {
			name = "check" + strconv.Itoa(i)
		}
		step.Checks = append(step.Checks, engine.Check{Name: name, Command: c, Required: true})
	}
	return &bench{T: t, Job: check.Job{
		Step: step, Phase: engine.Verifying, Run: "run-1", Attempt: 2,
		Workspace: dir, Environ: os.Environ(), Pool: pool,
	}}
}

// first runs the checks and returns the first answer.
func (b *bench) first() engine.CheckEnded {
	b.Helper()
	return check.Run(b.Context(), b.Job)[0]
}

// vain is a gate at which somebody asked in vain.
type vain struct {
	proc.Gate
	host string
}

func (vain) Environ() []string   { return nil }
func (vain) Closed() bool        { return true }
func (v vain) Refused() []string { return []string{v.host} }

func TestRunEachHasItsGate(t *testing.T) {
	t.Parallel()
	b := newBench(t, "true", "true")
	b.Unsealed = true
	made := 0
	b.Gate = func() (proc.Gate, error) { made++; return vain{host: "host" + strconv.Itoa(made)}, nil }
	for i, a := range check.Run(t.Context(), b.Job) {
		if want := "; not host" + strconv.Itoa(i+1); !strings.HasSuffix(a.Network, want) {
			t.Errorf("%s: %q, want %q", a.Check, a.Network, want)
		}
	}
	b.Gate = func() (proc.Gate, error) { return nil, errors.New("no gate") }
	if a := b.first(); a.Verdict != engine.Infra || a.Reason != "no gate" {
		t.Errorf("%+v", a)
	}
}

func TestRunVerdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		exit          int
		want          engine.Verdict
	}{
		{"yes", "true", 0, engine.Pass},
		{"no", "false", 0, engine.Fail},
		{"another code", "exit 3", 3, engine.Pass},
		{"zero where another is wanted", "exit 0", 3, engine.Fail},
		{"not found", "no-such-program", 0, engine.Inconclusive},
		{"not found, as wanted", "no-such-program", 127, engine.Pass},
		{"exit 126", "exit 126", 0, engine.Inconclusive},
		{"kills itself", "kill -9 $$", 0, engine.Fail},
		{"asks itself to end", "kill -TERM $$", 0, engine.Fail},
		{"its child kills it", "(kill -9 $PPID; kill -9 $$) & wait; exit 0", 0, engine.Fail},
		{"ignores signals", "trap '' TERM INT HUP; exit 0", 0, engine.Pass},
		{"closes everything", "exec 0<&- 1>&- 2>&-; for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done; exit 0", 0, engine.Pass},
		{"reads until the end", "cat; read x; [ -z \"$x\" ]", 0, engine.Pass},
		{"has no terminal", "! tty -s && ! (: </dev/tty) 2>/dev/null", 0, engine.Pass},
		{"no errexit, no pipefail", "false; false | true", 0, engine.Pass},
		{"is bash", "[[ $BASH_VERSION && $0 == *bash ]] && [ $# = 0 ]", 0, engine.Pass},
		{"several lines", "x=1\n\nif [ $x = 1 ]; then\n  exit 0\nfi\nexit 1", 0, engine.Pass},
		{"bad syntax", "if", 0, engine.Fail},
		{"a full disk", "echo x >/dev/full", 0, engine.Infra},
		{"writes a verdict", "echo pass >result.json; echo '{\"exit\":0}'; exit 1", 0, engine.Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.command)
			b.Step.Checks[0].Exit = tt.exit
			a := b.first()
			if a.Verdict != tt.want {
				t.Errorf("%s (%s), want %s; it printed %q %q", a.Verdict, a.Reason, tt.want, a.Stdout, a.Stderr)
			}
			if a.Verdict == engine.Pass && (a.Stdout != "" || a.Stderr != "") {
				t.Error("a pass carries output")
			}
		})
	}
}

// A check that hangs is ended with everything it started. On a busy machine it starts
// late: then it gets more time.
func TestRunTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
		setsid sh -c 'trap "" TERM; echo $$ >one; while :; do sleep 1; done' &
		(trap '' TERM HUP; (echo $BASHPID >two; exec sleep 100000) & ) &
		until [ -s one ] && [ -s two ]; do :; done
		echo started
		sleep 100000`)
	for b.Step.CheckTimeout = 2 * time.Second; ; b.Step.CheckTimeout *= 4 {
		a := b.first()
		wantNobodyIn(t, b.Workspace)
		if a.Verdict != engine.Timeout || a.Exit == 0 {
			t.Fatalf("%s, exit %d, printed %q; want a timeout", a.Verdict, a.Exit, a.Stdout)
		}
		if a.Stdout == "started\n" {
			return
		}
		if b.Step.CheckTimeout > time.Minute {
			t.Fatalf("it printed %q and never started", a.Stdout)
		}
	}
}

// What a check leaves behind does not live on, and cannot touch a later one.
func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t,
		`(setsid sh -c 'echo $$ >pid; while :; do echo x >>alive; sleep 0.01; done' >/dev/null 2>&1 &); until [ -s alive ]; do :; done`,
		`rm -f alive; sleep 0.2; [ ! -e alive ]`)
	for _, a := range check.Run(t.Context(), b.Job) {
		if a.Verdict != engine.Pass {
			t.Errorf("%s: %s (%s) %s", a.Check, a.Verdict, a.Reason, a.Stderr)
		}
	}
	wantNobodyIn(t, b.Workspace)
}

// wantNobodyIn fails if a process works in dir.
func wantNobodyIn(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range names {
		if cwd, err := os.Readlink("/proc/" + pid + "/cwd"); err == nil && cwd == dir {
			t.Errorf("process %s is still alive", pid)
		}
	}
}

// Much output is counted and hashed, and what a record gets of it is small. Nothing runs
// beside it, so that the heap is its own.
func TestRunHugeOutput(t *testing.T) {
	size := tier.Draws(20_000_000, 200_000_000) // of each stream
	b := newBench(t, fmt.Sprintf(`head -c %d /dev/zero | tr '\0' 'x'; yes | head -c %d >&2; echo the end; exit 1`, size, size))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a := b.first()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if a.Verdict != engine.Fail || a.Size != int64(2*size+8) {
		t.Errorf("%s (%s) of %d bytes, want a fail of %d", a.Verdict, a.Reason, a.Size, 2*size+8)
	}
	if len(a.Stdout) > 8<<10 || len(a.Stderr) > 8<<10 || !strings.HasSuffix(a.Stdout, "the end\n") || strings.Count(a.Stderr, "\n") > 100 {
		t.Errorf("tails of %d and %d bytes, %d lines", len(a.Stdout), len(a.Stderr), strings.Count(a.Stderr, "\n"))
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func TestRunRecordsEvidence(t *testing.T) {
	t.Parallel()
	b := newBench(t, "printf '\\033[31mred\\033[0m\\n'; echo err >&2; exit 2", "true")
	b.Phase, b.Round = engine.Ratchet, 3
	b.Step.Checks[1].Required = false
	answers := check.Run(t.Context(), b.Job)
	if len(answers) != 2 {
		t.Fatalf("%d answers, want one for each check", len(answers))
	}
	a := answers[0]
	if a.Ms < 0 || len(a.Command) != 64 || len(a.Env) != 64 || len(a.Output) != 64 || a.Isolation != string(b.Pool.Isolation()) {
		t.Errorf("hashes %q %q %q, isolation %q", a.Command, a.Env, a.Output, a.Isolation)
	}
	if a.Env != answers[1].Env || a.Command == answers[1].Command || a.Output == answers[1].Output {
		t.Error("hashes do not tell the checks apart")
	}
	a.Ms, a.Command, a.Env, a.Output, a.Isolation = 0, "", "", "", ""
	want := engine.CheckEnded{
		Step: "build", Attempt: 2, Phase: engine.Ratchet, Round: 3, Check: "contract", Required: true,
		Dir: b.Workspace, Verdict: engine.Fail, Exit: 2, Size: 17, Stdout: "red\n", Stderr: "err\n",
	}
	if d := cmp.Diff(want, a); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if again := check.Run(t.Context(), b.Job)[0]; again.Command != answers[0].Command || again.Env != answers[0].Env || again.Output != answers[0].Output {
		t.Error("the same check has other hashes the second time")
	}
	b.Attempt++
	if other := b.first(); other.Env == answers[0].Env || other.Command != answers[0].Command {
		t.Error("the hash of the environment does not hold its values")
	}
}

// All checks run, so that the next attempt hears of everything that is wrong.
func TestRunGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, "exit 1", "exit 2", "true", "no-such-program")
	var got []engine.Verdict
	for _, a := range check.Run(t.Context(), b.Job) {
		got = append(got, a.Verdict)
	}
	want := []engine.Verdict{engine.Fail, engine.Fail, engine.Pass, engine.Inconclusive}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRunBaselineTailIsShort(t *testing.T) {
	t.Parallel()
	b := newBench(t, "seq 100000; exit 1")
	b.Phase = engine.Baseline
	if a := b.first(); len(a.Stdout) > 1<<10 || !strings.HasSuffix(a.Stdout, "100000\n") {
		t.Errorf("tail of %d bytes: %q", len(a.Stdout), a.Stdout)
	}
}

// Nothing of the harness's environment gets through but what is named.
func TestRunEnvironment(t *testing.T) {
	t.Parallel()
	evil := filepath.Join(t.TempDir(), "evil.sh")
	if err := os.WriteFile(evil, []byte("exit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, "env -0; pwd -P; exit 1")
	b.Step.Env = []string{"TOKEN"}
	b.Environ = []string{
		"PATH=.:/usr/bin:/bin:bin", "HOME=/root", "LANG=C.UTF-8", "TOKEN=secret", "OTHER=secret",
		"BASH_ENV=" + evil, "ENV=" + evil, "LD_PRELOAD=/x.so", "PYTEST_ADDOPTS=--co", "MAKEFLAGS=-n", "GOFLAGS=-x",
		"NODE_OPTIONS=-r x", "GIT_DIR=/x", "BASH_FUNC_make%%=() { :; }", "PITON_STEP=forged", "SHELLOPTS=noexec", "PS4=$(x)",
	}
	a := b.first()
	if a.Verdict != engine.Fail {
		t.Fatalf("%s (%s): %s", a.Verdict, a.Reason, a.Stderr)
	}
	got := strings.FieldsFunc(a.Stdout, func(r rune) bool { return r == 0 || r == '\n' })
	// The NULs of env -0 are controls, which a record does not have.
	joined := strings.Join(got, "")
	for _, want := range []string{"PATH=/usr/bin:/bin", "TOKEN=secret", "PITON_STEP=build", "PITON_RUN=run-1", "PITON_ATTEMPT=2", "PITON_WORKSPACE=" + b.Workspace} {
		if !strings.Contains(joined, want) {
			t.Errorf("no %s in %q", want, joined)
		}
	}
	for _, bad := range []string{"OTHER", "BASH_ENV", "LD_PRELOAD", "PYTEST", "MAKEFLAGS", "GOFLAGS", "NODE_OPTIONS", "GIT_DIR", "BASH_FUNC", "forged", "noexec"} {
		if strings.Contains(joined, bad) {
			t.Errorf("%s got through: %q", bad, joined)
		}
	}
	if !strings.HasSuffix(joined, b.Workspace) {
		t.Errorf("it works in another directory than %s", b.Workspace)
	}
}

// A shell that the workspace provides is never taken.
func TestRunTakesItsOwnShell(t *testing.T) {
	b := newBench(t, "exit 1")
	fake := filepath.Join(b.Workspace, "bin")
	if err := os.Mkdir(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(fake, "bash"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Environ = append(slices.Clone(b.Environ), "PATH="+fake+":.:"+os.Getenv("PATH"))
	if a := b.first(); a.Verdict != engine.Fail {
		t.Errorf("%s (%s), want the fail of a real shell", a.Verdict, a.Reason)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	b.Bash, b.Environ = bash, nil
	if a := b.first(); a.Verdict != engine.Fail {
		t.Errorf("with a given shell: %s (%s)", a.Verdict, a.Reason)
	}
	b.Bash = filepath.Join(b.Workspace, "none")
	if a := b.first(); a.Verdict != engine.Infra || a.Reason == "" || a.Exit == 0 {
		t.Errorf("without a shell: %s (%s), exit %d", a.Verdict, a.Reason, a.Exit)
	}
}

// When it is called off, what runs is ended and nothing passes.
func TestRunCancelled(t *testing.T) {
	b := newBench(t, "echo x >started; sleep 100000", "true")
	started := filepath.Join(b.Workspace, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan []engine.CheckEnded)
	go func() { done <- check.Run(ctx, b.Job) }()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	cancel()
	answers := <-done
	if len(answers) != 2 {
		t.Fatalf("%d answers, want 2", len(answers))
	}
	for _, a := range answers {
		if a.Verdict != engine.Infra || a.Exit == 0 {
			t.Errorf("%s: %s, exit %d; want infra", a.Check, a.Verdict, a.Exit)
		}
	}
	wantNobodyIn(t, b.Workspace)
}

// A fork bomb, bounded by itself, is gone afterwards.
func TestRunForks(t *testing.T) {
	t.Parallel()
	b := newBench(t, fmt.Sprintf(`for i in $(seq %d); do (sleep 1000 & setsid sleep 1000 & ) >/dev/null 2>&1; done; exit 0`, tier.Draws(20, 100)))
	if a := b.first(); a.Verdict != engine.Pass {
		t.Errorf("%s (%s)", a.Verdict, a.Reason)
	}
	wantNobodyIn(t, b.Workspace)
}
