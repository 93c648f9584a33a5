package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/view"
)

// history tells what happened to the run, or to one step of it with its
// evidence and its values, from all records of its task.
func (t theme) history(run, step string, records []engine.Record, values view.Outputs, deeds deedsOf) ([]string, error) {
	var f view.Fold
	var lines []string
	by := map[string]string{} // who did the newest attempt of a step
	for _, r := range records {
		if d, ok := r.Event.(engine.WorkDispatched); ok {
			by[d.Step] = d.Role
		}
		hs, err := f.Apply(r)
		if err != nil {
			return nil, err
		}
		if f.State.Run().Run != run {
			continue
		}
		for _, h := range hs {
			if step == "" || h.Step >= 0 && h.Step == f.Index(step) {
				lines = append(lines, t.told(h)...)
			}
		}
		if step != "" {
			lines = append(lines, t.proof(&f, step, r.Event)...)
			lines = append(lines, t.deeds(step, r.Event, by[step], deeds)...)
			lines = append(lines, t.value(run, step, r.Event, values)...)
		}
	}
	return lines, nil
}

// deedsOf has the lines of what an attempt's agent did, from its output file.
type deedsOf func(log, by string) []string

// deedLines is how many deeds of an attempt are shown.
const deedLines = 15

// deeds shows what the agent of an attempt did last.
func (t theme) deeds(step string, event engine.Event, by string, deeds deedsOf) []string {
	e, ok := event.(engine.WorkEnded)
	if !ok || e.Step != step || e.Kind != engine.AgentWork || e.Log == "" || deeds == nil {
		return nil
	}
	all := deeds(e.Log, by)
	var lines []string
	if more := len(all) - deedLines; more > 0 {
		all = all[more:]
		lines = t.under(logIndent+2, idleTone, fmt.Sprintf("%d more before; all of it: piton log %s --transcript", more, step))
	}
	for _, line := range all {
		lines = append(lines, t.paint(idleTone, t.fit(strings.Repeat(" ", logIndent+2)+t.line(line), t.width)))
	}
	return lines
}

// logIndent is where the text of a line of history begins, behind its time.
const logIndent = len("01-02 15:04:05 ")

// told is a plain line with its time and in colour.
func (t theme) told(h view.Happening) []string {
	plain := t.lines(h)
	if t.whole {
		plain[0] = h.At.In(t.zone).Format("01-02 15:04:05 ") + plain[0]
		return plain
	}
	lines := t.under(logIndent, toneOf(h.What), plain[0])
	if t.width >= 2*logIndent {
		lines[0] = h.At.In(t.zone).Format("01-02 15:04:05 ") + strings.TrimLeft(lines[0], " ")
	}
	for _, l := range plain[1:] {
		lines = append(lines, t.fit(strings.Repeat(" ", logIndent)+l, t.width))
	}
	return lines
}

func toneOf(d view.Deed) tone {
	switch d {
	case view.Passed, view.Over:
		return okTone
	case view.Failed, view.Regressed:
		return badTone
	case view.Asked:
		return youTone
	case view.Retried, view.Waived, view.CutOff, view.Undone:
		return warnTone
	}
	return plainTone
}

// proof shows the evidence that an event of the step holds.
func (t theme) proof(f *view.Fold, step string, event engine.Event) []string {
	switch e := event.(type) {
	case engine.CheckEnded:
		if e.Step == step {
			return t.answer(f, e)
		}
	case engine.ChangeReverted:
		if e.Step == step {
			return t.under(logIndent, idleTone, t.line(reverted(e)))
		}
	case engine.PreviewMade:
		if e.Step == step {
			return t.call(f, e)
		}
	case engine.WorkEnded:
		if e.Step == step {
			return t.workLines(e)
		}
	}
	return nil
}

// valueLines is how many lines of a step's output are shown, and valueBytes how
// much of it.
const (
	valueLines = 12
	valueBytes = 4 << 10
)

// value shows the head of what the work of the step put out, and where all of it is.
func (t theme) value(run, step string, event engine.Event, values view.Outputs) []string {
	e, ok := event.(engine.WorkEnded)
	body := values[e.Output]
	if !ok || e.Step != step || len(body) == 0 {
		return nil
	}
	head := string(body[:min(len(body), valueBytes)])
	if parts := strings.SplitAfterN(head, "\n", valueLines+1); len(parts) > valueLines {
		head = strings.Join(parts[:valueLines], "")
	}
	lines := append(t.under(logIndent, idleTone, "value:"), t.quote(logIndent+2, head)...)
	if rest := len(body) - len(head); rest > 0 {
		lines = append(lines, t.under(logIndent+2, idleTone, fmt.Sprintf("and %d bytes more; all of it: piton log %s %s --json", rest, run, step))...)
	}
	return lines
}

// call is what a call was seen to need before it was made.
func (t theme) call(f *view.Fold, e engine.PreviewMade) []string {
	step := f.State.Program().Step(f.Index(e.Step))
	said := "call of " + t.line(step.Tool)
	if step.Child != nil {
		said = "the plan " + t.line(step.Child.Path)
	}
	if e.Refused != "" {
		said += ", " + t.line(e.Refused)
	}
	lines := t.under(logIndent, idleTone, said)
	if e.Reason != "" {
		lines = append(lines, t.under(logIndent+2, idleTone, t.line(e.Reason))...)
	}
	return append(lines, t.quoteTail(logIndent+2, e.Context, 12)...)
}

