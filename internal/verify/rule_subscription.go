package verify

import (
	"fmt"
	"path"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleSubscription() Rule {
	return Rule{
		ID: "PT042", Name: "subscription", Severity: Error,
		Title: "a subscription leads nowhere",
		Text: "`file:` is a path below the workspace, `step:` the id or number of another step. A file that does " +
			"not exist is a warning, and only where no step before could make it: the agent is told that it " +
			"is missing.",
		check: checkSubscription,
	}
}

func checkSubscription(p *pass) {
	for _, u := range p.doc.units {
		for _, s := range u.Subscriptions.Value {
			switch s.Kind {
			case "file":
				p.subscribedFile(u, s)
			case "step":
				p.subscribedStep(u, s)
			}
		}
	}
}

func (p *pass) subscribedFile(u *unit, s plan.Subscription) {
	file, ok := subscribed(s)
	if !ok {
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which is outside of the workspace", u.ID.Value, s.Ref), "")
		return
	}
	if f, asked := p.facts.Files[file]; asked && !f.Exists && len(u.needs) == 0 {
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which does not exist", u.ID.Value, s.Ref), "").Severity = Warning
	}
}

// subscribed is the path of a file subscription below the workspace.
func subscribed(s plan.Subscription) (string, bool) {
	file := path.Clean(s.Ref)
	bad := path.IsAbs(file) || file == ".." || strings.HasPrefix(file, "../") || strings.HasPrefix(file, "~")
	return file, !bad
}

func (p *pass) subscribedStep(u *unit, s plan.Subscription) {
	found := p.doc.refs.Find(s.Ref)
	switch {
	case len(found) == 0:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to step %q, which this plan does not have", u.ID.Value, s.Ref), "")
	case len(found) > 1:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to step %q, a number that %d steps have", u.ID.Value, s.Ref, len(found)), "name the step by its id")
	case found[0] == u.index:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to itself", u.ID.Value), "")
	}
}
