package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
)

// OrNull is null for a zero value, which stands for what is not known.
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// List is never null.
func List[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// How a plan stands, and a run that nobody has said yes to yet.
const (
	Verified = api.PlanVerified
	Approved = api.PlanApproved
	Rejected = api.PlanRejected
)

// PlanStatus is what somebody said to a text of a plan, or to the plan that
// delegates to it.
func PlanStatus(r *engine.Revision) engine.Status {
	switch {
	case r.Rejected():
		return Rejected
	case r.Answer != nil || r.Drafted.Parent != "":
		return Approved
	}
	return Verified
}

// Spending says what a run has used, and of what, kind by kind. Of a limited
// kind it counts as the limit does, time up to now.
func Spending(h engine.HeadRow, now time.Time) []string {
	cost, tokens := spent(h, Money, Count)
	silent := h.Effort.Cost.Silent
	if cost != "" && silent > 0 {
		cost += " + " + Plural(silent, "attempt", "attempts") + " of unknown cost"
	}
	if n := h.Effort.Tokens.Silent; tokens != "" && n > 0 && (cost == "" || n != silent) {
		tokens += " + " + Plural(n, "attempt", "attempts") + " of unknown use"
	}
	list := inUse(cost, tokens, h, now)
	l := h.Budget.Limits
	if n := h.Budget.Unmetered; n > 0 && (l.Tokens > 0 || l.CostMicros > 0) {
		list = append(list, fmt.Sprintf("%d unmetered", n))
	}
	return list
}

// Spent is Spending in few columns: a plus stands for more than is known.
func Spent(h engine.HeadRow, now time.Time) []string {
	more := func(silent int, word func(int64) string) func(int64) string {
		return func(n int64) string {
			if silent > 0 {
				return word(n) + "+"
			}
			return word(n)
		}
	}
	cost, tokens := spent(h, more(h.Effort.Cost.Silent, Money), more(h.Effort.Tokens.Silent, Count))
	return inUse(cost, tokens, h, now)
}

// spent is what was used of money and of tokens, beside what may be; nothing where neither
// is known or limited. What no attempt told is unknown, not nothing.
func spent(h engine.HeadRow, money, count func(int64) string) (cost, tokens string) {
	l, used := h.Budget.Limits, h.Budget.Spent
	word := func(n int64, told engine.Told, say func(int64) string) string {
		if n == 0 && !told.Known && told.Silent > 0 {
			return "unknown"
		}
		return say(n)
	}
	if l.CostMicros > 0 {
		cost = word(used.CostMicros, h.Effort.Cost, money) + " of " + Money(l.CostMicros)
	} else if h.CostMicros > 0 {
		cost = money(h.CostMicros)
	}
	if n := h.TokensIn + h.TokensOut; l.Tokens > 0 {
		tokens = word(used.Tokens, h.Effort.Tokens, count) + " of " + Count(l.Tokens) + " tokens"
	} else if n > 0 {
		tokens = count(n) + " tokens"
	}
	return cost, tokens
}

// inUse lists what was used, with the time where that is limited.
func inUse(cost, tokens string, h engine.HeadRow, now time.Time) []string {
	list := slices.DeleteFunc([]string{cost, tokens}, func(s string) bool { return s == "" })
	if l := h.Budget.Limits; l.Wall > 0 {
		list = append(list, Span(l.Wall-h.Budget.Left(now).Wall)+" of "+Span(l.Wall))
	}
	return list
}

// Unproven says of the first steps that are done without a proof why they have none.
func Unproven(rows []engine.StepRow) []string {
	const most = 3
	var all []string
	for _, r := range rows {
		if bare(r) && r.Reason != "" {
			why := r.Reason
			if !r.Bond.Leans { // else all of it is what a person is asked to look at
				why, _, _ = strings.Cut(why, "; ")
			}
			all = append(all, fmt.Sprintf("step %s %s is unproven: %s", r.Number, r.ID, why))
		}
	}
	if more := len(all) - most; more > 0 {
		all = append(all[:most], Plural(more, "more step is", "more steps are")+" unproven")
	}
	return all
}

// Sums says what became of a run's steps: what was proven, and what counts
// without a proof.
func Sums(h engine.HeadRow) []string {
	parts := []string{fmt.Sprintf("%d proven", h.Proven)}
	for _, p := range []struct {
		n    int
		word string
	}{{h.Unproven, "unproven"}, {h.Waived, "waived"}, {h.Skipped, "skipped"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if h.Missed > 0 {
		parts = append(parts, "optional checks failed in "+Plural(h.Missed, "step", "steps"))
	}
	if h.Flaky > 0 {
		parts = append(parts, "flaky checks in "+Plural(h.Flaky, "step", "steps"))
	}
	if h.Weaker != "" {
		parts = append(parts, h.Weaker)
	}
	return parts
}

// Statuses are those that a run can have, and a plan of which nothing was run.
func Statuses() []engine.Status {
	return []engine.Status{
		engine.Running, Interrupted, engine.Waiting, engine.Paused, engine.Replanning, engine.Done, engine.Failed, engine.Cancelled, Verified, Approved, Rejected,
	}
}

// Word is the word for a status, the same in every list, sentence and document, and
// for what is done to a step in a phase of it.
func Word(s engine.Status, p engine.Phase) string {
	switch {
	case s == engine.Running && (p == engine.Verifying || p == engine.Baseline || p == engine.Retrying || p == engine.Revising):
		return string(p)
	case (s == engine.Done || s == DoneUnproven) && p == engine.Ratchet:
		return "proving again"
	}
	return string(s)
}

// Interrupted is how people see what was under way when its owner ended. The
// journal has no such status: it does not say who carries a run on.
const Interrupted engine.Status = "interrupted"

// DoneUnproven is how people see a step that is done without a proof, and a run that counts such
// a step. The journal calls both done.
const DoneUnproven engine.Status = "done, unproven"

// Span writes a duration for people: 0.4s, 30s, 1m48s, 2h05m.
func Span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute-time.Second/2:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// Age writes how long ago something was.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours())/24)
}

// Money writes millionths of a dollar.
func Money(micros int64) string {
	if micros > 0 && micros < 5_000 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// Count writes a number of tokens.
func Count(n int64) string {
	switch {
	case n < 1_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}

func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func Ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func Join(words []string) string { return strings.Join(words, ", ") }

func CmpTime(at, otherwise time.Time) time.Time {
	if at.IsZero() {
		return otherwise
	}
	return at
}

// AnswerOf says how a check ended.
func AnswerOf(e engine.CheckEnded) string {
	said := fmt.Sprintf("%s: exit %d, wanted %d, %s", e.Verdict, e.Exit, e.Want, Span(Ms(e.Ms)))
	if e.Signal != "" {
		said += ", signal " + e.Signal
	}
	if e.Reason != "" {
		said += " (" + e.Reason + ")"
	}
	return said
}
