package view_test

import (
	"context"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// ending is a journal of one run, which ends while a face reads how it stands.
type ending struct {
	store.Store
	ended *bool
}

func (e ending) head() engine.HeadRow {
	if *e.ended {
		return engine.HeadRow{Stream: "task/a", Run: "a", Status: engine.Cancelled, Ended: true}
	}
	return engine.HeadRow{Stream: "task/a", Run: "a", Status: engine.Running}
}

func (e ending) Heads(_ context.Context, f store.HeadFilter) ([]engine.HeadRow, error) {
	if f.Under != "" {
		return nil, nil
	}
	return []engine.HeadRow{e.head()}, nil
}

func (ending) Items(context.Context, store.ItemFilter) ([]engine.ItemRow, error) { return nil, nil }
func (ending) Steps(context.Context, store.StepFilter) ([]engine.StepRow, error) { return nil, nil }

func noon() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }

// A run that ends while it is read was not interrupted.
func TestEndsMeanwhile(t *testing.T) {
	j := ending{ended: new(bool)}
	r := view.Reader{
		Product: &api.Product{Store: j, Now: noon},
		Stands: func(context.Context) (view.Stands, error) {
			*j.ended = true
			return view.Stands{}, nil
		},
		Place: func(engine.HeadRow) *view.Worktree { return nil },
	}
	st, err := r.Standing(t.Context(), j.head())
	if is := st.By.Of(st.Head); err != nil || is != engine.Cancelled {
		t.Errorf("the run is %s, %v", is, err)
	}
}
