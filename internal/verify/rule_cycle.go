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
	open := d.order().open
	seen := make([]bool, len(d.units))
	var found [][]int
	for start := range d.units {
		if open[start] == 0 || seen[start] {
			continue
		}
		at := map[int]int{} // place in the walk
		var walk []int
		for i := start; ; i = d.next(i, open) {
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

// next is the first need of a step that can never start which cannot either.
func (d *document) next(i int, open []int) int {
	at := slices.IndexFunc(d.units[i].needs, func(n need) bool { return open[n.index] > 0 })
	return d.units[i].needs[at].index
}

// turned turns a cycle so that it begins with its first step in the plan.
func turned(cycle []int) []int {
	at := slices.Index(cycle, slices.Min(cycle))
	return slices.Concat(cycle[at:], cycle[:at])
}
