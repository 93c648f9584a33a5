//go:build bench && unix

package verify_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/built"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// shapes are plans that different rules have work with.
func shapes() map[string]func(n int) string {
	return map[string]func(n int) string{
		"chain":    chain,
		"parallel": parallel,
		"scripts":  scripts,
		"broken":   broken,
	}
}

func document(header string, n int, step func(i int) string) string {
	var b strings.Builder
	b.WriteString("---\ntype: plan\nstatus: draft\nowner: bench\n---\n\n# A long plan\n\n" + header + "\n## Steps\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "\n### %d. Step %d\n\n**target:** coder\n%s", i, i, step(i))
	}
	return b.String()
}

// chain is a plan as agents write them: each step waits for the one before it,
// and reads what that one wrote.
func chain(n int) string {
	return document("", n, func(i int) string {
		return fmt.Sprintf("**subscriptions:**\n- file:docs/note-%d.md\n- file:src/main.go\n**writes:** docs/note-%d.md, src/**\n"+
			"**task:** Go on where `docs/note-%d.md` ends.\n**contract:**\n```shell\ngo test ./internal/part%d && grep -q done docs/note-%d.md\n```\nexit_code == 0\n", i-1, i, i-1, i, i)
	})
}

// parallel has steps in groups that may run at once, with scopes of their own.
func parallel(n int) string {
	return document("**Parallel:** 16\n", n, func(i int) string {
		needs := "none"
		if i > 10 {
			needs = fmt.Sprintf("%d, %d", i-10, i-(i-1)%10-1)
		}
		return fmt.Sprintf("**needs:** %s\n**writes:** services/s%d/**, docs/s%d-*.md\n**task:** Do it.\n**contract:**\n```shell\nmake -C services/s%d test\n```\n", needs, i, i, i%50)
	})
}

// scripts has longer contracts, no two of them alike.
func scripts(n int) string {
	return document("", n, func(i int) string {
		return fmt.Sprintf("**task:** Do it.\n**contract:**\n```bash\nset -euo pipefail\nfor f in src/*.go; do\n  gofmt -l \"$f\" | grep -q . && exit %d\ndone\n"+
			"if test -f out/%d.json; then jq -e .ok out/%d.json; else exit 1; fi\npytest -q tests/unit/test_%d.py\n```\n", i%200+1, i, i, i)
	})
}

// broken has a mistake in each step.
func broken(n int) string {
	return document("**Parallel:** 4\n", n, func(i int) string {
		return fmt.Sprintf("**needs:** nobody-%d\n**writes:** src/**\n**subscriptions:**\n- file:none/%d.md\n**task:** Do it.\n**contract:**\n```shell\ntest -f x%d || true\n```\n", i, i, i)
	})
}

// judged is the processor time in milliseconds that the rules take, all facts
// known.
func judged(b *testing.B, text string) float64 {
	p, problems := plan.Parse("plan.md", []byte(text))
	q := verify.Needs(p)
	facts := verify.Facts{Agents: map[string]verify.Agent{"coder": {Metered: true}}, Commands: map[string]string{}, Files: map[string]verify.File{}}
	for _, c := range q.Commands {
		facts.Commands[c] = "/usr/bin/" + c
	}
	for _, f := range q.Files {
		facts.Files[f] = verify.File{Exists: strings.HasPrefix(f, "src/")}
	}
	runtime.GC()
	began := used(b)
	verify.Check(p, problems, facts)
	return float64((used(b) - began).Microseconds()) / 1000
}

// used is the processor time of this process so far: on a busy machine it says
// more than the clock on the wall.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCheck reports the median time of a plan of 10,000 steps and how many
// times that of 1,000 it is: 10 is linear, 12 the most that is allowed. A long
// plan is compared with the middle of short ones right before and after it, so
// that both had the same machine, and of all such pairs the middle counts.
func BenchmarkCheck(b *testing.B) {
	for name, shape := range shapes() {
		b.Run(name, func(b *testing.B) {
			short, long := shape(1_000), shape(10_000)
			var many, ratios []float64
			for b.Loop() {
				few := []float64{judged(b, short), judged(b, short), judged(b, short)}
				most := judged(b, long)
				few = append(few, judged(b, short), judged(b, short))
				many, ratios = append(many, most), append(ratios, most/middle(few))
			}
			b.ReportMetric(middle(many), "10000-cpu-ms")
			b.ReportMetric(middle(ratios), "ratio")
		})
	}
}

func middle(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkParse reports megabytes of plan a second.
func BenchmarkParse(b *testing.B) {
	text := []byte(chain(10_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		plan.Parse("plan.md", text)
	}
}

// BenchmarkProcess starts `piton verify` for a plan of 20 steps, and `piton
// version` beside it: what is between them is the verifying.
func BenchmarkProcess(b *testing.B) {
	dir := b.TempDir()
	piton, err := built.Piton()
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(dir, "plan.md")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(parallel(20), "coder", "script")), 0o600); err != nil {
		b.Fatal(err)
	}
	run := func(args ...string) time.Duration {
		c := exec.Command(piton, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "PITON_STATE="+filepath.Join(b.TempDir(), "state"))
		began := time.Now()
		c.Run() //nolint:errcheck // the plan has findings, which its exit code says
		return time.Since(began)
	}
	var verifies, versions []time.Duration
	for b.Loop() {
		versions = append(versions, run("version"))
		verifies = append(verifies, run("verify", file))
	}
	slices.Sort(verifies)
	b.ReportMetric(float64(verifies[len(verifies)/2].Microseconds())/1000, "verify-p50-ms")
	b.ReportMetric(float64(slices.Min(versions).Microseconds())/1000, "version-least-ms")
}
