package storetest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(*testing.T) store.Store { return storetest.NewMemory() }, nil)
}

func TestMemoryInBubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storetest.NewMemory()
		epoch, _, err := s.Own(t.Context(), "w")
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan error)
		for range 2 {
			go func() {
				r := engine.Record{Stream: "a", Seq: 1, At: time.Unix(1, 0), Epoch: epoch, Event: engine.Command{Verb: engine.DoPause}}
				results <- s.Append(t.Context(), store.Batch{Stream: "a", Epoch: epoch, Records: []engine.Record{r}})
			}()
		}
		synctest.Wait()
		if a, b := <-results, <-results; errors.Is(a, store.ErrConflict) == errors.Is(b, store.ErrConflict) {
			t.Errorf("two appends after the same record: %v and %v", a, b)
		}
	})
}

func TestMicro(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 3600)
	for _, test := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Date(2026, 1, 2, 3, 4, 5, 6789, zone), time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC)},
		{time.Date(1969, 1, 2, 3, 4, 5, 999, time.UTC), time.Date(1969, 1, 2, 3, 4, 5, 0, time.UTC)},
	} {
		if got := store.Micro(test.in); got != test.want {
			t.Errorf("Micro(%v) = %v, want %v", test.in, got, test.want)
		}
	}
}
