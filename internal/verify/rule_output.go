package verify

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

func ruleOutput() Rule {
	return Rule{
		ID: "PT061", Name: "output", Severity: Error,
		Title: "a step reads an output that it cannot have",
		Text: "What a step put out is there for the steps that wait for it, directly or through others: as " +
			"`step:id` among the subscriptions, as `$id` in `when:`, `for each:` and `args:`, and in contracts, checks " +
			"and scripts as the environment variable `PITON_STEP_ID` (the id in capitals, `-` as `_`). A name that " +
			"means no step, or a step that is not waited for, gives nothing.",
		Bad: "### 1. List the files\n\n**contract:**\n```shell\ntest \"$PITON_STEP_COUNT\" -gt 0\n```\n\n" +
			"### 2. Count\n\n**contract:**\n```shell\ntest -f count\n```",
		Good: "### 1. Count\n\n**contract:**\n```shell\ntest -f count\n```\n\n" +
			"### 2. List the files\n\n**contract:**\n```shell\ntest \"$PITON_STEP_COUNT\" -gt 0\n```",
		check: checkOutput,
	}
}

func checkOutput(p *pass) {
	names := nearby{of: p.doc}
	for _, u := range p.doc.units {
		for _, m := range p.doc.variables(u, p.facts) {
			p.variable(u, m, &names)
		}
		for _, s := range u.Subscriptions.Value {
			if found := p.doc.refs.Find(s.Ref); s.Kind == "step" && len(found) == 1 && found[0] != u.index {
				p.waitedFor(u, found[0], "step:"+s.Ref, s.Pos)
			}
		}
	}
}

// nearby finds the output that a name was probably meant to be: of so many names
// that the search costs no more than the plan's size.
type nearby struct {
	of    *document
	asked int
	names []string // of all outputs; made when asked for
}

func (n *nearby) hint(name string) string {
	if n.asked++; n.asked > maxHints {
		return ""
	}
	if n.names == nil {
		for _, u := range n.of.units {
			n.names = append(n.names, engine.Variable(u.ID.Value))
		}
	}
	return plan.Nearest(strings.ToUpper(name), n.names)
}

func (p *pass) variable(u *unit, m mention, names *nearby) {
	switch len(m.steps) {
	case 1:
		p.waitedFor(u, m.steps[0], m.name, m.at)
	case 0:
		p.report(u, m.at, fmt.Sprintf("step %q reads %s, and no step has such an id", u.ID.Value, m.name),
			cmp.Or(names.hint(m.name), "take the id of a step in capitals, with _ for -"))
	default:
		p.report(u, m.at, fmt.Sprintf("step %q reads %s, which steps %q and %q both give", u.ID.Value, m.name, p.doc.units[m.steps[0]].ID.Value, p.doc.units[m.steps[1]].ID.Value),
			"give one of them another `id:`")
	}
}

// waitedFor reports an output of a step that this one does not wait for. It
// says nothing of a step itself, nor where the order cannot be told.
func (p *pass) waitedFor(u *unit, of int, name string, at plan.Pos) {
	other := p.doc.units[of]
	switch {
	case of == u.index:
		p.report(u, at, fmt.Sprintf("step %q reads %s, its own output", u.ID.Value, name), "only the outputs of steps before it are there")
	case u.stuck(p.doc) || len(u.lost) > 0 || p.doc.order().precedes(of, u.index):
	case p.doc.order().precedes(u.index, of):
		p.report(u, at, fmt.Sprintf("step %q reads %s, the output of step %q, which comes later", u.ID.Value, name, other.ID.Value), "put that step first")
	default:
		p.report(u, at, fmt.Sprintf("step %q reads %s, the output of step %q, and does not wait for it", u.ID.Value, name, other.ID.Value),
			fmt.Sprintf("add %s to its `needs:`", other.ID.Value))
	}
}
