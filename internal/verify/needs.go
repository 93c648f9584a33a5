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
	q := Queries{Files: []string{".git"}, Git: d.plan.Workspace.Value == inWorktree}
	if slices.ContainsFunc(d.plan.Steps, bare) {
		q.Files = append(q.Files, Detecting().Files...)
		q.Commands = append(q.Commands, Detecting().Commands...)
	}
	for _, u := range d.units {
		q.Git = q.Git || u.apart() || !d.plan.Workspace.Set && u.minded()
		q.Offline, q.Held = q.Offline || u.offline(), q.Held || u.holdable()
		q.doer(u)
		q.context(u)
		for _, s := range u.proofs {
			q.script(s)
		}
		if u.Target.Value == scriptTarget || u.Task.Fenced {
			q.script(d.task(u))
		}
	}
	for _, list := range []*[]string{&q.Commands, &q.Files, &q.Agents, &q.Tools, &q.Globs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.SortFunc(q.Calls, func(a, b Call) int { return cmp.Compare(a.String(), b.String()) })
	q.Calls = slices.Compact(q.Calls)
	return q
}

// doer asks about who does a step.
func (q *Queries) doer(u *unit) {
	if u.literal() {
		q.Calls = append(q.Calls, u.call())
	}
	if u.Tool.Set {
		q.Tools = append(q.Tools, u.Tool.Value)
	}
	if u.works() && !isAny(u.Target.Value) {
		q.Agents = append(q.Agents, u.Target.Value)
	}
	if u.Fallback.Set {
		q.Agents = append(q.Agents, u.Fallback.Value)
	}
	if file, ok := Delegate(u.Step); ok {
		q.Files = append(q.Files, file)
	}
}

// context asks about the files that a step is given or done for.
func (q *Queries) context(u *unit) {
	if u.ForEach.Set && u.ForEach.Value.Kind() == "glob" && badScope(u.ForEach.Value.Items[0].Value) == "" {
		q.Globs = append(q.Globs, path.Clean(u.ForEach.Value.Items[0].Value))
	}
	for _, s := range u.Subscriptions.Value {
		file, ok := below(s.Ref)
		switch {
		case s.Kind == "topic":
			q.Files = append(q.Files, topicFile(s.Ref))
		case ok && s.Kind == "map":
			q.Files = append(q.Files, file)
		case ok && s.Kind == "file":
			if q.Files = append(q.Files, file); isGlob(file) {
				q.Globs = append(q.Globs, file)
			}
		}
	}
}

func (q *Queries) script(s script) {
	if !s.readable() {
		return
	}
	q.Files = append(q.Files, s.runs...)
	for _, c := range s.Calls {
		q.command(c)
		q.Files = append(q.Files, runnerFiles(c)...)
	}
}

func (q *Queries) command(c shell.Call) {
	name := c.Name()
	if name == "" || shell.IsBuiltin(name) || c.Words[0].Drawn {
		return
	}
	if !strings.Contains(name, "/") || path.IsAbs(name) {
		q.Commands = append(q.Commands, name)
	}
	if file := shell.Within(c.Dir, name); file != shell.UnknownDir && file != "" {
		q.Files = append(q.Files, file)
	}
}
