package verify

import (
	"fmt"
	"path"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleSubscription() Rule {
	return Rule{
		ID: "PT042", Name: "subscription", Severity: Error,
		Title: "a subscription leads nowhere",
		Text: "`file:` is a path below the workspace, `step:` the id or number of another step. A file must exist, " +
			"or a step that this one waits for must make it: its `writes:` cover the file, or its contract or task " +
			"names it. Where only a step that comes later, or that runs beside this one, makes the file, the message " +
			"says which. It is a note where a step before may write anywhere and does not say that it makes the file.",
		Bad:  "**needs:** none\n**subscriptions:**\n- file:docs/none.md\n- step:nothing",
		Good: "**subscriptions:**\n- file:docs/design.md",
		step: checkSubscription,
	}
}

func checkSubscription(p *pass, u *unit) {
	for _, s := range u.Subscriptions.Value {
		switch s.Kind {
		case "file":
			p.subscribedFile(u, s)
		case "step":
			p.subscribedStep(u, s)
		}
	}
}

func (p *pass) subscribedFile(u *unit, s plan.Subscription) {
	file, ok := subscribed(s)
	if !ok {
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which is outside of the workspace", u.ID.Value, s.Ref), "name a file below the workspace, or copy it there")
		return
	}
	if f, asked := p.facts.Files[file]; !asked || f.Exists || isGlob(file) || len(u.lost) > 0 || u.stuck(p.doc) {
		return
	}
	switch maker, when := p.doc.maker(u, file); when {
	case makesLater:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which does not exist until step %q makes it later", u.ID.Value, s.Ref, maker.ID.Value),
			"put that step first, or take the subscription away")
	case makesBeside:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which step %q makes, and does not wait for it", u.ID.Value, s.Ref, maker.ID.Value),
			fmt.Sprintf("add %s to its `needs:`", maker.ID.Value))
	case mayMake:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which does not exist, and no step before says that it makes it", u.ID.Value, s.Ref),
			"name it in the task, the contract or the `writes:` of the step that makes it").Severity = Note
	case makesNever:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which does not exist and which no step before makes", u.ID.Value, s.Ref),
			"correct the path, or take the subscription away")
	}
}

// making says when a file that does not exist comes to be, as seen from a step.
type making int

const (
	makesFirst  making = iota // a step before says that it makes it
	mayMake                   // a step before may
	makesBeside               // a step that may run at once does
	makesLater                // only a step that waits for this one does
	makesNever
)

// maker finds the step that makes a file which does not exist.
func (d *document) maker(u *unit, file string) (*unit, making) {
	o, n := d.order(), d.namings()
	writers, known := n.writers(file)
	for _, strong := range [][]int{writers, n.contracts.steps[file], n.tasks.steps[file]} {
		for _, i := range strong {
			if o.precedes(i, u.index) {
				return d.units[i], makesFirst
			}
		}
	}
	if !known || d.looselyBefore(u) {
		return nil, mayMake
	}
	found, when := (*unit)(nil), makesNever
	for _, i := range append(writers, n.contracts.steps[file]...) {
		switch {
		case i == u.index:
		case !o.precedes(u.index, i):
			return d.units[i], makesBeside
		case found == nil:
			found, when = d.units[i], makesLater
		}
	}
	return found, when
}

// looselyBefore reports whether a step that this one waits for may write
// anywhere.
func (d *document) looselyBefore(u *unit) bool {
	if d.loose == nil {
		d.loose = make([]bool, len(d.units))
		for _, i := range d.order().sorted {
			for _, n := range d.units[i].needs {
				d.loose[i] = d.loose[i] || d.loose[n.index] || !d.units[n.index].Writes.Set
			}
		}
	}
	return d.loose[u.index]
}

// subscribed is the path of a file subscription below the workspace.
func subscribed(s plan.Subscription) (string, bool) {
	return below(s.Ref)
}

// below is a path of the workspace, and whether it is one.
func below(name string) (string, bool) {
	file := path.Clean(name)
	bad := path.IsAbs(file) || file == ".." || strings.HasPrefix(file, "../") || strings.HasPrefix(file, "~")
	return file, !bad
}

func (p *pass) subscribedStep(u *unit, s plan.Subscription) {
	found := p.doc.refs.Find(s.Ref)
	switch {
	case len(found) == 0:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to step %q, which this plan does not have", u.ID.Value, s.Ref), hintOr(p.needs.hint(s.Ref, p.doc.ids), "take the id of a step before it"))
	case len(found) > 1:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to step %q, a number that %d steps have", u.ID.Value, s.Ref, len(found)), "name the step by its id")
	case found[0] == u.index:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to itself", u.ID.Value), "take it out: what an earlier attempt failed is told anyway")
	}
}
