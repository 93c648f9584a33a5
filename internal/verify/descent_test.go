package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/verify"
)

// TestDescent: each line names a document and those that it delegates to.
func TestDescent(t *testing.T) {
	var long strings.Builder
	for n := range 10 {
		long.WriteString(fmt.Sprintf("%d: %d\n", n, n+1))
	}
	for _, test := range []struct{ name, above, text, want string }{
		{"a tree", "", "a: b c\nb: d\nc: d", ""},
		{"itself", "", "a: a", "a a: cycle a → a"},
		{"a round trip", "", "a: b\nb: c d\nc: a b", "c a: cycle a → b → c → a\nc b: cycle b → c → b"},
		{"two rounds", "", "a: b c\nb: b\nc: a", "b b: cycle b → b\nc a: cycle a → c → a"},
		{"back to those above", "x y", "a: b\nb: y", "b y: cycle y → a → b → y"},
		{"too deep", "", long.String(), "8 9: deep 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 8 → 9"},
		{"deep by the long way only", "", strings.Replace(long.String(), "0: 1", "0: 8 1", 1), "8 9: deep 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 8 → 9"},
		{"too deep with those above", "p q r s t u v", "a: b\nb: c", "b c: deep p → q → r → s → t → u → v → a → b → c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			names := map[string][]string{}
			var order []string
			for line := range strings.Lines(test.text) {
				name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
				names[name] = strings.Fields(rest)
				order = append(order, name)
			}
			found := verify.Descent(order[0], strings.Fields(test.above), names)
			var got []string
			for _, name := range order {
				for _, next := range names[name] {
					switch s := found[name][next]; {
					case s.Cycle != "":
						got = append(got, fmt.Sprintf("%s %s: cycle %s", name, next, s.Cycle))
					case s.Deep != "":
						got = append(got, fmt.Sprintf("%s %s: deep %s", name, next, s.Deep))
					}
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
