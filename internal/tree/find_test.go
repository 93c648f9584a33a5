package tree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/tree"
)

func TestFind(t *testing.T) {
	t.Parallel()
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

func TestBelow(t *testing.T) {
	t.Parallel()
	w := newRepository(t, project)
	w.do("src/c.go 1\nsrc/\xff 1\nsrc/[a]/d.go 1\n.piton/config.yaml x")
	w.git("add", "-A")
	w.do("rm src/c.go\nsrc/link -> /etc")
	for _, tt := range []struct{ dir, want string }{
		{"src", "src/[a]/d.go src/a.go src/b.go src/link src/\xff"},
		{"./src/[a]", "src/[a]/d.go"},
		{"src/a", ""},
		{"src/a.go", ""},
		{"src/link", ""},
		{"build", ""},
		{".git", ""},
		{".piton", ""},
		{"none", ""},
	} {
		got, more, err := w.tree.Below(t.Context(), tt.dir, 9)
		if all := strings.Join(got, " "); all != tt.want || more != 0 || err != nil {
			t.Errorf("%s: %q, %d, %v, want %q", tt.dir, all, more, err, tt.want)
		}
	}
	if got, _, err := w.tree.Below(t.Context(), ".", 99); err != nil || !slices.Contains(got, ".gitignore") || slices.ContainsFunc(got, func(name string) bool {
		return strings.HasPrefix(name, ".git/") || strings.HasPrefix(name, ".piton") || strings.HasPrefix(name, "build")
	}) {
		t.Errorf("of the workspace: %q, %v", got, err)
	}
	if got, more, err := w.tree.Below(t.Context(), "src", 2); len(got) != 2 || more != 4 || err != nil {
		t.Errorf("at most 2: %q, %d, %v", got, more, err)
	}
	for _, bad := range []string{"..", "/etc", "a/../..", ""} {
		if got, _, err := w.tree.Below(t.Context(), bad, 9); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
