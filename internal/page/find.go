package page

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// Find is what was found of some words: what waits, plans, runs and steps.
type Find struct {
	Query string
	Hits  []Hit
}

// Hit is one thing that was found.
type Hit struct{ To, Kind, Title, About string }

// Bounds of what is looked at and shown: of each kind so many hits, steps of so many runs, and
// so many plan files.
const (
	mostHits  = 8
	mostRuns  = 20
	mostPlans = 100
)

// hits gathers what fits the words.
type hits struct {
	words []string
	all   []Hit
	kinds map[string]int
}

func (h *hits) add(hit Hit) {
	text := store.Fold(hit.Title + " " + hit.About)
	for _, w := range h.words {
		if !strings.Contains(text, w) {
			return
		}
	}
	if h.kinds[hit.Kind]++; h.kinds[hit.Kind] <= mostHits {
		h.all = append(h.all, hit)
	}
}

func find(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	x := Find{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	h := &hits{words: strings.Fields(store.Fold(x.Query)), kinds: map[string]int{}}
	asks, err := w.asks(ctx, w.Now())
	if err != nil {
		return sheet{}, err
	}
	for _, a := range asks {
		h.add(Hit{a.To, "waits for you", a.Title, a.About})
	}
	if err := w.findRuns(ctx, h); err != nil {
		return sheet{}, err
	}
	w.findPlans(ctx, h)
	x.Hits = h.all
	return sheet{Title: "Find", Body: x}, nil
}

// findRuns looks for runs by their ids and titles, and among the steps of the newest.
func (w *Workspace) findRuns(ctx context.Context, h *hits) error {
	filter := store.HeadFilter{Limit: mostRuns}
	if len(h.words) > 0 {
		filter = store.HeadFilter{Title: h.words[0], Limit: mostRuns}
	}
	heads, err := w.Store.Heads(ctx, filter)
	if err != nil {
		return err
	}
	if len(h.words) == 1 {
		named, err := w.Store.Heads(ctx, store.HeadFilter{Prefix: h.words[0], Limit: mostHits})
		if err != nil {
			return err
		}
		heads = append(named, heads...)
	}
	by, err := w.Stands(ctx)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, head := range heads {
		if !seen[head.Run] {
			seen[head.Run] = true
			h.add(Hit{"/runs/" + head.Run, "run", head.Title, view.Word(by.Shown(head), "") + ", " + head.Run})
		}
	}
	if len(h.words) == 0 {
		return nil
	}
	newest, err := w.Store.Heads(ctx, store.HeadFilter{Limit: mostRuns})
	if err != nil {
		return err
	}
	for _, head := range newest {
		steps, err := w.Store.Steps(ctx, store.StepFilter{Stream: head.Stream, Run: head.Run, Brief: true})
		if err != nil {
			return err
		}
		for _, s := range steps {
			if _, instance := engine.InstanceOf(s.ID); !instance {
				h.add(Hit{stepPath(head.Run, s.ID), "step", s.Title, view.Word(s.Status, s.Phase) + ", step " + s.ID + " of run " + head.Run})
			}
		}
	}
	return nil
}

// findPlans looks for plan files by their names and titles, and among their steps.
func (w *Workspace) findPlans(ctx context.Context, h *hits) {
	files := w.PlanFiles()
	for _, file := range files[:min(len(files), mostPlans)] {
		title, steps := file, []Hit(nil)
		if source, err := w.Text(ctx, api.NamedText{Path: filepath.Join(w.Product.Place.Dir, file)}); err == nil {
			if p := api.Parse(file, source).Plan; p != nil {
				title = p.Title.Value
				for _, s := range p.Steps {
					steps = append(steps, Hit{planPath(file) + "#s-" + s.ID.Value, "step of a plan", s.Title.Value, "step " + s.ID.Value + " of " + file})
				}
			}
		}
		h.add(Hit{planPath(file), "plan", title, file})
		if len(h.words) > 0 {
			for _, s := range steps {
				h.add(s)
			}
		}
	}
}
