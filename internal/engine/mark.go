package engine

// marks says what the record that comes next is marked with, as things stand before it;
// false where nobody looks for it by its step or its frame.
func (s *State) marks(r Record) (Mark, bool) {
	m := Mark{Seq: r.Seq}
	switch e := r.Event.(type) {
	case RunOpened, RunConfigured:
		return m, true
	case FramePushed:
		m.Step, m.Frame = e.Step, e.ID
		return m, true
	case WorkDispatched:
		m.Step = e.Step
		m.Was = s.moment(e.Step)
	case StepSettled:
		m.Step, m.Failed = e.Step, e.Reason != "" && e.fell()
		m.Was = s.moment(e.Step)
	case WorkEnded:
		m.Step = e.Step
	case CheckEnded:
		m.Step = e.Step
	case ChangeReverted:
		m.Step = e.Step
	case StepExpanded:
		m.Step = e.Step
	case ItemOpened:
		m.Step = e.Step
	case ItemAnswered:
		m.Step = s.items[e.Item].Step
	}
	return m, m.Step != ""
}

// fell reports whether an attempt, or a proof, did not pass.
func (e StepSettled) fell() bool {
	return e.RetryAt != nil || e.Status == Regressed || e.Status == Waiting || e.Status == Failed
}

// mark keeps the mark of a record that was folded in.
func (s *State) mark(m Mark) {
	if m.Was != (Moment{}) {
		m.Is = s.moment(m.Step)
	}
	s.dirty.marks = append(s.dirty.marks, m)
}

// moment is how a step stands, the zero moment of none.
func (s *State) moment(id string) Moment {
	if s.prog == nil {
		return Moment{}
	}
	i, ok := s.prog.Index(id)
	if !ok {
		return Moment{}
	}
	return Moment{Status: s.shown(i), Attempts: s.steps[i].Attempt, Loop: s.loopRow(i)}
}
