package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Retro is where the time and the money of a run went.
type Retro struct {
	Run, Title string
	State      State
	Sum        string
	Meters     Meters
	Over       string // what of the budget is used up
	Parts      []Share
	Agents     []Share
	Steps      []Share
	Foreseen   string
	Came       []string // findings that came true
	Others     string
	Said       []Decision
}

// Share is a part of what was spent.
type Share struct {
	Name, To, Note string
	Took, Used     string
	Percent        int // of the time
	Why            []string
}

// retro looks back at a run.
func retro(ctx context.Context, w *Workspace, r *http.Request) (sheet, error) {
	head, err := w.run(ctx, r.PathValue("run"))
	if err != nil {
		return sheet{}, err
	}
	back, err := view.Look(ctx, w.Reader, head)
	if err != nil {
		return sheet{}, err
	}
	st, err := w.Standing(ctx, head)
	if err != nil {
		return sheet{}, err
	}
	c := w.chronicle(head, looking{})
	c.minutes = &minutes{asks: map[string]string{}}
	if err := c.read(ctx); err != nil {
		return sheet{}, err
	}
	x := Retro{Run: head.Run, Title: head.Title, State: stateOf(st.By.Shown(head), ""), Sum: back.Sum(), Meters: metersOf(st, view.Outlook{}), Foreseen: foreseen(back.Foreseen)}
	x.Over, x.Said = overBudget(head, st.Now), c.minutes.said
	if back.Happened.Attempts > 0 {
		x.Parts, x.Agents, x.Steps = c.parts(back, head.Finished, st.Now), byAgent(st.Steps), bySteps(head.Run, back)
	}
	for _, f := range back.Came {
		x.Came = append(x.Came, fmt.Sprintf("%s, step %s: %s It became: %s", f.Code, f.Step, f.Message, f.Became))
	}
	if back.Others > 0 {
		x.Others = view.Plural(back.Others, "finding", "findings") + " did not come true."
	}
	return sheet{Title: "Retrospective: " + head.Title, Nav: "plans", Body: x}, nil
}

func foreseen(f view.RetroForeseen) string {
	text := view.Plural(f.Steps, "step", "steps") + fmt.Sprintf(" in revision %d", f.Version)
	if f.Estimate > 0 {
		text += ", estimated " + view.Span(f.Estimate)
	}
	return text
}

// overBudget names what of a budget is used up.
func overBudget(h engine.HeadRow, now time.Time) string {
	l, used := h.Budget.Limits, h.Budget.Spent
	at := now
	if h.Ended {
		at = h.Finished
	}
	var parts []string
	if l.Wall > 0 && h.Work.At(at) >= l.Wall {
		parts = append(parts, "time")
	}
	if l.CostMicros > 0 && used.CostMicros >= l.CostMicros {
		parts = append(parts, "money")
	}
	if l.Tokens > 0 && used.Tokens >= l.Tokens {
		parts = append(parts, "tokens")
	}
	return view.Join(parts)
}

// parts are work, checks, waits for people and what failed attempts took of it.
func (c *chronicle) parts(back view.Retro, end, now time.Time) []Share {
	s := back.Spent
	failed, took, cost, told, waited := 0, time.Duration(0), int64(0), false, time.Duration(0)
	for key, t := range c.tries {
		for _, wait := range t.waits {
			if key[0] != c.run {
				continue // of a run below, whose questions are its own
			}
			waited += cmp.Or(wait.ended, end, now).Sub(wait.began)
		}
		for _, try := range t.tries {
			if try.kind != "bad" {
				continue
			}
			failed, took = failed+1, took+try.ended.Sub(try.began)
			if try.used.CostMicros != nil {
				cost, told = cost+*try.used.CostMicros, true
			}
		}
	}
	all := s.WorkMs + s.CheckMs + waited.Milliseconds()
	share := func(name, note string, ms int64) Share {
		return Share{Name: name, Note: note, Took: view.Span(view.Ms(ms)), Percent: percent(ms, all)}
	}
	parts := []Share{
		share("Work", view.Plural(back.Happened.Attempts, "attempt", "attempts"), s.WorkMs), share("Checks", "", s.CheckMs),
		share("Waiting for people", view.Plural(back.Happened.Asked, "question", "questions"), waited.Milliseconds()),
		share("Of the above, attempts that failed", fmt.Sprintf("%d failed, %s", failed, view.Plural(back.Happened.Retries, "retry", "retries")), took.Milliseconds()),
	}
	if s.Tokens != nil || s.Cost != nil {
		parts[0].Used = view.Used(s.Tokens, s.Cost)
	}
	if told {
		parts[3].Used = view.Money(cost)
	}
	return parts
}

// byAgent sums up what each agent took, the most first.
func byAgent(rows []engine.StepRow) []Share {
	type sum struct {
		steps, attempts int
		ms              int64
		tokens, cost    engine.Told
	}
	by := map[string]*sum{}
	all := int64(0)
	var names []string
	for _, row := range rows {
		e := row.Effort
		if e.Attempts == 0 {
			continue
		}
		s := by[row.Agent]
		if s == nil {
			s = &sum{}
			by[row.Agent], names = s, append(names, row.Agent)
		}
		s.steps, s.attempts, s.ms, all = s.steps+1, s.attempts+e.Attempts, s.ms+e.WorkMs, all+e.WorkMs
		s.tokens = engine.Told{N: s.tokens.N + e.Tokens.N, Known: s.tokens.Known || e.Tokens.Known}
		s.cost = engine.Told{N: s.cost.N + e.Cost.N, Known: s.cost.Known || e.Cost.Known}
	}
	slices.SortStableFunc(names, func(a, b string) int { return int(by[b].ms - by[a].ms) })
	var shares []Share
	for _, name := range names {
		s := by[name]
		x := Share{Name: name, Note: view.Plural(s.steps, "step", "steps") + ", " + view.Plural(s.attempts, "attempt", "attempts"), Took: view.Span(view.Ms(s.ms)), Percent: percent(s.ms, all)}
		if s.tokens.Known || s.cost.Known {
			x.Used = view.Used(s.tokens.Amount(), s.cost.Amount())
		}
		if x.Name == "" {
			x.Name = "no agent"
		}
		shares = append(shares, x)
	}
	return shares
}

// counted says once what is said again and again.
func counted(texts []string) (said []string) {
	for from := 0; from < len(texts); {
		n := 1
		for from+n < len(texts) && texts[from+n] == texts[from] {
			n++
		}
		text := texts[from]
		if n > 1 {
			text += fmt.Sprintf(", %d times", n)
		}
		said, from = append(said, text), from+n
	}
	return said
}

// bySteps are the steps that were worked on, those that took longest first.
func bySteps(run string, back view.Retro) (shares []Share) {
	whole := func(s view.RetroStep) int64 { return s.WorkMs + s.CheckMs }
	for _, s := range back.Dearest(len(back.Steps), whole) {
		x := Share{
			Name: s.Number + " " + s.Title, To: stepPath(run, s.ID), Note: view.Plural(s.Attempts, "attempt", "attempts"), Took: view.Span(view.Ms(whole(s))),
			Percent: percent(whole(s), back.Spent.WorkMs+back.Spent.CheckMs), Why: counted(s.Failed),
		}
		if s.Tokens != nil || s.Cost != nil {
			x.Used = view.Used(s.Tokens, s.Cost)
		}
		if s.Status == engine.Done && !s.Proven {
			x.Note = strings.Join([]string{x.Note, "unproven"}, ", ")
		}
		shares = append(shares, x)
	}
	return shares
}
