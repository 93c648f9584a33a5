package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

// plan shows a plan as it would run: who does each step, after what, and what
// proves it. It is what people say yes to, so no text that anybody is given, and
// no command, is shortened.
func (t theme) plan(doc *api.Document) []string {
	p := doc.Plan
	about := plural(len(p.Steps), "step", "steps")
	if n := p.Parallel.Value; n > 1 {
		about += fmt.Sprintf(", %d at once", n)
	}
	lines := []string{t.sides(cell{t.line(p.Title.Value), boldTone}, cell{about, idleTone})}
	if b := budgetText(p.Budget); b != "" {
		lines = append(lines, t.under(0, idleTone, "budget: "+b)...)
	}
	if guard := joined(t, p.Protect.Value); guard != "" {
		lines = append(lines, t.under(0, idleTone, "protected: "+guard)...)
	}
	lines = append(lines, t.words(0, "context", p.Context.Value)...)
	lines = append(lines, t.words(0, "constraints", bullets(p.Constraints.Value))...)
	lines = append(lines, t.command(0, "setup", p.Setup.Value)...)
	refs := p.Refs()
	for i, s := range p.Steps {
		lines = append(lines, "")
		lines = append(lines, t.planStep(s, doc, needsOf(p, refs, i))...)
	}
	return lines
}

// family shows a plan with all that is approved together with it.
func (t theme) family(doc *api.Document) []string {
	lines := t.plan(doc)
	for _, child := range doc.Below() {
		lines = append(lines, "", t.sides(cell{t.line(child.Rel), boldTone}, cell{"approved together, hash " + child.Plan.Hash()[:12], idleTone}))
		lines = append(lines, t.plan(child)...)
	}
	return lines
}

func (t theme) planStep(s *plan.Step, doc *api.Document, needs []string) []string {
	kind := kindOf(s, doc)
	about := kind
	if name, _, known := doc.Facts.Agent(s.Target.Value); kind == "agent" {
		about = t.line(s.Target.Value)
		if known {
			about = t.line(name)
		}
	}
	lines := []string{t.sides(cell{fmt.Sprintf("%s. %s (%s)", t.line(s.Number), t.line(s.Title.Value), t.line(s.ID.Value)), plainTone}, cell{about, runTone})}
	lines = append(lines, t.under(3, idleTone, t.whole(strings.Join(t.facts(s, doc, needs), " · ")))...)
	lines = append(lines, t.given(s, kind)...)
	return append(lines, t.decides(s)...)
}

// facts are what a few words say of a step.
func (t theme) facts(s *plan.Step, doc *api.Document, needs []string) []string {
	facts := []string{"after: " + cmp.Or(join(needs), "nothing")}
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, name+": "+text)
		}
	}
	add("when", t.whole(s.When.Value))
	add("for each", t.forEach(s))
	add("tool", t.whole(s.Tool.Value))
	add("reads", t.whole(subscribed(s)))
	if s.Writes.Set {
		add("writes", cmp.Or(joined(t, s.Writes.Value), "nothing"))
	}
	add("environment", joined(t, s.Env.Value))
	if a := s.Approval.Value; a != "auto" {
		add("asks you first", t.whole(a))
	}
	if path, ok := verify.Delegate(s); ok {
		add("plan", t.whole(path)+", "+pinning(doc, path))
	}
	return facts
}

func (t theme) forEach(s *plan.Step) string {
	items := joined(t, s.ForEach.Value.Items)
	if items != "" && s.Batch.Set {
		items += fmt.Sprintf(", %d at a time", s.Batch.Value)
	}
	return items
}

func subscribed(s *plan.Step) string {
	refs := make([]string, len(s.Subscriptions.Value))
	for i, sub := range s.Subscriptions.Value {
		refs[i] = sub.Kind + ":" + sub.Ref
	}
	return strings.Join(refs, ", ")
}

// given is what whoever does the step gets, whole: the words, the arguments,
// the question, the script.
func (t theme) given(s *plan.Step, kind string) []string {
	lines := t.command(3, "setup", s.Setup.Value)
	switch {
	case kind == "script":
		lines = append(lines, t.command(3, "script", s.Task.Code().Value)...)
	case kind == "agent":
		lines = append(lines, t.words(3, "task", cmp.Or(s.Task.Value, s.Title.Value))...)
	default:
		lines = append(lines, t.words(3, "task", s.Task.Value)...)
	}
	if _, ok := verify.Delegate(s); !ok {
		lines = append(lines, t.words(3, "plan", s.Plan.Value)...)
	}
	return slices.Concat(lines,
		t.words(3, "acceptance", bullets(s.Acceptance.Value)),
		t.words(3, "arguments", s.Args.Value),
		t.words(3, "question", s.Ask.Value),
		t.words(3, "choices", bullets(s.Choices)),
		t.words(3, "schema", s.Schema.Value))
}

// decides is what decides the step, and what follows where it does not pass.
func (t theme) decides(s *plan.Step) []string {
	var lines []string
	if c := s.Contract; c != nil {
		lines = append(lines, t.command(3, "contract", c.Command.Value)...)
		if c.ExitCode.Value != 0 {
			lines = append(lines, t.under(3, idleTone, fmt.Sprintf("must exit %d", c.ExitCode.Value))...)
		}
	}
	for _, c := range s.Checks.Value {
		name := t.line(c.Name.Value)
		if c.Optional {
			name += " (optional)"
		}
		lines = append(lines, t.command(3, name, c.Command.Value)...)
	}
	f := s.OnFail.Value
	return append(lines, t.under(3, idleTone, fmt.Sprintf("on failure: %s, then %s", plural(f.Retries, "retry", "retries"), f.Then))...)
}

// pinning says what a yes to the document means for a plan that it delegates to.
func pinning(doc *api.Document, path string) string {
	for _, child := range doc.Below() {
		if child.Rel == path {
			return "hash " + child.Plan.Hash()[:12]
		}
	}
	return "made during the run, which asks you before that runs"
}

// command shows a script whole, each of its lines on lines of its own; nothing
// of none.
func (t theme) command(indent int, name, script string) []string {
	if script == "" {
		return nil
	}
	return append(t.under(indent, idleTone, name+":"), t.script(indent+2, script)...)
}

// words shows a text whole, as it was written; nothing of none.
func (t theme) words(indent int, name, text string) []string {
	if text == "" {
		return nil
	}
	return append(t.under(indent, idleTone, name+":"), t.quote(indent+2, text)...)
}

// bullets are texts as one, each with a sign where it begins.
func bullets(list []plan.Text) string {
	var b strings.Builder
	for _, text := range values(list) {
		b.WriteString("- " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
	}
	return b.String()
}

func joined(t theme, list []plan.Text) string { return t.whole(strings.Join(values(list), ", ")) }

func budgetText(b plan.Field[plan.Budget]) string {
	var parts []string
	if n := b.Value.Tokens; n > 0 {
		parts = append(parts, count(n)+" tokens")
	}
	if n := b.Value.CostMicros; n > 0 {
		parts = append(parts, money(n))
	}
	if d := b.Value.Wall; d > 0 {
		parts = append(parts, span(d)+" wall clock")
	}
	return strings.Join(parts, ", ")
}