// answer is one check's answer.
func (t theme) answer(f *view.Fold, e engine.CheckEnded) []string {
	lines := t.under(logIndent, idleTone, t.answered(e))
	for _, c := range f.State.Program().Step(f.Index(e.Step)).Checks {
		if c.Name == e.Check {
			lines = append(lines, t.script(logIndent+2, c.Command)...)
		}
	}
	return append(lines, t.changes("changed protected file: ", e.Tampered)...)
}

// answered is a check's answer in one line.
func (t theme) answered(e engine.CheckEnded) string {
	facts := []string{string(e.Phase), t.line(e.Check), string(e.Verdict), fmt.Sprintf("exit=%d want=%d %dms", e.Exit, e.Want, e.Ms)}
	if e.Signal != "" {
		facts = append(facts, "signal="+t.line(e.Signal))
	}
	if e.Isolation != "" {
		facts = append(facts, "isolation="+t.line(e.Isolation))
	}
	if e.Network != "" {
		facts = append(facts, "network="+t.line(e.Network))
	}
	if e.Shared {
		facts = append(facts, "with other steps at the same time")
	}
	if len(e.Reruns) > 0 {
		facts = append(facts, "asked again at once: "+verdicts(e.Reruns))
	}
	if e.Same {
		facts = append(facts, "(the checks said otherwise before, of the same files)")
	}
	if e.Reason != "" {
		facts = append(facts, "("+t.line(e.Reason)+")")
	}
	return strings.Join(facts, " ")
}

// verdicts lists them.
func verdicts(list []engine.Verdict) string {
	var all []string
	for _, v := range list {
		all = append(all, string(v))
	}
	return strings.Join(all, ", ")
}

// workEnded says in one line how work ended.
func (t theme) workEnded(e engine.WorkEnded) string {
	how := fmt.Sprintf("%s, exit=%d", e.How, e.Exit)
	switch {
	case e.How != engine.Exited:
		how = string(e.How)
	case e.Failed && e.Exit == 0:
		how = "failed"
	}
	facts := fmt.Sprintf("%s ended: %s %s, %d bytes of output", e.Kind, how, view.Span(view.Ms(e.Ms)), e.Size)
	if n := len(e.Changed); n > 0 {
		facts += ", " + view.Plural(n, "file changed", "files changed")
	}
	if e.Leftover > 0 {
		facts += ", " + view.Plural(e.Leftover, "process left over and killed", "processes left over and killed")
	}
	if e.Kind == engine.AgentWork && e.How != engine.NoStart {
		facts += ", " + view.UsedBy(e.Usage)
	}
	if e.Network != "" {
		facts += ", network=" + t.line(e.Network)
	}
	if e.Reason != "" {
		facts += " (" + t.line(e.Reason) + ")"
	} else if e.Cause != nil {
		facts += " (" + t.line(e.Cause.String()) + ")"
	}
	return facts
}

func (t theme) workLines(e engine.WorkEnded) []string {
	lines := t.under(logIndent, idleTone, t.workEnded(e))
	lines = append(lines, t.claims(e.Claims)...)
	for _, n := range e.Notes {
		lines = append(lines, t.under(logIndent, idleTone, "note: "+t.line(n))...)
	}
	lines = append(lines, t.changes("changed protected file: ", e.Tampered)...)
	return append(lines, t.changes("outside its writes: ", e.OutOfScope)...)
}

func (t theme) claims(c engine.Claims) []string {
	var lines []string
	say := func(what string, texts ...string) {
		for _, s := range texts {
			lines = append(lines, t.under(logIndent, idleTone, what+t.line(s))...)
		}
	}
	if c.Blocked != "" {
		say("it says it is blocked by: ", c.Blocked)
	}
	say("it asks: ", c.Questions...)
	say("it found: ", c.Discoveries...)
	return lines
}

func (t theme) changes(what string, cs []engine.Change) []string {
	var lines []string
	for _, c := range cs {
		lines = append(lines, t.under(logIndent+2, badTone, what+t.line(c.Path)+" ("+t.line(c.What)+")")...)
	}
	return lines
}

// doctor shows what the machine can do.
func (t theme) doctor(checks []probe.Line) []string {
	var lines []string
	for _, c := range checks {
		l := doctorLook(c.Status)
		text := t.under(doctorIndent, plainTone, t.line(c.Text))
		head := fmt.Sprintf(" %s %-14s %-7s  ", t.glyph(l), t.line(c.Check), l.word)
		over := func(l string) bool { return doctorIndent+ansi.StringWidth(strings.TrimLeft(l, " ")) > t.width }
		if t.width < 2*doctorIndent || ansi.StringWidth(head) > doctorIndent || slices.ContainsFunc(text, over) {
			lines = append(lines, t.paint(l.tone, strings.TrimRight(t.fit(head, t.width), " ")))
			text = t.under(4, plainTone, t.line(c.Text))
		} else {
			text[0] = t.paint(l.tone, head) + strings.TrimLeft(text[0], " ")
		}
		lines = append(lines, text...)
		if c.Hint != "" && c.Status != probe.OK {
			lines = append(lines, t.under(4, idleTone, "hint: "+t.line(c.Hint))...)
		}
	}
	return lines
}

// doctorIndent is where the text of a line begins.
const doctorIndent = 3 + 14 + 1 + 7 + 2

func doctorLook(s probe.Status) look {
	switch s {
	case probe.OK:
		return look{"✓", "+", okTone, "ok"}
	case probe.Warning:
		return look{"!", "!", warnTone, "warning"}
	case probe.Failure:
		return look{"✕", "x", badTone, "error"}
	}
	return look{"–", "-", idleTone, "absent"}
}
