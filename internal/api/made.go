package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// Made is a document that a step is delegated to and that was not there when
// the plan of the step was approved.
type Made struct {
	Doc      *Document // nil where there is none
	Refused  string    // why it cannot run
	Plan     engine.SubPlan
	Compiled Compiled
	Agents   map[string]string
	Objects  []store.Object
}

// Made reads, verifies and compiles the document at path, a path of the
// workspace, for the newest run of a task. What is wrong with the document is in
// what it returns.
func (p *Product) Made(ctx context.Context, task, path string) (Made, error) {
	above, err := p.above(ctx, task)
	if err != nil {
		return Made{}, err
	}
	refused := func(format string, args ...any) (Made, error) {
		return Made{Refused: fmt.Sprintf(format, args...)}, nil
	}
	source, why := p.subplan(path, kin{}, verify.Facts{})
	switch at := slices.Index(above, path); {
	case why != "":
		return refused("%s cannot be read: %s", path, why)
	case at >= 0:
		return refused("%s leads back to itself: %s", path, strings.Join(append(above[at:], path), " → "))
	case len(above) > verify.MaxDepth:
		return refused("sub-plans may be at most %d deep: %s", verify.MaxDepth, strings.Join(append(above, path), " → "))
	}
	d := p.verify(ctx, p.near(p.file(path)), source, kin{above: above})
	d.Rel = path
	if !d.OK() {
		return Made{Doc: d, Refused: path + " does not verify: " + d.firstError()}, nil
	}
	c, err := p.compile(d, path, verify.Options{Below: true})
	if refusal, ok := err.(*verify.Refusal); ok {
		return Made{Doc: d, Refused: refusal.Error()}, nil
	}
	m := Made{Doc: d, Compiled: c, Agents: p.pins(c.All()...)}
	m.Plan = engine.SubPlan{Path: path, Title: d.Plan.Title.Value, Hash: d.Covers(), Own: d.Plan.Hash(), Source: store.NewObject(source).Hash}
	if err == nil {
		m.Plan.Program = c.Program.Hash()
		m.Objects = append(append(c.objects(), d.sources()...), store.NewObject(source))
	}
	return m, err
}

// firstError is the first thing that keeps the document from running.
func (d *Document) firstError() string {
	errs, _ := d.counts()
	at := slices.IndexFunc(d.Findings, func(f verify.Finding) bool { return f.Severity == verify.Error })
	if errs == 1 {
		return d.Findings[at].String()
	}
	return fmt.Sprintf("%s (and %d more)", d.Findings[at], errs-1)
}

// above are the documents that lead to the newest run of a task, its own too, the
// outermost first.
func (p *Product) above(ctx context.Context, task string) ([]string, error) {
	var paths []string
	for task != "" {
		heads, err := p.Store.Heads(ctx, store.HeadFilter{Stream: task, Limit: 1})
		if err != nil || len(heads) == 0 {
			return nil, err
		}
		paths, task = append(paths, heads[0].Path), heads[0].Parent.Task
	}
	slices.Reverse(paths)
	return paths, nil
}

// In is the product as it finds the files of the workspace in another directory,
// such as the worktree of a run.
func (p *Product) In(dir string) *Product {
	if dir == p.Place.Dir {
		return p
	}
	place := p.Place
	place.Dir = dir
	return &Product{Place: place, Config: p.Config, Store: p.Store, Here: p.Here, Env: p.Env, Version: p.Version, Now: p.Now, By: p.By, Via: p.Via}
}
