package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleCycle() Rule {
	return Rule{
		ID: "PT012", Name: "cycle", Severity: Error,
		Title: "a step waits for itself",
		Text: "The needs of these steps lead back to where they began, so none of them could ever start. " +
			"Take one of the needs away. A step without `needs:` waits for the step before it; " +
			"`needs: none` lets it start at once.",
		Bad:   "### 1. Build\n\n**needs:** 2\n\n### 2. Test\n\n**needs:** 1",
		Good:  "### 1. Build\n\n**needs:** none\n\n### 2. Test\n\n**needs:** 1",
		check: checkCycle,
	}
}

func checkCycle(p *pass) {
	for _, cycle := range p.doc.cycles() {
		u := p.doc.units[cycle[0]]
		message := fmt.Sprintf("step %q waits for itself", u.ID.Value)
		if len(cycle) > 1 {
			message += ": " + p.doc.chain(cycle)
		}
		p.report(u, u.place(cycle[1%len(cycle)]), message, "")
	}
}

// maxChain is how many steps of a cycle are named.
const maxChain = 50

func (d *document) chain(cycle []int) string {
	var names []string
	for i, at := range cycle {
		if i == maxChain {
			names = append(names, fmt.Sprintf("(%d more)", len(cycle)-i))
			break
		}
		names = append(names, d.units[at].ID.Value)
	}
	return strings.Join(append(names, d.units[cycle[0]].ID.Value), " → ")
}

// place is where the step says that it needs another one.
func (u *unit) place(index int) plan.Pos {
	for _, n := range u.needs {
		if n.index == index {
			return n.at
		}
	}
	return plan.Pos{}
}

// cycles finds cycles that share no step, each beginning with its first step,
// in linear time. Every step that can never start is in one or behind one.
func (d *document) cycles() [][]int {
	stuck := d.stuck()
	seen := make([]bool, len(d.units))
	var found [][]int
	for start := range d.units {
		at := map[int]int{} // place in the walk
		var walk []int
		for i := start; i >= 0 && stuck[i]; i = d.next(i, stuck) {
			if from, again := at[i]; again {
				found = append(found, turned(walk[from:]))
				break
			}
			if seen[i] {
				break
			}
			seen[i], at[i] = true, len(walk)
			walk = append(walk, i)
		}
	}
	return found
}

// stuck tells which steps could never start.
func (d *document) stuck() []bool {
	open := make([]int, len(d.units))
	waiting := make([][]int, len(d.units))
	var free []int
	for i, u := range d.units {
		if open[i] = len(u.needs); open[i] == 0 {
			free = append(free, i)
		}
		for _, n := range u.needs {
			waiting[n.index] = append(waiting[n.index], i)
		}
	}
	stuck := slices.Repeat([]bool{true}, len(d.units))
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		stuck[i] = false
		for _, w := range waiting[i] {
			if open[w]--; open[w] == 0 {
				free = append(free, w)
			}
		}
	}
	return stuck
}

// next is the first need of a stuck step that is stuck itself.
func (d *document) next(i int, stuck []bool) int {
	for _, n := range d.units[i].needs {
		if stuck[n.index] {
			return n.index
		}
	}
	return -1
}

// turned turns a cycle so that it begins with its first step in the plan.
func turned(cycle []int) []int {
	at := slices.Index(cycle, slices.Min(cycle))
	return slices.Concat(cycle[at:], cycle[:at])
}
