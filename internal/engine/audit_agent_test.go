package engine_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// forced notes a person's word on who does a step.
func (a *auditor) forced(e engine.Command) error {
	if e.By == "" || e.By == engine.Harness {
		return fmt.Errorf("no person gave it")
	}
	f := a.steps[e.Step]
	if f == nil || f.def.Kind != engine.Agent || !a.listed(e.Role) {
		return fmt.Errorf("step %q is given to %q, who cannot do it", e.Step, e.Role)
	}
	f.forced = e.Role
	return nil
}

func (a *auditor) listed(role string) bool {
	return slices.ContainsFunc(a.run.Compiled.Agents(), func(c engine.Candidate) bool { return c.Role == role })
}

// mayWork holds who does a step against the plan, and against people: a person's word
// is done; the plan's is, and its fallback only after an attempt, or where nobody else
// can be run; for a step that is open nobody is taken who could not be run a moment
// ago, where anybody else is there.
func (a *auditor) mayWork(f *file, e engine.WorkDispatched, r engine.Record) error {
	if f.def.Kind != engine.Agent {
		if e.Role != f.def.Role || e.Why != "" {
			return fmt.Errorf("it is given to %q, because %q", e.Role, e.Why)
		}
		return nil
	}
	word := f.forced
	if word == "" && f.of != nil {
		word = f.of.forced
	}
	open := f.def.Target == "" || f.def.Target == "any"
	switch {
	case word != "":
		if e.Role != word || e.Why == "" {
			return fmt.Errorf("it is given to %q, because %q, and a person said %q", e.Role, e.Why, word)
		}
		return nil
	case f.def.Fallback != "" && e.Role == f.def.Fallback && e.Role != f.def.Role:
		if e.Attempt == 1 && !open && !a.down(f.def.Role, r.At) {
			return fmt.Errorf("it is given to its fallback, and nobody has failed")
		}
		return nil
	case !open && e.Role != f.def.Role, open && e.Role != f.def.Role && !a.listed(e.Role):
		return fmt.Errorf("it is given to %q, and the plan says %q", e.Role, f.def.Role)
	case open && a.down(e.Role, r.At):
		for _, c := range a.run.Compiled.Agents() {
			if len(a.run.Compiled.Agents()) > 1 && !a.down(c.Role, r.At) {
				return fmt.Errorf("it is given to %q, who could not be run, and %q is there", e.Role, c.Role)
			}
		}
	}
	return nil
}

func (a *auditor) down(role string, now time.Time) bool {
	at, ok := a.faults[role]
	return ok && now.Sub(at) < 5*time.Minute
}

// worked notes whether an agent could be run.
func (a *auditor) worked(d engine.WorkDispatched, e engine.WorkEnded, at time.Time) {
	switch {
	case d.Kind != engine.AgentWork || d.Role == "":
	case e.How == engine.NoStart && d.Prompt != "":
		a.faults[d.Role] = at
	case e.How == engine.Exited || e.How == engine.TimedOut:
		delete(a.faults, d.Role)
	}
}
