package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/view"
)

// facts are short labels, each with its value.
type facts []string

// add takes a label that says something.
func (f *facts) add(name, text string) {
	if text != "" {
		*f = append(*f, name+": "+text)
	}
}

// facts shows labels in as few lines as they need; nothing of none.
func (t theme) facts(indent int, f facts) []string {
	if len(f) == 0 {
		return nil
	}
	return t.under(indent, idleTone, t.one(strings.Join(f, " · ")))
}

// unusual is a value as a plan writes it, "" for the one that holds where
// nothing is written.
func unusual[T comparable](now, absent plan.Field[T]) string {
	if now.Value == absent.Value {
		return ""
	}
	switch v := any(now.Value).(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case time.Duration:
		return plan.FormatDuration(v)
	default:
		return fmt.Sprint(v)
	}
}

// headerFacts are the short labels of the header.
func (t theme) headerFacts(p *plan.Plan) []string {
	var f facts
	usual := plan.New("")
	f.add("budget", unusual(p.Budget, usual.Budget))
	f.add("priority", unusual(p.Priority, usual.Priority))
	f.add("replans", unusual(p.Replans, usual.Replans))
	f.add("protect", listed(p.Protect.Value))
	f.add("isolation", unusual(p.Isolation, usual.Isolation))
	f.add("workspace", unusual(p.Workspace, usual.Workspace))
	f.add("estimate", unusual(p.Estimate, usual.Estimate))
	f.add("complexity", unusual(p.Complexity, usual.Complexity))
	f.add("tags", listed(p.Tags.Value))
	return t.facts(0, f)
}

// bounds are what holds a step's work in.
func bounds(s *plan.Step) facts {
	var f facts
	usual := plan.NewStep("", "")
	f.add("protect", listed(s.Protect.Value))
	f.add("mode", unusual(s.Mode, usual.Mode))
	f.add("network", unusual(s.Network, usual.Network))
	f.add("isolation", unusual(s.Isolation, usual.Isolation))
	f.add("workspace", unusual(s.Workspace, usual.Workspace))
	f.add("budget", unusual(s.Budget, usual.Budget))
	f.add("timeout", unusual(s.Timeout, usual.Timeout))
	f.add("iterations", unusual(s.Iterations, usual.Iterations))
	return f
}

// proofFacts are what holds of a step's contract and checks.
func proofFacts(s *plan.Step) facts {
	var f facts
	usual := plan.NewStep("", "")
	f.add("contract timeout", unusual(s.CheckTimeout, usual.CheckTimeout))
	f.add("expect", unusual(s.Expect, usual.Expect))
	f.add("holds", unusual(s.Holds, usual.Holds))
	f.add("rerunnable", unusual(s.Rerunnable, usual.Rerunnable))
	f.add("strong", unusual(s.Strong, usual.Strong))
	return f
}

// failure is what follows where a step does not pass.
func failure(s *plan.Step) facts {
	on := s.OnFail.Value
	f := facts{onFailure(on.Retries, string(on.Then))}
	switch {
	case s.Backoff.Set && s.Backoff.Value == 0:
		f.add("backoff", "none")
	case s.Backoff.Set:
		f.add("backoff", plan.FormatDuration(s.Backoff.Value))
	}
	f.add("critical", unusual(s.Critical, plan.NewStep("", "").Critical))
	return f
}

// onFailure says what becomes of a step that does not pass.
func onFailure(retries int, then string) string {
	return fmt.Sprintf("on failure: %s, then %s", view.Plural(retries, "retry", "retries"), then)
}

// listed is a list of short values on one line.
func listed(list []plan.Text) string { return strings.Join(view.Values(list), ", ") }
