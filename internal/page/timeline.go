package page

import (
	"cmp"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// Axis is the time of a run, with what is on it.
type Axis struct {
	Ticks []Tick
	Gaps  []Tick // where time in which nothing was at work is left out
	Now   string // where now is, in percent; "" where the run has ended
	// For what goes on in the browser: the moment of Now, and the percents of a millisecond behind it.
	At   int64
	Rate string
}

// Tick is a mark on the axis.
type Tick struct{ X, Text string }

// Bar is an attempt of a step on the axis, a wait for a person, or what is to be expected.
type Bar struct {
	X, W  string // in percent
	Kind  string // the class of its look
	Text  string
	Since int64 // milliseconds, of one that goes on; else 0
}

// trying is an attempt of a step as the records tell it.
type trying struct {
	n            int
	began, ended time.Time
	kind         string // ok, bad, cut; "" while it goes on
	why          string
	prompt       string // the object of what it was given
	same         bool   // a script that was tried before, unchanged
	words        string // the beginning of what the agent said last, or why the work ended as it did
	used         engine.Usage
	checks       map[string]engine.CheckEnded // the newest answer of each, of the work
}

// waiting is a question to people about a step.
type waiting struct {
	item         string
	began, ended time.Time
}

// trials are the attempts of a step, and its questions.
type trials struct {
	tries []trying
	waits []waiting
}

// note takes in what a record says of attempts.
func (c *chronicle) note(run string, r engine.Record) {
	of := func(step string) *trials {
		key := [2]string{run, step}
		if c.tries[key] == nil {
			c.tries[key] = &trials{}
		}
		return c.tries[key]
	}
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		if e.Kind == engine.ContractWork || e.Kind == engine.PlanWork || e.Kind == engine.MergeWork || e.Step == "" {
			return
		}
		t := of(e.Step)
		t.end(r.At, "cut", "")
		next := trying{n: e.Attempt, began: r.At, prompt: e.Prompt, checks: map[string]engine.CheckEnded{}}
		if n := len(t.tries); n > 0 && e.Kind == engine.ScriptWork {
			next.same = t.tries[n-1].prompt == e.Prompt && e.Prompt != "" && t.tries[n-1].n != e.Attempt
		}
		t.tries = append(t.tries, next)
	case engine.CheckEnded:
		if t := of(e.Step); len(t.tries) > 0 && e.Phase == engine.Verifying {
			t.tries[len(t.tries)-1].checks[e.Check] = e
		}
	case engine.WorkEnded:
		if e.Step == "" || e.Kind == engine.ContractWork || e.Kind == engine.PlanWork || e.Kind == engine.MergeWork {
			return
		}
		if t := of(e.Step); len(t.tries) > 0 {
			last := &t.tries[len(t.tries)-1]
			last.words, last.used = cmp.Or(e.Words, e.Reason), e.Usage
		}
		if e.How == engine.Lost || e.How == engine.Stopped {
			of(e.Step).end(r.At, "cut", e.Reason)
		}
	case engine.StepSettled:
		t := of(e.Step)
		switch {
		case e.Status == engine.Done && e.RetryAt == nil:
			t.end(r.At, "ok", "")
		case e.Status == engine.Running && e.RetryAt == nil:
		case e.Verdict != "" && e.Verdict != engine.Pass:
			t.end(r.At, "bad", e.Reason)
		case e.Status != engine.Running:
			t.end(r.At, "cut", e.Reason)
		}
		if e.Status != engine.Waiting {
			t.answered("", r.At)
		}
	case engine.ItemOpened:
		t := of(e.Step) // "" has what is asked about the run
		t.waits = append(t.waits, waiting{item: e.Item, began: r.At})
		c.items[e.Item] = t
	case engine.ItemAnswered:
		if t := c.items[e.Item]; t != nil {
			t.answered(e.Item, r.At)
		}
	}
}

// end ends the attempt that goes on, if one does.
func (t *trials) end(at time.Time, kind, why string) {
	if n := len(t.tries); n > 0 && t.tries[n-1].kind == "" {
		last := &t.tries[n-1]
		last.ended, last.kind, last.why = at, kind, why
	}
}

