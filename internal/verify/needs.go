package verify

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/shell"
)

// maxRounds is how often the answers may lead to further questions: for the texts by
// which commands are detected, and for what these name.
const maxRounds = 3

// Study reads a plan and asks for everything that has to be looked up before it can
// be judged: what the plan names, and then what the texts name that came back. ask
// is called a bounded number of times, each time for what was not asked before.
// The cost is linear in the size of the plan and of the answers.
func Study(p *plan.Plan, problems []plan.Problem, ask func(Queries) Facts) (*Analysis, Facts) {
	sh := shell.NewParser()
	facts := ask(readWith(p, Facts{}, sh).queries())
	asked := map[string]bool{}
	d := readWith(p, facts, sh)
	for range maxRounds {
		q := d.more(facts, asked)
		if len(q.Files) == 0 && len(q.Texts) == 0 {
			break
		}
		answers := ask(q)
		facts.Files, facts.Texts = merged(facts.Files, answers.Files), merged(facts.Texts, answers.Texts)
		d = readWith(p, facts, sh)
	}
	return &Analysis{doc: d, problems: problems}, facts
}

func merged[V any](into, from map[string]V) map[string]V {
	if into == nil {
		return from
	}
	maps.Copy(into, from)
	return into
}

// more lists the files that are asked for in the light of the facts, each once.
func (d *document) more(facts Facts, asked map[string]bool) Queries {
	fresh := func(list []string, mark string) []string {
		return slices.DeleteFunc(list, func(name string) bool {
			was := asked[mark+name]
			asked[mark+name] = true
			return was
		})
	}
	all := d.queries()
	var texts []string
	if slices.ContainsFunc(d.plan.Steps, bare) {
		texts = Detecting().Texts
	}
	files := all.Files
	for _, u := range d.units {
		ran, named := d.words(u, facts)
		files = append(append(files, ran...), named...)
		for s := range readable(u.proofs) {
			if s.required && len(opens(u)) > 0 {
				texts = append(texts, s.runs...)
			}
		}
	}
	files = slices.DeleteFunc(files, func(name string) bool {
		_, ok := facts.Files[name]
		return ok
	})
	texts = slices.DeleteFunc(texts, func(name string) bool { return !facts.Files[name].Exists })
	return Queries{Files: fresh(files, "f"), Texts: fresh(texts, "t")}
}

// Needs lists what the plan itself names that has to be looked up. What the
// answers lead to is in [Study]. The cost is linear in the size of the plan.
func Needs(p *plan.Plan) Queries { return read(p, Facts{}).queries() }

func (d *document) queries() Queries {
	type set = map[string]bool
	q := asking{set{}, set{".git": true}, set{}, set{}, set{}, map[Call]bool{}}
	if slices.ContainsFunc(d.plan.Steps, bare) {
		for _, name := range Detecting().Files {
			q.files[name] = true
		}
		for _, name := range Detecting().Commands {
			q.commands[name] = true
		}
	}
	worktrees, offline, held := d.plan.Workspace.Value == inWorktree, false, false
	for _, u := range d.units {
		worktrees = worktrees || u.apart() || !d.plan.Workspace.Set && u.minded()
		offline, held = offline || u.offline(), held || u.holdable()
		q.doer(u)
		q.context(u)
		for _, s := range u.proofs {
			q.script(s)
		}
		if u.Target.Value == scriptTarget || u.Task.Fenced {
			q.script(d.task(u))
		}
	}
	return Queries{
		Commands: slices.Sorted(maps.Keys(q.commands)), Files: slices.Sorted(maps.Keys(q.files)),
		Agents: slices.Sorted(maps.Keys(q.agents)), Tools: slices.Sorted(maps.Keys(q.tools)),
		Calls: slices.SortedFunc(maps.Keys(q.calls), func(a, b Call) int { return cmp.Compare(a.String(), b.String()) }),
		Globs: slices.Sorted(maps.Keys(q.globs)), Git: worktrees, Offline: offline, Held: held,
	}
}

// asking gathers queries.
type asking struct {
	commands, files, agents, tools, globs map[string]bool

	calls map[Call]bool
}

// doer asks about who does a step.
func (q asking) doer(u *unit) {
	for _, c := range u.calls() {
		q.calls[c] = true
	}
	if u.Tool.Set {
		q.tools[u.Tool.Value] = true
	}
	if u.works() && !isAny(u.Target.Value) {
		q.agents[u.Target.Value] = true
	}
	if u.Fallback.Set {
		q.agents[u.Fallback.Value] = true
	}
	if file, ok := Delegate(u.Step); ok {
		q.files[file] = true
	}
}

// context asks about the files that a step is given or done for.
func (q asking) context(u *unit) {
	if u.ForEach.Set && u.ForEach.Value.Kind() == "glob" && badScope(u.ForEach.Value.Items[0].Value) == "" {
		q.globs[path.Clean(u.ForEach.Value.Items[0].Value)] = true
	}
	for _, s := range u.Subscriptions.Value {
		file, ok := below(s.Ref)
		switch {
		case s.Kind == "topic":
			q.files[topicFile(s.Ref)] = true
		case ok && s.Kind == "map":
			q.files[file] = true
		case ok && s.Kind == "file":
			if q.files[file] = true; isGlob(file) {
				q.globs[file] = true
			}
		}
	}
}

func (q asking) script(s script) {
	if !s.readable() {
		return
	}
	for _, c := range s.Calls {
		q.command(c)
	}
	for _, file := range s.runs {
		q.files[file] = true
	}
	for _, c := range s.Calls {
		for _, file := range runnerFiles(c) {
			q.files[file] = true
		}
	}
}

func (q asking) command(c shell.Call) {
	name := c.Name()
	if name == "" || shell.IsBuiltin(name) {
		return
	}
	if c.Words[0].Drawn {
		return
	}
	if !strings.Contains(name, "/") || path.IsAbs(name) {
		q.commands[name] = true
	}
	if file := shell.Within(c.Dir, name); file != shell.UnknownDir && file != "" {
		q.files[file] = true
	}
}
