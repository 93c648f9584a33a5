package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// BenchmarkSteps lists a task of ten thousand steps.
func BenchmarkSteps(b *testing.B) {
	s := openIn(b, b.TempDir())
	defer s.Close()
	epoch, _, err := s.Own(b.Context(), "w")
	if err != nil {
		b.Fatal(err)
	}
	batch := store.Batch{Stream: "t", Epoch: epoch}
	batch.Rows.Head = &engine.HeadRow{Stream: "t", Run: "r"}
	for i := range 10_000 {
		at := time.Unix(int64(i), 0)
		batch.Rows.Steps = append(batch.Rows.Steps, engine.StepRow{
			Index: i, ID: fmt.Sprintf("step-%d", i), Number: fmt.Sprint(i + 1), Title: fmt.Sprintf("What step %d is about", i),
			Status: engine.Done, Agent: "coder", Attempts: 1, Verdict: engine.Pass, Started: at, Finished: at,
			Needs: []string{fmt.Sprintf("step-%d", i-1), fmt.Sprintf("step-%d", i-2)},
		})
	}
	if err := s.Append(b.Context(), batch); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if steps, err := s.Steps(b.Context(), store.StepFilter{Stream: "t", Run: "r"}); len(steps) != 10_000 || err != nil {
			b.Fatal(len(steps), err)
		}
	}
}

// BenchmarkItems lists ten thousand items that wait, opened in few turns.
func BenchmarkItems(b *testing.B) {
	s, epoch := owned(b, b.TempDir())
	defer s.Close()
	waiting(b, s, epoch, 10_000)
	for b.Loop() {
		if items, err := s.Items(b.Context(), store.ItemFilter{Open: true}); len(items) != 10_000 || err != nil {
			b.Fatal(len(items), err)
		}
	}
}

// BenchmarkRead reads, checks and decodes ten thousand records.
func BenchmarkRead(b *testing.B) {
	s, _ := tenThousand(b)
	for b.Loop() {
		n := 0
		for _, err := range s.Read(b.Context(), "t", 0) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkOpen opens a journal of ten thousand records.
func BenchmarkOpen(b *testing.B) {
	s, dir := tenThousand(b)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := openIn(b, dir).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerify checks a journal of ten thousand records.
func BenchmarkVerify(b *testing.B) {
	s, _ := tenThousand(b)
	for b.Loop() {
		if report, err := s.Verify(b.Context()); err != nil || report.Events != 10_000 {
			b.Fatal(report, err)
		}
	}
}
