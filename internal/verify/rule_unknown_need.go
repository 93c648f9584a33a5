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
		Bad:  "### 1. Build\n\n### 2. Test\n\n**needs:** biuld",
		Good: "### 1. Build\n\n### 2. Test\n\n**needs:** build",
		step: checkUnknownNeed,
	}
}

func checkUnknownNeed(p *pass, u *unit) {
	for _, ref := range u.lost {
		if ref.found == 0 {
			p.report(u, ref.text.Pos, fmt.Sprintf("step %q needs %q, which is no step of this plan", u.ID.Value, ref.text.Value),
				hintOr(p.needs.hint(ref.text.Value, p.doc.ids), fmt.Sprintf("name a step by its id, or by its number; there are %d", len(p.doc.units))))
		}
	}
}

// maxHints bounds the search for the nearest of many names.
const maxHints = 20

// nearby finds the name that one was probably meant to be: of so many that the
// search costs no more than the plan's size.
type nearby struct {
	asked int
	names []string // made when asked for
}

func (n *nearby) hint(name string, all func() []string) string {
	if n.asked++; n.asked > maxHints {
		return ""
	}
	if n.names == nil {
		n.names = all()
	}
	return plan.Nearest(name, n.names)
}

func (d *document) ids() []string {
	ids := make([]string, len(d.units))
	for i, u := range d.units {
		ids[i] = u.ID.Value
	}
	return ids
}
