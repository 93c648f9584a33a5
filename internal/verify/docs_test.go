package verify_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// TestDocs keeps the page about the format as the caps have it; -update writes
// that part.
func TestDocs(t *testing.T) {
	page(t, "../../docs/format.md", func(old string) string { return made(t, old, "limits", limitTable()) })
}

// TestLabelsOfTheFormatPage makes sure that the page says of every label, where it
// may stand, what its value looks like and what it means; one that may stand in
// both places has the same words in both.
func TestLabelsOfTheFormatPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	header, step := labelRows(t, string(text), "the header"), labelRows(t, string(text), "a step")
	for _, l := range plan.Labels() {
		above, below := header[l.Name], step[l.Name]
		delete(header, l.Name)
		delete(step, l.Name)
		if l.Header != (above != "") || l.Step != (below != "") || l.Header && l.Step && above != below {
			t.Errorf("%+v, and the page says %q and %q", l, above, below)
		}
	}
	for name := range header {
		t.Errorf("the page has %q in the header, which is no label there", name)
	}
	for name := range step {
		t.Errorf("the page has %q in a step, which is no label there", name)
	}
}

// labelRows are the rows of the page's table of labels, by their names.
func labelRows(t *testing.T, page, of string) map[string]string {
	t.Helper()
	_, section, _ := strings.Cut(page, "\n## Labels of "+of+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]string{}
	for row := range strings.Lines(section) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(row, "|\n"), " | ")
		if len(cells) != 4 || strings.TrimSpace(cells[1]) == "" || strings.TrimSpace(cells[3]) == "" {
			t.Errorf("%q says too little", row)
		}
		name := strings.Trim(cells[0], " `")
		if rows[name] != "" {
			t.Errorf("the page has %q twice", name)
		}
		rows[name] = row
	}
	if len(rows) == 0 {
		t.Fatalf("the page has no table of labels of %s", of)
	}
	return rows
}

// TestThePlanOfTheFormatPage makes sure that the plan people are shown verifies.
func TestThePlanOfTheFormatPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "````markdown\n")
	example, _, closed := strings.Cut(after, "````\n")
	if !closed {
		t.Fatal("the page shows no plan")
	}
	for _, f := range check(t, "format.md", []byte(example), "none") {
		t.Errorf("%v", f)
	}
	if p, _ := plan.Parse("", []byte(example)); len(p.Steps) != 2 || len(p.Steps[1].Checks.Value) != 2 {
		t.Errorf("the plan has %d steps", len(p.Steps))
	}
}

func page(t *testing.T, file string, write func(old string) string) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := write(string(old))
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(old)); diff != "" {
		t.Errorf("%s is out of date; run go test ./internal/verify -run Docs -update\n(-want +got):\n%s", file, diff)
	}
}

// made puts text between the marks of a part of a page.
func made(t *testing.T, page, part, text string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "<!-- made: "+part+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- end -->")
	if !ok || !closed {
		t.Fatalf("the page has no part %q", part)
	}
	return before + "<!-- made: " + part + " -->\n" + text + "<!-- end -->" + after
}

func limitTable() string {
	var b strings.Builder
	b.WriteString("| what | at most |\n|---|---|\n")
	for _, l := range []struct {
		what string
		most int
		unit string
	}{
		{"a plan", plan.MaxBytes >> 20, "MiB"},
		{"a line", plan.MaxLine >> 10, "KiB"},
		{"the frontmatter", plan.MaxFrontmatter >> 10, "KiB"},
		{"nesting in the frontmatter", plan.MaxDepth, "levels"},
		{"a plan", plan.MaxSteps, "steps"},
		{"a list", plan.MaxItems, "items"},
		{"a contract, check or setup", plan.MaxContract >> 10, "KiB"},
		{"problems that are listed", plan.MaxProblems, ""},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", l.what, strings.TrimSpace(fmt.Sprintf("%d %s", l.most, l.unit)))
	}
	return b.String()
}

// TestFindingsPage keeps the page about findings, which the rules' texts come from,
// whole: each rule that judges a plan has a row of its severity and a section, and
// each section says what its row says.
func TestFindingsPage(t *testing.T) {
	body, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := verify.Rules()
	for _, j := range verify.Judges() {
		if i := slices.IndexFunc(rules, func(r verify.Rule) bool { return r.ID == j.ID }); i < 0 || rules[i].Severity != j.Severity {
			t.Errorf("the page has no row of %s (%s)", j.ID, j.Severity)
		}
	}
	before, _, _ := strings.Cut(string(body), "| [PT")
	var page strings.Builder
	page.WriteString(before)
	for _, r := range rules {
		fmt.Fprintf(&page, "| [%s](#%s) | %s | %s | %s |\n", r.ID, strings.ToLower(r.ID), r.Name, r.Severity, r.Title)
	}
	for _, r := range rules {
		fmt.Fprintf(&page, "\n## %s\n\n**%s.** %s\n", r.ID, strings.ToUpper(r.Title[:1])+r.Title[1:], r.Text)
		for _, example := range []struct{ name, text string }{{"Bad", r.Bad}, {"Good", r.Good}} {
			if example.text != "" {
				fmt.Fprintf(&page, "\n%s:\n\n````markdown\n%s\n````\n", example.name, example.text)
			}
		}
	}
	if diff := cmp.Diff(page.String(), string(body)); diff != "" {
		t.Errorf("docs/findings.md is not in the form of the rules (-want +got):\n%s", diff)
	}
}
