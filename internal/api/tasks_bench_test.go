package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/verify"
)

// BenchmarkRevisions lists and compares the revisions of a plan of 200 steps that was
// changed 1,000 times, as a verb does that was just started.
func BenchmarkRevisions(b *testing.B) {
	dir := b.TempDir()
	ctx := context.Background()
	cfg := sqlite.Config{Dir: filepath.Join(dir, "state"), Workspace: "w"}
	st, _, err := sqlite.Open(ctx, cfg)
	if err != nil {
		b.Fatal(err)
	}
	epoch, release, err := st.Own(ctx, "w")
	if err != nil {
		b.Fatal(err)
	}
	batch := store.Batch{Stream: engine.WorkspaceStream, Epoch: epoch}
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	var w engine.Workspace
	add := func(e engine.Event) {
		r := engine.Record{Stream: batch.Stream, Seq: uint64(len(batch.Records) + 1), At: at, Actor: "ann", Epoch: epoch, Event: e}
		if err := w.Apply(r); err != nil {
			b.Fatal(err)
		}
		batch.Records = append(batch.Records, r)
	}
	add(engine.EpochBegan{})
	add(engine.IntentOpened{ID: "i-1", Prompt: "Much"})
	for v := range 1000 {
		source := store.NewObject(largePlan(v + 1))
		p := engine.PlanDrafted{
			Plan: fmt.Sprintf("plan-20260101-much-v%d", v+1), Version: v + 1, Intent: "i-1", Path: "plan.md", Title: "Much", By: "ann",
			Source: source.Hash, Hash: api.Parse("plan.md", source.Body).Plan.Hash(), Changes: "1 step changed",
		}
		if v > 0 {
			p.Previous = fmt.Sprintf("plan-20260101-much-v%d", v)
		}
		add(p)
		add(engine.PlanVerified{Plan: p.Plan, OK: true})
		add(engine.PlanAnswered{Plan: p.Plan, Hash: p.Hash, Config: "c", Yes: true, By: "ann", Via: "cli"})
		batch.Objects = append(batch.Objects, source)
	}
	batch.Rows = w.Rows()
	if err := st.Append(ctx, batch); err != nil {
		b.Fatal(err)
	}
	if err := release(); err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	if err := os.WriteFile(filepath.Join(dir, "plan.md"), largePlan(1000), 0o644); err != nil {
		b.Fatal(err)
	}
	product := func() *api.Product {
		return &api.Product{Place: api.Place{Dir: dir}, Here: dir, Store: st, Now: func() time.Time { return at }}
	}
	b.Run("history", func(b *testing.B) {
		for b.Loop() {
			if all, err := product().History(ctx, "plan.md"); err != nil || len(all) != 1000 {
				b.Fatal(len(all), err)
			}
		}
	})
	b.Run("diff", func(b *testing.B) {
		for b.Loop() {
			p := product()
			one, err := p.TextOf(ctx, "plan.md@1")
			if err != nil {
				b.Fatal(err)
			}
			two, err := p.TextOf(ctx, "plan.md@1000")
			if err != nil {
				b.Fatal(err)
			}
			if d := verify.Diff(one.Plan, two.Plan); len(d.Steps) != 1 {
				b.Fatal(d)
			}
		}
	})
	b.Run("undo", func(b *testing.B) {
		for b.Loop() {
			if _, err := product().Walk(ctx, "plan.md", false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tasks", func(b *testing.B) {
		for b.Loop() {
			if all, err := product().Tasks(ctx); err != nil || len(all) != 1 {
				b.Fatal(len(all), err)
			}
		}
	})
}

func largePlan(version int) []byte {
	var s strings.Builder
	s.WriteString("---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Much\n\n## Steps\n")
	for n := range 200 {
		task := "one"
		if n == 100 {
			task = fmt.Sprintf("version %d", version)
		}
		fmt.Fprintf(&s, "\n### %d. Step %d\n\n**target:** script\n**task:** `echo %s`\n**contract:** `test -e f%d`\n", n+1, n+1, task, n)
	}
	return []byte(s.String())
}
