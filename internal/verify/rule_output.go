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
		step: checkOutput,
	}
}

func checkOutput(p *pass, u *unit) {
	for _, m := range p.doc.variables(u, p.facts) {
		p.variable(u, m)
	}
	for _, s := range u.Subscriptions.Value {
		if found := p.doc.refs.Find(s.Ref); s.Kind == "step" && len(found) == 1 && found[0] != u.index {
			p.waitedFor(u, found[0], "step:"+s.Ref, s.Pos)
		}
	}
}

// outputNames are the variables of all outputs.
func (d *document) outputNames() []string {
	var names []string
	for _, u := range d.units {
		names = append(names, engine.Variable(u.ID.Value))
	}
	return names
}

func (p *pass) variable(u *unit, m mention) {
	switch len(m.steps) {
	case 1:
		p.waitedFor(u, m.steps[0], m.name, m.at)
	case 0:
		p.report(u, m.at, fmt.Sprintf("step %q reads %s, and no step has such an id", u.ID.Value, m.name),
			cmp.Or(p.outputs.hint(strings.ToUpper(m.name), p.doc.outputNames), "take the id of a step in capitals, with _ for -"))
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
