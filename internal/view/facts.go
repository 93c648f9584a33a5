package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// Facts are short labels of a plan or a step, each with its value.
type Facts []string

// add takes a label that says something.
func (f *Facts) add(name, text string) {
	if text != "" {
		*f = append(*f, name+": "+text)
	}
}

// StepFacts are what a few words say of a step's work.
func StepFacts(s *plan.Step, doc *api.Document, needs []string) Facts {
	f := Facts{"after: " + cmp.Or(Join(needs), "nothing")}
	f.add("when", s.When.Value)
	f.add("for each", listed(s.ForEach.Value.Items))
	f.add("batch", unusual(s.Batch, plan.NewStep("", "").Batch))
	f.add("allow_empty", unusual(s.AllowEmpty, plan.NewStep("", "").AllowEmpty))
	f.add("tool", s.Tool.Value)
	f.add("reads", subscribed(s))
	if s.Writes.Set {
		f.add("writes", cmp.Or(listed(s.Writes.Value), "nothing"))
	}
	f.add("environment", listed(s.Env.Value))
	if a := s.Approval.Value; a != "auto" {
		f.add("asks you first", a)
	}
	if path, ok := verify.Delegate(s); ok {
		f.add("plan", path+", "+pinning(doc, path))
	}
	f.bounds(s)
	return f
}

func subscribed(s *plan.Step) string {
	refs := make([]string, len(s.Subscriptions.Value))
	for i, sub := range s.Subscriptions.Value {
		refs[i] = sub.Kind + ":" + sub.Ref
	}
	return strings.Join(refs, ", ")
}

// pinning says what a yes to the document means for a plan that it delegates to.
func pinning(doc *api.Document, path string) string {
	for _, child := range doc.Below() {
		if child.Rel == path {
			return "hash " + child.Plan.Hash()[:12]
		}
	}
	return "made during the run; you approve it before it runs"
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

// HeaderFacts are the short labels of the header.
func HeaderFacts(p *plan.Plan) Facts {
	var f Facts
	usual := plan.New("")
	f.add("budget", unusual(p.Budget, usual.Budget))
	f.add("priority", unusual(p.Priority, usual.Priority))
	f.add("replans", unusual(p.Replans, usual.Replans))
	f.add("protect", listed(p.Protect.Value))
	f.add("isolation", unusual(p.Isolation, usual.Isolation))
	f.add("workspace", unusual(p.Workspace, usual.Workspace))
	f.add("commit", unusual(p.Commit, usual.Commit))
	if p.Land.Set {
		f.add("land", map[bool]string{true: "yes", false: "no"}[p.Land.Value])
	}
	f.add("permissions", unusual(p.Permissions, usual.Permissions))
	f.add("estimate", unusual(p.Estimate, usual.Estimate))
	f.add("complexity", unusual(p.Complexity, usual.Complexity))
	f.add("tags", listed(p.Tags.Value))
	return f
}

// bounds adds what holds a step's work in.
func (f *Facts) bounds(s *plan.Step) {
	usual := plan.NewStep("", "")
	f.add("protect", listed(s.Protect.Value))
	f.add("mode", unusual(s.Mode, usual.Mode))
	f.add("network", unusual(s.Network, usual.Network))
	f.add("isolation", unusual(s.Isolation, usual.Isolation))
	f.add("workspace", unusual(s.Workspace, usual.Workspace))
	f.add("budget", unusual(s.Budget, usual.Budget))
	f.add("timeout", unusual(s.Timeout, usual.Timeout))
	f.add("iterations", unusual(s.Iterations, usual.Iterations))
	if s.ContextLimit.Set {
		f.add("context limit", fmt.Sprintf("%d tokens", s.ContextLimit.Value))
	}
}

// ProofFacts are what holds of a step's contract and checks.
func ProofFacts(s *plan.Step) Facts {
	var f Facts
	usual := plan.NewStep("", "")
	f.add("contract timeout", unusual(s.CheckTimeout, usual.CheckTimeout))
	f.add("expect", unusual(s.Expect, usual.Expect))
	f.add("holds", unusual(s.Holds, usual.Holds))
	f.add("reveal", unusual(s.Reveal, usual.Reveal))
	f.add("rerunnable", unusual(s.Rerunnable, usual.Rerunnable))
	f.add("strong", unusual(s.Strong, usual.Strong))
	return f
}

// FailureFacts are what follows where a step does not pass.
func FailureFacts(s *plan.Step) Facts {
	on := s.Failing()
	f := Facts{OnFailure(on.Retries, string(on.Then))}
	f.add("fallback", s.Fallback.Value)
	switch {
	case s.Backoff.Set && s.Backoff.Value == 0:
		f.add("backoff", "none")
	case s.Backoff.Set:
		f.add("backoff", plan.FormatDuration(s.Backoff.Value))
	}
	f.add("critical", unusual(s.Critical, plan.NewStep("", "").Critical))
	return f
}

// OnFailure says what becomes of a step that does not pass.
func OnFailure(retries int, then string) string {
	return fmt.Sprintf("on failure: %s, then %s", Plural(retries, "retry", "retries"), then)
}

// listed is a list of short values on one line.
func listed(list []plan.Text) string { return strings.Join(Values(list), ", ") }
