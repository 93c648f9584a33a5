package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// looping is a loop of n iterations, of which none passes.
func looping(t testing.TB, n int) *engine.State {
	t.Helper()
	p := plain("a")
	p.Iterations, p.Context = n, 1<<40
	program, err := engine.NewProgram(engine.Definition{Plan: "p", Title: "T", Parallel: 1, Steps: []engine.Step{p}})
	if err != nil {
		t.Fatal(err)
	}
	s := &engine.State{}
	take(t, s, begun)
	take(t, s, engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{
		Run: "r1", Program: program.Hash(), Compiled: program, Policy: engine.Policy{MaxParallel: 1, Baseline: true},
	}})
	return s
}

// take admits an input and lets all follow that does. It returns how many events.
func take(t testing.TB, s *engine.State, in engine.Input) (events int) {
	t.Helper()
	at := dawn.Add(time.Duration(s.Seq()) * time.Millisecond)
	es, err := s.Admit(in, at)
	for ; err == nil && len(es) > 0; es = s.Decide(at) {
		for _, e := range es {
			events++
			if err = s.Apply(engine.Record{Stream: "task", Seq: s.Seq() + 1, At: at, Epoch: 1, Event: e}); err != nil {
				break
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Rows()
	return events
}

// iterate lets one iteration fail: another answer and another tree each time.
func iterate(t testing.TB, s *engine.State, n int) (events int) {
	t.Helper()
	for _, c := range s.Claims() {
		if !c.Held {
			events += take(t, s, engine.Lease{Step: c.Step.ID, Attempt: c.Attempt})
		}
	}
	for range 3 {
		e := s.Effects()[0]
		in := success(e)
		switch e.Key.Kind {
		case engine.Work:
			end := in.(engine.Ended)
			end.Usage.In, end.Usage.Out = new(int64(5)), new(int64(5))
			in = end
		case engine.Verify:
			in = engine.Checked{Key: e.Key, Checks: answers(e.Step, fmt.Sprintf("tree %06d", n), engine.Fail)}
		}
		events += take(t, s, in)
	}
	return events
}

// TestLoopDoesNotGrow: an iteration costs as many events and allocations at the end of a
// long loop as at its beginning, and the state does not grow.
func TestLoopDoesNotGrow(t *testing.T) {
	s := looping(t, 1000)
	iterate(t, s, 0)
	var sizes, counts [999]int
	n := 0
	next := func() {
		n++
		counts[n] = iterate(t, s, n)
		body, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		sizes[n] = len(body)
	}
	first := testing.AllocsPerRun(10, next)
	for n < 998-11 {
		next()
	}
	if last := testing.AllocsPerRun(10, next); last > first*1.1 {
		t.Errorf("iteration 10 took %.0f allocations, and iteration 990 took %.0f", first, last)
	}
	if counts[1] != counts[998] {
		t.Errorf("iteration 2 took %d events, and iteration 999 took %d", counts[1], counts[998])
	}
	if sizes[998] > sizes[200]+64 { // numbers have a digit more
		t.Errorf("the state has %d bytes after 200 iterations and %d after 998", sizes[200], sizes[998])
	}
	if row := s.StepRow(0).Loop; row.Iteration != 1000 || row.Tokens != 9990 || row.Exit != "" {
		t.Errorf("it is %+v", row)
	}
}

// TestAuditorSeesLoops breaks the settlings of a sound loop.
func TestAuditorSeesLoops(t *testing.T) {
	w := newDesk()
	w.begin()
	p := plain("a")
	p.Iterations, p.OnFail = 2, engine.OnFail{Then: engine.Escalate}
	program, err := engine.NewProgram(engine.Definition{Plan: "p", Parallel: 1, Steps: []engine.Step{p}})
	if err != nil {
		t.Fatal(err)
	}
	w.admit(engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{
		Run: "r1", Program: program.Hash(), Compiled: program, Policy: engine.Policy{MaxParallel: 1},
	}})
	for n := range 6 {
		e := w.state.Effects()[0]
		in := success(e)
		if e.Key.Kind == engine.Verify && n < 3 {
			in = engine.Checked{Key: e.Key, Checks: answers(e.Step, "", engine.Fail)}
		}
		w.admit(in)
	}
	if err := w.settled(); err != nil || w.state.Head().Status != engine.Done {
		t.Fatalf("%v\n%s", err, lines(w.journal))
	}
	for n, r := range w.journal {
		e, settles := r.Event.(engine.StepSettled)
		if !settles {
			continue
		}
		for _, exit := range []engine.LoopExit{"", engine.AllChecksPassed, engine.MaxIterations, engine.ContextLimit, engine.LoopError, "nonsense"} {
			if exit == e.Exit {
				continue
			}
			forged := append([]engine.Record{}, w.journal...)
			lie := e
			lie.Exit = exit
			forged[n].Event = lie
			if _, err := replay(forged); err == nil {
				t.Errorf("the fold takes a loop of %q that ends by %q", e.Exit, exit)
			}
			if exit != engine.LoopError && exit != "nonsense" && audit(forged) == nil {
				t.Errorf("the auditor takes a loop of %q that ends by %q", e.Exit, exit)
			}
		}
	}
}
