package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// TestWorkspaceIsReadOnce: what was read of the workspace's stream is kept, and
// only what came since is read.
func TestWorkspaceIsReadOnce(t *testing.T) {
	journal := storetest.NewMemory()
	epoch, release, err := journal.Own(t.Context(), "ws")
	if err != nil {
		t.Fatal(err)
	}
	defer release() //nolint:errcheck // nothing is written after
	var seq uint64
	add := func(es ...engine.Event) {
		t.Helper()
		b := store.Batch{Stream: engine.WorkspaceStream, After: seq, Epoch: epoch}
		for _, e := range es {
			seq++
			b.Records = append(b.Records, engine.Record{Stream: b.Stream, Seq: seq, At: time.Unix(int64(seq), 0), Actor: "ann", Epoch: epoch, Event: e})
		}
		if err := journal.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	drafted := func(i int) engine.Event {
		return engine.PlanDrafted{Plan: fmt.Sprintf("p-%d", i), Version: 1, Intent: "i-1", Path: fmt.Sprintf("%d.md", i), By: "ann"}
	}
	refused := func(i int) engine.Event { return engine.PlanAnswered{Plan: fmt.Sprintf("p-%d", i), By: "ann"} }
	all := []engine.Event{engine.EpochBegan{}, engine.IntentOpened{ID: "i-1"}}
	for i := range 10_000 {
		all = append(all, drafted(i))
	}
	add(append(all, refused(7))...)
	p := &api.Product{Store: journal}
	find := func(i int) {
		t.Helper()
		all, err := p.Refused(t.Context(), func(engine.IntentOpened) bool { return true })
		if err != nil || len(all) == 0 || all[len(all)-1].Drafted.Path != fmt.Sprintf("%d.md", i) {
			t.Fatalf("%d refused, %v; want the plan %d", len(all), err, i)
		}
	}
	first := testing.AllocsPerRun(1, func() { p = &api.Product{Store: journal}; find(7) })
	again := testing.AllocsPerRun(10, func() { find(7) })
	t.Logf("%.0f allocations at first, %.0f after", first, again)
	if again > 30 {
		t.Errorf("%.0f allocations for a plan of a stream that was read already", again)
	}
	add(drafted(10_000), refused(10_000))
	find(10_000)
}
