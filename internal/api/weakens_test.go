package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/store"
)

// forgetful is a store that has lost its objects.
type forgetful struct{ store.Store }

func (forgetful) Object(context.Context, string) ([]byte, error) { return nil, store.ErrNotFound }

// TestWeakensWithoutTheOldText: where what was approved cannot be compared with,
// nobody but a person says that the new text asks as much.
func TestWeakensWithoutTheOldText(t *testing.T) {
	p, host := productWithOwner(t)
	path := filepath.Join(p.Place.Dir, "plan.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	step := func(file string) string {
		return "### 1. " + file + "\n\n**target:** script\n**task:** `echo x >" + file + "`\n**contract:** `grep -q x " + file + "`\n\n"
	}
	one := "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n\n## Steps\n\n" + step("a")
	write(one)
	doc, err := p.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Draft(t.Context(), host, doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Judge(t.Context(), host, r, true, "ann", ""); err != nil {
		t.Fatal(err)
	}
	write(one + step("b"))
	if doc, err = p.Read(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if weaker, err := p.Weakens(t.Context(), doc); err != nil || len(weaker) != 0 {
		t.Errorf("a step more is weaker: %q, %v", weaker, err)
	}
	p.Store = forgetful{p.Store}
	if weaker, err := p.Weakens(t.Context(), doc); err != nil || len(weaker) != 1 {
		t.Errorf("with nothing to compare with: %q, %v", weaker, err)
	}
}
