package page

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// estimate fills in what the plan may use, by what earlier attempts used, beside its budget;
// and of which calls nobody is asked.
func (w *Workspace) estimate(ctx context.Context, x *Review, doc *api.Document) error {
	f, err := w.Forecast(ctx, doc)
	if err != nil {
		return err
	}
	p, b := doc.Plan, doc.Plan.Budget.Value
	over := f.Over(p)
	row := func(name, kind, known, limit string) {
		e := Estimate{Name: name, Text: "unknown"}
		switch {
		case known != "":
			e.Text = "about " + known
		case f.Steps+f.Unknown == 0 && kind != "time":
			e.Text = "none"
		}
		switch {
		case limit != "" && known == "":
			e.Text += ", limit " + limit
		case limit != "":
			e.Text += " of " + limit
		}
		if slices.Contains(over, kind) {
			e.Tone = "t-warn"
		}
		x.Estimate = append(x.Estimate, e)
	}
	row("Time", "time", told(f.Work, view.Span), told(b.Wall, view.Span))
	row("Cost", "money", told(f.Cost, view.Money), told(b.CostMicros, view.Money))
	row("Tokens", "tokens", told(f.Tokens, view.Count), told(b.Tokens, view.Count))
	based := "Nothing like it has run here, so this is not known."
	switch {
	case f.Steps > 0 && f.Unknown > 0:
		based = fmt.Sprintf("From %s; of %s nothing is known yet.", view.Plural(f.Attempts, "earlier attempt", "earlier attempts"), view.Plural(f.Unknown, "step", "steps"))
	case f.Steps > 0:
		based = fmt.Sprintf("From %s.", view.Plural(f.Attempts, "earlier attempt", "earlier attempts"))
	case f.Unknown == 0:
		based = "No agent works in this plan, so it uses no tokens."
	}
	x.Based = based
	for _, s := range p.Steps {
		if why := verify.Unasked(s, doc.Facts); why != "" {
			x.Free = append(x.Free, fmt.Sprintf("step %s, %s: %s", s.Number, s.Tool.Value, why))
		}
	}
	for i, s := range p.Steps {
		if x.Steps[i].Asks != "" || !s.Ask.IsZero() {
			x.Gates++
		}
	}
	x.Free = append(x.Free, w.permits(doc)...)
	return nil
}

// told is a number in words; "" for nothing.
func told[N int64 | time.Duration](n N, say func(N) string) string {
	if n <= 0 {
		return ""
	}
	return say(n)
}

// permits is what agents of the plan may do without asking, as the plan and their
// configuration say.
func (w *Workspace) permits(doc *api.Document) (all []string) {
	say := func(whose, rules string) {
		parsed, err := plan.ParsePermissions(rules)
		if err == nil && rules != "" && slices.ContainsFunc(parsed, func(r plan.Permission) bool { return r.Say == plan.SayAllow }) {
			all = append(all, whose+" may without a question: "+rules)
		}
	}
	say("every agent", doc.Plan.Permissions.Value)
	seen := map[string]bool{}
	for _, s := range doc.Plan.Steps {
		name, agent, known := doc.Facts.Agent(s.Target.Value)
		if known && !agent.Shell && !seen[name] && view.KindOf(s, doc) == "agent" {
			seen[name] = true
			say("agent "+name, w.Config.Agents[name].Permissions)
		}
	}
	return all
}
