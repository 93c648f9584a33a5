package engine

import "fmt"

// WorkReported is what work under way says of itself so far: a claim, which moves
// nothing. What it says it used counts where its end is lost with its owner.
type WorkReported struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	N       int    `json:"n"`
	Usage   Usage  `json:"usage"`
	Claims
}

// Reported is what a Work effect says while it is under way.
type Reported struct {
	Key   Key
	Usage Usage // in all so far
	Claims
}

func (s *State) admitReported(in Reported) ([]Event, error) {
	i, err := s.known(in.Key)
	if err != nil {
		return nil, err
	}
	if !s.underWay(i, in.Key) {
		return nil, refuse(Conflict, in.Key.String()+" is not under way", "")
	}
	usage := s.steps[i].reported(in.Usage)
	return []Event{WorkReported{Step: in.Key.Step, Attempt: in.Key.Attempt, N: in.Key.N, Usage: usage, Claims: in.plain()}}, nil
}

func (s *State) applyReported(e WorkReported) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	if !st.Live || e.Attempt != st.Attempt || e.N != st.N {
		return fmt.Errorf("work %q %d.%d reports, which is not under way", e.Step, e.Attempt, e.N)
	}
	st.Said, st.Claimed = e.Usage, e.Claims
	return nil
}

// reported is what the step's work used, where it says u now: never less than it
// said before.
func (st *step) reported(u Usage) Usage {
	return Usage{In: most(st.Said.In, u.In), Out: most(st.Said.Out, u.Out), CostMicros: most(st.Said.CostMicros, u.CostMicros)}
}

func most(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}
