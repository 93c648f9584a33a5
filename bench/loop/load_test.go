//go:build bench

package loop_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// BenchmarkLoad takes up an interrupted run of 10,000 steps from a journal on
// disk: open the store, load the task and ask what should be running.
func BenchmarkLoad(b *testing.B) {
	const steps = 10_000
	dir := b.TempDir()
	copyTo(b, dir, interrupted(b, steps))
	for _, way := range []struct {
		name string
		view func(store.Store) store.Store
	}{
		{"snapshot", func(s store.Store) store.Store { return s }},
		{"replay", func(s store.Store) store.Store { return withoutSnapshots{s} }},
	} {
		b.Run(way.name, func(b *testing.B) {
			var opened, loaded time.Duration
			for b.Loop() {
				start := time.Now()
				st, _, err := sqlite.Open(b.Context(), sqlite.Config{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				state, err := run.Load(b.Context(), way.view(st), stream)
				if err != nil {
					b.Fatal(err)
				}
				if pending := state.Pending(); len(pending) != 1 {
					b.Fatalf("%d effects are wanted", len(pending))
				}
				opened, loaded = opened+between.Sub(start), loaded+time.Since(between)
				if err := st.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(opened.Milliseconds())/float64(b.N), "open-ms")
			b.ReportMetric(float64(loaded.Milliseconds())/float64(b.N), "load-ms")
		})
	}
}

// withoutSnapshots is a store that has lost its shortcuts.
type withoutSnapshots struct{ store.Store }

func (withoutSnapshots) Snapshot(context.Context, string) (uint64, []byte, error) { return 0, nil, nil }

// interrupted is a run that was stopped shortly before its end.
func interrupted(b *testing.B, steps int) *storetest.Memory {
	b.Helper()
	st := storetest.NewMemory()
	play(b, st, steps, "s9900")
	return st
}

// copyTo writes what a store holds of the stream to a directory, in few
// commits, with its newest snapshot where it belongs.
func copyTo(b *testing.B, dir string, from *storetest.Memory) {
	b.Helper()
	ctx := b.Context()
	to, _, err := sqlite.Open(ctx, sqlite.Config{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	defer to.Close()
	epoch, release, err := to.Own(ctx, "w")
	if err != nil {
		b.Fatal(err)
	}
	seq, body, err := from.Snapshot(ctx, stream)
	if err != nil || body == nil {
		b.Fatalf("snapshot: %d bytes, %v", len(body), err)
	}
	var records []engine.Record
	var objects []store.Object
	for r, err := range run.Read(ctx, from, stream, 0) {
		if err != nil {
			b.Fatal(err)
		}
		if e, ok := r.Event.(engine.RunOpened); ok {
			objects = append(objects, store.NewObject(e.Compiled.Encode()))
		}
		r.Epoch = epoch
		records = append(records, r)
	}
	after := uint64(0)
	for chunk := range slices.Chunk(records[:seq], 5_000) {
		write(b, to, store.Batch{Stream: stream, After: after, Epoch: epoch, Records: chunk, Objects: objects})
		after, objects = after+uint64(len(chunk)), nil
	}
	write(b, to, store.Batch{Stream: stream, After: seq, Epoch: epoch, Snapshot: body})
	write(b, to, store.Batch{Stream: stream, After: seq, Epoch: epoch, Records: records[seq:]})
	if err := release(); err != nil {
		b.Fatal(err)
	}
}

func write(b *testing.B, to store.Store, batch store.Batch) {
	b.Helper()
	if err := to.Append(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
}
