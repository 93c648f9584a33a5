package cli

import (
	"io"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// progress follows what the attempts under way say of themselves. That is kept
// beside the journal, so it has no place in the order of events but this: it
// stands between the attempt's start and its end. It is not safe for concurrent
// use.
type progress struct {
	state string // the state directory; "" follows nothing
	live  []*saying
}

// saying is an attempt under way, and how far it was listened to.
type saying struct {
	run, step  string
	attempt, n int
	offset     int64
	line       int
	shown      time.Time // when plain lines last said something of it
}

// saidLine is one line of an attempt.
type saidLine struct {
	effect.Said
	from *saying
	line int // counted from 1
}

// take notes attempts that begin, and returns what is left of one that ends.
func (p *progress) take(run string, e engine.Event) []saidLine {
	switch e := e.(type) {
	case engine.WorkDispatched:
		if e.Kind != engine.ContractWork && p.state != "" {
			p.live = append(p.live, &saying{run: run, step: e.Step, attempt: e.Attempt, n: e.N})
		}
	case engine.WorkEnded:
		at := slices.IndexFunc(p.live, func(s *saying) bool { return s.run == run && s.step == e.Step && s.attempt == e.Attempt && s.n == e.N })
		if at >= 0 {
			rest := p.hear(p.live[at])
			p.live = slices.Delete(p.live, at, at+1)
			return rest
		}
	}
	return nil
}

// look returns what was said since the last look.
func (p *progress) look() (all []saidLine) {
	for _, s := range p.live {
		all = append(all, p.hear(s)...)
	}
	return all
}

func (p *progress) hear(s *saying) (all []saidLine) {
	for {
		list, next := effect.ReadSaid(effect.SaidFile(p.state, s.run, s.step, s.attempt, s.n), s.offset)
		if next == s.offset {
			return all
		}
		s.offset = next
		for _, l := range list {
			s.line++
			all = append(all, saidLine{l, s, s.line})
		}
	}
}

// writeSaid writes what attempts said as events without a sequence number. Who
// takes events up again after one of them gets what is under way from its first line.
func writeSaid(w io.Writer, all []saidLine) {
	for _, s := range all {
		view.Write(w, "event", map[string]any{
			"type": s.Type, "run": s.from.run, "step": s.from.step, "attempt": s.from.attempt, "n": s.from.n,
			"line": s.line, "at": view.Stamp(s.At), "percent": s.Percent, "text": s.Text,
		})
	}
}

// progressOf is how far the steps at work say they are, by id.
func (s *session) progressOf(head engine.HeadRow, steps []engine.StepRow) map[string]view.Said {
	all := map[string]view.Said{}
	for _, st := range steps {
		if st.Status != engine.Running || st.Phase != engine.Working {
			continue
		}
		if now, ok := effect.NewestSaid(s.Place.State, head.Run, st.ID, st.Attempts); ok {
			all[st.ID] = claimed(now)
		}
	}
	return all
}

func saysOf(state string) func(run, step string, attempt, n int) string {
	return func(run, step string, attempt, n int) string {
		now, _ := effect.LastSaid(state, run, step, attempt, n)
		return claimed(now).String()
	}
}

// claimed is what an attempt claims of its progress, as faces show it.
func claimed(s effect.Said) view.Said {
	return view.Said{Percent: s.Percent, Text: s.Text, At: view.Stamp(s.At)}
}
