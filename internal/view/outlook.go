package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Outlook is what is to be expected of the steps of a run that are not over, by what they took
// in earlier runs of its plan, and by what others of the same kind took in this one.
type Outlook struct {
	Usual   map[string]Usual // by step; none of a step that nothing is known of
	Spans   map[string]Ahead // of the steps to come, by step: when they may be at work
	Path    map[string]bool  // the steps that the end of the run depends on, the longest way through it
	End     time.Time        // when the last one may be over; zero where nothing is to come, or too little is known
	Tokens  int64            // that they may use
	Cost    int64            // the same, in millionths of a dollar
	Unknown int              // steps to come that nothing is known of
}

// Usual is what an attempt of a step takes.
type Usual struct {
	Took         time.Duration
	Tokens, Cost int64
}

// Ahead is a time to come.
type Ahead struct{ From, To time.Time }

// earlier is how many runs of the same plan are looked at.
const earlier = 3

// Past reads the steps of earlier runs of a run's plan, the newest first.
func (r Reader) Past(ctx context.Context, head engine.HeadRow) (past []engine.StepRow, err error) {
	heads, err := r.Store.Heads(ctx, store.HeadFilter{Stream: head.Stream, Limit: earlier + 1})
	if err != nil {
		return nil, err
	}
	for _, h := range heads {
		if h.Run == head.Run || h.First > head.First {
			continue
		}
		rows, err := r.Store.Steps(ctx, store.StepFilter{Stream: h.Stream, Run: h.Run})
		if err != nil {
			return nil, err
		}
		past = append(past, rows...)
	}
	return past, nil
}

// Outlook tells what is to be expected of a run as it stands, of which so many steps may be at work
// at once.
func (s Standing) Outlook(past []engine.StepRow, atOnce int) Outlook {
	o := Outlook{Usual: usual(s.Steps, past), Spans: map[string]Ahead{}, Path: map[string]bool{}}
	for _, row := range s.Steps {
		if over(row.Status) || s.Head.Ended {
			continue
		}
		u, known := o.Usual[row.ID]
		if !known {
			o.Unknown++
		}
		o.Tokens, o.Cost = o.Tokens+u.Tokens, o.Cost+u.Cost
	}
	if !s.Head.Ended {
		o.ahead(s, max(1, atOnce))
	}
	o.longest(s)
	return o
}

// over reports a step of which nothing more is to come.
func over(s engine.Status) bool {
	return s == engine.Done || s == engine.Skipped || s == engine.Waived
}

// usual is what steps usually take: their own attempts before, else the middle of those of the
// same agent, else of all.
func usual(steps, past []engine.StepRow) map[string]Usual {
	own, by := map[string]Usual{}, map[string][]Usual{}
	for _, row := range slices.Concat(past, steps) {
		u, ok := each(row)
		if !ok {
			continue
		}
		if _, known := own[row.ID]; !known || over(row.Status) {
			own[row.ID] = u
		}
		by[row.Agent] = append(by[row.Agent], u)
	}
	var all []Usual
	for _, some := range by {
		all = append(all, some...)
	}
	of := map[string]Usual{}
	for _, row := range steps {
		u, known := own[row.ID]
		switch {
		case known:
		case len(by[row.Agent]) > 0:
			u = mid(by[row.Agent])
		case len(all) > 0:
			u = mid(all)
		default:
			continue
		}
		of[row.ID] = u
	}
	return of
}

// each is what one attempt of a step took.
func each(row engine.StepRow) (Usual, bool) {
	e := row.Effort
	if e.Attempts == 0 || e.WorkMs+e.CheckMs == 0 || !over(row.Status) && row.Attempts < 2 {
		return Usual{}, false // the only attempt is under way
	}
	n := int64(e.Attempts)
	return Usual{Ms((e.WorkMs + e.CheckMs) / n), e.Tokens.N / n, e.Cost.N / n}, true
}

