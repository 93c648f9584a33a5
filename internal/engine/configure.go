package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// admitConfigure takes the configuration in force for that of the run.
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
	case e.Was != now.Config || e.Config == now.Config:
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
