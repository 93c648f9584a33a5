package view

import (
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// A scene is the few steps of a run that something is told of, as its rows and its program
// have them: what a fold knows without its state.
type scene struct {
	rows map[int]engine.StepRow
	plan map[int]*engine.Step
}

func (s *scene) index(step string) int {
	for i, row := range s.rows {
		if row.ID == step {
			return i
		}
	}
	return -1
}

// Step is the i-th step as the plan has it.
func (f *Fold) Step(i int) *engine.Step {
	if f.scene != nil {
		return f.scene.plan[i]
	}
	return f.State.Program().Step(i)
}

// row is what lists show of the i-th step, as it stood after the record that is told of.
func (f *Fold) row(i int) engine.StepRow {
	var row engine.StepRow
	if f.scene != nil {
		row = f.scene.rows[i]
	} else {
		row = f.State.StepRow(i)
	}
	if m := f.mark; m != nil && m.Is.Status != "" && m.Step == row.ID {
		row.Status, row.Attempts, row.Loop = m.Is.Status, m.Is.Attempts, m.Is.Loop
	}
	return row
}

// Recount tells what a marked record of a step, or of a revision, means to people. The fold does not apply
// it: what it has to know of the step is in the mark.
func (f *Fold) Recount(m store.Marked) []Happening {
	if _, pushes := m.Event.(engine.FramePushed); pushes {
		return nil
	}
	if _, divides := m.Event.(engine.StepExpanded); divides {
		return nil
	}
	if run, opens := m.Event.(engine.RunOpened); opens {
		if run.Revises != "" {
			f.revise(run)
		}
		return nil
	}
	if f.Tries == nil {
		f.Tries, f.free = map[string]*Try{}, map[string]int{}
	}
	f.mark = &m.Mark
	defer func() { f.mark = nil }()
	was := engine.StepRow{ID: m.Mark.Step, Status: m.Mark.Was.Status, Attempts: m.Mark.Was.Attempts, Loop: m.Mark.Was.Loop}
	return f.tell(Happening{Of: f, At: m.At, Step: -1}, m.Event, was)
}
