package plan_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
)

func TestNearest(t *testing.T) {
	long := strings.Repeat("verylong", 20)
	tests := []struct {
		word, want string
		known      []string
	}{
		{"max_paralel", `did you mean "max_parallel"?`, []string{"mark", "max_parallel"}},
		{"coder", "", []string{"reviewer", "script"}},
		{"abc", `did you mean "abx"?`, []string{"abx", "aby"}},
		{"taks", `did you mean "task"?`, []string{"tags", "task"}},
		{"7", "", []string{"a", "b"}},
		{"", "", nil},
		{long + "x", `did you mean "` + long + `"?`, []string{"short", long}},
		{"writes", `did you mean "write"?`, []string{"white", "write"}},
	}
	for _, tt := range tests {
		if got := plan.Nearest(tt.word, tt.known); got != tt.want {
			t.Errorf("%q among %q: %q, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}
