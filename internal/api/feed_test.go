package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// Whatever the clock does, each stream keeps its order, and none begins before the
// dispatch that opened it.
func TestMerged(t *testing.T) {
	t.Parallel()
	opens := engine.WorkDispatched{Step: "s", Child: "r2"}
	for _, test := range []struct{ records, want string }{
		{"t1@10 t2@20! t3@40 t/s1@25 t/s2@30", "t1 t2 t/s1 t/s2 t3"},
		{"t1@10 t2@20! t3@5 t/s1@2 t/s2@4", "t1 t2 t/s1 t/s2 t3"},
		{"t1@10 t2@20! t3@5 t4@6 t/s1@21 t/s2@4", "t1 t2 t3 t4 t/s1 t/s2"},
		{"t3@10 t4@20! t5@40 t/s7@15 t/s8@30", "t3 t/s7 t4 t/s8 t5"},
		{"t1@10 t2@3", "t1 t2"},
	} {
		var records []engine.Record
		for word := range strings.FieldsSeq(test.records) {
			var name string
			var at int
			word, dispatch := strings.CutSuffix(word, "!")
			if _, err := fmt.Sscanf(strings.Replace(word, "@", " ", 1), "%s %d", &name, &at); err != nil {
				t.Fatal(err)
			}
			last := len(name) - 1
			r := engine.Record{Stream: name[:last], Seq: uint64(name[last] - '0'), At: time.Time{}.Add(time.Duration(at) * time.Second)}
			if dispatch {
				r.Event = opens
			}
			records = append(records, r)
		}
		var got []string
		for _, r := range merged(records) {
			got = append(got, fmt.Sprint(r.Stream, r.Seq))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", test.records, got, test.want)
		}
	}
}
