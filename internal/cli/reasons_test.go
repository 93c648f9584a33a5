package cli

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
)

// Of many reasons the first are said, and how many more there are.
func TestReasonsAreCut(t *testing.T) {
	for n, want := range map[int]int{0: 0, 5: 5, 6: 6, 200: 6} {
		var out bytes.Buffer
		a := &app{err: &out, above: new(atomic.Pointer[liveView])}
		a.showWeakened(make([]string, n))
		if got := strings.Count(out.String(), "WEAKER than before: "); got != want {
			t.Errorf("%d reasons: %d lines\n%s", n, got, out.String())
		}
		if n == 200 && !strings.Contains(out.String(), ": 195 more reasons like these; piton diff lists all\n") {
			t.Errorf("%s", out.String())
		}
	}
}
