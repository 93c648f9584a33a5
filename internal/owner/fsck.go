package owner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// Unlike is a stream whose lists are not what its records make of them.
type Unlike struct{ Stream, Name string }

// Replay folds every stream anew, and compares what lists show of it: a chain
// can be whole and its story impossible.
func Replay(ctx context.Context, st store.Store) ([]Unlike, error) {
	streams, token, err := st.Changed(ctx, "")
	if err != nil {
		return nil, err
	}
	var found []Unlike
	for _, stream := range streams {
		var name string
		if name, token, err = replayed(ctx, st, stream, token); err != nil {
			return nil, err
		}
		if name != "" {
			found = append(found, Unlike{stream, name})
		}
	}
	return found, nil
}

// Relist makes the lists of streams from their records. Nobody may own the
// workspace meanwhile; an owner that is ending is waited for.
func Relist(ctx context.Context, st store.Store, workspace string, wrong []Unlike) (err error) {
	epoch, release, err := st.Own(ctx, workspace)
	for began := time.Now(); errors.Is(err, store.ErrOwned) && time.Since(began) < api.Patience; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		epoch, release, err = st.Own(ctx, workspace)
	}
	if err != nil {
		return fmt.Errorf("the lists do not agree with the records of %s, and cannot be rebuilt now: %w", wrong[0].Name, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	for _, u := range wrong {
		rows, err := run.Rows(ctx, st, u.Stream)
		if err != nil {
			return err
		}
		rows.Anew = true
		for i := range rows.Earlier {
			rows.Earlier[i].Anew = true
		}
		b := store.Batch{Stream: u.Stream, Epoch: epoch, Rows: rows}
		for r, err := range st.Read(ctx, u.Stream, 0) {
			if err != nil {
				return err
			}
			b.After = r.Seq
		}
		if err := st.Append(ctx, b); err != nil {
			return err
		}
	}
	left, err := Replay(ctx, st)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the lists do not agree with the records of %s, also after they were rebuilt", left[0].Name)
	}
	return err
}

// replayed compares the rows of a stream with those that its records make, and
// names what they do not show, "" for nothing. An owner may write to it
// meanwhile: then it is looked at again.
func replayed(ctx context.Context, st store.Store, stream, token string) (name, next string, err error) {
	for {
		want, err := run.Rows(ctx, st, stream)
		if err != nil {
			return "", "", err
		}
		got, err := store.Rows(ctx, st, stream)
		if err != nil {
			return "", "", err
		}
		name, err := difference(stream, want, got)
		if err != nil || name == "" {
			return "", token, err
		}
		var moved []string
		if moved, token, err = st.Changed(ctx, token); err != nil {
			return "", "", err
		}
		if !slices.Contains(moved, stream) {
			return name, token, nil
		}
	}
}

// difference names the stream, or its first run, whose rows are not as they should be, "" for
// none.
func difference(stream string, want, got engine.Rows) (string, error) {
	a, b := store.ByRun(want), store.ByRun(got)
	if len(a) != len(b) {
		return "stream " + stream, nil
	}
	for i := range a {
		made, err := json.Marshal(a[i])
		if err != nil {
			return "", err
		}
		kept, err := json.Marshal(b[i])
		if err != nil {
			return "", err
		}
		if !bytes.Equal(made, kept) {
			return named(stream, a[i]), nil
		}
	}
	return "", nil
}

func named(stream string, rows engine.Rows) string {
	if rows.Head == nil {
		return "stream " + stream
	}
	return "run " + rows.Head.Run
}
