package verify

import (
	"regexp"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

var outputName = regexp.MustCompile(`\bPITON_STEP_[A-Za-z0-9_]+`)

// mention is a name of the environment by which a script reads a step's output.
type mention struct {
	name  string
	at    plan.Pos
	steps []int // those that the name may mean
}

// variables lists the step outputs that the scripts and checks of a step name,
// each once.
func (d *document) variables(u *unit, f Facts) []mention {
	texts := make([]plan.Text, 0, len(u.proofs)+1)
	for _, s := range u.proofs {
		texts = append(texts, s.text)
	}
	if u.scripted(f) {
		texts = append(texts, u.Task)
	}
	var list []mention
	for _, t := range texts {
		if !strings.Contains(t.Value, "PITON_STEP_") {
			continue
		}
		for _, at := range outputName.FindAllStringIndex(t.Value, -1) {
			name := t.Value[at[0]:at[1]]
			if !slices.ContainsFunc(list, func(m mention) bool { return m.name == name }) {
				list = append(list, mention{name, t.At(at[0]), d.variable(name)})
			}
		}
	}
	return list
}

// variable lists the steps whose output is found under a name of the environment.
func (d *document) variable(name string) []int {
	if d.variableNames == nil {
		d.variableNames = map[string][]int{}
		for i, u := range d.units {
			put(d.variableNames, engine.Variable(u.ID.Value), i)
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
