package verify

import (
	"errors"
	"fmt"

	"github.com/piton-dev/piton/internal/engine"
)

func ruleWhen() Rule {
	return Rule{
		ID: "PT063", Name: "when", Severity: Error,
		Title: "a condition that cannot be evaluated",
		Text: "`when:` is an expression over the outputs of steps that this one waits for: `$id`, with its parts as " +
			"`.key` and `[0]`, compared with `==`, `!=`, `<`, `>`, `in`, `contains`, `startsWith`, `matches`, joined by `and`, `or`, " +
			"`not`. It may call abs, ceil, first, float, floor, hasPrefix, hasSuffix, indexOf, int, keys, last, len, " +
			"lower, max, min, round, string, trim, trimPrefix, trimSuffix, type and upper. It has no loops, and is true or false. Where it is false the " +
			"step is skipped, and what needs the step goes on. The output of a step that was skipped is nil.",
		Bad:  "### 1. Count\n\n**contract:**\n```shell\ntest -f count\n```\n\n### 2. Sort\n\n**when:** $cuont > 1\n**contract:**\n```shell\ntest -f sorted\n```",
		Good: "### 1. Count\n\n**contract:**\n```shell\ntest -f count\n```\n\n### 2. Sort\n\n**when:** $count > 1\n**contract:**\n```shell\ntest -f sorted\n```",
		step: checkWhen,
	}
}

func checkWhen(p *pass, u *unit) {
	if u.When.IsZero() {
		return
	}
	c, err := engine.ParseCondition(u.When.Value, p.doc.has)
	if wrong, ok := errors.AsType[*engine.ConditionError](err); ok {
		p.report(u, u.When.At(wrong.Offset), fmt.Sprintf("the condition of step %q cannot be evaluated: %s", u.ID.Value, wrong.Message),
			"outputs of steps are $id, and their parts $id.key and $id[0]")
		return
	}
	for _, id := range c.Reads() {
		p.waitedFor(u, p.doc.refs.Find(id)[0], "$"+id, u.When.Pos)
	}
}

// has reports whether a step has that id.
func (d *document) has(id string) bool {
	found := d.refs.Find(id)
	return len(found) == 1 && d.units[found[0]].ID.Value == id
}
