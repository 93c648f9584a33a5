package engine

import (
	"fmt"
	"slices"
)

// maxHeard bounds the answers that one piece of work may hear.
const maxHeard = 16

// WorkHeard is an answer of a model to work which asks more than once, such as the
// making of a plan. Work that was cut off goes on behind the answers it has: nobody is
// asked again for what the journal holds.
type WorkHeard struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	N       int    `json:"n"`
	Round   int    `json:"round"`  // 1 for the first answer, in whatever dispatch
	Answer  string `json:"answer"` // object
	Usage   Usage  `json:"usage"`
}

// Heard is what a Draw effect says when it was answered, before it asks again.
type Heard struct {
	Key    Key
	Round  int
	Answer string
	Usage  Usage
}

// follows refuses an answer that is not the next one.
func (in Heard) follows(had []WorkHeard) error {
	if in.Round != len(had)+1 || in.Round > maxHeard || in.Answer == "" {
		return refuse(Invalid, fmt.Sprintf("%s has heard %d answers, and this is number %d", in.Key, len(had), in.Round))
	}
	return nil
}

func (in Heard) event() []Event {
	k := in.Key
	return []Event{WorkHeard{Step: k.Step, Attempt: k.Attempt, N: k.N, Round: in.Round, Answer: in.Answer, Usage: in.Usage}}
}

// next reports whether e is the answer after those.
func (e WorkHeard) next(had []WorkHeard) bool { return e.Round == len(had)+1 && e.Round <= maxHeard }

// heardUsage is what all answers used.
func heardUsage(had []WorkHeard) (u Usage) {
	for _, e := range had {
		u = u.Plus(e.Usage)
	}
	return u
}

// least is a usage that tells no less than another one.
func (u Usage) least(v Usage) Usage {
	more := func(a, b *int64) *int64 {
		if a == nil || b != nil && *b > *a {
			return b
		}
		return a
	}
	return Usage{In: more(u.In, v.In), Out: more(u.Out, v.Out), CostMicros: more(u.CostMicros, v.CostMicros)}
}

// Plus is what two usages come to. What only one of them tells counts.
func (u Usage) Plus(v Usage) Usage {
	plus := func(a, b *int64) *int64 {
		switch {
		case a == nil:
			return b
		case b == nil:
			return a
		}
		return new(add(*a, *b))
	}
	return Usage{In: plus(u.In, v.In), Out: plus(u.Out, v.Out), CostMicros: plus(u.CostMicros, v.CostMicros)}
}

func (w *Workspace) admitHeard(in Heard) ([]Event, error) {
	if !w.Wants(in.Key) {
		return nil, refuse(Conflict, in.Key.String()+" is not under way")
	}
	if err := in.follows(w.errand(in.Key.Step).Heard); err != nil {
		return nil, err
	}
	return in.event(), nil
}

func (w *Workspace) applyHeard(ev WorkHeard) error {
	e := w.errand(ev.Step)
	if e == nil || e.Epoch == 0 || ev.Attempt != 1 || ev.N != e.N || !ev.next(e.Heard) {
		return fmt.Errorf("work %q.%d heard answer %d, which is not due", ev.Step, ev.N, ev.Round)
	}
	e.Heard = append(slices.Clip(e.Heard), ev)
	row := w.asked[ev.Step]
	row.Heard = e.Heard
	w.keep(row)
	return nil
}

func (s *State) admitHeard(in Heard) ([]Event, error) {
	r := s.run.Replan
	if r == nil || !r.Live || r.Epoch != s.epoch || in.Key != s.drawKey() {
		return nil, refuse(Conflict, in.Key.String()+" is not under way")
	}
	if err := in.follows(r.Heard); err != nil {
		return nil, err
	}
	return in.event(), nil
}

func (s *State) applyHeard(e WorkHeard) error {
	r := s.run.Replan
	if r == nil || !r.Live || e.Step != "" || e.Attempt != s.run.Replans.Asked || e.N != r.N || !e.next(r.Heard) {
		return fmt.Errorf("revision %d.%d heard answer %d, which is not due", e.Attempt, e.N, e.Round)
	}
	r.Heard = append(slices.Clip(r.Heard), e)
	return nil
}
