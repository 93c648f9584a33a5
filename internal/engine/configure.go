package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// admitConfigure takes the configuration in force, and the files that judge, for those of the run.
func (s *State) admitConfigure(in Configure) ([]Event, error) {
	e := in.RunConfigured
	e.Changes = texts(e.Changes)
	if err := s.mayConfigure(e); err != nil {
		return nil, err
	}
	return []Event{e}, nil
}

// mayConfigure reports why the run cannot go on under another configuration. Only a
// person says that it may.
func (s *State) mayConfigure(e RunConfigured) error {
	now := s.run.Opened
	switch {
	case e.By == "" || e.By == ByPolicy || e.By == Harness || e.Config == "":
		return refuse(Invalid, "a configuration is approved by its hash, in the name of a person")
	case s.prog == nil || e.Run != now.Run:
		return refuse(NotFound, fmt.Sprintf("run %s is not the newest of its plan", e.Run), ListRuns)
	case !s.run.Live && s.run.Status != Failed:
		return refuse(Conflict, fmt.Sprintf("run %s is %s", now.Run, s.run.Status), OpenRun)
	case s.run.Live && s.stopping():
		return refuse(Conflict, fmt.Sprintf("run %s is being stopped", now.Run))
	case e.Was != now.Config || e.Config == now.Config && e.Base == now.Base:
		return refuse(Conflict, fmt.Sprintf("run %s has gone on to another configuration since the difference was shown", now.Run), LookAgain)
	}
	return nil
}

// applyConfigured lets the run go on under another configuration. Every step stays as
// it stands, as in a revision that changes none; a round of proving begins anew.
func (s *State) applyConfigured(e RunConfigured) error {
	if err := s.mayConfigure(e); err != nil {
		return fmt.Errorf("run %s is configured: %w", e.Run, err)
	}
	o := &s.run.Opened
	frames := o.Policy.Frames
	o.Config, o.Agents, o.Policy, o.Base = e.Config, e.Agents, e.Policy, e.Base
	o.Policy.Frames = frames
	o.Unsealed = cmp.Or(e.Unsealed, o.Unsealed)
	s.takes(e.Files)
	if !s.run.Live {
		return nil
	}
	steps := slices.Clone(s.steps)
	for i := range steps {
		steps[i] = steps[i].carried()
	}
	s.settleIn(s.prog, steps)
	return nil
}

// takes lets protected files count as they are now. What was proved with them as they were
// is proved again.
func (s *State) takes(files []Change) {
	if len(files) == 0 {
		return
	}
	moved := maps.Clone(s.run.Moved)
	for _, c := range files {
		delete(moved, c.Path)
	}
	s.run.Moved = moved
	for i := range s.steps {
		if s.steps[i].Touched == nil {
			continue
		}
		touched := maps.Clone(s.steps[i].Touched)
		for _, c := range files {
			delete(touched, c.Path)
		}
		s.steps[i].Touched = touched
	}
	s.expectNews()
	s.run.Proof.Brought = true
	s.run.Proof.stale()
}

// Guarded is what a run holds the files of its workspace against.
type Guarded struct {
	Base   string            // object: the protected files as they were
	Guards []string          // of all its steps
	Judges []string          // objects with what judges, as its checks opened it
	Moved  map[string]string // protected paths that finished steps were allowed to change
	// Left are paths that its steps changed in the workspace against the rules, and that are
	// not put back yet.
	Left map[string]bool
}

// Guarded looks at all steps: it is for what a person asks, and not for what events need.
func (s *State) Guarded() Guarded {
	g := Guarded{Base: s.run.Opened.Base, Guards: s.guards(), Judges: s.run.Judges, Moved: s.run.Moved, Left: map[string]bool{}}
	if _, apart := s.prog.Landing(); apart {
		return g
	}
	for i := range s.steps {
		if !s.steps[i].satisfied() {
			g.Moved = overlaid(g.Moved, s.steps[i].Touched) // it did not pass, and its scope allows it all the same
		}
		for _, c := range slices.Concat(s.steps[i].Restore, restore(&s.steps[i])) {
			g.Left[c.Path] = true
		}
	}
	return g
}
