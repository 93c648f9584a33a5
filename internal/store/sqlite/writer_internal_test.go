package sqlite

import (
	"fmt"
	"testing"
)

// TestKnownHeads: an owner that lives long does not keep the ends of all streams
// that it ever wrote, and has those that it wrote last.
func TestKnownHeads(t *testing.T) {
	t.Parallel()
	w := &writer{heads: map[string]head{}}
	for i := range 3 * knownHeads {
		w.learn(map[string]head{fmt.Sprint(i): {seq: uint64(i)}})
		if h, ok := w.heads[fmt.Sprint(i)]; !ok || h.seq != uint64(i) {
			t.Fatalf("stream %d ends at %d, known: %v", i, h.seq, ok)
		}
	}
	if len(w.heads) > knownHeads {
		t.Errorf("%d heads are kept", len(w.heads))
	}
}