// answered ends the wait for an answer, of all items where none is named.
func (t *trials) answered(item string, at time.Time) {
	for i := range t.waits {
		if w := &t.waits[i]; w.ended.IsZero() && (item == "" || w.item == item) {
			w.ended = at
		}
	}
}

// The axis. Where nothing is at work for longer than shortGap, and than gapPart of all work, that
// time is drawn as narrow as a gap.
const (
	shortGap = 30 * time.Second
	gapPart  = 0.1 // of all work
	gapWide  = 3.0 // percent
	mostTick = 6
)

// piece is a part of the axis that has one scale.
type piece struct {
	from, to time.Time
	x, w     float64
	gap      bool
}

// scale puts moments on the axis.
type scale struct {
	began  time.Time
	pieces []piece
}

// merged joins what overlaps, and sums it up.
func merged(work []view.Ahead) (busy []view.Ahead, sum time.Duration) {
	sort.Slice(work, func(i, j int) bool { return work[i].From.Before(work[j].From) })
	for _, w := range work {
		if n := len(busy); n > 0 && !w.From.After(busy[n-1].To) {
			if w.To.After(busy[n-1].To) {
				sum += w.To.Sub(busy[n-1].To)
				busy[n-1].To = w.To
			}
			continue
		}
		busy, sum = append(busy, w), sum+w.To.Sub(w.From)
	}
	return busy, sum
}

// scaled makes the axis of what was at work from and until when, up to an end. With room it goes on
// behind the end, so that its scale stays for a while when the end moves on.
func scaled(began, end time.Time, work []view.Ahead, room bool) scale {
	busy, sum := merged(work)
	long := max(shortGap, time.Duration(float64(sum)*gapPart))
	s, at := scale{began: began}, began
	add := func(to time.Time, gap bool) {
		if to.After(at) {
			s.pieces, at = append(s.pieces, piece{from: at, to: to, gap: gap}), to
		}
	}
	for _, b := range busy {
		if b.From.Sub(at) > long {
			add(b.From, true)
		}
		add(b.To, false)
	}
	add(end, end.Sub(at) > long)
	if room {
		linear := s.linear()
		add(at.Add(roundUp(linear)-linear), false)
	}
	s.size()
	return s
}

// linear is how much of the time is drawn at scale.
func (s *scale) linear() (sum time.Duration) {
	for _, p := range s.pieces {
		if !p.gap {
			sum += p.to.Sub(p.from)
		}
	}
	return sum
}

// size gives the pieces their places.
func (s *scale) size() {
	gaps, linear := 0, s.linear()
	for _, p := range s.pieces {
		if p.gap {
			gaps++
		}
	}
	wide := min(gapWide, 50/float64(max(1, gaps)))
	left, x := 100-wide*float64(gaps), 0.0
	if linear == 0 {
		wide = 100 / float64(max(1, gaps))
	}
	for i := range s.pieces {
		p := &s.pieces[i]
		p.x, p.w = x, wide
		if !p.gap {
			p.w = left * float64(p.to.Sub(p.from)) / float64(linear)
		}
		x += p.w
	}
}

// x is where a moment is, in percent.
func (s scale) x(at time.Time) float64 {
	for _, p := range s.pieces {
		if !at.After(p.to) {
			return p.x + p.w*float64(max(0, at.Sub(p.from)))/float64(p.to.Sub(p.from))
		}
	}
	return 100
}

// bar is what lasts from one moment to another.
func (s scale) bar(from, to time.Time, kind, text string) Bar {
	const least = 1.0 // percent that can be seen
	x := s.x(from)
	w := max(least, s.x(to)-x)
	return Bar{X: percents(min(x, 100-least)), W: percents(w), Kind: kind, Text: text}
}

func percents(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// steps between ticks.
var tickSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour,
}

