package verify

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/plan"
)

// meets asks as the rule does.
func meets(a, b string) bool {
	s := scopes{left: maxComparisons}
	return s.meet(&entry{text: path.Clean(a)}, &entry{text: path.Clean(b)})
}

func TestScopesOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src/**", "src/a/b.go", true},
		{"src", "src/a/b.go", true},
		{"src", "src2/a.go", false},
		{"src/*.go", "src/a/b.go", false},
		{"src/*.go", "src/*_test.go", true},
		{"src/a*", "src/*b", true},
		{"src/a?c", "src/ab", false},
		{"**/x.go", "a/b/x.go", true},
		{"**/x.go", "x.go", true},
		{"**/x.go", "a/y.go", false},
		{"v1.2", "v1.2/a.go", true},
		{"*", "*/x", false},
		{"v1.2", "v1.2/*.go", true},
		{"a/**/z", "a/z", true},
		{"a/**/z", "**/y", false},
		{"docs/{a,b}.md", "docs/{b,c}.md", true},
		{"docs/{a,b}.md", "docs/{c,d}.md", false},
		{"{src,lib}/**", "lib/x", true},
		{"{src,lib/y}/*.go", "lib/y/a.go", true},
		{"x/[a-c].go", "x/b.go", true},
		{"x/[a-c].go", "x/[d-f].go", false},
		{"x/[!a].go", "x/a.go", false},
		{"x/[!a].go", "x/[!b].go", true},
		{".", "anything/at/all", true},
		{"./a/b", "a/b", true},
		{"a/**", "a", true},
		{"*.md", "docs/*.md", false},
		{"übung/*", "übung/ä.txt", true},
		{"x/?", "x/é", true},
	} {
		if got := meets(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
		if got := meets(c.b, c.a); got != c.want {
			t.Errorf("%s and %s: %v", c.b, c.a, got)
		}
	}
}

// TestOverlapAgreesWithMatching compares the answer with every short path.
func TestOverlapAgreesWithMatching(t *testing.T) {
	var paths []string
	var grow func(string, int)
	grow = func(p string, left int) {
		if p != "" && !strings.HasSuffix(p, "/") {
			paths = append(paths, p)
		}
		for _, c := range "ab/" {
			if left > 0 && (c != '/' || p != "" && !strings.HasSuffix(p, "/")) {
				grow(p+string(c), left-1)
			}
		}
	}
	grow("", 8)
	piece := rapid.SampledFrom([]string{"a", "b", "?", "*", "{a,b}", "[ab]", "[!a]"})
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 1, 2).Draw(t, "name"), "")
	})
	scope := rapid.Custom(func(t *rapid.T) string {
		names := rapid.SliceOfN(rapid.OneOf(name, name, rapid.Just("**"), rapid.Just("{b,a/b}")), 1, 2).Draw(t, "scope")
		return strings.Join(names, "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := scope.Draw(t, "a"), scope.Draw(t, "b")
		both := ""
		for _, p := range paths {
			if holds(a, p) && holds(b, p) {
				both = p
				break
			}
		}
		if got := meets(a, b); got != (both != "") {
			t.Fatalf("%s and %s: %v, and both have %q", a, b, got, both)
		}
	})
}

// holds reports whether a scope holds a path. The matcher takes `a/**` and
// `*/**` for what they begin with as well, and `a*/**` not: the answer does.
func holds(scope, path string) bool {
	begin, deep := strings.CutSuffix(scope, "/**")
	return covered(path, []string{scope}) || deep && covered(path, []string{begin})
}

// TestOverlapFindsWhatComparingAllDoes compares the index of scopes with every
// pair.
func TestOverlapFindsWhatComparingAllDoes(t *testing.T) {
	scope := rapid.SampledFrom(strings.Fields("a a/** a/b a/b/c.go a/*.go a/b* a/bc/** ab/* ** **/c.go . {a,b}/x a/{b,x}/* [ab]/y a/b/c*.go b"))
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(scope, 2, 6).Draw(t, "scopes")
		var text strings.Builder
		text.WriteString("---\ntype: plan\nstatus: draft\nowner: me\n---\n# T\n\n**Parallel:** 9\n\n## Steps\n")
		for i, s := range list {
			fmt.Fprintf(&text, "\n### %d. Step\n\n**needs:** none\n**writes:**\n- %s\n", i+1, s)
		}
		p, problems := plan.Parse("x.md", []byte(text.String()))
		got := map[string]bool{}
		for _, f := range Check(p, problems, Facts{}) {
			got[f.Step] = got[f.Step] || f.Code == "PT039"
		}
		found := map[string]bool{}
		for i, a := range list {
			for j, b := range list[:i] {
				if a == b || meets(a, b) {
					found[p.Steps[i].ID.Value], found[p.Steps[j].ID.Value] = true, true
				}
			}
		}
		for i, s := range p.Steps {
			if got[s.ID.Value] && !found[s.ID.Value] {
				t.Fatalf("step %d is reported, and overlaps with none of %q", i+1, list)
			}
		}
		if any := slices.Contains(slices.Collect(maps.Values(got)), true); any != (len(found) > 0) {
			t.Fatalf("reported: %v, and %d steps of %q overlap", any, len(found), list)
		}
	})
}

// FuzzScopes compiles any scopes that the rules let pass: nothing panics, a
// scope overlaps with itself, and the order does not matter.
func FuzzScopes(f *testing.F) {
	for _, s := range [][2]string{{"a/**", "a/b"}, {"{[,]}", "[a-]"}, {"{a,{b,c}}/?", "**/x"}, {"[!a]b", "[]"}, {"a**b/**", "{,x}"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if badScope(a) != "" || badScope(b) != "" || !utf8.ValidString(a+b) {
			return
		}
		if meets(a, b) != meets(b, a) {
			t.Errorf("%q and %q: the order matters", a, b)
		}
		for _, path := range []string{a, b, strings.ReplaceAll(a, "*", "x")} {
			if !isGlob(path) && covered(path, []string{a}) && covered(path, []string{b}) && !meets(a, b) {
				t.Errorf("%q and %q both have %q", a, b, path)
			}
		}
	})
}

// TestLongestScopes compares scopes that are as long as they may be.
func TestLongestScopes(t *testing.T) {
	long := strings.Repeat("a", maxPattern)
	for _, other := range []string{long, long[:maxPattern-3] + "/**", "**"} {
		p, problems := plan.Parse("plan.md", []byte("# Title\n\n**Parallel:** 2\n\n## Steps\n\n### 1. One\n\n**needs:** none\n**writes:** "+long+
			"\n\n### 2. Two\n\n**needs:** none\n**writes:** "+other+"\n"))
		found := slices.ContainsFunc(Check(p, problems, Facts{}), func(f Finding) bool { return f.Code == "PT039" })
		if want := other == long || other == "**"; found != want {
			t.Errorf("%.10s… and %.10s…: overlap %v", long, other, found)
		}
	}
}
