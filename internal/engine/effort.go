package engine

// Foreseen is what the plan said of a run before it began, and what was known when its newest
// revision did.
type Foreseen struct {
	Steps   int    `json:"steps"`
	Version int    `json:"version"`
	Budget  Amount `json:"budget,omitzero"`
	Frames  Window `json:"frames"` // those that were visible
}

// Effort is what went into a step.
type Effort struct {
	Attempts int   `json:"attempts,omitempty"` // that were worked on
	WorkMs   int64 `json:"work_ms,omitempty"`
	CheckMs  int64 `json:"check_ms,omitempty"`
	Tokens   Told  `json:"tokens,omitzero"`
	Cost     Told  `json:"cost_micros,omitzero"`
}

// spent is an effort of what was used.
func spent(u Usage) (x Effort) {
	x.Tokens.tell(u.In)
	x.Tokens.tell(u.Out)
	x.Cost.tell(u.CostMicros)
	return x
}

// hush counts what an attempt of an agent did not tell.
func (x *Effort) hush() {
	for _, t := range []*Told{&x.Tokens, &x.Cost} {
		if !t.Known {
			t.Silent++
		}
	}
}

func (x *Effort) add(more Effort) {
	x.Attempts += more.Attempts
	x.WorkMs += more.WorkMs
	x.CheckMs += more.CheckMs
	x.Tokens.add(more.Tokens)
	x.Cost.add(more.Cost)
}

// Told is an amount as far as anybody told it: what nobody told is unknown, not nothing.
type Told struct {
	N     int64 `json:"n"`
	Known bool  `json:"known"`
	// Silent are attempts of agents that did not tell theirs.
	Silent int `json:"silent,omitempty"`
}

func (t *Told) tell(n *int64) {
	if n != nil {
		t.add(Told{N: *n, Known: true})
	}
}

func (t *Told) add(more Told) {
	t.N, t.Known, t.Silent = add(t.N, more.N), t.Known || more.Known, t.Silent+more.Silent
}

// Amount is nil where nobody told it.
func (t Told) Amount() *int64 {
	if !t.Known {
		return nil
	}
	return &t.N
}

// RunEffort is what went into a run, of steps that revisions took out too.
type RunEffort struct {
	Effort
	Revisions int   `json:"revisions,omitempty"`
	Retries   int   `json:"retries,omitempty"`
	Regressed int   `json:"regressed,omitempty"`
	Asked     int   `json:"asked,omitempty"` // people, in the course of it
	Lost      int   `json:"lost,omitempty"`  // work whose owner died
	WaitMs    int64 `json:"wait_ms,omitempty"`
}

// toils counts what a record tells of the effort, once it was folded in.
func (s *State) toils(r Record) {
	all := &s.run.Effort
	switch e := r.Event.(type) {
	case RunOpened:
		if e.Revises != "" {
			all.Revisions++
		} else {
			s.run.Foreseen = Foreseen{Steps: e.Compiled.Len(), Version: e.Version, Budget: e.Compiled.Budget()}
		}
		s.run.Foreseen.Frames = e.Frames
	case WorkDispatched:
		if e.Kind.Effect() == Work {
			s.toil(e.Step, Effort{Attempts: 1})
		}
	case WorkEnded:
		if e.How == Lost {
			all.Lost++
		}
		x := spent(e.Usage)
		x.WorkMs = e.Ms
		if e.Kind == AgentWork && e.How != NoStart {
			x.hush()
		}
		s.toil(e.Step, x)
	case CheckEnded:
		x := spent(e.Usage)
		x.CheckMs = e.Ms
		s.toil(e.Step, x)
	case JudgeVoted:
		s.toil(e.Step, spent(e.Usage))
	case PartTried:
		s.toil(e.Step, Effort{CheckMs: e.Ms})
	case ArbiterRuled:
		s.toil(e.Step, spent(e.Usage))
	case StepSettled:
		switch {
		case e.RetryAt != nil:
			all.Retries++
		case e.Status == Regressed:
			all.Regressed++
		}
	case ItemOpened:
		all.Asked++
	}
}

// toil adds to what went into a step, and into the run.
func (s *State) toil(step string, more Effort) {
	s.run.Effort.add(more)
	if step == "" || s.prog == nil {
		return
	}
	x := s.run.Efforts[step]
	x.add(more)
	if s.run.Efforts == nil {
		s.run.Efforts = map[string]Effort{}
	}
	s.run.Efforts[step] = x
	if i, ok := s.prog.Index(step); ok {
		s.show(i)
	}
}
