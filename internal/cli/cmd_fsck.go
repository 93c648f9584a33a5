package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/owner"
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
	report, err := s.local.Verify(ctx)
	if err != nil {
		return err
	}
	unlike, err := owner.Replay(ctx, s.local)
	if err == nil && len(unlike) > 0 {
		err = a.relist(ctx, s.Product, unlike)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	text := fmt.Sprintf("the journal is sound: %s in %s, %s",
		view.Plural(report.Events, "record", "records"), view.Plural(report.Streams, "stream", "streams"), view.Plural(report.Objects, "object", "objects"))
	for _, u := range slices.Backward(unlike) {
		text = fmt.Sprintf("the lists of %s did not agree with the records and were rebuilt\n", u.Name) + text
	}
	a.report("fsck", map[string]any{"ok": true, "rebuilt": len(unlike), "records": report.Events, "streams": report.Streams, "objects": report.Objects}, text)
	return nil
}

// relist makes the lists of streams from their records.
func (a *app) relist(ctx context.Context, p *api.Product, wrong []owner.Unlike) error {
	s, err := a.journal(ctx, p.Place, p.Config, false)
	if err != nil {
		return err
	}
	return errors.Join(owner.Relist(ctx, s.local, p.Place.ID, wrong), s.store.Close())
}