func mid(all []Usual) Usual {
	half := func(of func(Usual) int64) int64 {
		values := make([]int64, len(all))
		for i, u := range all {
			values[i] = of(u)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return Usual{
		time.Duration(half(func(u Usual) int64 { return int64(u.Took) })),
		half(func(u Usual) int64 { return u.Tokens }), half(func(u Usual) int64 { return u.Cost }),
	}
}

// ahead puts the steps to come behind what they need, as many beside each other as may be.
func (o *Outlook) ahead(s Standing, atOnce int) {
	free := map[string]time.Time{} // by step: when what needs it can begin
	var lanes []time.Time          // when each place is free
	var rest []engine.StepRow
	for _, row := range s.Steps {
		switch {
		case over(row.Status):
			free[row.ID] = s.Now
		case row.Status == engine.Running && !row.Started.IsZero():
			u, known := o.Usual[row.ID]
			if !known {
				rest = append(rest, row)
				continue
			}
			to := CmpTime(row.Started, s.Now).Add(u.Took)
			if to.Before(s.Now) {
				to = s.Now
			}
			o.Spans[row.ID] = Ahead{s.Now, to}
			free[row.ID], lanes = to, append(lanes, to)
		default:
			rest = append(rest, row)
		}
	}
	for len(lanes) < atOnce {
		lanes = append(lanes, s.Now)
	}
	known := true
	for len(rest) > 0 {
		at := slices.IndexFunc(rest, func(row engine.StepRow) bool {
			return !slices.ContainsFunc(row.Needs, func(n string) bool { _, ok := free[n]; return !ok })
		})
		if at < 0 {
			known = false
			break // what it needs is not of this run
		}
		row := rest[at]
		rest = slices.Delete(rest, at, at+1)
		u, has := o.Usual[row.ID]
		if !has {
			known = false
			break
		}
		from := s.Now
		for _, n := range row.Needs {
			from = later(from, free[n])
		}
		lane := 0
		for i, t := range lanes {
			if t.Before(lanes[lane]) {
				lane = i
			}
		}
		from = later(from, lanes[lane])
		to := from.Add(u.Took)
		lanes[lane], free[row.ID] = to, to
		o.Spans[row.ID] = Ahead{from, to}
	}
	if !known {
		clear(o.Spans)
		return
	}
	for _, a := range o.Spans {
		o.End = later(o.End, a.To)
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// longest finds the way through the steps that takes longest, by what they took and may take.
func (o *Outlook) longest(s Standing) {
	took, rows := map[string]time.Duration{}, map[string]engine.StepRow{}
	for _, row := range s.Steps {
		took[row.ID], rows[row.ID] = o.took(s, row), row
	}
	ends, via := map[string]time.Duration{}, map[string]string{}
	var end func(id string) time.Duration
	end = func(id string) time.Duration {
		if d, ok := ends[id]; ok {
			return d
		}
		ends[id] = 0 // a cycle ends here
		before := time.Duration(0)
		for _, n := range rows[id].Needs {
			if _, here := rows[n]; !here {
				continue
			}
			if d := end(n); d > before || via[id] == "" {
				before, via[id] = max(before, d), n
			}
		}
		ends[id] = before + took[id]
		return ends[id]
	}
	last := ""
	for _, row := range s.Steps {
		if _, instance := engine.InstanceOf(row.ID); instance {
			continue
		}
		if d := end(row.ID); d > 0 && (last == "" || d > ends[last]) {
			last = row.ID
		}
	}
	for at := last; at != ""; at = via[at] {
		o.Path[at] = true
	}
}

// PathTook is how long the longest way through the run takes.
func (o Outlook) PathTook(s Standing) (sum time.Duration) {
	for _, row := range s.Steps {
		if o.Path[row.ID] {
			sum += o.took(s, row)
		}
	}
	return sum
}

// took is how long a step took, or may take.
func (o Outlook) took(s Standing, row engine.StepRow) time.Duration {
	switch {
	case over(row.Status):
		return max(0, row.Finished.Sub(row.Started))
	case row.Started.IsZero():
		return o.Usual[row.ID].Took
	}
	return max(o.Usual[row.ID].Took, CmpTime(row.Finished, s.Now).Sub(row.Started))
}

// Counted says how many steps stand how: 7 done, 2 running, 1 waiting, 4 to go. Once the run has
// ended, what is left of it was not done.
func (s Standing) Counted() (parts []string) {
	rest := "to go"
	if s.Head.Ended {
		rest = "not done"
	}
	words := []string{"done", "waived", "skipped", "running", "interrupted", "waiting", "failed", rest}
	n := map[string]int{}
	for _, row := range s.Steps {
		word := rest
		switch {
		case over(row.Status), row.Status == engine.Failed:
			word = string(row.Status)
		case row.Status == engine.Regressed:
			word = "failed"
		case row.Status == engine.Waiting || row.Status == engine.Running && s.Asks(row.ID):
			word = "waiting"
		case row.Status == engine.Running && s.Adrift():
			word = "interrupted"
		case row.Status == engine.Running:
			word = "running"
		}
		n[word]++
	}
	for _, word := range words {
		if n[word] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[word], word))
		}
	}
	return parts
}
