package engine_test

import (
	"fmt"
	"slices"
	"strings"
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
// can be run; a step that is open goes to the default agent, to whom the arbiter names, or
// to one whose words fit it, and to one of these that could not be run a moment ago only
// where all of them could not.
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
	case !open && e.Role != f.def.Role:
		return fmt.Errorf("it is given to %q, and the plan says %q", e.Role, f.def.Role)
	case open && e.Role != f.def.Role && !a.fits(f, e.Role) && !(a.listed(e.Role) && strings.HasPrefix(e.Why, "the arbiter: ")):
		return fmt.Errorf("it is given to %q, whom nobody named for it", e.Role)
	case open && a.down(e.Role, r.At):
		for _, c := range a.run.Compiled.Agents() {
			if a.fits(f, c.Role) && !a.down(c.Role, r.At) {
				return fmt.Errorf("it is given to %q, who could not be run, and %q is there", e.Role, c.Role)
			}
		}
	}
	return nil
}

// fits reports whether the words of an agent are those of the step.
func (a *auditor) fits(f *file, role string) bool {
	def, agents := f.def, a.run.Compiled.Agents()
	if f.of != nil {
		def = f.of.def
	}
	at := slices.IndexFunc(agents, func(c engine.Candidate) bool { return c.Role == role })
	return at >= 0 && engine.Suits(agents, def.Title, def.Task)[at] > 0
}

func (a *auditor) down(role string, now time.Time) bool {
	at, ok := a.faults[role]
	return ok && now.Sub(at) < 5*time.Minute
}

// worked notes whether an agent could be run.
func (a *auditor) worked(d engine.WorkDispatched, e engine.WorkEnded, at time.Time) {
	switch {
	case d.Kind != engine.AgentWork || d.Role == "":
	case (e.How == engine.NoStart || e.Cause.Outside()) && d.Prompt != "":
		a.faults[d.Role] = at
	case e.How == engine.Exited || e.How == engine.TimedOut:
		delete(a.faults, d.Role)
	}
}
