package piton_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTiers compares the table in CONTRIBUTING.md of what the tiers of tests leave out with the
// tests: with their build tags, and with what they use of internal/tier.
func TestTiers(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\|(( `[a-z/.]+`,?)+) \\|").FindAllStringSubmatch(string(text), -1) {
		for _, name := range regexp.MustCompile("[a-z/.]+").FindAllString(row[1], -1) {
			told[name] = true
		}
	}
	found := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && tiered(f) {
			found[filepath.ToSlash(filepath.Dir(path))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("the table in CONTRIBUTING.md has\n%s\nand a tier leaves something out in\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// tiered reports whether a tier leaves out something of a file of tests.
func tiered(f *ast.File) (is bool) {
	for _, comments := range f.Comments {
		for _, c := range comments.List {
			if x, err := constraint.Parse(c.Text); err == nil && c.Pos() < f.Package {
				x.Eval(func(tag string) bool {
					is = is || tag == "gate" || tag == "bench"
					return true
				})
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name != "Needs" {
			x, ok := s.X.(*ast.Ident)
			is = is || ok && x.Name == "tier"
		}
		return true
	})
	return is
}
