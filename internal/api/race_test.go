package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// overtaken lets somebody else do the same before the first input arrives.
type overtaken struct {
	api.Desk
	first func()
}

func (d *overtaken) Submit(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error {
	if first := d.first; first != nil {
		d.first = nil
		first()
	}
	return d.Desk.Submit(ctx, stream, in, objects...)
}

// Two that run the same plan at once end with one revision and one run.
func TestTwoRunTheSamePlanAtOnce(t *testing.T) {
	p, host := productWithOwner(t)
	path := filepath.Join(p.Place.Dir, "plan.md")
	text := "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# T\n\n## Steps\n\n### 1. A\n\n**target:** script\n**task:**\n```shell\necho x >a\n```\n**contract:**\n```shell\ngrep -q x a\n```\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, err := p.Read(t.Context(), path)
	if err != nil || !doc.OK() {
		t.Fatalf("%v, %v", err, doc.Findings)
	}
	draft := func(d api.Desk) *engine.Revision {
		r, err := p.Draft(t.Context(), d, doc)
		if err != nil {
			t.Fatalf("draft: %v", err)
		}
		return r
	}
	var other, mine *engine.Revision
	mine = draft(&overtaken{host, func() { other = draft(host) }})
	if mine.Drafted.Plan != other.Drafted.Plan {
		t.Errorf("revisions %s and %s", mine.Drafted.Plan, other.Drafted.Plan)
	}
	if err := p.Judge(t.Context(), host, mine, true, "ann", ""); err != nil {
		t.Fatal(err)
	}
	open := func(d api.Desk) api.Opened {
		o, err := p.Open(t.Context(), d, doc, mine, api.Opening{Protect: func(context.Context, string, []string) (store.Object, error) {
			return store.NewObject([]byte("base")), nil
		}})
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return o
	}
	var theirs api.Opened
	ours := open(&overtaken{host, func() { theirs = open(host) }})
	if ours.Run != theirs.Run || !ours.Resumed || theirs.Resumed {
		t.Errorf("%+v and %+v", ours, theirs)
	}
}

func noon() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }

// productWithOwner is a product whose journal is in memory, and its owner.
func productWithOwner(t *testing.T) (*api.Product, *run.Host) {
	t.Helper()
	journal := storetest.NewMemory()
	host, err := run.Open(t.Context(), run.Config{
		Store: journal, Now: noon, Workspace: "ws", Machine: "m", Version: "v",
		Do: func(ctx context.Context, _ engine.Effect, r *run.Reporter) run.Answer {
			<-ctx.Done()
			return run.Answer{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- host.Loop(ctx, func(run.Traffic) bool { return false }) }()
	t.Cleanup(func() { stop(); <-ended })
	return &api.Product{
		Place: api.Place{Dir: t.TempDir()}, Config: config.Default(), Store: journal, Env: os.Environ(), Now: noon, By: "ann", Via: "cli",
	}, host
}
