package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

func (a *app) gcCmd() *cobra.Command {
	var dry bool
	var retention string
	c := &cobra.Command{
		Use:   "gc",
		Short: "Remove what finished runs left behind and nobody needs any more",
		Long: `Removes prompts, outputs, attempt logs, quarantined files and kept contents of runs that
ended longer ago than the setting retention (90 days unless it says otherwise). The journal
itself stays whole: every fact, plan and verdict can still be read. Nothing is removed that a
run which can go on may ask for: an unfinished run, or a failed one that is the newest of its
plan. It waits for nobody: while a run is carried out it ends with exit code 8.`,
		Example: "  piton gc --dry-run\n  piton gc --retention 30d",
		Args:    atMost("nothing", 0),
		RunE:    func(c *cobra.Command, _ []string) error { return a.gc(c.Context(), retention, dry) },
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	c.Flags().StringVar(&retention, "retention", "", "how long ago a run must have ended, instead of the setting")
	return c
}

// waste is what gc found, and removed unless it was only asked for.
type waste struct {
	DryRun      bool   `json:"dry_run"`
	Before      stamp  `json:"before"`
	before      string // for people: a day, or a time where a day is too coarse
	Runs        int    `json:"runs"`
	Objects     int    `json:"objects"`
	Logs        int    `json:"logs"`
	Quarantined int    `json:"quarantined"` // attempts whose differences were kept
	Worktrees   int    `json:"worktrees"`   // of steps that came to no good end
	Kept        int    `json:"kept"`        // packs of contents for putting files back
	Bytes       int64  `json:"bytes"`
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
	w := before(a.now(), s.Config.Retention)
	w.DryRun = dry
	if !dry {
		_, release, err := s.store.Own(ctx, s.Place.ID)
		if errors.Is(err, store.ErrOwned) {
			return &api.Problem{Code: api.Unavailable, Message: "a run of this workspace is carried out now, and gc removes nothing beside it", Hint: "piton status shows it; call gc when it has ended"}
		}
		if err != nil {
			return err
		}
		defer release() //nolint:errcheck // what was removed is removed
	}
	if err := s.collect(ctx, &w); err != nil {
		return err
	}
	if a.json {
		a.document("gc", w)
		return nil
	}
	fmt.Fprintln(a.out, w.sentence())
	return nil
}

// before is what runs left that ended longer ago than the retention.
func before(now time.Time, retention time.Duration) waste {
	at, form := now.Add(-retention), time.DateOnly
	if retention < 24*time.Hour {
		form = "2006-01-02 15:04:05 MST"
	}
	return waste{Before: stamp(at), before: at.UTC().Format(form)}
}

func (w waste) sentence() string {
	what := []string{
		plural(w.Objects, "object", "objects"), plural(w.Logs, "attempt log", "attempt logs"),
		plural(w.Quarantined, "quarantine", "quarantines"), plural(w.Kept, "pack of kept files", "packs of kept files"),
		plural(w.Worktrees, "worktree", "worktrees"),
	}
	verb := "removed"
	if w.DryRun {
		verb = "would remove"
	}
	if w.Runs == 0 {
		return fmt.Sprintf("nothing to remove: no finished run ended before %s and left anything", w.before)
	}
	return fmt.Sprintf("%s %s, %s, of %s that ended before %s", verb, join(what), byteText(w.Bytes), plural(w.Runs, "run", "runs"), w.before)
}

// byteText is a size for people.
func byteText(n int64) string {
	switch {
	case n < 1000:
		return plural(int(n), "byte", "bytes")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// past is one run as gc sees it.
type past struct {
	run     string
	ended   time.Time // zero while it can go on
	objects map[string]bool
	below   bool // it carried out a step of another run, and cannot be resumed
}

// collect finds what no run may ask for any more, and removes it.
func (s *session) collect(ctx context.Context, w *waste) error {
	runs, needed, err := s.pasts(ctx)
	if err != nil {
		return err
	}
	over := map[string]bool{}
	drop := map[string]bool{}
	for _, p := range runs {
		if !p.ended.IsZero() && p.ended.Before(time.Time(w.Before)) {
			over[p.run] = true
			maps.Copy(drop, p.objects)
		} else {
			maps.Copy(needed, p.objects)
		}
	}
	for hash := range needed {
		delete(drop, hash)
	}
	if err := s.dropObjects(ctx, slices.Sorted(maps.Keys(drop)), w); err != nil {
		return err
	}
	left := map[string]bool{}
	for run := range over {
		if left[run], err = s.dropRun(ctx, run, w); err != nil {
			return err
		}
	}
	maps.DeleteFunc(left, func(_ string, something bool) bool { return !something })
	if len(over) == len(runs) && len(runs) > 0 {
		s.dropDir("kept", &w.Kept, w)
	}
	if w.Runs = len(left); w.Objects+w.Kept > 0 {
		w.Runs = len(over)
	}
	return nil
}

// dropRun removes what a run left in files, and reports whether there was anything.
func (s *session) dropRun(ctx context.Context, run string, w *waste) (bool, error) {
	logs := s.dropDir(filepath.Join("attempts", run), &w.Logs, w)
	quarantined := s.dropDir(filepath.Join("quarantine", run), &w.Quarantined, w)
	n, err := s.dropWorktrees(ctx, run, w.DryRun)
	w.Worktrees += n
	return logs || quarantined || n > 0, err
}

// pasts reads all runs from the journal, and what is needed whatever becomes
// of them: plans, programs and findings.
func (s *session) pasts(ctx context.Context) (runs []*past, needed map[string]bool, err error) {
	streams, _, err := s.store.Changed(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	needed = map[string]bool{}
	for _, stream := range streams {
		var p *past
		for r, err := range s.store.Read(ctx, stream, 0) {
			if err != nil {
				return nil, nil, err
			}
			if e, opened := r.Event.(engine.RunOpened); opened && (p == nil || e.Revises == "") {
				if p != nil && p.ended.IsZero() {
					p.ended = r.At // superseded: it cannot be taken up again
				}
				p = &past{run: e.Run, objects: map[string]bool{}, below: e.Parent.Run != ""}
				runs = append(runs, p)
			}
			p.note(r, needed)
		}
	}
	return runs, needed, nil
}

// note takes in what a record says of its run and of objects.
func (p *past) note(r engine.Record, needed map[string]bool) {
	switch e := r.Event.(type) {
	case engine.PlanDrafted:
		needed[e.Source] = true
	case engine.PlanVerified:
		needed[e.Findings] = true
	case engine.RunOpened:
		needed[e.Program], p.objects[e.Base] = true, true
		p.ended = time.Time{} // a revision takes a failed run up again
	case engine.WorkDispatched:
		p.objects[e.Prompt], p.objects[e.Tree] = true, true
		for _, in := range e.Injected {
			p.objects[in.Hash] = true
		}
	case engine.WorkEnded:
		p.objects[e.Output], p.objects[e.Tree] = true, true
	case engine.ItemOpened:
		p.objects[e.Args] = true
	case engine.ItemAnswered:
		p.objects[store.NewObject(e.Output()).Hash] = true
		p.objects[store.NewObject(e.Args).Hash] = true
	case engine.RunEnded:
		if p.ended = r.At; e.Status == engine.Failed && !p.below {
			p.ended = time.Time{} // it can be resumed
		}
	case engine.Command:
		if e.Verb == engine.DoResume || e.Verb == engine.DoRetry {
			p.ended = time.Time{}
		}
	}
}

func (s *session) dropObjects(ctx context.Context, hashes []string, w *waste) error {
	hashes = slices.DeleteFunc(hashes, func(h string) bool { return h == "" })
	if !w.DryRun {
		n, bytes, err := s.store.Drop(ctx, hashes)
		w.Objects, w.Bytes = n, w.Bytes+bytes
		return err
	}
	for _, h := range hashes {
		body, err := s.store.Object(ctx, h)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		w.Objects, w.Bytes = w.Objects+1, w.Bytes+int64(len(body))
	}
	return nil
}

// dropDir removes a directory of the state, and counts what lies in it and how
// large it is. It reports whether there was anything.
func (s *session) dropDir(name string, count *int, w *waste) bool {
	root := filepath.Join(s.Place.State, name)
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) == 0 {
		return false
	}
	bytes := treeBytes(root)
	if !w.DryRun {
		if err := os.RemoveAll(root); err != nil {
			s.app.notice("%s stays: %v", root, err)
			return false
		}
	}
	*count += len(entries)
	w.Bytes += bytes
	return true
}

func treeBytes(root string) (sum int64) {
	// What cannot be looked at is not counted.
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
