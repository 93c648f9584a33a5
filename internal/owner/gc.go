package owner

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Collect removes what finished runs left behind and no run may ask for any more.
func (u *uses) Collect(ctx context.Context, q api.Collect) (api.Waste, error) {
	if q.Retention != "" {
		u.caller.Flags = map[string]string{"retention": q.Retention}
	}
	p, err := u.Owner.product(ctx, u.caller)
	if err != nil {
		return api.Waste{}, err
	}
	g := gc{Owner: u.Owner, waste: api.Waste{DryRun: q.DryRun, Before: u.cfg.Now().Add(-p.Config.Retention)}}
	if !q.DryRun && u.carries() > 0 {
		return g.waste, &api.Problem{Code: api.Unavailable, Message: "a run of this workspace is active, so gc removes nothing", Hint: "piton status shows it; run gc when it has ended"}
	}
	err = g.collect(ctx)
	return g.waste, err
}

// gc is one collection.
type gc struct {
	*Owner
	waste api.Waste
}

// past is one run as gc sees it.
type past struct {
	run     string
	ended   time.Time // zero while it can go on
	objects map[string]bool
	below   bool // it carried out a step of another run, and cannot be resumed
}

func (g *gc) collect(ctx context.Context) error {
	w := &g.waste
	runs, needed, err := pasts(ctx, g.store)
	if err != nil {
		return err
	}
	over := map[string]bool{}
	drop := map[string]bool{}
	for _, p := range runs {
		if !p.ended.IsZero() && p.ended.Before(w.Before) {
			over[p.run] = true
			maps.Copy(drop, p.objects)
		} else {
			maps.Copy(needed, p.objects)
		}
	}
	for hash := range needed {
		delete(drop, hash)
	}
	if err := g.dropObjects(ctx, slices.Sorted(maps.Keys(drop))); err != nil {
		return err
	}
	left := map[string]bool{}
	for run := range over {
		if left[run], err = g.dropRun(ctx, run); err != nil {
			return err
		}
	}
	maps.DeleteFunc(left, func(_ string, something bool) bool { return !something })
	if len(over) == len(runs) && len(runs) > 0 {
		g.dropDir("kept", &w.Kept)
	}
	for _, name := range []string{"plans", "reviews"} {
		g.dropLogs(filepath.Join("attempts", name))
	}
	if w.Runs = len(left); w.Objects+w.Kept > 0 {
		w.Runs = len(over)
	}
	return nil
}

// dropRun removes what a run left in files, and reports whether there was anything.
func (g *gc) dropRun(ctx context.Context, run string) (bool, error) {
	logs := g.dropDir(filepath.Join("attempts", run), &g.waste.Logs)
	quarantined := g.dropDir(filepath.Join("quarantine", run), &g.waste.Quarantined)
	n, err := g.dropWorktrees(ctx, run, g.waste.DryRun)
	g.waste.Worktrees += n
	return logs || quarantined || n > 0, err
}

// pasts reads all runs from the journal, and what is needed whatever becomes
// of them: plans, programs and findings.
func pasts(ctx context.Context, s store.Store) (runs []*past, needed map[string]bool, err error) {
	streams, _, err := s.Changed(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	needed = map[string]bool{}
	for _, stream := range streams {
		p := &past{objects: map[string]bool{}} // of no run: the workspace's own
		for r, err := range s.Read(ctx, stream, 0) {
			if err != nil {
				return nil, nil, err
			}
			if e, opened := r.Event.(engine.RunOpened); opened && (p.run == "" || e.Revises == "") {
				if p.run != "" && p.ended.IsZero() {
					p.ended = r.At // superseded: it cannot be taken up again
				}
				p = &past{run: e.Run, objects: map[string]bool{}, below: e.Parent.Run != ""}
				runs = append(runs, p)
			}
			p.note(r, needed)
		}
		if p.run == "" {
			maps.Copy(needed, p.objects)
		}
	}
	return runs, needed, nil
}

// note takes in what a record says of its run and of objects.
func (p *past) note(r engine.Record, needed map[string]bool) {
	switch e := r.Event.(type) {
	case engine.PlanDrafted:
		needed[e.Source] = true
	case engine.ErrandAsked:
		needed[e.Request], needed[e.Source] = true, true
	case engine.PlanVerified:
		needed[e.Findings] = true
	case engine.RunOpened:
		needed[e.Program], needed[e.Config], p.objects[e.Base] = true, true, true
		p.ended = time.Time{} // a revision takes a failed run up again
	case engine.RunConfigured:
		needed[e.Config], p.objects[e.Base] = true, true
	case engine.WorkDispatched:
		p.objects[e.Prompt], p.objects[e.Tree] = true, true
		for _, in := range e.Injected {
			p.objects[in.Hash] = true
		}
	case engine.WorkEnded:
		p.objects[e.Output], p.objects[e.Tree], p.objects[e.Diff], p.objects[e.Whole] = true, true, true, true
	case engine.ItemOpened:
		p.objects[e.Args] = true
	case engine.ItemAnswered:
		p.objects[store.NewObject(e.Output()).Hash] = true
		p.objects[store.NewObject(e.Args).Hash] = true
	case engine.RunEnded:
		if p.ended = r.At; (e.Status == engine.Failed || e.Waits) && !p.below {
			p.ended = time.Time{} // it can be resumed, or landed
		}
	case engine.Command:
		if e.Verb == engine.DoResume || e.Verb == engine.DoRetry || e.Verb == engine.DoLand {
			p.ended = time.Time{}
		}
	}
}

func (g *gc) dropObjects(ctx context.Context, hashes []string) error {
	w := &g.waste
	hashes = slices.DeleteFunc(hashes, func(h string) bool { return h == "" })
	if !w.DryRun {
		n, bytes, err := g.store.Drop(ctx, hashes)
		w.Objects, w.Bytes = n, w.Bytes+bytes
		return err
	}
	for _, h := range hashes {
		body, err := g.store.Object(ctx, h)
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

// dropLogs removes the logs of a directory that were written to last before the time
// from which on all is kept: those of work of the workspace, which belongs to no run.
func (g *gc) dropLogs(name string) {
	dir := filepath.Join(g.cfg.Place.State, name)
	entries, _ := os.ReadDir(dir) //nolint:errcheck // where there is none, nothing is removed
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(g.waste.Before) {
			continue
		}
		if !g.waste.DryRun {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				g.say("%s stays: %v", e.Name(), err)
				continue
			}
		}
		g.waste.Logs++
		g.waste.Bytes += info.Size()
	}
}

// dropDir removes a directory of the state, and counts what lies in it and how
// large it is. It reports whether there was anything.
func (g *gc) dropDir(name string, count *int) bool {
	root := filepath.Join(g.cfg.Place.State, name)
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) == 0 {
		return false
	}
	bytes := treeBytes(root)
	if !g.waste.DryRun {
		if err := os.RemoveAll(root); err != nil {
			g.say("%s stays: %v", root, err)
			return false
		}
	}
	*count += len(entries)
	g.waste.Bytes += bytes
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
