package owner

import (
	"maps"
	"slices"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// TestAnswersAreNeeded holds that gc knows the objects that questions and their
// answers name: the same bytes may be what an older run put out.
func TestAnswersAreNeeded(t *testing.T) {
	p := past{objects: map[string]bool{}}
	for _, e := range []engine.Event{
		engine.ItemOpened{Item: "r/1", Args: "arguments"},
		engine.ItemAnswered{Item: "r/1", Choice: "yes"},
		engine.ItemAnswered{Item: "r/2", Args: []byte(`{"n":1}`)},
	} {
		p.note(engine.Record{Event: e}, map[string]bool{})
	}
	for _, hash := range []string{"arguments", store.NewObject([]byte("yes")).Hash, store.NewObject([]byte(`{"n":1}`)).Hash} {
		if !p.objects[hash] {
			t.Errorf("%s is not needed: %v", hash, p.objects)
		}
	}
}

// What the workspace's own work was given and put out is of no run, and stays.
func TestErrandsAreNeeded(t *testing.T) {
	s := storetest.NewMemory()
	epoch, release, err := s.Own(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	objects := map[string]store.Object{}
	for _, name := range []string{"request", "output"} {
		objects[name] = store.NewObject([]byte(name))
	}
	stream, work := engine.WorkspaceStream, engine.WorkEnded{Step: "e-1", Attempt: 1, N: 1, Kind: engine.PlanWork, How: engine.Exited, Output: objects["output"].Hash}
	b := store.Batch{Stream: stream, Epoch: epoch, Objects: slices.Collect(maps.Values(objects))}
	for _, e := range []engine.Event{
		engine.ErrandAsked{Errand: "e-1", Kind: engine.PlanWork, Request: objects["request"].Hash, By: "me"},
		engine.WorkDispatched{Step: "e-1", Attempt: 1, N: 1, Kind: engine.PlanWork, Prompt: objects["request"].Hash},
		work,
	} {
		b.Records = append(b.Records, engine.Record{Stream: stream, Seq: uint64(len(b.Records) + 1), Epoch: epoch, Event: e})
	}
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	runs, needed, err := pasts(t.Context(), s)
	if err != nil || len(runs) > 0 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for name, o := range objects {
		if !needed[o.Hash] {
			t.Errorf("the %s is not needed", name)
		}
	}
}