// ticks marks the pieces that have a scale, and the gaps between them.
func (s scale) ticks() (ticks, gaps []Tick) {
	linear := s.linear()
	step := tickSteps[len(tickSteps)-1]
	for _, d := range tickSteps {
		if linear/d < mostTick {
			step = d
			break
		}
	}
	last := 0.0
	for _, p := range s.pieces {
		if p.gap {
			gaps = append(gaps, Tick{percents(p.x + p.w/2), elapsed(p.to.Sub(p.from))})
			continue
		}
		for at := p.from.Sub(s.began).Truncate(step) + step; !s.began.Add(at).After(p.to) && len(ticks) < 2*mostTick; at += step {
			if x := s.x(s.began.Add(at)); x-last > 6 && x < 97 {
				ticks, last = append(ticks, Tick{percents(x), elapsed(at)}), x
			}
		}
	}
	return ticks, gaps
}

// elapsed is a time since the beginning: 0:05, 10:00, 3:00:00.
func elapsed(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// roundUp is an end of the axis that does not move with each look at it.
func roundUp(d time.Duration) time.Duration {
	for _, step := range tickSteps {
		if d/step < 12 {
			return (d/step + 1) * step
		}
	}
	return d
}

// axisOf is the axis of a run, and where its attempts are on it.
func (c *chronicle) axisOf(st view.Standing, o view.Outlook) (Axis, scale) {
	h := st.Head
	end := cmp.Or(h.Finished, st.Now)
	var work []view.Ahead
	for _, t := range c.tries {
		for _, try := range t.tries {
			work = append(work, view.Ahead{From: try.began, To: cmp.Or(try.ended, end)})
		}
	}
	until := end
	if !h.Ended {
		for _, a := range o.Spans {
			if len(st.Steps) <= mostNodes {
				work, until = append(work, a), latest(until, a.To)
			}
		}
	}
	s := scaled(h.Started, until, work, !h.Ended)
	x := Axis{}
	if x.Ticks, x.Gaps = s.ticks(); h.Ended {
		return x, s
	}
	x.Now, x.At, x.Rate = percents(s.x(st.Now)), st.Now.UnixMilli(), "0"
	for _, p := range s.pieces {
		if st.Carried && !p.gap && !st.Now.Before(p.from) && st.Now.Before(p.to) {
			x.Rate = strconv.FormatFloat(p.w/float64(p.to.Sub(p.from).Milliseconds()), 'g', 4, 64)
		}
	}
	return x, s
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// bars are a step's attempts, its questions, and what is to be expected of it.
func (c *chronicle) bars(st view.Standing, s scale, row engine.StepRow, o view.Outlook) (bars []Bar) {
	end := cmp.Or(st.Head.Finished, st.Now)
	t := c.tries[[2]string{st.Head.Run, row.ID}]
	if t == nil {
		t = &trials{}
	}
	words := map[string]string{"ok": "passed", "bad": "failed", "cut": "ended"}
	for _, try := range t.tries {
		kind := cmp.Or(try.kind, "run")
		b := s.bar(try.began, cmp.Or(try.ended, end), kind, fmt.Sprintf("attempt %d %s after %s", try.n, words[kind], view.Span(cmp.Or(try.ended, end).Sub(try.began))))
		switch {
		case kind != "run":
		case st.Carried:
			b.Since = try.began.UnixMilli()
			b.Text = fmt.Sprintf("attempt %d goes on", try.n)
		default:
			b.Kind, b.Text = "cut", fmt.Sprintf("attempt %d was cut off", try.n)
		}
		if try.same {
			b.Text += ", with the same script as before"
		}
		bars = append(bars, b)
	}
	for _, w := range t.waits {
		b := s.bar(w.began, cmp.Or(w.ended, end), "you", "waited for you "+view.Span(cmp.Or(w.ended, end).Sub(w.began)))
		if w.ended.IsZero() {
			b.Text = "waits for you"
		}
		bars = append(bars, b)
	}
	if a, ok := o.Spans[row.ID]; ok && len(st.Steps) <= mostNodes && a.To.After(a.From) {
		bars = append(bars, s.bar(a.From, a.To, "est", "about "+view.Span(a.To.Sub(a.From))+" to come"))
	}
	return bars
}
