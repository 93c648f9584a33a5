package api

import (
	"context"
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// Redrawn is a revision that was made for a run and is recorded nowhere yet.
type Redrawn struct {
	Draft   engine.Draft
	Revise  engine.Revise        // the run as it goes on with it
	Yes     *engine.PlanAnswered // of the policy; nil where people have to be asked
	Objects []store.Object
}

// Redraft compares a text that was made for a run with the one that it goes by. The
// document of the run is not looked at. It is nil for a text to which somebody said
// no last.
func (p *Product) Redraft(ctx context.Context, head engine.HeadRow, source []byte) (*Proposal, error) {
	rel, err := p.documentOf(ctx, head)
	if err != nil {
		return nil, err
	}
	if d := Parse(rel, source); d.Plan == nil {
		return &Proposal{Head: head, Doc: d}, nil
	}
	return p.proposal(ctx, head, func(k kin) *Document {
		d := p.verify(ctx, p.near(p.file(rel)), source, k)
		d.Rel = rel
		return d
	})
}

// Redraw makes the next revision of a run's plan of a text that verifies. It fails
// with a *verify.Refusal where this version cannot run it.
func (p *Product) Redraw(ctx context.Context, pr *Proposal, o Opening) (Redrawn, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return Redrawn{}, err
	}
	state, err := run.Load(ctx, p.Store, pr.Head.Stream)
	if err != nil {
		return Redrawn{}, err
	}
	newest, _ := w.Head(intentOf(pr.Head.Stream))
	draft, objects, err := p.draft(ctx, w, newest, pr.Doc)
	if err != nil {
		return Redrawn{}, err
	}
	draft.Run, draft.Changes = pr.Head.Run, pr.Diff.Counts()
	if now, ok := w.Revision(pr.Head.Plan); ok {
		draft.Weakened = p.weakened(ctx, now, pr.Doc)
	}
	c, err := p.compile(pr.Doc, draft.Plan, verify.Options{Revises: &verify.Revised{Plan: pr.Was, Program: state.Program()}})
	if err != nil {
		return Redrawn{}, err
	}
	out := Redrawn{Draft: draft}
	var more []store.Object
	if out.Revise, more, err = p.revising(ctx, state.Run(), pr.Head, draft.PlanDrafted, c, o); err != nil {
		return Redrawn{}, err
	}
	out.Objects = append(objects, more...)
	if o.By == engine.ByPolicy && len(draft.Weakened) == 0 {
		out.Yes = &engine.PlanAnswered{Plan: draft.Plan, Hash: draft.Covers(), Config: p.Settings(), Yes: true, By: o.By, Via: p.Via, Why: o.Why}
	}
	return out, nil
}

// Adopt is a run as it goes on with a recorded revision, of which somebody says yes,
// with the objects that it names.
func (p *Product) Adopt(ctx context.Context, stream, plan string, o Opening) (*engine.Revision, engine.Revise, []store.Object, error) {
	fail := func(err error) (*engine.Revision, engine.Revise, []store.Object, error) {
		return nil, engine.Revise{}, nil, err
	}
	r, doc, err := p.Kept(ctx, plan)
	if err != nil {
		return fail(err)
	}
	doc.Rel = r.Drafted.Path
	state, err := run.Load(ctx, p.Store, stream)
	if err != nil {
		return fail(err)
	}
	now := state.Run()
	if err := p.Pinned(now); err != nil {
		return fail(err)
	}
	was, err := p.Store.Object(ctx, now.Source)
	if err != nil {
		return fail(fmt.Errorf("read the bytes of plan %s: %w", now.Plan, err))
	}
	c, err := p.compile(doc, plan, verify.Options{Revises: &verify.Revised{Plan: Parse(now.Path, was).Plan, Program: state.Program()}})
	if err != nil {
		return fail(err)
	}
	head := engine.HeadRow{Stream: stream, Run: now.Run, First: state.Head().First, Plan: now.Plan}
	in, objects, err := p.revising(ctx, now, head, r.Drafted, c, o)
	return r, in, objects, err
}

// revising is the run as it goes on with a compiled revision.
func (p *Product) revising(ctx context.Context, now engine.RunOpened, head engine.HeadRow, d engine.PlanDrafted, c Compiled, o Opening) (engine.Revise, []store.Object, error) {
	program := c.Program
	base, err := o.Protect(ctx, now.Base, program.Guards())
	if err != nil {
		return engine.Revise{}, nil, err
	}
	stale, err := p.stale(ctx, head, program, o)
	if err != nil {
		return engine.Revise{}, nil, err
	}
	next := now
	next.Plan, next.Version, next.Title, next.Path = d.Plan, d.Version, program.Title(), d.Path
	next.PlanHash, next.Source, next.Weakened = d.Hash, d.Source, d.Weakened
	next.Program, next.Compiled, next.Agents, next.Base, next.Carried = program.Hash(), program, p.pins(c.All()...), base.Hash, nil
	next.Config, next.Isolation, next.ApprovedBy = p.Settings(), o.Isolation, o.By
	if o.Unsealed != "" {
		next.Unsealed = o.Unsealed
	}
	return engine.Revise{Run: next, Was: now.Program, Stale: stale, By: o.By}, append(c.objects(), base), nil
}

// Replaces is the revision that a run goes by where a planner made it, and the hashes
// of the texts that it took the place of: what nobody but the owner wrote into the
// document. It is nil for a revision that a person made.
func (p *Product) Replaces(ctx context.Context, now engine.RunOpened) (*engine.Revision, map[string]bool, error) {
	w, err := p.workspace(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, ok := w.Revision(now.Plan)
	if !ok || r.Drafted.Run != now.Run {
		return nil, nil, nil
	}
	hashes := map[string]bool{}
	for last := now.Revises; last != ""; {
		was, ok := w.Revision(last)
		if !ok {
			break
		}
		hashes[was.Drafted.Hash] = true
		if last = ""; was.Drafted.Run == now.Run {
			last = was.Drafted.Previous
		}
	}
	return r, hashes, nil
}
