package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

func (a *app) fsckCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "fsck",
		Example: "  piton fsck",
		Short:   "Check the whole journal",
		Long:    "Checks every record's place in its chain, every object's hash, that nothing is missing at\nthe end, and that the lists show what the records say. Names the first bad record. Exit code 7 if there is one.",
		Args:    atMost("nothing", 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.fsck(c.Context()) },
	}
}

func (a *app) fsck(ctx context.Context) error {
	s, err := a.journal(ctx, nil, true)
	if err != nil {
		return err
	}
	defer s.store.Close()
	report, err := s.store.Verify(ctx)
	if err != nil {
		return err
	}
	if err := s.replay(ctx); err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	if a.json {
		a.document("fsck", map[string]any{"ok": true, "records": report.Events, "streams": report.Streams, "objects": report.Objects})
		return nil
	}
	fmt.Fprintf(a.out, "the journal is whole: %s in %s, %s\n",
		plural(report.Events, "record", "records"), plural(report.Streams, "stream", "streams"), plural(report.Objects, "object", "objects"))
	return nil
}

// replay folds every stream anew, and compares what lists show of it: a chain
// can be whole and its story impossible.
func (s *session) replay(ctx context.Context) error {
	streams, token, err := s.store.Changed(ctx, "")
	if err != nil {
		return err
	}
	for _, stream := range streams {
		if token, err = s.replayed(ctx, stream, token); err != nil {
			return err
		}
	}
	return nil
}

// replayed compares the rows of a stream with those that its records make. An
// owner may write to it meanwhile: then it is looked at again.
func (s *session) replayed(ctx context.Context, stream, token string) (next string, err error) {
	for {
		want, err := run.Rows(ctx, s.store, stream)
		if err != nil {
			return "", err
		}
		got, err := store.Rows(ctx, s.store, stream)
		if err != nil {
			return "", err
		}
		unlike, err := difference(stream, want, got)
		if err != nil || unlike == "" {
			return token, err
		}
		var moved []string
		if moved, token, err = s.store.Changed(ctx, token); err != nil {
			return "", err
		}
		if !slices.Contains(moved, stream) {
			return "", errors.New(unlike)
		}
	}
}

// difference names the first run whose rows are not as they should be, "" for
// none.
func difference(stream string, want, got engine.Rows) (string, error) {
	a, b := store.ByRun(want), store.ByRun(got)
	if len(a) != len(b) {
		return fmt.Sprintf("stream %s has %s by its records, and %d in the lists", stream, plural(len(a), "run", "runs"), len(b)), nil
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
			return fmt.Sprintf("the lists do not show %s as its records have it", named(stream, a[i])), nil
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
