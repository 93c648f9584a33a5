package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

// right is a label that allows a step more or less.
type right struct {
	name  string
	order []string // its values, the least first
	of    func(*plan.Step) string
}

func rights() []right {
	return []right{
		{"mode", []string{"read", "edit", "full"}, func(s *plan.Step) string { return s.Mode.Value }},
		{"network", []string{"no", "hosts", "yes", "contract, hosts", "contract"}, func(s *plan.Step) string { return networkOf(s) }},
		{"isolation", []string{"sealed", "fenced", ""}, func(s *plan.Step) string { return s.Isolation.Value }},
	}
}

// networkOf is a step's `network:` with a word for its hosts.
func networkOf(s *plan.Step) string {
	hosts, contract := plan.Hosts(s.Network.Value)
	switch {
	case len(hosts) == 0:
		return s.Network.Value
	case contract:
		return "contract, hosts"
	}
	return "hosts"
}

func hostsOf(s *plan.Step) (all []plan.Text) {
	hosts, _ := plan.Hosts(s.Network.Value)
	for _, h := range hosts {
		all = append(all, plan.Text{Value: h})
	}
	return all
}

// grants are the most that any step of a plan may do: what a new step does beyond it,
// nobody has said yes to.
type grants struct {
	rights  []int // of each the place in its order; -1 where no step acts
	timeout time.Duration
	env     []plan.Text
	hosts   []plan.Text
	setups  map[string]bool
	plans   map[string]bool
}

func newGrants(d *document) grants {
	g := grants{rights: []int{-1, -1, -1}, timeout: plan.DefaultTimeout, setups: map[string]bool{"": true}, plans: map[string]bool{"": true}}
	g.setups[strings.TrimSpace(d.plan.Setup.Value)] = true
	vars := map[string]bool{}
	for _, u := range d.units {
		file, _ := Delegate(u.Step)
		g.plans[file] = true
		if !u.acts() {
			continue
		}
		for i, r := range rights() {
			g.rights[i] = max(g.rights[i], slices.Index(r.order, r.of(u.Step)))
		}
		g.hosts = append(g.hosts, hostsOf(u.Step)...)
		g.timeout = max(g.timeout, u.Timeout.Value)
		g.setups[strings.TrimSpace(u.Setup.Value)] = true
		for _, name := range u.Env.Value {
			if !vars[name.Value] {
				vars[name.Value] = true
				g.env = append(g.env, name)
			}
		}
	}
	return g
}

// acts reports a step whose own labels say what it may do.
func (u *unit) acts() bool { return u.works() || u.Tool.Set }

// exceeded words what a new step may do that no step could.
func (g grants) exceeded(u *unit) []string {
	var all []string
	if file, _ := Delegate(u.Step); !g.plans[file] {
		all = append(all, "runs the sub-plan "+file+", which no step did (plan)")
	}
	if !u.acts() {
		return all
	}
	for i, r := range rights() {
		if now := r.of(u.Step); g.rights[i] >= 0 && slices.Index(r.order, now) > g.rights[i] {
			all = append(all, fmt.Sprintf("has %s %q, which no step had", r.name, now))
		}
	}
	if u.Timeout.Value > g.timeout {
		all = append(all, fmt.Sprintf("gives each attempt %s, more than any step had (timeout)", u.Timeout.Value))
	}
	if !g.setups[strings.TrimSpace(u.Setup.Value)] {
		all = append(all, "runs commands before the work that no step ran (setup)")
	}
	if len(g.hosts) > 0 {
		all = append(all, lacking("may ask %s (network)", hostsOf(u.Step), g.hosts)...)
	}
	return append(all, lacking("gets the variable %s", u.Env.Value, g.env)...)
}

// runsOther reports commands that were not there before.
func runsOther(was, now plan.Text) bool {
	text := strings.TrimSpace(now.Value)
	return text != "" && text != strings.TrimSpace(was.Value)
}

// weakerDoing compares who does the step, and what else is run for it.
func weakerDoing(a, b *unit) []string {
	var all []string
	if was, now := Doer(a.Step), Doer(b.Step); was != now {
		all = append(all, fmt.Sprintf("is done by %s, was by %s", now, was))
	} else if a.Tool.Set && !a.proves() && strings.TrimSpace(a.Args.Value) != strings.TrimSpace(b.Args.Value) {
		all = append(all, "calls its tool with other arguments, and nothing else proves it (args)")
	}
	if !a.Ask.IsZero() && !b.Ask.IsZero() {
		if strings.TrimSpace(a.Ask.Value) != strings.TrimSpace(b.Ask.Value) {
			all = append(all, "asks another question (ask)")
		}
		all = append(all, lacking("no longer offers the answer %q", a.Choices, b.Choices)...)
	}
	if role := b.Fallback.Value; role != "" && role != a.Fallback.Value {
		all = append(all, "may be done by "+role+" where its agent fails (fallback)")
	}
	if runsOther(a.Setup, b.Setup) {
		all = append(all, "runs other commands before the work (setup)")
	}
	return all
}

// Doer says who does a step, for people.
func Doer(s *plan.Step) string {
	file, delegated := Delegate(s)
	switch target := s.Target.Value; {
	case delegated:
		return "the sub-plan " + file
	case !s.Plan.IsZero():
		return "a plan that is yet to be made"
	case !s.Ask.IsZero():
		return "a person"
	case s.Tool.Set:
		return "the tool " + s.Tool.Value
	case isAny(target):
		return "any agent"
	case target == scriptTarget:
		return "a script"
	default:
		return "the agent " + target
	}
}

// proves reports whether anything but its end decides the step.
func (u *unit) proves() bool {
	return !u.Judge.IsZero() || u.provable()
}

// fixed is what makes the output of a step where the plan says it in so many words.
func (u *unit) fixed() string {
	switch {
	case u.Tool.Set:
		return "tool " + u.Tool.Value + "\n" + strings.TrimSpace(u.Args.Value)
	case u.works() && u.Target.Value == scriptTarget:
		return "script\n" + strings.TrimSpace(u.Task.Value)
	}
	return ""
}

// weakerOutputs finds, by step, outputs that a plan says in other words and by which
// others are done for items, or not at all.
func weakerOutputs(a, b *document) map[string][]string {
	old, changed := a.byID(), map[string]bool{}
	for _, u := range b.units {
		if was := old[u.ID.Value]; was != nil && u.fixed() != "" && u.fixed() != was.fixed() {
			changed[u.ID.Value] = true
		}
	}
	if len(changed) == 0 {
		return nil
	}
	all := map[string][]string{}
	say := func(id, format, reader string) {
		if changed[id] && len(all[id]) < maxNamed {
			all[id] = append(all[id], fmt.Sprintf(format, reader))
		}
	}
	for _, u := range b.units {
		if old[u.ID.Value] == nil {
			continue
		}
		if ref, ok := u.items(); ok {
			say(ref.Step, "makes its output in another way, and step %q is done for each of it (for each)", u.ID.Value)
		}
		if u.When.IsZero() {
			continue
		}
		c, err := engine.ParseCondition(u.When.Value, b.has)
		if err != nil {
			continue // the plan does not verify
		}
		for _, id := range c.Reads() {
			say(id, "makes its output in another way, and step %q depends on it (when)", u.ID.Value)
		}
	}
	return all
}
