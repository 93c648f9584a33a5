package verify

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// Needs lists what has to be looked up before the plan can be judged. The cost
// is linear in the size of the plan.
func Needs(p *plan.Plan) Queries {
	d := read(p)
	q := asking{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, u := range d.units {
		if u.works() && !isAny(u.Target.Value) {
			q.agents[u.Target.Value] = true
		}
		for _, s := range u.proofs {
			q.script(s)
		}
		if u.Target.Value == scriptTarget || u.Task.Fenced {
			q.script(d.task(u))
		}
		for _, s := range u.Subscriptions.Value {
			if file, ok := subscribed(s); ok && s.Kind == "file" {
				q.files[file] = true
			}
		}
	}
	return Queries{slices.Sorted(maps.Keys(q.commands)), slices.Sorted(maps.Keys(q.files)), slices.Sorted(maps.Keys(q.agents))}
}

// asking gathers queries.
type asking struct {
	commands, files, agents map[string]bool
}

func (q asking) script(s script) {
	if !s.readable() {
		return
	}
	for _, c := range s.calls {
		q.command(c)
	}
	for _, g := range s.guards {
		name, all := runnerFiles(g)
		if !g.absent && !isGlob(g.path) {
			q.files[g.path] = true
		}
		if name != "" {
			for _, file := range all {
				q.files[file] = true
			}
		}
	}
}

func (q asking) command(c call) {
	name := c.name()
	if name == "" || isBuiltin(name) {
		return
	}
	if !strings.Contains(name, "/") || path.IsAbs(name) {
		q.commands[name] = true
	}
	if file := within(c.dir, name); file != unknownDir && file != "" {
		q.files[file] = true
	}
}
