package owner

import (
	"context"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// elsewhereOwned makes what reports whether a path lies in a workspace inside this one
// whose owner is at work, or recorded something since. Each such workspace is looked
// at once.
func (o *Owner) elsewhereOwned(since time.Time) func(path string) bool {
	known := map[string]bool{}
	return func(path string) bool {
		inner, ok := o.cfg.Place.Inner(path)
		if !ok {
			return false
		}
		is, seen := known[inner.Dir]
		if !seen {
			ctx := context.Background()
			is = inner.Owned(ctx) || recordedSince(ctx, inner, since)
			known[inner.Dir] = is
		}
		return is
	}
}

// recordedSince asks the journal: who reads it, or touches its files, did nothing in
// the workspace.
func recordedSince(ctx context.Context, p api.Place, since time.Time) bool {
	st, _, err := sqlite.Open(ctx, sqlite.Config{Dir: p.State, Workspace: p.ID, Inspect: true})
	if err != nil {
		return false
	}
	defer st.Close()
	heads, err := st.Heads(ctx, store.HeadFilter{})
	if err != nil {
		return false
	}
	for _, h := range heads {
		if !h.Finished.Before(since) {
			return true
		}
		if h.Ended {
			continue
		}
		for r, err := range st.Read(ctx, h.Stream, h.First) {
			if err == nil && !r.At.Before(since) {
				return true
			}
		}
	}
	return false
}
