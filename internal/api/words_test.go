package api_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// TestPlannedBeyondTheUnreadable: a text that cannot be read any more hides no
// step of an older plan.
func TestPlannedBeyondTheUnreadable(t *testing.T) {
	p, host := productWithOwner(t)
	path := filepath.Join(p.Place.Dir, "plan.md")
	text := "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n\n## Steps\n\n### 1. One\n\n**id:** one\n**target:** script\n**task:** `true`\n**contract:** `true`\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := p.Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Draft(t.Context(), host, doc); err != nil {
		t.Fatal(err)
	}
	source, found := store.NewObject([]byte{0}), store.NewObject([]byte("[]"))
	other := engine.Draft{
		Intent:      &engine.IntentOpened{ID: "i-2", Prompt: "Other", Path: "other.md"},
		PlanDrafted: engine.PlanDrafted{Plan: "plan-2", Intent: "i-2", Version: 1, Path: "other.md", Title: "Other", Source: source.Hash, Hash: source.Hash, By: "ann"},
		Verified:    engine.PlanVerified{OK: true, Findings: found.Hash},
	}
	if err := host.Submit(t.Context(), engine.WorkspaceStream, other, source, found); err != nil {
		t.Fatal(err)
	}
	if _, doc, err := p.Kept(t.Context(), "plan-2"); err != nil || doc.Plan != nil {
		t.Fatalf("the other text is a plan: %v, %v", doc, err)
	}
	r, step, err := p.Planned(t.Context(), "one")
	if err != nil || r == nil || r.Drafted.Path != "plan.md" || step.ID.Value != "one" {
		t.Errorf("the step of the older plan is %v of %v, %v", step, r, err)
	}
}
