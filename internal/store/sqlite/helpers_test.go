package sqlite_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// scratch is a directory in memory where there is such a thing, because none of
// the tests cuts the power, and syncing to a busy disk takes long.
func scratch(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	dir, err := os.MkdirTemp(memory, "journal")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func openIn(t testing.TB, dir string) *sqlite.Store {
	t.Helper()
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func owned(t testing.TB, dir string) (*sqlite.Store, uint64) {
	t.Helper()
	s := openIn(t, dir)
	return s, own(t, s)
}

func own(t testing.TB, s store.Store) uint64 {
	t.Helper()
	epoch, _, err := s.Own(t.Context(), "workspace")
	if err != nil {
		t.Fatal(err)
	}
	return epoch
}

func write(t testing.TB, s store.Store, batches ...store.Batch) {
	t.Helper()
	if err := s.Append(t.Context(), batches...); err != nil {
		t.Fatal(err)
	}
}

// settled is a batch of n records. Each holds its stream and number as text.
func settled(stream string, after, epoch uint64, n int) store.Batch {
	b := store.Batch{Stream: stream, After: after, Epoch: epoch}
	for i := range uint64(n) {
		seq := after + i + 1
		b.Records = append(b.Records, engine.Record{
			Stream: stream, Seq: seq, At: time.Unix(int64(1_700_000_000+seq), 0).UTC(), Actor: engine.Harness, Epoch: epoch,
			Event: engine.StepSettled{Step: mark(stream, seq), Attempt: 1, Status: engine.Done, Verdict: engine.Pass, Proven: true},
		})
	}
	return b
}

// mark is found nowhere in the file but in the body of that record.
func mark(stream string, seq uint64) string { return fmt.Sprintf("<mark %s %d>", stream, seq) }

func tenThousand(t testing.TB) (*sqlite.Store, string) {
	dir := t.TempDir()
	s, epoch := owned(t, dir)
	write(t, s, settled("t", 0, epoch, 10_000))
	t.Cleanup(func() { s.Close() })
	return s, dir
}

func read(t testing.TB, s store.Store, stream string) []engine.Record {
	t.Helper()
	var all []engine.Record
	for r, err := range s.Read(t.Context(), stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// waiting opens n items, a thousand at a time.
func waiting(t testing.TB, s store.Store, epoch uint64, n int) {
	t.Helper()
	batch := store.Batch{Stream: "t", Epoch: epoch}
	for i := range n {
		batch.Rows.Items = append(batch.Rows.Items, engine.ItemRow{
			ItemOpened: engine.ItemOpened{
				Item: fmt.Sprintf("r/%d", i+1), Step: fmt.Sprintf("step-%d", i), Kind: engine.Approval, Hash: "h",
				Question: fmt.Sprintf("May step %d run?", i), Choices: []string{"approve", "deny"},
			},
			Stream: "t", Run: "r", Opened: time.Unix(int64(i/1000), 0).UTC(), Open: true,
		})
	}
	write(t, s, batch)
}
