package verify_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// FuzzCheck judges any text: nothing panics, the findings are in order and in
// the text, and what compiles has no error.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{"testdata/PT*/*.md", "testdata/compile/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds for %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	for _, group := range archives(f, "testdata/corpus/*/*.txtar") {
		for _, file := range group.Files {
			if strings.HasSuffix(file.Name, ".md") {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, problems := plan.Parse("plan.md", text)
		if p == nil {
			if !verify.HasErrors(verify.Check(nil, problems, verify.Facts{})) {
				t.Error("bytes that are refused have no error")
			}
			return
		}
		answers := facts(t, verify.Needs(p), "")
		findings := verify.Check(p, problems, answers)
		lines := slices.Max([]int{1, countLines(text)})
		for i, found := range findings {
			if found.Line < 1 || found.Column < 1 || found.Line > lines || found.Message == "" || found.Code == "" {
				t.Errorf("finding %d of %d lines: %+v", i, lines, found)
			}
			if i > 0 && findings[i-1].Line > found.Line {
				t.Errorf("finding %d is out of order", i)
			}
		}
		program, err := verify.Compile(p, problems, answers, verify.Options{Plan: "p"})
		stopped := slices.ContainsFunc(findings, verify.Finding.Stops)
		switch {
		case err == nil && (program == nil || stopped):
			t.Errorf("compiled although %v", findings)
		case err != nil && !stopped:
			t.Errorf("refused without a finding: %v", err)
		}
	})
}

// countLines counts lines as the parser may: at every kind of line end.
func countLines(text []byte) int {
	n := 1
	for _, c := range text {
		if c == '\n' || c == '\r' {
			n++
		}
	}
	return n
}
