package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
)

// plan shows a plan as it would run: who does each step, after what, and what
// proves it. It is what people say yes to, so no command is shortened.
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
	refs := p.Refs()
	for i, s := range p.Steps {
		lines = append(lines, "")
		lines = append(lines, t.planStep(s, doc, needsOf(p, refs, i))...)
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
	facts := []string{"after: " + cmp.Or(join(needs), "nothing")}
	if s.Writes.Set {
		facts = append(facts, "writes: "+cmp.Or(joined(t, s.Writes.Value), "nothing"))
	}
	if a := s.Approval.Value; a != "" && a != "auto" {
		facts = append(facts, "asks you first: "+t.line(a))
	}
	lines = append(lines, t.under(3, idleTone, t.line(strings.Join(facts, " · ")))...)
	if kind == "script" {
		lines = append(lines, t.command("script", s.Task.Value)...)
	}
	if c := s.Contract; c != nil {
		lines = append(lines, t.command("contract", c.Command.Value)...)
		if c.ExitCode.Value != 0 {
			lines = append(lines, t.under(3, idleTone, fmt.Sprintf("must exit %d", c.ExitCode.Value))...)
		}
	}
	for _, c := range s.Checks.Value {
		name := t.line(c.Name.Value)
		if c.Optional {
			name += " (optional)"
		}
		lines = append(lines, t.command(name, c.Command.Value)...)
	}
	f := s.OnFail.Value
	return append(lines, t.under(3, idleTone, fmt.Sprintf("on failure: %s, then %s", plural(f.Retries, "retry", "retries"), f.Then))...)
}

// command shows a script whole, each of its lines on lines of its own.
func (t theme) command(name, script string) []string {
	return append(t.under(3, idleTone, name+":"), t.script(5, script)...)
}

func joined(t theme, list []plan.Text) string { return t.line(strings.Join(values(list), ", ")) }

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
