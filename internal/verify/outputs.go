package verify

import (
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

var outputName = lazy.Regexp(`\bPITON_STEP_[A-Za-z0-9_]+`)

// mention is a name of the environment by which a script reads a step's output.
type mention struct {
	name  string
	at    plan.Pos
	steps []int // those that the name may mean
}

// variables lists the step outputs that the scripts and checks of a step name,
// each once.
func (d *document) variables(u *unit, f Facts) []mention {
	var list []mention
	for _, s := range u.proofs {
		list = d.mentioned(list, s.text)
	}
	if u.scripted(f) {
		list = d.mentioned(list, u.Task)
	}
	return list
}

// mentioned adds the outputs that a text names and the list does not.
func (d *document) mentioned(list []mention, t plan.Text) []mention {
	if !strings.Contains(t.Value, "PITON_STEP_") {
		return list
	}
	for _, at := range outputName().FindAllStringIndex(t.Value, -1) {
		name := t.Value[at[0]:at[1]]
		if !slices.ContainsFunc(list, func(m mention) bool { return m.name == name }) {
			list = append(list, mention{name, t.At(at[0]), d.variable(name)})
		}
	}
	return list
}

// variable lists the steps whose output is found under a name of the environment.
func (d *document) variable(name string) []int {
	if d.variableNames == nil {
		d.variableNames = stepsBy{}
		for i, u := range d.units {
			d.variableNames.put(engine.Variable(u.ID.Value), i)
		}
	}
	return d.variableNames[name]
}

// reads are the ids of the steps whose outputs the scripts of a step name.
func (d *document) reads(u *unit, f Facts) []string {
	var ids []string
	for _, m := range d.variables(u, f) {
		if len(m.steps) == 1 {
			ids = append(ids, d.units[m.steps[0]].ID.Value)
		}
	}
	return ids
}
