package owner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/verify"
)

// Redraft asks the planner to change a plan of which no run is unfinished, as a person
// says. The text that the plan has now is recorded first. Nothing is approved.
func (u *uses) Redraft(ctx context.Context, q api.Redrafting) (api.Planned, error) {
	p, err := u.planner(ctx, "nobody can change the plan as you say", "or change it yourself")
	if err != nil {
		return api.Planned{}, err
	}
	switch {
	case strings.TrimSpace(q.Why) == "":
		return api.Planned{}, &api.Problem{Code: api.Invalid, Message: "what is to be otherwise is not said", Hint: `say it: --why "use the new API"`}
	case len(q.Why) > api.MaxRequest:
		return api.Planned{}, &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("the comment has %d bytes; at most %d are allowed", len(q.Why), api.MaxRequest), Hint: "say it in fewer words"}
	}
	doc, err := p.Read(ctx, q.Path)
	if err != nil {
		return api.Planned{}, err
	}
	if n := len(doc.Source); n > prompt.MaxDraft {
		return api.Planned{}, &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("%s has %d bytes; a planner is shown at most %d", q.Path, n, prompt.MaxDraft),
			Hint: "change it yourself, or divide it into plans of which one delegates to the others",
		}
	}
	step, err := redraftable(doc, q)
	if err != nil {
		return api.Planned{}, err
	}
	if pr, err := p.ProposalOf(ctx, doc); err != nil {
		return api.Planned{}, err
	} else if pr != nil && !pr.Head.Ended {
		return api.Planned{}, conflict("piton replan "+pr.Head.Run+" changes the plan of the run", "run %s of %s is not finished", pr.Head.Run, q.Path)
	}
	was, err := p.Draft(ctx, u.host, doc)
	if err != nil {
		return api.Planned{}, err
	}
	in := prompt.Redrafting{Plan: string(doc.Source), Step: step, Why: q.Why, Planning: prompt.Planning{Owner: p.By}}
	in.Workspace, in.Agents = surroundings(ctx, p)
	if in.Refused, err = refused(ctx, p, was.Drafted.Source, func(i engine.IntentOpened) bool { return i.ID == was.Drafted.Intent }); err != nil {
		return api.Planned{}, err
	}
	if in.Tools, err = Functions(p.Place.Dir, p.Env); err != nil {
		return api.Planned{}, err
	}
	return u.ask(ctx, p, p.Config.Planner, api.Question{
		ErrandAsked: engine.ErrandAsked{Kind: engine.PlanWork, Step: step, Why: q.Why, Intent: was.Drafted.Intent, Path: doc.Rel},
		Text:        prompt.Redraft(in), Source: doc.Source, Again: q.Again,
	}, q.Consent)
}

// redraftable refuses a document that cannot be changed so, and finds the step.
func redraftable(doc *api.Document, q api.Redrafting) (step string, err error) {
	switch {
	case doc.Plan == nil || len(doc.Plan.Steps) == 0:
		return "", &api.Problem{Code: api.Invalid, Message: q.Path + " cannot be read as a plan", Hint: "piton verify " + q.Path + " says why"}
	case doc.Form.Form != form.Markdown:
		return "", &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("%s is a plan in %s; a planner changes drafts in Markdown", q.Path, doc.Form.Form), Hint: "piton import " + q.Path + " -o PLAN.md makes one of it"}
	case q.Step == "":
		return "", nil
	}
	found := doc.Plan.Refs().Find(q.Step)
	if len(found) != 1 {
		return "", &api.Problem{Code: api.NotFound, Message: fmt.Sprintf("%s has no step %q", q.Path, q.Step), Hint: "piton show " + q.Path + " lists its steps"}
	}
	return doc.Plan.Steps[found[0]].ID.Value, nil
}

// was is the plan that an errand is about.
func (w *errand) was(ctx context.Context) (*plan.Plan, error) {
	source, err := w.source(ctx)
	if err != nil {
		return nil, err
	}
	was := api.Parse(w.asked.Path, source).Plan
	if was == nil {
		return nil, fmt.Errorf("this version cannot read the text of %s", w.asked.Path)
	}
	return was, nil
}

// within judges whether an answer changes something, and only what it may, of the plan
// that was.
func within(was *plan.Plan, asked engine.ErrandAsked) planner.Judge {
	return func(_ context.Context, text []byte) (found []verify.Finding, wrong bool, err error) {
		is := api.Parse(planner.Name, text).Plan
		switch {
		case is == nil:
			return nil, false, nil // the next judge says why
		case len(asked.Contracts) > 0:
			found = oversteps(was, is, asked.Contracts)
		default:
			found = strays(was, is, asked.Step)
		}
		return found, len(found) > 0, nil
	}
}

// strays are what a text changes that it may not: nothing where a step is named may
// change but that step, which stays.
func strays(was, is *plan.Plan, step string) (found []verify.Finding) {
	d := verify.Diff(was, is)
	if d.Empty() {
		return finding("nothing is changed: this is the plan as it was")
	}
	if step == "" {
		return nil
	}
	say := func(line int, format string, args ...any) {
		f := finding(fmt.Sprintf(format, args...) + fmt.Sprintf("; only the step %q may change", step))
		f[0].Line = max(line, 1)
		found = append(found, f...)
	}
	if len(d.Header) > 0 {
		say(1, "the plan's %s changed", strings.Join(d.Header, ", "))
	}
	if d.Numbers > 0 {
		say(1, "numbers of steps changed")
	}
	for _, c := range d.Steps {
		line := 0
		if i := slices.IndexFunc(is.Steps, func(s *plan.Step) bool { return s.ID.Value == c.ID }); i >= 0 {
			line = is.Steps[i].Pos.Line
		}
		if c.ID != step || c.How != verify.Changed {
			say(line, "step %q is %s", c.ID, c.How)
		}
	}
	if len(found) == 0 && !sameAround(was, is, step) {
		say(1, "text outside of the step changed")
	}
	return found
}

// sameAround reports whether two texts are the same but for one step, blank lines apart.
func sameAround(was, is *plan.Plan, step string) bool {
	around := func(p *plan.Plan) (before, after string) {
		i := slices.IndexFunc(p.Steps, func(s *plan.Step) bool { return s.ID.Value == step })
		if i < 0 || p.Steps[i].End == 0 { // it is not Markdown
			return "", ""
		}
		text := func(b []byte) string { return strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")) }
		return text(p.Source[:p.Steps[i].Start]), text(p.Source[p.Steps[i].End:])
	}
	b1, a1 := around(was)
	b2, a2 := around(is)
	return b1 == b2 && a1 == a2
}
