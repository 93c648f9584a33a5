package cli

import (
	"context"
	"slices"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan/form"
	"github.com/piton-dev/piton/internal/plan/tasklist"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// contracts are what a planner proposed for steps that nothing can prove.
type contracts struct {
	Proposed  []string         `json:"proposed"` // ids of the steps that have one now
	By        string           `json:"by"`
	Reasoning string           `json:"reasoning"`
	Findings  []verify.Finding `json:"findings"`
}

// importWithContracts converts a plan, and has contracts proposed for it.
func (a *app) importWithContracts(ctx context.Context, file tasklist.File, f importFlags) error {
	doc, err := a.converts(file.Name, file.Source)
	if err != nil {
		return err
	}
	text, losses, err := doc.Form.Write(form.Markdown)
	if err != nil {
		return err
	}
	return a.withContracts(ctx, conversion{From: string(doc.Form.Form), To: form.Markdown, File: view.OrNull(f.out), Losses: view.List(losses)}, text, f)
}

// withContracts has the planner propose contracts for the steps of a text that nothing
// can prove, and puts the text with them to where it is wanted.
func (a *app) withContracts(ctx context.Context, c conversion, text []byte, f importFlags) error {
	if isThere(a.at(f.out)) {
		return taken(f.out)
	}
	return a.acting(ctx, func(s *session) error {
		unproven, wrong := api.Unproven(s.Verify(ctx, c.name(), text).Findings)
		switch {
		case len(wrong) > 0:
			a.showFindings(a.err, wrong)
			a.notice("nobody was asked for contracts: correct these first; without --propose-contracts the plan is converted as it is")
			return ended(exitPlan)
		case len(unproven) == 0:
			a.notice("no step is without a proof, so nobody was asked for contracts")
			c.contracts = &contracts{Proposed: []string{}, Findings: []verify.Finding{}}
			return a.putText("import", c, text)
		}
		who, row, err := s.errand(ctx, question{
			what: "for contracts of " + view.Plural(len(unproven), "step", "steps"),
			role: "the planner", model: s.Config.Planner, yes: f.yes,
			ask: func(yes api.Consent) (api.Planned, error) {
				return s.client.Contract(ctx, api.Contracting{Name: c.name(), Source: text, Again: f.again, Consent: yes})
			},
		})
		if err != nil {
			return err
		}
		return s.proposed(ctx, c, who, unproven, row)
	})
}

// proposed hands out a text with what came of an errand for contracts.
func (s *session) proposed(ctx context.Context, c conversion, who string, unproven []string, row engine.ErrandRow) error {
	a := s.app
	out, err := s.answer(ctx, row)
	switch {
	case err != nil:
		return err
	case out.Source == nil && row.Ended.How != engine.Exited:
		return api.Fault("no contracts were proposed: "+row.Ended.Reason, "piton agents and piton doctor say more; the same command asks again")
	case out.Source == nil:
		return diverged{&api.Problem{Code: api.Conflict, Message: "no contracts were proposed: " + row.Ended.Reason, Words: proc.Plain([]byte(out.Said)), Hint: "piton log " + row.Asked.Errand + " has all of what the planner said; without --propose-contracts the plan is converted as it is; add them yourself"}}
	}
	for i := range out.Findings {
		out.Findings[i].File = c.name()
	}
	still, _ := api.Unproven(out.Findings)
	c.contracts = &contracts{
		By: who, Reasoning: out.Reasoning, Findings: out.Findings,
		Proposed: slices.DeleteFunc(slices.Clone(unproven), func(id string) bool { return slices.Contains(still, id) }),
	}
	if !a.json {
		a.showFindings(a.err, out.Findings)
		if out.Ended != "" {
			a.notice("%s", out.Ended)
		}
	}
	if err := a.putText("import", c, out.Source); err != nil {
		return err
	}
	a.notice("%s proposed by %s: read every one of them before you approve the plan", view.Plural(len(c.Proposed), "contract is", "contracts are"), who)
	if !out.OK() {
		a.notice("the plan does not verify yet; correct what is named above")
		return ended(exitPlan)
	}
	return nil
}
