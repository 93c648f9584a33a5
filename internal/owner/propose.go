package owner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/planner"
	"github.com/piton-dev/piton/internal/prompt"
	"github.com/piton-dev/piton/internal/verify"
)

// proposal is the code of what tells that a contract is only proposed.
const proposal = "proposed"

// Contract asks the planner for a contract of each step that nothing can prove. Nothing
// is written or approved, and nothing else of the plan may change.
func (u *uses) Contract(ctx context.Context, q api.Contracting) (api.Planned, error) {
	p, err := u.planner(ctx, "nobody can propose contracts", "without --propose-contracts nobody is asked, and you add them yourself")
	if err != nil {
		return api.Planned{}, err
	}
	unproven, wrong := api.Unproven(p.Verify(ctx, q.Name, q.Source).Findings)
	switch {
	case len(wrong) > 0:
		return api.Planned{}, &api.Problem{Code: api.Invalid, Message: "other things are wrong with the plan: " + wrong[0].String(), Hint: "correct them first"}
	case len(unproven) == 0:
		return api.Planned{}, &api.Problem{Code: api.Invalid, Message: "no step of the plan is without a proof"}
	case len(q.Source) > prompt.MaxDraft:
		return api.Planned{}, &api.Problem{
			Code: api.Invalid, Message: fmt.Sprintf("the plan has %d bytes; a planner is shown at most %d", len(q.Source), prompt.MaxDraft),
			Hint: "import it in parts, or add the contracts yourself",
		}
	}
	in := prompt.Contracting{Plan: string(q.Source), Steps: unproven}
	in.Workspace, _ = surroundings(ctx, p)
	return u.ask(ctx, p, p.Config.Planner, api.Question{
		ErrandAsked: engine.ErrandAsked{Kind: engine.PlanWork, Contracts: unproven}, Text: prompt.Contracts(in), Source: q.Source, Again: q.Again,
	}, q.Consent)
}

// oversteps are what a text changes beside the contracts that it was to add.
func oversteps(was, is *plan.Plan, steps []string) (found []verify.Finding) {
	say := func(text string) {
		found = append(found, finding(text+"; only contracts may be added, to the steps "+strings.Join(steps, ", "))...)
	}
	d := verify.Diff(was, is)
	if len(d.Header) > 0 {
		say("the plan's " + strings.Join(d.Header, ", ") + " changed")
	}
	if d.Numbers > 0 {
		say("numbers of steps changed")
	}
	for _, c := range d.Steps {
		may := func(label string) bool { return label == "contract" && slices.Contains(steps, c.ID) }
		switch labels := slices.DeleteFunc(c.Labels, may); {
		case c.How != verify.Changed:
			say(fmt.Sprintf("step %q is %s", c.ID, c.How))
		case len(labels) > 0:
			say(fmt.Sprintf("step %q is changed in %s", c.ID, strings.Join(labels, ", ")))
		}
	}
	return found
}

// contracted is the text that an errand was about, with the contracts of the answer and
// nothing else of it. Each says in its first line who proposed it.
func contracted(ctx context.Context, p *api.Product, was *plan.Plan, steps []string, out planner.Outcome) planner.Outcome {
	if out.Source == nil {
		return out
	}
	is := api.Parse(planner.Name, out.Source).Plan
	if is == nil || len(oversteps(was, is, steps)) > 0 {
		out.Ended = "the answer changes more than the contracts"
		if len(out.Findings) > 0 {
			out.Ended += ": " + out.Findings[0].Message
		}
		out.Draft = planner.Draft{Reasoning: out.Reasoning}
		return out
	}
	who := whoIs(p.Config.Planner)
	text := *was
	for i, s := range slices.Backward(was.Steps) {
		n := slices.IndexFunc(is.Steps, func(o *plan.Step) bool { return o.ID.Value == s.ID.Value })
		if n < 0 || is.Steps[n].Contract == nil || !slices.Contains(steps, s.ID.Value) {
			continue
		}
		made := *s
		made.Contract = &plan.Contract{ExitCode: is.Steps[n].Contract.ExitCode, Command: plan.Text{
			Value: "# proposed by " + who + "; nobody has judged it yet\n" + is.Steps[n].Contract.Command.Code().Value, Lang: "shell", Fenced: true,
		}}
		text.Source = plan.ReplaceStep(&text, i, &made)
	}
	out.Source = text.Source
	out.Findings = foundAt(p.Verify(ctx, planner.Name, text.Source), steps, out.Findings, who)
	return out
}

// foundAt are the findings of a text with proposed contracts: what verifying it says,
// what came of trying them, and that they are proposed.
func foundAt(doc *api.Document, steps []string, found []verify.Finding, who string) []verify.Finding {
	all := doc.Findings
	if doc.Plan == nil {
		return all
	}
	for _, s := range doc.Plan.Steps {
		if s.Contract == nil || !slices.Contains(steps, s.ID.Value) {
			continue
		}
		at := verify.Finding{File: planner.Name, Step: s.ID.Value, Line: s.Contract.Command.Pos.Line, Column: s.Contract.Command.Pos.Column}
		is := at
		is.Code, is.Severity = proposal, verify.Note
		is.Message = fmt.Sprintf("the contract of step %q is proposed by %s; read it before you approve it", s.ID.Value, who)
		all = append(all, is)
		for _, f := range found {
			if f.Code == tried && f.Step == s.ID.Value {
				f.Line, f.Column = at.Line, at.Column
				all = append(all, f)
			}
		}
	}
	for _, f := range found {
		if f.Code == tried && f.Step == "" {
			all = append(all, f)
		}
	}
	return all
}
