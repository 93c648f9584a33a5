package owner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/prompt"
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

// review has a plan read.
func (w *errand) review(ctx context.Context) (in engine.Ended, bodies [][]byte, err error) {
	text, err := w.question(ctx)
	if err != nil {
		return in, nil, err
	}
	source, err := w.source(ctx)
	if err != nil {
		return in, nil, err
	}
	reviewer := w.product.Config.Reviewer
	ask, err := w.reader(w.product, "reviewer", reviewer, w.environ)
	if err != nil {
		return in, nil, err
	}
	job := planner.ReviewJob{Ask: ask, Prompt: text, Log: w.logFile(), Source: source, Plan: api.Parse("", source).Plan}
	if reviewer.Agent == "" {
		job.Schema = planner.ReviewSchema
	}
	out, err := job.Read(ctx)
	if err != nil || ctx.Err() != nil {
		return in, nil, errors.Join(err, ctx.Err())
	}
	return w.ended(out.How, strings.TrimSpace(out.Ended), out.Usage, out)
}
