package api

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// Forecast is what a plan's agents, and those of its sub-plans, would use if each
// step took one attempt like those before it: of each step the median of its own
// earlier attempts, else of those of its agent. A step that lists items counts
// once for each.
type Forecast struct {
	Tokens   int64         // 0 where no attempt told them
	Cost     int64         // millionths of a dollar; 0 where no attempt told it
	Work     time.Duration // of all steps, one after the other
	Attempts int           // that it rests on
	Steps    int           // that it covers
	Unknown  int           // steps of agents without any earlier attempt
}

// Over names what of a budget the forecast is over: tokens, money, time. Steps that run
// beside each other may take less time than all of them together.
func (f Forecast) Over(p *plan.Plan) (parts []string) {
	b := p.Budget.Value
	if b.Tokens > 0 && f.Tokens > b.Tokens {
		parts = append(parts, "tokens")
	}
	if b.CostMicros > 0 && f.Cost > b.CostMicros {
		parts = append(parts, "money")
	}
	if b.Wall > 0 && f.Work > b.Wall && p.Parallel.Value <= 1 {
		parts = append(parts, "time")
	}
	return parts
}

// Bounds on what is read of the past.
const (
	pastRuns    = 10
	pastRecords = 20_000
)

// Forecast looks at the newest runs of the workspace. It reads each of them
// alone, so that its cost does not grow with the journal.
func (p *Product) Forecast(ctx context.Context, d *Document) (Forecast, error) {
	past, err := p.past(ctx)
	if err != nil || d.Plan == nil {
		return Forecast{}, err
	}
	o := outlook{past: past, used: map[*trial]bool{}, known: map[*Document]Forecast{}}
	f := o.of(d)
	f.Attempts = len(o.used)
	return f, nil
}

// outlook is what is being told from the past.
type outlook struct {
	past  trials
	used  map[*trial]bool
	known map[*Document]Forecast
}

// of is the forecast of a document, each of those it delegates to looked at once.
func (o *outlook) of(d *Document) Forecast {
	if f, ok := o.known[d]; ok {
		return f
	}
	var f Forecast
	for _, s := range d.Plan.Steps {
		g := o.step(d, s)
		f.add(int64(s.Instances()), g)
	}
	o.known[d] = f
	return f
}

// step is the forecast of one instance of a step.
func (o *outlook) step(d *Document, s *plan.Step) Forecast {
	if rel, ok := verify.Delegate(s); ok {
		sub := d.Facts.Plans[rel]
		if child := d.kin[rel]; child != nil && child.Plan != nil && sub.Cycle == "" && sub.Deep == "" {
			return o.of(child)
		}
	}
	role, ok := worker(s, d.Facts)
	if !ok {
		return Forecast{}
	}
	like := o.past.like(d.Rel, s.ID.Value, role)
	if len(like) == 0 {
		return Forecast{Unknown: 1}
	}
	for _, t := range like {
		o.used[t] = true
	}
	return Forecast{
		Steps: 1, Tokens: median(like, func(t *trial) int64 { return t.tokens }), Cost: median(like, func(t *trial) int64 { return t.cost }),
		Work: time.Duration(median(like, func(t *trial) int64 { return int64(t.took) })),
	}
}

// add adds a forecast so many times; it stays far below what a number can hold.
func (f *Forecast) add(times int64, g Forecast) {
	const most = math.MaxInt64 / 4
	f.Tokens = min(f.Tokens+times*min(g.Tokens, most/times), most)
	f.Cost = min(f.Cost+times*min(g.Cost, most/times), most)
	f.Work = min(f.Work+time.Duration(times)*min(g.Work, most/time.Duration(times)), most)
	f.Steps, f.Unknown = f.Steps+g.Steps, f.Unknown+g.Unknown
}

// worker is the agent that does a step; false where none does.
func worker(s *plan.Step, facts verify.Facts) (string, bool) {
	if s.Tool.Set || !s.Ask.IsZero() || !s.Plan.IsZero() {
		return "", false
	}
	name, agent, known := facts.Agent(s.Target.Value)
	return name, known && !agent.Shell
}

// trial is an attempt that ended by itself.
type trial struct {
	path, step, role string
	tokens, cost     int64
	took             time.Duration
}

type trials []*trial

// like are the attempts of a step of the plan at path, else those of its role.
func (all trials) like(path, step, role string) trials {
	own := all.those(func(t *trial) bool { return t.path == path && t.step == step && t.role == role })
	if len(own) > 0 {
		return own
	}
	return all.those(func(t *trial) bool { return t.role == role })
}

func (all trials) those(keep func(*trial) bool) (some trials) {
	for _, t := range all {
		if keep(t) {
			some = append(some, t)
		}
	}
	return some
}

// median of what is known: attempts that did not say count for nothing.
func median(all trials, of func(*trial) int64) int64 {
	var values []int64
	for _, t := range all {
		if v := of(t); v > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// dispatch is an attempt within its run.
type dispatch struct {
	step    string
	attempt int
}

// past are the attempts of agents in the newest runs.
func (p *Product) past(ctx context.Context) (trials, error) {
	heads, err := p.Store.Heads(ctx, store.HeadFilter{Limit: pastRuns})
	if err != nil {
		return nil, err
	}
	var all trials
	left := pastRecords
	for _, h := range heads {
		roles := map[dispatch]string{}
		for r, err := range run.ReadRun(ctx, p.Store, h) {
			if err != nil {
				return nil, err
			}
			if left--; left < 0 {
				return all, nil
			}
			switch e := r.Event.(type) {
			case engine.WorkDispatched:
				roles[dispatch{e.Step, e.Attempt}] = e.Role
			case engine.WorkEnded:
				if e.Kind == engine.AgentWork && e.How == engine.Exited {
					all = append(all, trialOf(h.Path, roles[dispatch{e.Step, e.Attempt}], e))
				}
			}
		}
	}
	return all, nil
}

func trialOf(path, role string, e engine.WorkEnded) *trial {
	step, _ := engine.InstanceOf(e.Step)
	t := &trial{path: path, step: step, role: role, took: time.Duration(e.Ms) * time.Millisecond}
	if n := e.Usage.Tokens(); n != nil {
		t.tokens = *n
	}
	if e.Usage.CostMicros != nil {
		t.cost = *e.Usage.CostMicros
	}
	return t
}
