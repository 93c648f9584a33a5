package verify

import "testing"

func TestScopesMeet(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src/**", "src/a/b.go", true},
		{"src", "src/a/b.go", true},
		{"src", "src2/a.go", false},
		{"src/*.go", "src/a/b.go", false},
		{"src/*.go", "src/*_test.go", true},
		{"src/*.go", "src/*.md", false},
		{"src/a*", "src/*b", true},
		{"src/a*", "src/b*", false},
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
		{"x/[!a].go", "x/a.go", false},
		{".", "anything/at/all", true},
		{"./a/b", "a/b", true},
		{"a/**", "a", true},
		{"*.md", "docs/*.md", false},
		{"übung/*", "übung/ä.txt", true},
		{"x/?", "x/é", true},
	} {
		if meet(c.a, c.b) != c.want || meet(c.b, c.a) != c.want {
			t.Errorf("%s and %s: %v, want %v", c.a, c.b, !c.want, c.want)
		}
	}
}

// FuzzScopes compares any scopes that the rules let pass: nothing panics, the order does
// not matter, and what two scopes share is not missed.
func FuzzScopes(f *testing.F) {
	for _, s := range [][3]string{{"a/**", "a/b", "a/b"}, {"{[,]}", "[a-]", "["}, {"{a,{b,c}}/?", "**/x", "c/x"}, {"[!a]b", "[]", "cb"}, {"a**b/**", "{,x}", "x"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, a, b, path string) {
		if badScope(a) != "" || badScope(b) != "" {
			return
		}
		if meet(a, b) != meet(b, a) {
			t.Errorf("%q and %q: the order matters", a, b)
		}
		if badScope(path) == "" && !isGlob(path) && covered(path, []string{a}) && covered(path, []string{b}) && !meet(a, b) {
			t.Errorf("%q and %q both have %q", a, b, path)
		}
	})
}
