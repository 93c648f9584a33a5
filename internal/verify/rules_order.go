package verify

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/shell"
)

func checkUnknownNeed(p *pass, u *unit) {
	for _, ref := range u.lost {
		if ref.found == 0 {
			near := p.needs.name(ref.text.Value, p.doc.ids)
			f := p.report(u, ref.text.Pos, fmt.Sprintf("step %q needs %q, which is not a step of this plan", u.ID.Value, ref.text.Value),
				cmp.Or(plan.Meant(near), fmt.Sprintf("name a step by its id, or by its number; there are %d", len(p.doc.units))))
			p.renamed(f, ref.text.Pos, ref.text.Value, near)
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

func (n *nearby) hint(name string, all func() []string) string { return plan.Meant(n.name(name, all)) }

func (n *nearby) name(name string, all func() []string) string {
	if n.asked++; n.asked > maxHints {
		return ""
	}
	if n.names == nil {
		n.names = all()
	}
	return plan.Closest(name, n.names)
}

func (d *document) ids() []string {
	ids := make([]string, len(d.units))
	for i, u := range d.units {
		ids[i] = u.ID.Value
	}
	return ids
}

func checkAmbiguousNeed(p *pass, u *unit) {
	for _, ref := range u.lost {
		if ref.found > 1 {
			p.report(u, ref.text.Pos, fmt.Sprintf("step %q needs %q, a number that %d steps have", u.ID.Value, ref.text.Value, ref.found),
				"name the step by its id")
		}
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

func checkTemplate(p *pass, u *unit) {
	if strings.ContainsAny(u.Number, "-–—") && !u.ForEach.Set {
		p.report(u, u.Pos, fmt.Sprintf("step %q has the numbers %s but no `for each:`; a run refuses it", u.ID.Value, u.Number),
			"write the steps out, or use a single number").blocks = true
	}
}

func checkNotYet(p *pass, u *unit) {
	if u.Tool.Set && u.apart() {
		p.report(u, u.Tool.Pos, "not supported yet: `tool` with `workspace: worktree`", "take it out")
	}
	if !u.Plan.IsZero() && InWords(u.Plan.Value) {
		p.report(u, u.Plan.Pos, "not supported yet: `plan` in words", "write the plan, and give the path of the document")
	}
	says := func(at plan.Pos, text string) {
		p.report(u, at, fmt.Sprintf("step %q ", u.ID.Value)+text, "").Severity = Warning
	}
	if u.OnFail.Value.Then == plan.Replan && p.facts.NoPlanner {
		p.report(u, u.OnFail.Pos, fmt.Sprintf("step %q has `on_fail: replan`, but no planner is configured: a person is asked instead", u.ID.Value),
			"set `planner:` in .piton/config.yaml").Severity = Warning
	}
	if hosts, _ := plan.Hosts(u.Network.Value); u.Network.Value == "no" || len(hosts) > 0 {
		p.checkOffline(u)
	}
	if u.works() && u.Mode.Value == "read" {
		says(u.Mode.Pos, "has `mode: read`, which is not enforced")
	}
	if u.Reveal.Set && (!u.works() || u.scripted(p.facts)) {
		says(u.Reveal.Pos, "has `reveal`, but no agent sees its contract")
	}
	if _, delegated := Delegate(u.Step); delegated && !u.Schema.IsZero() {
		says(u.Schema.Pos, "has a `schema`, which does not apply to the output of a sub-plan")
	}
}

// checkOffline says for whom `network: no`, or a list, does not hold, and whom it cuts off.
func (p *pass) checkOffline(u *unit) {
	says := func(text, hint string) {
		p.report(u, u.Network.Pos, fmt.Sprintf("step %q has `network: %s`, ", u.ID.Value, u.Network.Value)+text, hint).Severity = Warning
	}
	_, delegated := Delegate(u.Step)
	name, a, known := p.facts.Agent(u.Target.Value)
	switch {
	case u.works() && !u.scripted(p.facts):
		if known && !a.Hosts {
			says(fmt.Sprintf("and nothing says which hosts the program of agent %q needs for its model", name), fmt.Sprintf("list them in `agents.%s.network`", name))
		}
	case delegated:
		says("which holds for its contract but not for the steps of the plan", "set it in those steps")
	case u.Tool.Value == "web_fetch", strings.Contains(u.Tool.Value, "."):
		says("which holds for its contract but not for the tool", "")
	}
	if why := p.facts.Exposed; why != nil && *why != "" && u.offline() {
		says("but this machine cannot keep a script off the network: "+*why, "`piton run --allow-unsealed` runs it with the network; piton doctor says more")
	}
}

// checkProofReaches says which contract or check asks another machine by an address that
// stands there, where it reaches its own loopback only.
func checkProofReaches(p *pass, u *unit) {
	if _, reaches := plan.Hosts(u.Network.Value); reaches {
		return
	}
	for s := range readable(u.proofs) {
		for node := range syntax.Preorder(s.File) {
			call, ok := node.(*syntax.CallExpr)
			if !ok || len(call.Args) < 2 || !slices.Contains([]string{"curl", "wget", "git"}, call.Args[0].Lit()) {
				continue
			}
			for _, w := range call.Args[1:] {
				c := shell.Constant(w)
				if host := otherHost(c.Text); c.Known && host != "" {
					p.report(u, s.text.At(c.At), fmt.Sprintf("%s of step %q asks %s, but a sealed check reaches only its own loopback", s.label, u.ID.Value, host),
						"add `network: contract` if the proof needs it")
					return
				}
			}
		}
	}
}

var (
	webAddress  = lazy.Regexp(`^https?://(?:[^/?#]*@)?(\[[^]]*\]|[^/:?#]+)`)
	ownLoopback = lazy.Regexp(`^(localhost|127\..*|0\.0\.0\.0|\[::1?\])$`)
)

// otherHost is the host of a web address that is not this machine's own.
func otherHost(word string) string {
	found := webAddress().FindStringSubmatch(word)
	if found == nil || ownLoopback().MatchString(found[1]) {
		return ""
	}
	return found[1]
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
		writers, known := n.writers(file.Text)
		if !known || len(writers) == 0 || slices.Contains(writers, u.index) {
			continue
		}
		if slices.ContainsFunc(writers, func(i int) bool { return o.precedes(i, u.index) }) {
			continue
		}
		other := p.doc.units[writers[0]]
		message := fmt.Sprintf("%s of step %q reads %q, which step %q makes, but does not wait for that step", s.label, u.ID.Value, file.Text, other.ID.Value)
		hint := fmt.Sprintf("add %s to its `needs:`", other.ID.Value)
		if o.precedes(u.index, other.index) {
			message = fmt.Sprintf("%s of step %q reads %q, which step %q makes later", s.label, u.ID.Value, file.Text, other.ID.Value)
			hint = "put that step first"
		}
		p.waits(p.report(u, s.text.At(file.At), message, hint), u, other)
		return
	}
}

// stuck reports a step that is in a cycle or behind one: nothing can be said of
// its order.
func (u *unit) stuck(d *document) bool { return d.order().open[u.index] > 0 }

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
		p.report(u, m.at, fmt.Sprintf("step %q reads %s, but no step has that id", u.ID.Value, m.name),
			cmp.Or(p.outputs.hint(strings.ToUpper(m.name), p.doc.outputNames), "use the id of a step in capitals, with _ for -"))
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
		p.report(u, at, fmt.Sprintf("step %q reads %s, its own output", u.ID.Value, name), "a step can read only the outputs of earlier steps")
	case u.stuck(p.doc) || len(u.lost) > 0 || p.doc.order().precedes(of, u.index):
	case p.doc.order().precedes(u.index, of):
		p.report(u, at, fmt.Sprintf("step %q reads %s, the output of step %q, which comes later", u.ID.Value, name, other.ID.Value), "put that step first")
	default:
		f := p.report(u, at, fmt.Sprintf("step %q reads %s, the output of step %q, but does not wait for it", u.ID.Value, name, other.ID.Value),
			fmt.Sprintf("add %s to its `needs:`", other.ID.Value))
		p.waits(f, u, other)
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

func checkSubscription(p *pass, u *unit) {
	for _, s := range u.Subscriptions.Value {
		switch s.Kind {
		case "file":
			p.subscribedFile(u, s)
		case "map":
			p.subscribedMap(u, s)
		case "step":
			p.subscribedStep(u, s)
		case "topic":
			p.subscribedTopic(u, s)
		}
	}
}

// topicFile is where a topic is.
func topicFile(name string) string { return ".piton/topics/" + name + ".md" }

func (p *pass) subscribedTopic(u *unit, s plan.Subscription) {
	file := topicFile(s.Ref)
	switch f, asked := p.facts.Files[file]; {
	case strings.ContainsAny(s.Ref, `/\`) || strings.HasPrefix(s.Ref, "."):
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to topic %q, which is no name of a topic", u.ID.Value, s.Ref), "name a file of .piton/topics without its ending .md")
	case asked && !f.Exists:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to topic %q, and there is no %s", u.ID.Value, s.Ref, file), "write it, or remove the subscription; its agent is told that there is none").Severity = Warning
	}
}

// subscribedGlob says that a pattern matches nothing now. Where a step before may
// make files, they may come.
func (p *pass) subscribedGlob(u *unit, s plan.Subscription, glob string) {
	matches, known := p.facts.Globs[glob]
	switch {
	case !doublestar.ValidatePattern(glob):
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which is no valid pattern", u.ID.Value, s.Ref), "close its brackets, or put a backslash before them")
	case !known || matches || len(u.lost) > 0 || u.stuck(p.doc):
	case len(u.needs) > 0:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which matches no file now", u.ID.Value, s.Ref), "").Severity = Note
	default:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which matches no file", u.ID.Value, s.Ref), "correct the pattern, or remove the subscription")
	}
}

// inWorkspace reports whether a subscription names something of the workspace.
func (p *pass) inWorkspace(u *unit, s plan.Subscription) (string, bool) {
	file, ok := below(s.Ref)
	switch {
	case !ok:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which is outside the workspace", u.ID.Value, s.Ref), "name a file below the workspace, or copy it there")
	case p.facts.Files[file].Outside:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, a link that leads out of the workspace", u.ID.Value, s.Ref), "copy the file into the workspace")
	}
	return file, ok && !p.facts.Files[file].Outside
}

// subscribedMap warns of a map without a directory. Where a step before may make it, it
// may come.
func (p *pass) subscribedMap(u *unit, s plan.Subscription) {
	dir, ok := p.inWorkspace(u, s)
	f, asked := p.facts.Files[dir]
	switch {
	case !ok || !asked || f.Dir:
	case f.Exists:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to a map of %q, which is no directory", u.ID.Value, s.Ref), "name a directory, or write file: for what is in it").Severity = Warning
	case len(u.needs) == 0 && len(u.lost) == 0 && !u.stuck(p.doc):
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to a map of %q, which does not exist", u.ID.Value, s.Ref), "correct the path, or remove the subscription; its agent is told that there is none").Severity = Warning
	}
}

func (p *pass) subscribedFile(u *unit, s plan.Subscription) {
	file, ok := p.inWorkspace(u, s)
	if !ok {
		return
	}
	f, asked := p.facts.Files[file]
	if isGlob(file) && !f.Exists {
		p.subscribedGlob(u, s, file)
		return
	}
	if !asked || f.Exists || len(u.lost) > 0 || u.stuck(p.doc) {
		return
	}
	switch maker, when := p.doc.maker(u, file); when {
	case makesLater:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which does not exist until step %q makes it later", u.ID.Value, s.Ref, maker.ID.Value),
			"put that step first, or remove the subscription")
	case makesBeside:
		f := p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which step %q makes, but does not wait for it", u.ID.Value, s.Ref, maker.ID.Value),
			fmt.Sprintf("add %s to its `needs:`", maker.ID.Value))
		p.waits(f, u, maker)
	case mayMake:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which does not exist, and no earlier step mentions it", u.ID.Value, s.Ref),
			"name it in the task, the contract or the `writes:` of the step that makes it").Severity = Note
	case makesNever:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to %q, which does not exist and which no earlier step makes", u.ID.Value, s.Ref),
			"correct the path, or remove the subscription")
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
	for _, strong := range [][]int{writers, n.contracts[file], n.tasks[file]} {
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
	for _, i := range append(writers, n.contracts[file]...) {
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
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to step %q, which this plan does not have", u.ID.Value, s.Ref), cmp.Or(p.needs.hint(s.Ref, p.doc.ids), "use the id of an earlier step"))
	case len(found) > 1:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to step %q, a number that %d steps have", u.ID.Value, s.Ref, len(found)), "name the step by its id")
	case found[0] == u.index:
		p.report(u, s.Pos, fmt.Sprintf("step %q subscribes to itself", u.ID.Value), "remove it: the agent is told anyway why earlier attempts failed")
	}
}

func checkSubplan(p *pass, u *unit) {
	if u.Plan.IsZero() {
		return
	}
	p.alone(u)
	if InWords(u.Plan.Value) {
		return // PT014 says so
	}
	if u.ForEach.Set && strings.Contains(u.Plan.Value, engine.ItemMark) {
		p.report(u, u.Plan.Pos, fmt.Sprintf("step %q runs %q for each item, but all items share one approved plan", u.ID.Value, u.Plan.Value),
			`name one plan; its scripts, checks and agents read the item from "$PITON_ITEM"`)
		return
	}
	file, ok := below(u.Plan.Value)
	if !ok {
		p.report(u, u.Plan.Pos, fmt.Sprintf("step %q runs the sub-plan %q, which is outside the workspace", u.ID.Value, u.Plan.Value), "")
		return
	}
	p.delegated(u, file)
}

// alone reports what else would do the step, or where.
func (p *pass) alone(u *unit) {
	say := func(has bool, label string, at plan.Pos) {
		if has {
			p.report(u, at, fmt.Sprintf("step %q has `plan` and `%s`", u.ID.Value, label), "remove one of them")
		}
	}
	say(u.Tool.Set, "tool", u.Tool.Pos)
	say(!u.Ask.IsZero(), "ask", u.Ask.Pos)
	say(u.apart(), "workspace: worktree", u.Workspace.Pos)
}

func (p *pass) delegated(u *unit, file string) {
	f, asked := p.facts.Files[file]
	sub := p.facts.Plans[file]
	says := fmt.Sprintf("step %q runs the sub-plan %q, ", u.ID.Value, file)
	switch {
	case sub.Cycle != "":
		p.report(u, u.Plan.Pos, says+"which leads back to itself: "+sub.Cycle, "")
	case sub.Deep != "":
		p.report(u, u.Plan.Pos, fmt.Sprintf("%sand sub-plans may be at most %d deep: %s", says, MaxDepth, sub.Deep), "")
	case sub.Unread != "":
		p.report(u, u.Plan.Pos, says+"which cannot be read: "+sub.Unread, "")
	case sub.Errors > 0:
		p.report(u, u.Plan.Pos, says+"which does not verify", "verify it for the reasons")
	case sub.Replans:
		p.report(u, u.Plan.Pos, says+"in which `on_fail: replan` asks a person: a sub-plan is not revised while it runs", "give `on_fail: replan` to this step").Severity = Warning
	case !asked:
	case f.Dir:
		p.report(u, u.Plan.Pos, says+"which is a directory", "give the path of a plan document in it")
	case !f.Exists:
		p.undelegated(u, file, says)
	}
}

// undelegated judges a document that is not there.
func (p *pass) undelegated(u *unit, file, says string) {
	if len(u.lost) > 0 || u.stuck(p.doc) {
		return
	}
	switch maker, when := p.doc.maker(u, file); when {
	case makesLater:
		p.report(u, u.Plan.Pos, fmt.Sprintf("%swhich does not exist until step %q makes it later", says, maker.ID.Value), "put that step first")
	case makesBeside:
		f := p.report(u, u.Plan.Pos, fmt.Sprintf("%swhich step %q makes, but does not wait for it", says, maker.ID.Value), fmt.Sprintf("add %s to its `needs:`", maker.ID.Value))
		p.waits(f, u, maker)
	case mayMake:
		p.report(u, u.Plan.Pos, says+"which does not exist, and no earlier step mentions it",
			"name it in the task, the contract or the `writes:` of the step that makes it").Severity = Note
	case makesNever:
		p.report(u, u.Plan.Pos, says+"which does not exist and which no earlier step makes", "correct the path, or write the document")
	}
}

// InWords reports whether a step's `plan:` is a request that somebody has yet to
// make a plan of, and no path.
func InWords(value string) bool {
	return strings.ContainsAny(value, " \t\n") && !plan.DocumentName(value)
}

// Delegates lists the documents that the steps of a plan are delegated to, each
// once: paths below the workspace, with slashes.
func Delegates(p *plan.Plan) []string {
	var files []string
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if file, ok := Delegate(s); ok && !seen[file] {
			seen[file] = true
			files = append(files, file)
		}
	}
	return files
}

// Delegate is the document that a step is delegated to, if it is.
func Delegate(s *plan.Step) (string, bool) {
	if s.Plan.IsZero() || InWords(s.Plan.Value) {
		return "", false
	}
	return below(s.Plan.Value)
}

func checkQuestion(p *pass, u *unit) {
	if lang := u.Schema.Lang; !u.Schema.IsZero() && (lang == "" || lang == "json") {
		if _, err := engine.ParseSchema(u.Schema.Value); err != nil {
			p.report(u, u.Schema.Pos, fmt.Sprintf("the schema of step %q cannot be used: %v", u.ID.Value, err), "")
		}
	}
	if u.Ask.IsZero() {
		return
	}
	if len(u.Choices) > 0 && !u.Schema.IsZero() {
		p.report(u, u.Schema.Pos, fmt.Sprintf("the question of step %q has choices and a schema", u.ID.Value), "remove one of them")
	}
	if len(u.proofs) > 0 {
		p.report(u, u.proofs[0].text.Pos, fmt.Sprintf("step %q asks a person, so it cannot have a %s", u.ID.Value, u.proofs[0].label), "move it to a later step")
	}
	seen := map[string]bool{}
	for _, c := range u.Choices {
		if seen[c.Value] {
			p.report(u, c.Pos, fmt.Sprintf("the question of step %q has the choice %q twice", u.ID.Value, c.Value), "")
		}
		seen[c.Value] = true
	}
}
