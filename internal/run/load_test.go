package run_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
	"github.com/piton-dev/piton/internal/tier"
)

// chain is a plan of n scripts, each of which needs the one before.
func chain(n int) []engine.Step {
	steps := make([]engine.Step, n)
	for i := range steps {
		steps[i] = script(fmt.Sprintf("s%d", i+1))
		if i > 0 {
			steps[i].Needs = []int{i - 1}
		}
	}
	return steps
}

// chainUntil runs a chain of n steps until the work of one is under way, and
// then stops.
func chainUntil(t *testing.T, n int, until string) *storetest.Memory {
	t.Helper()
	st := storetest.NewMemory()
	synctest.Test(t, func(t *testing.T) {
		do := func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
			if e.Key.Step == until && e.Key.Kind == engine.Work {
				<-ctx.Done()
				return stopped(e.Key)
			}
			return good(e)
		}
		host, err := run.Open(t.Context(), run.Config{Store: st, Do: do, Now: time.Now, Workspace: "w"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- host.Loop(ctx, stay) }()
		steps := chain(n)
		if err := host.Submit(t.Context(), "t", opening(t, "t", steps), program(t, "t", steps)); err != nil {
			t.Fatal(err)
		}
		if err := host.Activate(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		stop()
		<-ended
		if err := host.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return st
}

func TestSnapshotIsWrittenAndUsed(t *testing.T) {
	t.Parallel()
	st := chainUntil(t, 1000, "s900")
	seq, body, err := st.Snapshot(t.Context(), "t")
	if err != nil || body == nil || seq < 2000 {
		t.Fatalf("after a long run the snapshot is %d bytes at %d, %v", len(body), seq, err)
	}
	full, err := run.Load(t.Context(), withoutSnapshots{st}, "t")
	if err != nil {
		t.Fatal(err)
	}
	tail := &tailOnly{Store: st, from: seq}
	short, err := run.Load(t.Context(), tail, "t")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(picture(full), picture(short)); diff != "" {
		t.Errorf("from the journal, and from a snapshot:\n%s", diff)
	}
	for _, state := range []*engine.State{full, short} {
		if rows := state.Rows(); rows.Head != nil || len(rows.Steps)+len(rows.Items) > 0 {
			t.Errorf("%d rows that are in the store would be written again", len(rows.Steps))
		}
	}
}

// tailOnly has lost what a snapshot stands for.
type tailOnly struct {
	store.Store
	from uint64
}

func (s *tailOnly) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	if stream == "t" && after < s.from {
		return func(yield func(engine.Record, error) bool) {
			yield(engine.Record{}, fmt.Errorf("asked for what follows %d", after))
		}
	}
	return s.Store.Read(ctx, stream, after)
}

func TestUnusableSnapshotsAreIgnored(t *testing.T) {
	t.Parallel()
	st := chainUntil(t, 1000, "s900")
	full, err := run.Load(t.Context(), withoutSnapshots{st}, "t")
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := st.Snapshot(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"nothing":         {},
		"garbage":         []byte("\x00garbage"),
		"cut short":       body[:len(body)/2],
		"another version": bytes.Replace(body, []byte(`"version":`), []byte(`"version":9`), 1),
		"another program": bytes.Replace(body, []byte(full.Program().Hash()), bytes.Repeat([]byte("0"), 64), 1),
	} {
		t.Run(name, func(t *testing.T) {
			state, err := run.Load(t.Context(), fixedSnapshot{st, bad}, "t")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(picture(full), picture(state)); diff != "" {
				t.Errorf("from the journal, and with such a snapshot:\n%s", diff)
			}
		})
	}
}

type fixedSnapshot struct {
	store.Store
	body []byte
}

func (s fixedSnapshot) Snapshot(context.Context, string) (uint64, []byte, error) {
	return 1, s.body, nil
}

// What a step costs must not hang on how many there are. Memory is counted
// because it does not hang on what else the machine does.
func TestStepsOfALongPlanCostTheSame(t *testing.T) {
	perStep := func(n int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		chainUntil(t, n, fmt.Sprintf("s%d", n))
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	}
	many := tier.Draws(1000, 3000)
	short, long := perStep(300), perStep(many)
	if long > 1.5*short {
		t.Errorf("a step of 300 takes %.0f bytes, one of %d takes %.0f", short, many, long)
	}
}

// TestTaskIsReadOnce: who looks at a long run before it goes on has read it, and
// nothing is read again.
func TestTaskIsReadOnce(t *testing.T) {
	t.Parallel()
	st := chainUntil(t, 1000, "s900")
	once := &tailOnly{Store: st}
	host, err := run.Open(t.Context(), run.Config{Store: once, Now: time.Now, Workspace: "w"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- host.Loop(ctx, stay) }()
	defer func() { stop(); <-ended; host.Close() }()
	id := ""
	if err := host.Look(t.Context(), "t", func(s *engine.State) { id, once.from = s.Run().Run, s.Seq() }); err != nil {
		t.Fatal(err)
	}
	if err := host.Submit(t.Context(), "t", engine.Order{Command: engine.Command{Verb: engine.DoPause, By: "ann"}, Run: id}); err != nil {
		t.Errorf("after a look: %v", err)
	}
	wantRefusal(t, host.Look(t.Context(), "other", func(*engine.State) { t.Error("there is no such task") }), engine.NotFound)
}

func TestLoadOfNothing(t *testing.T) {
	state, err := run.Load(t.Context(), storetest.NewMemory(), "t")
	if err != nil || state.Task() != "" || state.Seq() != 0 {
		t.Errorf("an unknown stream is %q at %d, %v", state.Task(), state.Seq(), err)
	}
}
