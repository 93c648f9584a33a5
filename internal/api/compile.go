package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// Compiled is the program of a plan, and those of all that it delegates to.
type Compiled struct {
	Program  *engine.Program
	Children map[string]*engine.Program // by path
}

// All are the programs, that of the plan itself first.
func (c Compiled) All() []*engine.Program {
	all := []*engine.Program{c.Program}
	for _, path := range slices.Sorted(maps.Keys(c.Children)) {
		all = append(all, c.Children[path])
	}
	return all
}

func (c Compiled) objects() []store.Object {
	var all []store.Object
	for _, program := range c.All() {
		all = append(all, store.NewObject(program.Encode()))
	}
	return all
}

// Compile turns the document, and all that it delegates to, into programs for
// the revision plan, or fails with a *verify.Refusal.
func (p *Product) Compile(d *Document, plan string) (Compiled, error) {
	if c, known := d.compiled[plan]; known {
		return c, nil
	}
	c, err := p.compile(d, plan, verify.Options{})
	if err == nil {
		d.compiled = map[string]Compiled{plan: c}
	}
	return c, err
}

func (p *Product) compile(d *Document, plan string, as verify.Options) (Compiled, error) {
	c := compilation{product: p, plan: plan, done: map[string]*engine.Program{}}
	program, err := c.compile(d, plan, as)
	return Compiled{program, c.done}, err
}

// compilation compiles a family of documents, each once.
type compilation struct {
	product *Product
	plan    string
	done    map[string]*engine.Program // of those that are delegated to, by path
}

func (c *compilation) compile(d *Document, plan string, as verify.Options) (*engine.Program, error) {
	children, err := c.children(d)
	if err != nil {
		return nil, err
	}
	as.Plan, as.Expect, as.Children = plan, engine.Expect(c.product.Config.Policy.Expect), children
	return d.analysis.Compile(as)
}

// children are the plans that the document delegates to, where it does not lead
// back to itself.
func (c *compilation) children(d *Document) (map[string]engine.SubPlan, error) {
	if !d.OK() {
		return nil, nil // it is not compiled
	}
	all := map[string]engine.SubPlan{}
	for _, path := range verify.Delegates(d.Plan) {
		child := d.kin[path]
		if child == nil {
			continue
		}
		program := c.done[path]
		if program == nil {
			var err error
			if program, err = c.compile(child, c.plan+"/"+path, verify.Options{Below: true}); err != nil {
				return nil, err
			}
			c.done[path] = program
		}
		all[path] = engine.SubPlan{
			Path: path, Title: program.Title(), Hash: child.Covers(), Own: child.Plan.Hash(),
			Source: store.NewObject(child.Source).Hash, Program: program.Hash(), Budget: program.Budget(),
		}
	}
	return all, nil
}

// Below are the documents that this one, and those, delegate to, in the order of
// their paths.
func (d *Document) Below() []*Document {
	if d.Plan == nil {
		return nil
	}
	seen := map[string]bool{d.Rel: true}
	var all []*Document
	for next := []*Document{d}; len(next) > 0; next = next[1:] {
		for _, path := range verify.Delegates(next[0].Plan) {
			if child := d.kin[path]; child != nil && child.Plan != nil && !seen[path] {
				seen[path] = true
				all, next = append(all, child), append(next, child)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Document) int { return cmp.Compare(a.Rel, b.Rel) })
	return all
}

// pins are what is approved together with the document.
func (d *Document) pins() []engine.Pin {
	var pins []engine.Pin
	for _, child := range d.Below() {
		pins = append(pins, engine.Pin{Path: child.Rel, Hash: child.Plan.Hash(), Source: store.NewObject(child.Source).Hash})
	}
	return pins
}

func (d *Document) sources() []store.Object {
	var all []store.Object
	for _, child := range d.Below() {
		all = append(all, store.NewObject(child.Source))
	}
	return all
}

// Covers is the hash that an approval of the document is bound to.
func (d *Document) Covers() string {
	return engine.PlanDrafted{Hash: d.Plan.Hash(), Children: d.pins(), Detected: d.detected()}.Covers()
}

// detected lists the commands that were looked for in the workspace, of the document
// and of all that it delegates to.
func (d *Document) detected() []string {
	var all []string
	for _, doc := range append([]*Document{d}, d.Below()...) {
		if doc.analysis != nil {
			for _, command := range doc.analysis.Detected() {
				all = append(all, doc.Rel+" "+command)
			}
		}
	}
	return all
}

// pinned reads what was approved together with a revision.
func (p *Product) pinned(ctx context.Context, e engine.PlanDrafted) (map[string][]byte, error) {
	pinned := map[string][]byte{}
	for _, pin := range e.Children {
		source, err := p.Store.Object(ctx, pin.Source)
		if err != nil {
			return nil, fmt.Errorf("read the bytes of %s: %w", pin.Path, err)
		}
		pinned[pin.Path] = source
	}
	return pinned, nil
}
