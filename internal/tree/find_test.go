package tree_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

func TestFind(t *testing.T) {
	tests := []struct{ pattern, want string }{
		{"src/*.go", "src/a.go src/b.go"},
		{"./**/*_test.go", "tests/a_test.go"},
		{"*", ".gitignore src tests"},
		{"s*/**", "src src/a.go src/b.go"},
		{"build/*", ""},
		{".git/**", ""},
		{".piton/*", ""},
		{"none/*", ""},
	}
	w := newRepository(t, project)
	w.do("src/c.go 1\n.piton/config.yaml x")
	w.git("add", "-A")
	w.do("rm src/c.go\nsrc/link -> /etc")
	for _, tt := range tests {
		got, err := w.tree.Find(t.Context(), tt.pattern, 9)
		if all := strings.ReplaceAll(strings.Join(got, " "), " src/link", ""); all != tt.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", tt.pattern, all, err, tt.want)
		}
	}
	if _, err := w.tree.Find(t.Context(), "src/*", 1); !errors.Is(err, tree.ErrTooMany) {
		t.Errorf("more than one: %v", err)
	}
	for _, bad := range []string{"../*", "/etc/*", "a/../../*", "[", ""} {
		if got, err := w.tree.Find(t.Context(), bad, 9); err == nil {
			t.Errorf("%q finds %v", bad, got)
		}
	}
}
