package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) fsckCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "fsck",
		Example: "  piton fsck",
		Short:   "Check the journal for damage",
		Long:    "Checks the chain of all records, the hash of every object, that the end is complete, and that the\nlists agree with the records. Names the first bad record, with exit code 7. Wrong lists are\nrebuilt from the records.",
		Args:    atMost("nothing", 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.fsck(c.Context()) },
	}
}

func (a *app) fsck(ctx context.Context) error {
	s, err := a.openToLook(ctx, true)
	if err != nil {
		return err
	}
	defer s.store.Close()
	report, err := s.store.Verify(ctx)
	if err != nil {
		return err
	}
	unlike, err := s.replay(ctx)
	if err == nil && len(unlike) > 0 {
		err = a.relist(ctx, s.Product, unlike)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	if a.json {
		a.document("fsck", map[string]any{"ok": true, "rebuilt": len(unlike), "records": report.Events, "streams": report.Streams, "objects": report.Objects})
		return nil
	}
	for _, u := range unlike {
		fmt.Fprintf(a.out, "the lists of %s did not agree with the records and were rebuilt\n", u.name)
	}
	fmt.Fprintf(a.out, "the journal is sound: %s in %s, %s\n",
		view.Plural(report.Events, "record", "records"), view.Plural(report.Streams, "stream", "streams"), view.Plural(report.Objects, "object", "objects"))
	return nil
}

// unlike is a stream whose lists are not what its records make of them.
type unlike struct{ stream, name string }

// replay folds every stream anew, and compares what lists show of it: a chain
// can be whole and its story impossible.
func (s *session) replay(ctx context.Context) ([]unlike, error) {
	streams, token, err := s.store.Changed(ctx, "")
	if err != nil {
		return nil, err
	}
	var found []unlike
	for _, stream := range streams {
		var name string
		if name, token, err = s.replayed(ctx, stream, token); err != nil {
			return nil, err
		}
		if name != "" {
			found = append(found, unlike{stream, name})
		}
	}
	return found, nil
}

// relist makes the lists of streams from their records. Nobody may own the
// workspace meanwhile.
func (a *app) relist(ctx context.Context, p *api.Product, wrong []unlike) (err error) {
	s, err := a.journal(ctx, p.Place, p.Config, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.Close()) }()
	epoch, release, err := s.store.Own(ctx, s.Place.ID)
	for began := time.Now(); errors.Is(err, store.ErrOwned) && time.Since(began) < api.Patience; { // it may be ending
		time.Sleep(100 * time.Millisecond)
		epoch, release, err = s.store.Own(ctx, s.Place.ID)
	}
	if err != nil {
		return fmt.Errorf("the lists do not agree with the records of %s, and cannot be rebuilt now: %w", wrong[0].name, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	for _, u := range wrong {
		rows, err := run.Rows(ctx, s.store, u.stream)
		if err != nil {
			return err
		}
		b := store.Batch{Stream: u.stream, Epoch: epoch, Rows: rows}
		for r, err := range s.store.Read(ctx, u.stream, 0) {
			if err != nil {
				return err
			}
			b.After = r.Seq
		}
		if err := s.store.Append(ctx, b); err != nil {
			return err
		}
	}
	left, err := s.replay(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("the lists do not agree with the records of %s, also after they were rebuilt", left[0].name)
	}
	return err
}

// replayed compares the rows of a stream with those that its records make, and
// names what they do not show, "" for nothing. An owner may write to it
// meanwhile: then it is looked at again.
func (s *session) replayed(ctx context.Context, stream, token string) (name, next string, err error) {
	for {
		want, err := run.Rows(ctx, s.store, stream)
		if err != nil {
			return "", "", err
		}
		got, err := store.Rows(ctx, s.store, stream)
		if err != nil {
			return "", "", err
		}
		name, err := difference(stream, want, got)
		if err != nil || name == "" {
			return "", token, err
		}
		var moved []string
		if moved, token, err = s.store.Changed(ctx, token); err != nil {
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
