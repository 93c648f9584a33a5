package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/store"
)

// Review asks the reviewer to read a plan. The client carries the workspace's own work
// then.
func (u *uses) Review(ctx context.Context, q api.Reviewing) (api.Planned, error) {
	p, err := u.Owner.product(ctx, u.caller)
	if err != nil {
		return api.Planned{}, err
	}
	m := p.Config.Reviewer
	switch {
	case m.None():
		return api.Planned{}, &api.Problem{
			Code: api.Invalid, Message: "no reviewer is configured, so nobody can read the plan",
			Hint: "in .piton/config.yaml, name an agent, as in `reviewer: {agent: coder}`, or a model, as in `reviewer: {api: openai, base_url: \"http://127.0.0.1:11434/v1\", model: qwen3}`",
		}
	case len(q.Source) > api.MaxReviewed:
		return api.Planned{}, &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("%s has %d bytes; a reviewer reads at most %d", q.Name, len(q.Source), api.MaxReviewed),
			Hint: "split the plan, with `plan:` steps",
		}
	}
	if err := u.canAsk(ctx, p, "reviewer", m); err != nil {
		return api.Planned{}, err
	}
	in := prompt.Reading{Plan: string(q.Source)}
	for _, f := range p.Verify(ctx, q.Name, q.Source).Findings {
		in.Findings = append(in.Findings, f.String())
	}
	in.Workspace, in.Agents = surroundings(ctx, p)
	return u.ask(ctx, p, m, api.Question{
		ErrandAsked: engine.ErrandAsked{Kind: engine.ReviewWork}, Text: prompt.Review(in), Source: q.Source, Again: q.Again,
	}, q.Consent)
}

// reviewed has a plan read.
func (o *Owner) reviewed(ctx context.Context, p *api.Product, e engine.Effect, _ effect.Reporter) (in engine.Ended, bodies [][]byte, err error) {
	row, err := p.Errand(ctx, e.Key.Step)
	if err != nil {
		return in, nil, err
	}
	text, err := o.store.Object(ctx, e.Prompt)
	if err != nil {
		return in, nil, fmt.Errorf("read the question: %w", err)
	}
	source, err := o.store.Object(ctx, row.Asked.Source)
	if err != nil {
		return in, nil, fmt.Errorf("read the plan: %w", err)
	}
	ask, err := o.asker(p, "reviewer", o.environ(e.Key.Task))
	if err != nil {
		return in, nil, err
	}
	log := filepath.Join("attempts", "reviews", fmt.Sprintf("%s.%d.log", e.Key.Step, e.Key.N))
	job := planner.ReviewJob{
		Ask: ask, Prompt: string(text), Log: filepath.Join(o.cfg.Place.State, log), Source: source, Plan: api.Parse("", source).Plan,
	}
	if p.Config.Reviewer.Agent == "" {
		job.Schema = planner.ReviewSchema
	}
	began := o.cfg.Now()
	out, err := job.Read(ctx)
	if err != nil || ctx.Err() != nil {
		return in, nil, errors.Join(err, ctx.Err())
	}
	body, err := json.Marshal(out)
	if err != nil {
		return in, nil, err
	}
	return engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{
		How: out.How, Reason: strings.TrimSpace(out.Ended), Ms: o.cfg.Now().Sub(began).Milliseconds(), Usage: out.Usage, Log: log, Output: store.NewObject(body).Hash,
	}}, [][]byte{body}, nil
}
