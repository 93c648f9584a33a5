package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/verify"
	"github.com/piton-dev/piton/internal/view"
)

// retro looks back at a run: what was known, what the plan foresaw, what happened.
func (a *app) retro(ctx context.Context, word string) error {
	return a.looking(ctx, func(s *session) error {
		head, err := s.Find(ctx, word)
		if err != nil {
			return err
		}
		findings, estimate, err := s.foreseen(ctx, head)
		if err != nil {
			return err
		}
		r, err := view.Look(ctx, s.reader(), head, findings, estimate)
		if err != nil {
			return err
		}
		a.prints("retro", r, func(t theme) []string { return t.retro(r) })
		return nil
	})
}

// foreseen is what was said of the plan before the run: findings, and how long the
// plan said that it would take. What gc has removed is left out.
func (s *session) foreseen(ctx context.Context, head engine.HeadRow) (findings []verify.Finding, estimate time.Duration, err error) {
	r, doc, err := s.Kept(ctx, head.Plan)
	if isNotFound(err) {
		return nil, 0, nil // of a plan that was approved with another
	}
	if err != nil {
		return nil, 0, err
	}
	body, err := s.Body(ctx, r.Verified.Findings)
	if err != nil {
		return nil, 0, err
	}
	if body != nil {
		if err := json.Unmarshal(body, &findings); err != nil {
			return nil, 0, fmt.Errorf("read the findings of plan %s: %w", head.Plan, err)
		}
	}
	if doc.Plan != nil {
		estimate = doc.Plan.Estimate.Value
	}
	return findings, estimate, nil
}

// retroMost is how many of each are shown.
const retroMost = 10

func (t theme) retro(r view.Retro) []string {
	ms := func(n int64) string { return view.Span(time.Duration(n) * time.Millisecond) }
	lines := t.under(0, boldTone, fmt.Sprintf("run %s %s: %s", r.Run, t.line(r.Title), r.Status))
	say := func(tone tone, format string, args ...any) {
		lines = append(lines, t.under(1, tone, fmt.Sprintf(format, args...))...)
	}
	some := func(n int, what string) {
		if n > retroMost {
			say(idleTone, "%s %d more %s", t.dots(), n-retroMost, what)
		}
	}
	lines = append(lines, t.under(0, boldTone, "what was known")...)
	say(plainTone, "frames %d to %d were visible", r.Given.Window.Start, r.Given.Window.End-1)
	if r.Given.Window.Len() == 0 {
		lines = lines[:len(lines)-1]
		say(plainTone, "nothing: no frame was visible")
	}
	lines = append(lines, t.frames("knew", r.Given.Frames)...)
	lines = append(lines, t.under(0, boldTone, "what the plan foresaw")...)
	foresaw := fmt.Sprintf("%s, revision %d", view.Plural(r.Foreseen.Steps, "step", "steps"), r.Foreseen.Version)
	if r.Foreseen.Estimate > 0 {
		foresaw += ", estimated " + view.Span(r.Foreseen.Estimate)
	}
	say(plainTone, "%s", foresaw)
	lines = append(lines, t.under(0, boldTone, "what happened")...)
	say(plainTone, "%s", r.Sum())
	if r.Reason != "" {
		say(badTone, "%s", t.line(r.Reason))
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
		say(plainTone, "%s %s: %s, %s", s.Number, s.ID, how, view.Plural(s.Attempts, "attempt", "attempts"))
		for _, why := range s.Failed[:min(len(s.Failed), 3)] {
			lines = append(lines, t.under(3, idleTone, t.line(why))...)
		}
	}
	some(n, "steps that were not proven at once")
	lines = append(lines, t.under(0, boldTone, "where time and money went")...)
	say(plainTone, "%s in all: %s of work, %s of checks, %s waiting for people; %s", ms(r.Spent.TookMs), ms(r.Spent.WorkMs), ms(r.Spent.CheckMs), ms(r.Spent.WaitMs), view.Used(r.Spent.Tokens, r.Spent.Cost))
	for _, s := range r.Dearest(5, func(s view.RetroStep) int64 { return s.WorkMs + s.CheckMs }) {
		say(plainTone, "%s %s: %s of work, %s of checks; %s", s.Number, s.ID, ms(s.WorkMs), ms(s.CheckMs), view.Used(s.Tokens, s.Cost))
	}
	lines = append(lines, t.under(0, boldTone, "findings that came true")...)
	for _, f := range r.Came[:min(len(r.Came), retroMost)] {
		say(warnTone, "%s %s: %s", f.Code, t.line(f.Message), t.line(f.Became))
	}
	some(len(r.Came), "findings")
	if len(r.Came) == 0 {
		say(idleTone, "none of %d", r.Others)
	} else if r.Others > 0 {
		say(idleTone, "%d others did not", r.Others)
	}
	return lines
}
