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

// like reports a finding of the same rule about the same thing, wherever it stands now.
func like(f verify.Finding) func(verify.Finding) bool {
	return func(g verify.Finding) bool { return g.Code == f.Code && g.Step == f.Step && g.Message == f.Message }
}

// A fix takes its finding away, and brings no error that was not there.
func TestFixes(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	titles := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		facts := strings.TrimSuffix(file, ".md") + ".facts"
		was := check(t, "plan.md", text, facts)
		for _, f := range was {
			if f.Fix == nil {
				continue
			}
			titles[strings.Fields(f.Fix.Title)[0]+" "+f.Code] = true
			fixed := plan.Changed(text, f.Fix.Changes...)
			is := check(t, "plan.md", fixed, facts)
			if count(was, like(f)) <= count(is, like(f)) {
				t.Errorf("%s: %q leaves %s\n%s", file, f.Fix.Title, f, fixed)
			}
			for _, g := range is {
				overlap := g.Code == "PT039" // of which one is told for each step
				if g.Severity == verify.Error && g.Code != f.Code && !overlap && !slices.ContainsFunc(was, like(g)) {
					t.Errorf("%s: %q of %s brings %s\n%s", file, f.Fix.Title, f, g, fixed)
				}
			}
		}
	}
	for _, want := range []string{"Remove PT022", "Begin PT024", "Begin PT025", "Add PT026", "Write PT010", "Make PT039", "Make PT043", "Make PT061", "Write PT030", "Write PT066"} {
		if !titles[want] {
			t.Errorf("no finding has the fix %q; there are %v", want, titles)
		}
	}
}

// A misspelt label is corrected where it stands, and nothing else is touched. A plan in
// another form than Markdown has no fixes.
func TestFixOfLabel(t *testing.T) {
	text := "# Plan\r\n\r\n## Steps\r\n\r\n### 1. Ä\r\n\r\n**Task:** go\r\n__Contarct:__ `grep -q x y`\r\n"
	for _, f := range check(t, "plan.md", []byte(text), "") {
		if f.Fix == nil {
			continue
		}
		want := strings.Replace(text, "Contarct", "contract", 1)
		if got := string(plan.Changed([]byte(text), f.Fix.Changes...)); got != want || f.Fix.Title != "Write `contract`" {
			t.Errorf("%q makes %q of it", f.Fix.Title, got)
		}
		return
	}
	t.Error("the misspelt label has no fix")
}

func count(all []verify.Finding, which func(verify.Finding) bool) (n int) {
	for _, f := range all {
		if which(f) {
			n++
		}
	}
	return n
}
