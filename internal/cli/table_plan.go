package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// plan shows a plan as it would run: who does each step, after what, and what
// proves it. It is what people say yes to, so no text that anybody is given, and
// no command, is shortened.
func (t theme) plan(doc *api.Document) []string { return t.planIn(doc, doc.Where()) }

func (t theme) planIn(doc *api.Document, where string) []string {
	p := doc.Plan
	about := view.Plural(len(p.Steps), "step", "steps")
	if n := p.Parallel.Value; n > 1 {
		about += fmt.Sprintf(", %d at once", n)
	}
	if doc.OK() && len(doc.Hazards()) == 0 {
		about += ", low risk"
	}
	title := p.Title.Value
	if p.Issue != "" {
		title += " (#" + p.Issue + ")"
	}
	lines := t.sides(cell{t.one(title), boldTone}, cell{about, idleTone})
	if where != "" {
		lines = append(lines, t.under(0, idleTone, where)...)
	}
	lines = append(lines, t.facts(0, view.HeaderFacts(p))...)
	lines = append(lines, t.words(0, "notes", p.Prose.Value)...)
	lines = append(lines, t.words(0, "context", p.Context.Value)...)
	lines = append(lines, t.words(0, "constraints", bullets(p.Constraints.Value))...)
	lines = append(lines, t.words(0, "memories", bullets(p.Memories.Value))...)
	lines = append(lines, t.command(0, "setup", p.Setup.Value)...)
	refs := p.Refs()
	for i, s := range p.Steps {
		lines = append(lines, "")
		lines = append(lines, t.planStep(s, doc, view.NeedsOf(p, refs, i))...)
	}
	if !p.Notes.IsZero() {
		lines = append(append(lines, ""), t.words(0, "notes", p.Notes.Value)...)
	}
	return lines
}

// family shows a plan with all that is approved together with it.
func (t theme) family(doc *api.Document) []string {
	lines := t.plan(doc)
	for _, child := range doc.Below() {
		lines = append(lines, "")
		lines = append(lines, t.sides(cell{t.line(child.Rel), boldTone}, cell{"approved together, hash " + child.Plan.Hash()[:12], idleTone})...)
		lines = append(lines, t.planIn(child, "")...) // it works where the plan does
	}
	return lines
}

func (t theme) planStep(s *plan.Step, doc *api.Document, needs []string) []string {
	kind := view.KindOf(s, doc)
	about := kind
	if name, _, known := doc.Facts.Agent(s.Target.Value); kind == "agent" {
		about = t.line(s.Target.Value)
		if known {
			about = t.line(name)
		}
		if known && doc.Facts.Elective(s) {
			about += ", or another agent"
		}
	}
	lines := t.sides(cell{fmt.Sprintf("%s. %s (%s)", t.line(s.Number), t.one(s.Title.Value), t.line(s.ID.Value)), plainTone}, cell{about, runTone})
	lines = append(lines, t.facts(3, view.StepFacts(s, doc, needs))...)
	if why := verify.Asks(s, doc.Facts); why != "" {
		lines = append(lines, t.under(3, youTone, "asks you first: "+t.line(why))...)
	}
	lines = append(lines, t.words(3, "notes", s.Prose.Value)...)
	lines = append(lines, t.given(s, kind)...)
	return append(lines, t.decides(s, doc.Facts)...)
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
func (t theme) decides(s *plan.Step, facts verify.Facts) []string {
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
		if !c.Command.IsZero() {
			lines = append(lines, t.command(3, name, c.Command.Value)...)
			continue
		}
		if d := verify.Detect(c.Name.Value, facts); d.Command != "" {
			lines = append(lines, t.command(3, name+", as "+t.line(d.File)+" says", d.Command)...)
		} else {
			lines = append(lines, t.under(3, idleTone, name+": skipped: "+d.Missing)...)
		}
	}
	lines = append(lines, t.facts(3, view.ProofFacts(s))...)
	lines = append(lines, t.words(3, "judge", s.Judge.Value)...)
	return append(lines, t.facts(3, view.FailureFacts(s))...)
}

// command shows a script whole, each of its lines on lines of its own; nothing
// of none.
func (t theme) command(indent int, name, script string) []string {
	if script == "" {
		return nil
	}
	return append(t.under(indent, idleTone, name+":"), t.script(indent+2, script)...)
}

// facts shows labels in as few lines as they need; nothing of none.
func (t theme) facts(indent int, f view.Facts) []string {
	if len(f) == 0 {
		return nil
	}
	return t.under(indent, idleTone, t.one(strings.Join(f, " · ")))
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
	for _, text := range view.Values(list) {
		b.WriteString("- " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
	}
	return b.String()
}
