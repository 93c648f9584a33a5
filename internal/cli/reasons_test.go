package cli

import (
	"bytes"
	"slices"
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

// Whoever reads at a terminal sees of a long id so much that what stands behind it stays where
// it is.
func TestLongIDs(t *testing.T) {
	const id = "the-whole-title-of-this-step-is-much-longer"
	for _, test := range []struct {
		theme theme
		want  string
	}{
		{theme{}, "the-whole-title-of-this…"},
		{theme{ascii: true}, "the-whole-title-of-th..."},
		{theme{whole: true}, id},
	} {
		if got := test.theme.id(id); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// Both outputs of a check are shown, standard error first.
func TestEndsOfOutputs(t *testing.T) {
	for _, test := range []struct {
		stdout, stderr string
		want           []string
	}{
		{"a\nb\nc\nd\ne", "1\n2\n3\n4\n5", []string{"4", "5", "d", "e"}},
		{"a\nb\nc\nd\ne", "", []string{"b", "c", "d", "e"}},
		{"", "1\n2\n3\n4\n5", []string{"2", "3", "4", "5"}},
		{"a\nb\nc\nd\ne", "1", []string{"1", "c", "d", "e"}},
		{"a", "1\n2\n3\n4\n5", []string{"3", "4", "5", "a"}},
	} {
		if got := (theme{}).ends(test.stdout, test.stderr, 4, 80); !slices.Equal(got, test.want) {
			t.Errorf("%q and %q: %q, want %q", test.stdout, test.stderr, got, test.want)
		}
	}
}
