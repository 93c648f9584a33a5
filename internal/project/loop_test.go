package project_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/project"
)

// TestSummary: what an agent says is bounded, and begins with a whole line or
// character.
func TestSummary(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "",
		"\n wrote it \n":                         "wrote it",
		"broken \xff bytes":                      "broken \ufffd bytes",
		strings.Repeat("x", 600) + "\nlast line": "last line",
	} {
		if got := project.Summary([]byte(in)); got != want {
			t.Errorf("the summary of %.20q is %q, want %q", in, got, want)
		}
	}
	if got := project.Summary([]byte(strings.Repeat("é", 10_000))); len(got) != 500 || strings.ContainsRune(got, '\ufffd') {
		t.Errorf("a long line becomes %d bytes", len(got))
	}
}
