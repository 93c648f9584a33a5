//go:build bench

package chain

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// sidePlan has steps that need nobody, so many at once, each with this work.
func sidePlan(parallel int, works []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntype: plan\nstatus: draft\nowner: bench\n---\n\n# Beside\n\n**Parallel:** %d\n\n## Steps\n", parallel)
	for i, work := range works {
		fmt.Fprintf(&b, "\n### %d. Step %d\n\n**target:** script\n**needs:** none\n**task:**\n```shell\n%s\necho x > out/%d\n```\n\n**contract:**\n```shell\ntest -e out/%d\n```\nexit_code == 0\n", i+1, i+1, work, i, i)
	}
	return b.String()
}

// sideMakefile is the same with make.
func sideMakefile(works []string) string {
	var goals, b strings.Builder
	for i, work := range works {
		fmt.Fprintf(&goals, " s%d", i)
		fmt.Fprintf(&b, "s%d:\n\t@-test -e out/%d 2>/dev/null\n\t@%s; echo x > out/%d\n\t@test -e out/%d\n", i, i, work, i, i)
	}
	return "SHELL = /bin/bash\n.SHELLFLAGS = --noprofile --norc -c\nall:" + goals.String() + "\n" + b.String()
}

const sidePolicy = "policy: {ratchet: off, isolation: none, mark: off, max_parallel: 64}\n"

// BenchmarkFanOut runs 1,000 steps of three processes each, 64 at once, in turn
// with make -j 64.
func BenchmarkFanOut(b *testing.B) {
	piton := binary(b)
	works := slices.Repeat([]string{":"}, 1_000)
	w := newWorkspace(b, sidePlan(64, works), sidePolicy)
	w.write(b, "Makefile", sideMakefile(works))
	var ours, theirs []time.Duration
	for b.Loop() {
		w.clean(b)
		theirs = append(theirs, w.run(b, "make", "-s", "-j", "64"))
		w.clean(b)
		ours = append(ours, w.run(b, piton, "run", "plan.md", "--yes"))
	}
	b.ReportMetric(median(ours).Seconds(), "s")
	b.ReportMetric(median(theirs).Seconds(), "make-s")
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x-make")
}

// BenchmarkMakespan runs 200 steps of 20 to 200 ms, four at once, against the
// least that any schedule needs: all the work by the slots, or the longest step.
// That counts what the steps sleep and nothing else: what it costs to start
// their shells, and to find the last slot empty, shows in how far make -j 4 is
// from it, which runs the same processes in turn.
func BenchmarkMakespan(b *testing.B) {
	piton := binary(b)
	r := rand.New(rand.NewPCG(1, 2))
	var works []string
	var total, longest time.Duration
	for range 200 {
		d := 20*time.Millisecond + time.Duration(r.Int64N(int64(180*time.Millisecond)))
		works = append(works, fmt.Sprintf("sleep %.3f", d.Seconds()))
		total, longest = total+d, max(longest, d)
	}
	bound := max(total/4, longest)
	w := newWorkspace(b, sidePlan(4, works), sidePolicy)
	w.write(b, "Makefile", sideMakefile(works))
	var ours, theirs []time.Duration
	for b.Loop() {
		w.clean(b)
		theirs = append(theirs, w.run(b, "make", "-s", "-j", "4"))
		w.clean(b)
		ours = append(ours, w.run(b, piton, "run", "plan.md", "--yes"))
	}
	b.ReportMetric(median(ours).Seconds(), "s")
	b.ReportMetric(bound.Seconds(), "bound-s")
	b.ReportMetric(float64(median(ours))/float64(bound), "x-bound")
	b.ReportMetric(float64(median(theirs))/float64(bound), "make-x-bound")
	b.ReportMetric(float64(median(ours))/float64(median(theirs)), "x-make")
}

// BenchmarkApprovals lists 10,000 steps that wait for a person: as people see the
// list, which is its beginning, and all of it as programs do.
func BenchmarkApprovals(b *testing.B) {
	piton := binary(b)
	plan := strings.ReplaceAll(sidePlan(64, slices.Repeat([]string{":"}, 10_000)), "**needs:** none\n", "**needs:** none\n**approval:** required\n")
	w := newWorkspace(b, plan, sidePolicy)
	c := exec.Command(piton, "run", "plan.md", "--yes", "--no-wait")
	c.Dir, c.Env = w.work, w.env
	if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() != 3 {
		b.Fatalf("the run should wait for a person: %v\n%.2000s", err, out[max(0, len(out)-2000):])
	}
	var oldest, all []time.Duration
	for b.Loop() {
		oldest = append(oldest, w.run(b, piton, "inbox"))
		all = append(all, w.run(b, piton, "inbox", "--json"))
	}
	b.ReportMetric(float64(median(oldest).Milliseconds()), "list-ms")
	b.ReportMetric(float64(median(all).Milliseconds()), "all-json-ms")
}
