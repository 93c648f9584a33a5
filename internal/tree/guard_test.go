package tree_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/tree"
)

// FuzzGuards: no guard panics, each has an end, and none covers anything outside of the
// directory it names. Where the work grew with the power of a guard's stars, the longest
// guards here would never end.
func FuzzGuards(f *testing.F) {
	for _, g := range []string{"a", "a/**", "**/*_test.go", "{a,b}/*", "[a-z]*", `\*`, "a//b/", "./x", "**/**/**/**/a", "package.json#scripts", "[", "{", ".git/hooks/**"} {
		f.Add(g, "a/b_test.go")
		f.Add(g, strings.Repeat("a/", 100)+"b")
	}
	for _, g := range []string{"**/", "*a", "**/a/", "{*a,*}"} {
		f.Add(strings.Repeat(g, 512/len(g)-1)+"b", strings.Repeat("a/", 2000)+"c")
		f.Add(strings.Repeat(g, 512/len(g)-1)+"b", strings.Repeat("a", 4000)+"c")
	}
	f.Fuzz(func(t *testing.T, guard, name string) {
		if len(name) > 4096 {
			name = name[:4096]
		}
		covered := tree.Matches(guard, name)
		inScope := tree.Covers([]string{guard}, name)
		if dir, _, ok := strings.Cut(guard, "/**"); ok && covered && !strings.ContainsAny(dir, `*?[{\./#`) && dir != "" &&
			name != dir && !strings.HasPrefix(name, dir+"/") && name != guard {
			t.Errorf("guard %q covers %q", guard, name)
		}
		if strings.HasPrefix(guard, "/") && (covered || inScope) {
			t.Errorf("%q covers %q", guard, name)
		}
	})
}

// A file name survives the way to the journal and back, whatever its bytes.
func TestNamesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.Map(rapid.SliceOf(rapid.ByteRange(1, 255)), func(b []byte) string { return string(b) }),
			rapid.StringMatching(`[a-z\xff]{0,3}(package\.json#|deno\.json#|x\.json)[a-z#\xff]{0,4}`),
		).Draw(t, "name")
		wire := tree.Wire(name)
		if got := tree.Disk(wire); got != name {
			t.Errorf("%q becomes %q and then %q", name, wire, got)
		}
		if wire != strings.ToValidUTF8(wire, "?") {
			t.Errorf("%q becomes %q, which is no text", name, wire)
		}
	})
}
