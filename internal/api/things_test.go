package api_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// brief is a store whose workspace has a stream that is too long to be read.
type brief struct{ store.Store }

func (b brief) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	if stream == engine.WorkspaceStream {
		return func(yield func(engine.Record, error) bool) { yield(engine.Record{}, errors.ErrUnsupported) }
	}
	return b.Store.Read(ctx, stream, after)
}

// Who looks at a run, a plan or an errand reads their rows, and nothing else that was
// ever done in the workspace.
func TestLookingReadsNoHistory(t *testing.T) {
	owner, host := productWithOwner(t)
	ctx, path := t.Context(), filepath.Join(owner.Place.Dir, "plan.md")
	edit := func(text string) *api.Document {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		doc, err := owner.Read(ctx, path)
		if err != nil || !doc.OK() {
			t.Fatalf("%v, %v", err, doc.Findings)
		}
		return doc
	}
	doc := edit(planOf(2, "draft\nowner: me", ""))
	first, err := owner.Draft(ctx, host, doc)
	if err == nil {
		err = owner.Judge(ctx, host, first, true, "ann", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	opened, err := owner.Open(ctx, host, doc, first, api.Opening{
		Protect: func(context.Context, string, []string) (store.Object, error) {
			return store.NewObject([]byte("base")), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Submit(ctx, engine.WorkspaceStream, engine.Archive{Runs: []string{"old"}, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	asked := engine.ErrandAsked{Errand: "e-123456", Kind: engine.PlanWork, Intent: "i-new", Request: "q", By: "ann"}
	if err := host.Submit(ctx, engine.WorkspaceStream, engine.Errand{ErrandAsked: asked, Intent: &engine.IntentOpened{ID: "i-new"}}); err != nil {
		t.Fatal(err)
	}
	p := &api.Product{Place: owner.Place, Here: owner.Place.Dir, Store: brief{owner.Store}, Now: owner.Now, By: "ann"}
	head, err := p.Find(ctx, opened.Run)
	if err != nil {
		t.Fatal(err)
	}

	edit(planOf(3, "draft\nowner: me", ""))
	if pr, err := p.Proposal(ctx, head); err != nil || pr == nil || pr.Revision != 2 {
		t.Errorf("the changed document: %+v, %v", pr, err)
	}
	second, err := owner.Draft(ctx, host, edit(planOf(4, "draft\nowner: me", "")))
	if err != nil {
		t.Fatal(err)
	}
	if open, err := p.Proposals(ctx); err != nil || len(open) != 1 || open[0].Drafted.Plan != second.Drafted.Plan {
		t.Errorf("what waits: %+v, %v", open, err)
	}
	if file, err := p.File(ctx, head); err != nil || file != path {
		t.Errorf("the document: %s, %v", file, err)
	}
	for _, word := range []string{"plan.md", opened.Run, first.Drafted.Plan} {
		if h, err := p.RunOf(ctx, word); err != nil || h.Run != opened.Run {
			t.Errorf("the run of %s: %+v, %v", word, h, err)
		}
		all, err := p.History(ctx, word)
		if err != nil || len(all) != 2 || !all[0].Filed || len(all[0].Runs) != 1 || all[0].Answer.By != "ann" {
			t.Errorf("the history of %s: %+v, %v", word, all, err)
		}
	}
	for _, word := range []string{first.Drafted.Plan, opened.Run + "@1", "plan.md@1"} {
		if r, doc, err := p.Kept(ctx, word); err != nil || r.Drafted.Plan != first.Drafted.Plan || len(doc.Plan.Steps) != 2 {
			t.Errorf("%s: %+v, %v", word, r, err)
		}
	}
	if r, err := p.Revision(ctx, "plan-"); err != nil || r.Drafted.Plan != second.Drafted.Plan {
		t.Errorf("the newest: %+v, %v", r, err)
	}
	if _, err := p.Revision(ctx, ""); api.Explain(err).Code != api.NotFound {
		t.Errorf("no name: %v", err)
	}
	if _, _, err := p.Compared(ctx, []string{opened.Run}); err != nil {
		t.Errorf("the difference: %v", err)
	}
	if runs, err := p.Archived(ctx); err != nil || len(runs) != 1 || runs[0] != "old" {
		t.Errorf("archived: %v, %v", runs, err)
	}
	for _, ask := range []func() (engine.ErrandRow, error){
		func() (engine.ErrandRow, error) { return p.Errand(ctx, asked.Errand) },
		func() (engine.ErrandRow, error) { return p.ErrandOf(ctx, "e-12") },
		func() (engine.ErrandRow, error) {
			open, err := p.Underway(ctx)
			return append(open, engine.ErrandRow{})[0], err
		},
	} {
		if row, err := ask(); err != nil || row.Asked.Errand != asked.Errand || row.Over() {
			t.Errorf("the errand: %+v, %v", row, err)
		}
	}
	if err := host.Submit(ctx, engine.WorkspaceStream, engine.Withdraw{ErrandDropped: engine.ErrandDropped{Errand: asked.Errand, By: "ann"}}); err != nil {
		t.Fatal(err)
	}
	if open, err := p.Underway(ctx); err != nil || len(open) > 0 {
		t.Errorf("under way: %+v, %v", open, err)
	}
}
