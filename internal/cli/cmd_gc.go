package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) gcCmd() *cobra.Command {
	var dry bool
	var retention string
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove files of finished runs that are no longer needed",
		Long: `Removes prompts, outputs, attempt logs and kept files of runs that ended longer ago than the setting
retention (default 90 days). The journal stays complete: every fact, plan and verdict can still
be read. Runs that can still continue keep everything: unfinished ones, and the newest failed
run of a plan. While a run is active, gc ends with exit code 8.`,
		Example: "  piton gc --dry-run\n  piton gc --retention 30d",
		Args:    atMost("nothing", 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.gc(c.Context(), retention, dry) },
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "list what would be removed, and remove nothing")
	c.Flags().StringVar(&retention, "retention", "", "how long ago a run must have ended; overrides the setting")
	return c
}

func (a *app) gc(ctx context.Context, retention string, dry bool) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	var flags map[string]string
	if retention != "" {
		flags = map[string]string{"retention": retention}
	}
	s, err := a.open(ctx, flags)
	if err != nil {
		return err
	}
	defer s.store.Close()
	w, err := s.client.Collect(ctx, api.Collect{Retention: retention, DryRun: dry})
	if err != nil {
		return err
	}
	a.report("gc", wasteDoc{w, view.Stamp(w.Before)}, wasteText(w, day(w.Before, s.Config.Retention)))
	return nil
}

// wasteDoc is what gc removed, for programs.
type wasteDoc struct {
	api.Waste
	Before view.Stamp `json:"before"`
}

// day is a time for people: a day, or more where the retention is less than one.
func day(at time.Time, retention time.Duration) string {
	form := time.DateOnly
	if retention < 24*time.Hour {
		form = "2006-01-02 15:04:05 MST"
	}
	return at.UTC().Format(form)
}

func wasteText(w api.Waste, before string) string {
	what := []string{
		view.Plural(w.Objects, "object", "objects"), view.Plural(w.Logs, "attempt log", "attempt logs"),
		view.Plural(w.Quarantined, "quarantine", "quarantines"), view.Plural(w.Kept, "pack of kept files", "packs of kept files"),
		view.Plural(w.Worktrees, "worktree", "worktrees"),
	}
	verb := "removed"
	if w.DryRun {
		verb = "would remove"
	}
	if w.Runs == 0 {
		return fmt.Sprintf("nothing to remove: no run that ended before %s left anything", before)
	}
	return fmt.Sprintf("%s %s, %s, of %s that ended before %s", verb, view.Join(what), byteText(w.Bytes), view.Plural(w.Runs, "run", "runs"), before)
}

// byteText is a size for people.
func byteText(n int64) string {
	switch {
	case n < 1000:
		return view.Plural(int(n), "byte", "bytes")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
