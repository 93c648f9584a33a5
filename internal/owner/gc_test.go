package owner

import (
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
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
