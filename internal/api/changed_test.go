package api_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

func planOf(steps int, status, mark string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntype: plan\nstatus: %s\n---\n\n# A plan\n\n## Steps\n", status)
	for n := range steps {
		fmt.Fprintf(&b, "\n### %d. %sStep %d\n\n**target:** script\n**task:** `true`\n**contract:** `test -e a`\n", n+1, mark, n+1)
	}
	return b.String()
}

// TestChanged compares the plan document with the one that a run was approved
// with.
func TestChanged(t *testing.T) {
	approved := planOf(2, "draft", "")
	source, hash := store.NewObject([]byte(approved)).Hash, api.Parse("plan.md", []byte(approved)).Plan.Hash()
	for _, test := range []struct {
		name, now string
		changed   bool
	}{
		{"the very bytes", approved, false},
		{"with marks of a run", planOf(2, "failed", "✅ "), false},
		{"with a step more", planOf(3, "draft", ""), true},
		{"no plan any more", "\x00", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "plan.md"), []byte(test.now), 0o600); err != nil {
				t.Fatal(err)
			}
			p := &api.Product{Place: api.Place{Dir: dir}}
			head := engine.HeadRow{Run: "r", Path: "plan.md", PlanHash: hash, Source: source}
			if got, err := p.Changed(t.Context(), head); got != test.changed || err != nil {
				t.Errorf("changed: %v, want %v (%v)", got, test.changed, err)
			}
		})
	}
}

// TestUnchangedIsNotParsed: status looks at the document each time, and a large
// one takes long to parse.
func TestUnchangedIsNotParsed(t *testing.T) {
	dir := t.TempDir()
	text := planOf(1_000, "draft", "")
	if err := os.WriteFile(filepath.Join(dir, "plan.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &api.Product{Place: api.Place{Dir: dir}}
	head := engine.HeadRow{Run: "r", Path: "plan.md", PlanHash: "h", Source: store.NewObject([]byte(text)).Hash}
	if n := testing.AllocsPerRun(5, func() { p.Changed(t.Context(), head) }); n > 100 {
		t.Errorf("%.0f allocations for a document of 1,000 steps that nobody changed", n)
	}
}

type unreadable struct{ store.Store }

func (unreadable) Things(context.Context, store.ThingFilter) ([]engine.ThingRow, error) {
	return nil, errors.ErrUnsupported
}

// Where the journal cannot say where a document lies now, the place that it had once is
// not taken for that.
func TestDocumentOfAJournalThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plan.md"), []byte(planOf(3, "draft", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &api.Product{Place: api.Place{Dir: dir}, Store: unreadable{}}
	head := engine.HeadRow{Run: "r", Stream: "t-x", Path: "plan.md", PlanHash: "h"}
	if changed, err := p.Changed(t.Context(), head); changed || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v, %v", changed, err)
	}
	if file, err := p.File(t.Context(), head); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%s, %v", file, err)
	}
}
