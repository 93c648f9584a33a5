package owner

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// errand is a question of the workspace on its way to who answers it.
type errand struct {
	*Owner
	product *api.Product
	effect  engine.Effect
	report  effect.Reporter
	asked   engine.ErrandAsked
	environ []string
	log     string // below the state directory
	began   time.Time
}

// errand carries out the work of an errand: a plan is made or changed, a plan is read,
// or what a run taught is asked for.
func (o *Owner) errand(ctx context.Context, p *api.Product, e engine.Effect, r effect.Reporter) effect.Result {
	in, bodies, err := o.answerTo(ctx, p, e, r)
	switch {
	case ctx.Err() != nil:
		return effect.Result{Input: e.Fails(engine.Stopped, "stopped by Piton")}
	case err != nil:
		return effect.Result{Input: e.Fails(engine.NoStart, err.Error())}
	}
	return effect.Result{Input: in, Bodies: bodies}
}

// answerTo looks first whether a person approved the configuration: it may have changed
// since the errand was asked for. One that belongs to a run goes by what that was
// approved with.
func (o *Owner) answerTo(ctx context.Context, p *api.Product, e engine.Effect, r effect.Reporter) (in engine.Ended, bodies [][]byte, err error) {
	row, err := p.Errand(ctx, e.Key.Step)
	if err != nil {
		return in, nil, err
	}
	w := &errand{Owner: o, product: p, effect: e, report: r, asked: row.Asked, environ: o.environ(e.Key.Task), began: o.cfg.Now()}
	if e.Work != engine.ExtractWork || w.asked.Config != p.Settings() {
		if err := trusts(ctx, p); err != nil {
			return in, nil, err
		}
	}
	kind := "plans"
	if e.Work == engine.ReviewWork {
		kind = "reviews"
	}
	w.log = filepath.Join("attempts", kind, fmt.Sprintf("%s.%d.log", e.Key.Step, e.Key.N))
	switch e.Work {
	case engine.ReviewWork:
		return w.review(ctx)
	case engine.ExtractWork:
		in, err = w.extract(ctx)
		return in, nil, err
	}
	return w.draw(ctx)
}

// logFile is where the question and what is said to it are kept.
func (w *errand) logFile() string { return filepath.Join(w.cfg.Place.State, w.log) }

// question is the text that is asked.
func (w *errand) question(ctx context.Context) (string, error) {
	text, err := w.store.Object(ctx, w.effect.Prompt)
	if err != nil {
		return "", fmt.Errorf("read the question: %w", err)
	}
	return string(text), nil
}

// source is the text of the plan that the errand is about.
func (w *errand) source(ctx context.Context) ([]byte, error) {
	text, err := w.store.Object(ctx, w.asked.Source)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	return text, nil
}

// ended is the end of the errand, with what came of it as its output.
func (w *errand) ended(how engine.How, why string, used engine.Usage, out any) (in engine.Ended, bodies [][]byte, err error) {
	body, err := json.Marshal(out)
	if err != nil {
		return in, nil, err
	}
	in = w.over(how, why, used)
	in.Output = store.NewObject(body).Hash
	return in, [][]byte{body}, nil
}

// over is the end of the errand.
func (w *errand) over(how engine.How, why string, used engine.Usage) engine.Ended {
	return engine.Ended{Key: w.effect.Key, WorkEnded: engine.WorkEnded{
		How: how, Reason: why, Ms: w.cfg.Now().Sub(w.began).Milliseconds(), Usage: used, Log: w.log,
	}}
}
