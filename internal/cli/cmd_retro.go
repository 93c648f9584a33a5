package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// retro looks back at a run: what was known, what the plan foresaw, what happened.
func (a *app) retro(ctx context.Context, word string) error {
	return a.looking(ctx, func(s *session) error {
		head, err := s.Find(ctx, word)
		if err != nil {
			return err
		}
		r, err := view.Look(ctx, s.reader(), head)
		if err != nil {
			return err
		}
		a.prints("retro", r, func(t theme) []string { return t.retro(r) })
		return nil
	})
}

// retroMost is how many of each are shown.
const retroMost = 10

func (t theme) retro(r view.Retro) []string {
	lines := t.under(0, boldTone, fmt.Sprintf("run %s %s: %s", r.Run, t.line(r.Title), r.Status))
	return slices.Concat(
		lines,
		t.part("what was known"), t.known(r.Given),
		t.part("what the plan foresaw"), t.foreseen(r.Foreseen),
		t.part("what happened"), t.happened(r),
		t.part("where time and money went"), t.spent(r),
		t.part("findings that came true"), t.cameTrue(r),
	)
}

func (t theme) part(title string) []string { return t.under(0, boldTone, title) }

func (t theme) said(tone tone, format string, args ...any) []string {
	return t.under(1, tone, fmt.Sprintf(format, args...))
}

// rest says how many more there are than are shown.
func (t theme) rest(n int, what string) []string {
	if n <= retroMost {
		return nil
	}
	return t.said(idleTone, "%s %d more %s", t.dots(), n-retroMost, what)
}

func (t theme) known(g view.RetroGiven) []string {
	lines := t.said(plainTone, "frames %d to %d were visible", g.Window.Start, g.Window.End-1)
	if g.Window.Len() == 0 {
		lines = t.said(plainTone, "nothing: no frame was visible")
	}
	return append(lines, t.frames("knew", g.Frames)...)
}

func (t theme) foreseen(f view.RetroForeseen) []string {
	text := fmt.Sprintf("%s, revision %d", view.Plural(f.Steps, "step", "steps"), f.Version)
	if f.Estimate > 0 {
		text += ", estimated " + view.Span(f.Estimate)
	}
	return t.said(plainTone, "%s", text)
}

// happened sums the run up, and names the steps that were not proven at once.
func (t theme) happened(r view.Retro) []string {
	lines := t.said(plainTone, "%s", r.Sum())
	if r.Reason != "" {
		lines = append(lines, t.said(badTone, "%s", t.line(r.Reason))...)
	}
	n := 0
	for _, s := range r.Steps {
		if s.Proven && len(s.Failed) == 0 {
			continue
		}
		if n++; n > retroMost {
			continue
		}
		how := string(s.Status)
		if s.Status == engine.Done && !s.Proven {
			how += ", unproven"
		}
		lines = append(lines, t.said(plainTone, "%s %s: %s, %s", s.Number, s.ID, how, view.Plural(s.Attempts, "attempt", "attempts"))...)
		for _, why := range s.Failed[:min(len(s.Failed), 3)] {
			lines = append(lines, t.under(3, idleTone, t.line(why))...)
		}
	}
	return append(lines, t.rest(n, "steps that were not proven at once")...)
}

func (t theme) spent(r view.Retro) []string {
	ms := func(n int64) string { return view.Span(time.Duration(n) * time.Millisecond) }
	all := r.Spent
	lines := t.said(plainTone, "%s in all: %s of work, %s of checks, %s waiting for people; %s", ms(all.TookMs), ms(all.WorkMs), ms(all.CheckMs), ms(all.WaitMs), view.Used(all.Tokens, all.Cost))
	for _, s := range r.Dearest(5, func(s view.RetroStep) int64 { return s.WorkMs + s.CheckMs }) {
		lines = append(lines, t.said(plainTone, "%s %s: %s of work, %s of checks; %s", s.Number, s.ID, ms(s.WorkMs), ms(s.CheckMs), view.Used(s.Tokens, s.Cost))...)
	}
	return lines
}

func (t theme) cameTrue(r view.Retro) (lines []string) {
	for _, f := range r.Came[:min(len(r.Came), retroMost)] {
		lines = append(lines, t.said(warnTone, "%s %s: %s", f.Code, t.line(f.Message), t.line(f.Became))...)
	}
	lines = append(lines, t.rest(len(r.Came), "findings")...)
	switch {
	case len(r.Came) == 0 && r.Others == 0:
		return t.said(idleTone, "verify foretold nothing")
	case len(r.Came) == 0:
		return t.said(idleTone, "none of %d", r.Others)
	case r.Others > 0:
		lines = append(lines, t.said(idleTone, "%d others did not", r.Others)...)
	}
	return lines
}
