package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

// Every remedy that the core may name has words here, and none is left over.
func TestRemediesHaveWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../engine/input.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v, _ := s.(*ast.ValueSpec)
			if word, ok := v.Values[0].(*ast.BasicLit); ok && v.Type == nil {
				text, _ := strconv.Unquote(word.Value)
				named[text] = true
				if remedies[text] == "" {
					t.Errorf("%s has no words", text)
				}
			}
		}
	}
	if len(named) != len(remedies) {
		t.Errorf("%d remedies, and words for %d", len(named), len(remedies))
	}
}

// What a remedy names does nothing in the command that a person pastes.
func TestRemediesAreWordsForAShell(t *testing.T) {
	for hint, r := range map[string]engine.Refusal{
		"a person can: piton approve 'plans/$(touch x).md'": {Remedy: engine.ApprovePlan, With: []string{"plans/$(touch x).md"}},
		`write them as in --args '{"failures":4}'`:          {Remedy: engine.WriteLimits, With: []string{`{"failures":4}`}},
		"choose one of: this, that":                         {Remedy: engine.Choose, With: []string{"this, that"}},
	} {
		if p := Explain(&r); p.Hint != hint {
			t.Errorf("%s, want %s", p.Hint, hint)
		}
	}
}
