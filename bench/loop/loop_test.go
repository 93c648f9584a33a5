//go:build bench

package loop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// BenchmarkChain runs a chain of steps from open to done: three turns a step,
// with effects that answer at once, over a store that keeps nothing.
func BenchmarkChain(b *testing.B) {
	for _, steps := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				play(b, storetest.NewMemory(), steps, "")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
		})
	}
}

// BenchmarkWide runs a plan of the same size in which only the last step needs
// another: all others are ready at once.
func BenchmarkWide(b *testing.B) {
	for _, steps := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				wide := chain(steps)
				for i := range wide[:steps-1] {
					wide[i].Needs = nil
				}
				playPlan(b, storetest.NewMemory(), wide, "")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
		})
	}
}

const stream = "t"

// chain is a plan of steps each of which needs the one before.
func chain(n int) []engine.Step {
	steps := make([]engine.Step, n)
	for i := range steps {
		steps[i] = engine.Step{
			ID: fmt.Sprintf("s%d", i+1), Number: fmt.Sprint(i + 1), Title: fmt.Sprintf("Step %d", i+1), Kind: engine.Script,
			Task:   "make step",
			Checks: []engine.Check{{Name: engine.Contract, Command: "make check", Required: true}},
			Expect: engine.ExpectAny, OnFail: engine.OnFail{Then: engine.Escalate}, Critical: true, Rerunnable: true,
			Timeout: time.Hour, CheckTimeout: time.Minute, Mode: "edit", Network: "no",
		}
		if i > 0 {
			steps[i].Needs = []int{i - 1}
		}
	}
	return steps
}

// play runs a chain until it is done, or until the work of one step is under
// way, which never ends.
func play(b *testing.B, st store.Store, steps int, until string) {
	b.Helper()
	playPlan(b, st, chain(steps), until)
}

func playPlan(b *testing.B, st store.Store, steps []engine.Step, until string) {
	b.Helper()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	do := func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		if e.Key.Step == until && e.Key.Kind == engine.Work {
			stop()
			<-ctx.Done()
			return run.Answer{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Stopped}}}
		}
		return answer(e)
	}
	host, err := run.Open(ctx, run.Config{Store: st, Do: do, Now: time.Now, Workspace: "w"})
	if err != nil {
		b.Fatal(err)
	}
	ended, active := make(chan error, 1), make(chan struct{})
	go func() { ended <- host.Loop(ctx, func(t run.Traffic) bool { return isClosed(active) && t.Moving == 0 }) }()
	p, err := engine.NewProgram(engine.Definition{Plan: "p", Parallel: 4, Steps: steps})
	if err != nil {
		b.Fatal(err)
	}
	in := engine.Open{By: "bench", Task: &engine.TaskOpened{Task: stream, Intent: "i"}, Run: engine.RunOpened{
		Run: "r", Plan: "p", Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 4},
	}}
	if err := host.Submit(ctx, stream, in, store.NewObject(p.Encode())); err != nil {
		b.Fatal(err)
	}
	if err := host.Activate(ctx, stream); err != nil {
		b.Fatal(err)
	}
	close(active)
	host.Nudge()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
	if err := host.Close(); err != nil {
		b.Fatal(err)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func answer(e engine.Effect) run.Answer {
	switch e.Key.Kind {
	case engine.Prepare:
		return run.Answer{Input: engine.Prepared{Key: e.Key}}
	case engine.Work:
		return run.Answer{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited}}}
	}
	checks := []engine.CheckEnded{{Check: engine.Contract, Verdict: engine.Pass}}
	return run.Answer{Input: engine.Checked{Key: e.Key, Checks: checks}}
}
