package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
	"github.com/piton-dev/piton/internal/tier"
)

var errDead = errors.New("the process is dead")

// mortal is a store that a dead process cannot write to any more.
type mortal struct {
	*storetest.Memory
	dead *atomic.Bool
}

func (m mortal) Append(ctx context.Context, batches ...store.Batch) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Memory.Append(ctx, batches...)
}

// TestChildCrashes kills the owner at boundaries of a run with sub-plans in sub-plans; in
// the gate at every one. Its successor is killed once more. The next one brings the run to
// its end, and nothing that was proved is done again.
func TestChildCrashes(t *testing.T) {
	t.Parallel()
	one, several := delegated("sub", 0), delegated("sub", 0)
	several.Each = items("a", "b", "c")
	for name, w := range map[string]nested{
		"one":          {sub: one, streams: []string{"t", "t/sub", "t/sub/deep"}},
		"of each item": {sub: several, streams: []string{"t", "t/sub.1", "t/sub.1/deep", "t/sub.2", "t/sub.2/deep", "t/sub.3", "t/sub.3/deep"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at += tier.Draws(5, 1) {
				crashed := 0
				synctest.Test(t, func(t *testing.T) { crashed = w.crashing(t, at) })
				if t.Failed() || crashed == 0 {
					if at < 30 {
						t.Errorf("only %d boundaries", at-1)
					}
					return
				}
			}
		})
	}
}

// crashing lives once to each of the boundaries at and at/2+1, and then to the
// end. It returns how many lives were cut short.
func (n nested) crashing(t *testing.T, at int) (crashed int) {
	w := &n
	w.t, w.memory, w.runs = t, storetest.NewMemory(), &atomic.Int64{}
	for _, point := range []int{at, at/2 + 1, 0} {
		if w.live(point) {
			crashed++
		}
	}
	for _, stream := range w.streams {
		w.judge(at, stream)
	}
	return crashed
}

// nested is a plan that delegates to one that delegates.
type nested struct {
	sub     engine.Step
	streams []string // that there are in the end
	t       *testing.T
	memory  *storetest.Memory
	runs    *atomic.Int64
}

// live is one life of the owner, which dies at the given boundary. It reports
// whether it did.
func (w *nested) live(point int) bool {
	var dead atomic.Bool
	var points atomic.Int64
	host, err := run.Open(w.t.Context(), run.Config{
		Store: mortal{w.memory, &dead}, Do: w.do, Now: time.Now, Workspace: "w", Machine: "m", Version: "v",
		Point: func(string) {
			if points.Add(1) == int64(point) {
				dead.Store(true)
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan error, 1)
	var begun atomic.Bool
	go func() {
		ended <- host.Loop(w.t.Context(), func(tr run.Traffic) bool { return begun.Load() && tr.Moving == 0 })
	}()
	steps := []engine.Step{script("first"), w.sub, script("last", 1)}
	err = host.Submit(w.t.Context(), "t", opening(w.t, "t", steps), program(w.t, "t", steps))
	if refusal, ok := errors.AsType[*engine.Refusal](err); err == nil || ok && refusal.Code == engine.Conflict {
		_ = host.Activate(w.t.Context(), "t") // it may be dead by now
	}
	begun.Store(true)
	host.Nudge()
	if err := <-ended; err != nil && !dead.Load() {
		w.t.Errorf("point %d: the loop of a process that lives ended with %v", point, err)
	}
	if err := host.Close(); err != nil {
		w.t.Error(err)
	}
	return dead.Load()
}

func (w *nested) do(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		if e.Work != "" {
			return stopped(e.Key)
		}
		return run.Answer{}
	}
	if e.Key.Kind != engine.Prepare || e.Step.Kind != engine.Delegate {
		return good(e)
	}
	steps := []engine.Step{script("a"), delegated("deep", 0), script("z", 1)}
	if e.Step.ID == "deep" {
		steps = []engine.Step{script("x"), script("y", 0)}
	}
	id := fmt.Sprintf("c%d", w.runs.Add(1))
	p := compile(w.t, e.Step.ID, steps)
	return run.Answer{
		Input: engine.Prepared{
			Key: e.Key, Preview: &engine.Preview{Args: "source", Low: true, Hash: "h"},
			Child: &engine.Opening{Run: id, Program: p, Base: "base", Plan: engine.SubPlan{Path: e.Step.ID + ".md", Own: "own", Hash: "h", Source: "source"}},
		},
		Objects: []store.Object{store.NewObject(p.Encode())},
	}
}

// judge holds a journal against the promises: the run is done, by one run, and
// what was done was not begun again.
func (w *nested) judge(at int, stream string) {
	var done []string
	opened, status := 0, engine.Status("")
	for r, err := range run.Read(w.t.Context(), w.memory, stream, 0) {
		if err != nil {
			w.t.Fatalf("point %d: %v", at, err)
		}
		switch e := r.Event.(type) {
		case engine.RunOpened:
			opened++
		case engine.WorkDispatched:
			if slices.Contains(done, e.Step) {
				w.t.Errorf("point %d: %s of %s is done, and begins again", at, e.Step, stream)
			}
		case engine.WorkEnded:
			if e.Kind == engine.ChildWork && e.How == engine.Lost {
				w.t.Errorf("point %d: the run of %s of %s is lost", at, e.Step, stream)
			}
		case engine.StepSettled:
			if e.Status == engine.Done {
				done = append(done, e.Step)
			}
		case engine.RunEnded:
			status = e.Status
		}
	}
	if opened != 1 || status != engine.Done {
		w.t.Errorf("point %d: %s has %d runs and ended as %q", at, stream, opened, status)
	}
	state, err := run.Load(w.t.Context(), w.memory, stream)
	if err != nil {
		w.t.Fatal(err)
	}
	working := 0
	for i := range state.Program().Len() {
		if state.Program().Step(i).Each == nil {
			working++
		}
	}
	rows, err := run.Rows(w.t.Context(), w.memory, stream)
	if err != nil || rows.Head == nil || rows.Head.Proven+rows.Head.Unproven != working {
		w.t.Errorf("point %d: the rows of %s say %+v, %v", at, stream, rows.Head, err)
	}
}
