package verify

import (
	"fmt"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleUnknownNeed() Rule {
	return Rule{
		ID: "PT010", Name: "unknown-need", Severity: Error,
		Title: "a step needs a step that the plan does not have",
		Text: "`needs:` lists numbers or ids of other steps of the same plan. A name that no step has would " +
			"leave the step without its dependency, so nothing is guessed. Write the number of the heading, " +
			"or the id: the step's `id:`, else its title in lower case joined by hyphens.",
		Bad:   "### 1. Build\n\n### 2. Test\n\n**needs:** biuld",
		Good:  "### 1. Build\n\n### 2. Test\n\n**needs:** build",
		check: checkUnknownNeed,
	}
}

// maxHints bounds the search for the nearest of many names.
const maxHints = 20

func checkUnknownNeed(p *pass) {
	var ids []string
	hints := 0
	for _, u := range p.doc.units {
		for _, ref := range u.lost {
			if ref.found > 0 {
				continue
			}
			hint := ""
			if hints++; hints <= maxHints {
				if ids == nil {
					ids = p.doc.ids()
				}
				hint = plan.Nearest(ref.text.Value, ids)
			}
			p.report(u, ref.text.Pos, fmt.Sprintf("step %q needs %q, which is no step of this plan", u.ID.Value, ref.text.Value), hint)
		}
	}
}

func (d *document) ids() []string {
	ids := make([]string, len(d.units))
	for i, u := range d.units {
		ids[i] = u.ID.Value
	}
	return ids
}
