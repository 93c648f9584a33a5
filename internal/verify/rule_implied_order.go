package verify

import (
	"fmt"
	"slices"
)

func ruleImpliedOrder() Rule {
	return Rule{
		ID: "PT043", Name: "implied-order", Severity: Warning,
		Title: "a contract looks at a file that another step makes, and does not wait for that step",
		Text: "The contract or check names a file that is covered by the `writes:` of another step and not by those " +
			"of its own, so the step can only be proved when the other one is done. Say so with `needs:`, or the " +
			"outcome depends on which of them is quicker.",
		Bad: "### 1. Write the schema\n\n**needs:** none\n**writes:** schema.sql\n\n### 2. Write the queries\n\n" +
			"**needs:** none\n**writes:** queries/**\n**contract:**\n```shell\nsqlcheck --schema schema.sql queries/\n```",
		Good: "### 1. Write the schema\n\n**needs:** none\n**writes:** schema.sql\n\n### 2. Write the queries\n\n" +
			"**needs:** 1\n**writes:** queries/**\n**contract:**\n```shell\nsqlcheck --schema schema.sql queries/\n```",
		step: checkImpliedOrder,
	}
}

func checkImpliedOrder(p *pass, u *unit) {
	if !p.doc.needing || !u.Writes.Set || u.stuck(p.doc) {
		return
	}
	for _, s := range u.proofs {
		p.implied(u, s)
	}
}

// implied reports the first file of a script that another step makes.
func (p *pass) implied(u *unit, s script) {
	o, n := p.doc.order(), p.doc.namings()
	for _, file := range s.mentions() {
		writers, known := n.writers(file.text)
		if !known || len(writers) == 0 || slices.Contains(writers, u.index) {
			continue
		}
		if slices.ContainsFunc(writers, func(i int) bool { return o.precedes(i, u.index) }) {
			continue
		}
		other := p.doc.units[writers[0]]
		message := fmt.Sprintf("%s of step %q looks at %q, which step %q makes, and does not wait for it", s.label, u.ID.Value, file.text, other.ID.Value)
		hint := fmt.Sprintf("add %s to its `needs:`", other.ID.Value)
		if o.precedes(u.index, other.index) {
			message = fmt.Sprintf("%s of step %q looks at %q, which step %q makes later", s.label, u.ID.Value, file.text, other.ID.Value)
			hint = "put that step first"
		}
		p.report(u, s.text.At(file.at), message, hint)
		return
	}
}

// stuck reports a step that is in a cycle or behind one: nothing can be said of
// its order.
func (u *unit) stuck(d *document) bool { return d.order().open[u.index] > 0 }
