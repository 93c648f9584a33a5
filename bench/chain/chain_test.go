//go:build bench

package chain

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/built"
)

// binary is the program.
func binary(b *testing.B) string {
	b.Helper()
	path, err := built.Piton()
	if err != nil {
		b.Fatal(err)
	}
	return path
}

// workspace is a directory with a plan, and the environment piton runs in.
type workspace struct {
	dir, work string
	env       []string
}

func newWorkspace(b *testing.B, plan, config string) *workspace {
	b.Helper()
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "piton-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	w := &workspace{dir: dir, work: filepath.Join(dir, "work")}
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PITON_STATE=" + filepath.Join(dir, "state")}
	for _, d := range []string{".git", ".piton", "out"} {
		if err := os.MkdirAll(filepath.Join(w.work, d), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	w.write(b, "plan.md", plan)
	w.write(b, ".piton/config.yaml", config)
	return w
}

func (w *workspace) write(b *testing.B, name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(w.work, name), []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

// run runs a command in the workspace and returns how long it took.
func (w *workspace) run(b *testing.B, name string, args ...string) time.Duration {
	b.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = w.work, w.env
	began := time.Now()
	out, err := c.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		b.Fatalf("%s %v: %v\n%.2000s", name, args, err, out[max(0, len(out)-2000):])
	}
	return took
}

const plainPolicy = "policy: {ratchet: off, isolation: none, mark: off}\n"

// chainPlan has n steps in a row, each with a baseline that fails, work, and a
// contract that passes: three processes a step.
func chainPlan(n int) string {
	var b strings.Builder
	b.WriteString("---\ntype: plan\nstatus: draft\nowner: bench\n---\n\n# Chain\n\n## Steps\n")
	for i := range n {
		fmt.Fprintf(&b, "\n### %d. Step %d\n\n**target:** script\n**task:**\n```shell\necho x > out/%d\n```\n\n**contract:**\n```shell\ntest -e out/%d\n```\nexit_code == 0\n", i+1, i+1, i, i)
	}
	return b.String()
}

// chainMakefile is the same with make: the same three shells a step.
func chainMakefile(n int) string {
	var b strings.Builder
	b.WriteString("SHELL = /bin/bash\n.SHELLFLAGS = --noprofile --norc -c\nall: s" + fmt.Sprint(n-1) + "\n")
	for i := range n {
		fmt.Fprintf(&b, "s%d:", i)
		if i > 0 {
			fmt.Fprintf(&b, " s%d", i-1)
		}
		fmt.Fprintf(&b, "\n\t@-test -e out/%d 2>/dev/null\n\t@echo x > out/%d\n\t@test -e out/%d\n", i, i, i)
	}
	return b.String()
}

func (w *workspace) clean(b *testing.B) {
	b.Helper()
	out := filepath.Join(w.work, "out")
	if err := os.RemoveAll(out); err != nil {
		b.Fatal(err)
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		b.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); ; { // the owner may be about to end
		err := os.RemoveAll(filepath.Join(w.dir, "state"))
		if err == nil {
			return
		}
		if time.Now().After(until) {
			b.Fatal(err)
		}
	}
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkChain runs 300 steps of three processes each, in turn with make.
func BenchmarkChain(b *testing.B) {
	const steps = 300
	piton := binary(b)
	w := newWorkspace(b, chainPlan(steps), plainPolicy)
	w.write(b, "Makefile", chainMakefile(steps))
	var ours, theirs []time.Duration
	for b.Loop() {
		w.clean(b)
		theirs = append(theirs, w.run(b, "make", "-s"))
		w.clean(b)
		ours = append(ours, w.run(b, piton, "run", "plan.md", "--yes"))
	}
	b.ReportMetric(float64(median(ours).Milliseconds())/steps, "ms/step")
	b.ReportMetric(float64(median(theirs).Milliseconds())/steps, "make-ms/step")
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x-make")
}

// BenchmarkGrowth runs 1,000 and 10,000 steps.
func BenchmarkGrowth(b *testing.B) {
	piton := binary(b)
	small := newWorkspace(b, chainPlan(1_000), plainPolicy)
	large := newWorkspace(b, chainPlan(10_000), plainPolicy)
	var one, ten []time.Duration
	for b.Loop() {
		small.clean(b)
		one = append(one, small.run(b, piton, "run", "plan.md", "--yes"))
		large.clean(b)
		ten = append(ten, large.run(b, piton, "run", "plan.md", "--yes"))
	}
	b.ReportMetric(median(one).Seconds(), "s/1000")
	b.ReportMetric(median(ten).Seconds(), "s/10000")
	b.ReportMetric(float64(median(ten))/float64(median(one)), "x-growth")
}

// BenchmarkTenThousand measures status on an interrupted run of 10,000 steps,
// and resume from process start to the first dispatch.
func BenchmarkTenThousand(b *testing.B) {
	piton := binary(b)
	w := newWorkspace(b, chainPlan(9_999)+stop, plainPolicy)
	c := exec.Command(piton, "run", "plan.md", "--yes", "--no-wait")
	c.Dir, c.Env = w.work, w.env
	if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() != 3 {
		b.Fatalf("the run should wait for a person: %v\n%.2000s", err, out[max(0, len(out)-2000):])
	}
	w.keep(b)
	var status, resume []time.Duration
	for b.Loop() {
		w.restore(b)
		status = append(status, w.run(b, piton, "status", "--json"))
		w.run(b, piton, "answer", "--json", w.item(b, piton), "retry")
		resume = append(resume, w.firstDispatch(b, piton))
	}
	b.ReportMetric(float64(median(status).Milliseconds()), "status-ms")
	b.ReportMetric(float64(median(resume).Milliseconds()), "resume-ms")
}

// stop is a last step that never passes: the run waits there.
const stop = "\n### 10000. Stop\n\n**target:** script\n**task:** touch started-$PITON_ATTEMPT\n**contract:** `test -e never`\n**on_fail:** escalate\n"

func (w *workspace) item(b *testing.B, piton string) string {
	c := exec.Command(piton, "inbox", "--json")
	c.Dir, c.Env = w.work, w.env
	out, err := c.Output()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(out), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !ok {
		b.Fatalf("no item in %s", out)
	}
	return id
}

// firstDispatch resumes, and returns when the next work was started: its script
// touches a file whose time is read.
func (w *workspace) firstDispatch(b *testing.B, piton string) time.Duration {
	b.Helper()
	began := time.Now()
	c := exec.Command(piton, "resume", "--no-wait")
	c.Dir, c.Env = w.work, w.env
	if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() != 3 {
		b.Fatalf("resume: %v\n%s", err, out)
	}
	info, err := os.Stat(filepath.Join(w.work, "started-2"))
	if err != nil {
		b.Fatal(err)
	}
	return info.ModTime().Sub(began)
}

// keep and restore put the interrupted run back for the next round.
func (w *workspace) keep(b *testing.B) { copyTree(b, w.dir+"/state", w.dir+"/kept") }

func (w *workspace) restore(b *testing.B) {
	os.RemoveAll(w.dir + "/state")
	os.Remove(w.work + "/started-2")
	copyTree(b, w.dir+"/kept", w.dir+"/state")
}

func copyTree(b *testing.B, from, to string) {
	b.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(at, 0o700)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		body, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(at, body, 0o600)
	})
	if err != nil {
		b.Fatal(err)
	}
}
