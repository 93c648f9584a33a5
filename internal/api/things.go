package api

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Verbs that look find what they show by its row. They never read the workspace's stream:
// that costs the more, the more was ever done.

// things reads rows of what the workspace has.
func things[T any](ctx context.Context, p *Product, f store.ThingFilter) (all []*T, err error) {
	rows, err := p.Store.Things(ctx, f)
	for _, row := range rows {
		one := new(T)
		if err := json.Unmarshal([]byte(row.Row), one); err != nil {
			return nil, fmt.Errorf("read the row of %s %s: %w", row.Kind, row.Key, err)
		}
		all = append(all, one)
	}
	return all, err
}

// thing reads the row of the thing that has a key, nil for none.
func thing[T any](ctx context.Context, p *Product, kind engine.Thing, key string) (*T, error) {
	if key == "" {
		return nil, nil
	}
	return only(things[T](ctx, p, store.ThingFilter{Kind: kind, Key: key}))
}

func only[T any](all []*T, err error) (*T, error) {
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0], nil
}

// revision finds a revision by its id, nil for none.
func (p *Product) revision(ctx context.Context, id string) (*engine.Revision, error) {
	return thing[engine.Revision](ctx, p, engine.PlanKept, id)
}

// headOf is the newest revision of an intent, wherever its document was; nil for none.
func (p *Product) headOf(ctx context.Context, intent string) (*engine.Revision, error) {
	if intent == "" {
		return nil, nil
	}
	return only(things[engine.Revision](ctx, p, store.ThingFilter{Kind: engine.PlanKept, Of: intent, Newest: true}))
}

// newestAt is the newest revision of the document at a path, nil for none.
func (p *Product) newestAt(ctx context.Context, path string) (*engine.Revision, error) {
	rows, err := p.Store.Things(ctx, store.ThingFilter{Kind: engine.PlanPath, Key: path})
	if err != nil || path == "" || len(rows) == 0 {
		return nil, err
	}
	return p.revision(ctx, rows[0].Of)
}

// Archived lists the runs that are archived.
func (p *Product) Archived(ctx context.Context) (runs []string, err error) {
	rows, err := p.Store.Things(ctx, store.ThingFilter{Kind: engine.ArchivedRun, Open: true})
	for _, row := range rows {
		runs = append(runs, row.Key)
	}
	return runs, err
}
