package verify

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

func ruleEach() Rule {
	return Rule{
		ID: "PT064", Name: "each", Severity: Error,
		Title: "a step cannot be done for each of what it names",
		Text: "`for each:` takes a list, one pattern of files of the workspace, or one `$id` with its parts as `.key` and " +
			"`[0]`: a list in the output of a step, which is then waited for. Instances that may run at once in one tree " +
			"need scopes of their own: `{item}` in `writes:`, or a `workspace: worktree`. A pattern that no file matches " +
			"now is a warning, since a step before may make some, and so is a `batch:` with nothing to divide.",
		Bad:  "**for each:** ../other-repo/*.py",
		Good: "**for each:** a.py, b.py\n**task:** Port {item}.",
		step: stepEach,
	}
}

func stepEach(p *pass, u *unit) {
	if !u.ForEach.Set {
		if u.Batch.Set && !u.unread("for each") {
			p.report(u, u.Batch.Pos, fmt.Sprintf("step %q has a `batch:` and no `for each:`", u.ID.Value), "say what it divides, or drop it").Severity = Warning
		}
		return
	}
	switch u.ForEach.Value.Kind() {
	case "step":
		p.eachOf(u, u.ForEach.Value.Items[0])
	case "glob":
		p.eachFile(u, u.ForEach.Value.Items[0])
	}
	p.eachScope(u)
}

// eachOf looks at a reference to a list.
func (p *pass) eachOf(u *unit, item plan.Text) {
	ref, ok := u.items()
	switch {
	case !ok:
		p.report(u, item.Pos, fmt.Sprintf("step %q is for each of %q, which is no reference", u.ID.Value, item.Value),
			"outputs of steps are $id, and their parts $id.key and $id[0]; a text that begins with a dollar begins with $$")
	case !p.doc.has(ref.Step):
		p.report(u, item.Pos, fmt.Sprintf("step %q is for each of $%s, and no step has such an id", u.ID.Value, ref.Step),
			"take the id of a step before it")
	default:
		from := p.doc.units[p.doc.refs.Find(ref.Step)[0]]
		p.waitedFor(u, from.index, "$"+ref.Step, item.Pos)
		if why := p.misses(ref, from); why != "" {
			p.report(u, item.Pos, fmt.Sprintf("step %q is for each of what there is not: %s", u.ID.Value, why), "")
		}
	}
}

// eachFile looks at a pattern of files.
func (p *pass) eachFile(u *unit, item plan.Text) {
	if why := badScope(item.Value); why != "" {
		p.report(u, item.Pos, fmt.Sprintf("`for each: %s` %s", item.Value, why), scopeHint)
		return
	}
	matches, asked := p.facts.Globs[cleanScope(item.Value)]
	if asked && !matches {
		p.report(u, item.Pos, fmt.Sprintf("`for each: %s` matches no file now, and step %q then does nothing", item.Value, u.ID.Value),
			"fine where a step before it makes some").Severity = Warning
	}
}

// eachScope reports instances that would all write the same files at once.
func (p *pass) eachScope(u *unit) {
	if p.doc.plan.Parallel.Value < 2 || u.apart() || !u.Plan.IsZero() || len(u.Writes.Value) == 0 {
		return
	}
	for _, w := range u.Writes.Value {
		if !strings.Contains(w.Value, engine.ItemMark) {
			p.report(u, w.Pos, fmt.Sprintf("instances of step %q may run at once, and all write %q", u.ID.Value, w.Value),
				"put {item} into the scope, or give the step `workspace: worktree`")
			return
		}
	}
}

// MatchGlob reports whether a pattern of [Queries.Globs] names a file or
// directory of the workspace, by its path with slashes.
func MatchGlob(pattern, name string) bool {
	ok, err := doublestar.Match(pattern, name)
	return ok && err == nil
}

func ruleItem() Rule {
	return Rule{
		ID: "PT065", Name: "item", Severity: Warning,
		Title: "an item is used where there is none, or not used",
		Text: "Each instance of a step with `for each:` has its item as `{item}` in title, task, `args:` and `writes:`, and as " +
			"the environment variable `PITON_ITEM` in contracts, checks and scripts, into which no text is ever " +
			"put, and in all that its sub-plan runs. A step that uses neither does the same thing again and again, as does " +
			"one whose sub-plan does not know the item; in a step without `for each:`, in a script, and in the text of a " +
			"sub-plan, `{item}` is nothing but these letters.",
		Bad:  "### 3. Port {item}",
		Good: "### 3. Port {item}\n\n**for each:** src/*.py",
		step: stepItem,
	}
}

func stepItem(p *pass, u *unit) {
	said, speaks := u.spliced(p.facts, engine.ItemMark)
	if !u.ForEach.Set {
		if speaks && !u.unread("for each") {
			p.itemAt(u, said, "step %q speaks of {item} and has no `for each:`", "say what the items are")
		}
		return
	}
	if t, ok := p.environed(u, engine.ItemMark); ok {
		p.itemAt(u, t, "a script of step %q has {item} in its text, where it is no item", `write "$PITON_ITEM"`)
	}
	_, reads := p.environed(u, engine.ItemVariable)
	file, delegated := Delegate(u.Step)
	switch {
	case delegated && !reads && p.facts.Plans[file].Itemless:
		p.report(u, u.ForEach.Pos, fmt.Sprintf("step %q runs %q for each item, and nothing in it reads the item", u.ID.Value, file),
			"put \"$PITON_ITEM\" into its scripts and contracts")
	case !delegated && !speaks && !reads:
		p.report(u, u.ForEach.Pos, fmt.Sprintf("step %q is for each item and uses none", u.ID.Value), "put {item} into its task, and \"$PITON_ITEM\" into its contract")
	}
}

// itemAt reports the place of the first mark in a text.
func (p *pass) itemAt(u *unit, t plan.Text, message, hint string) {
	p.report(u, t.At(strings.Index(t.Value, engine.ItemMark)), fmt.Sprintf(message, u.ID.Value), hint)
}

// spliced finds a word in the texts of a step that have the item in the place
// of its mark.
func (u *unit) spliced(f Facts, word string) (plan.Text, bool) {
	task := u.Task
	if u.scripted(f) {
		task = plan.Text{}
	}
	return holding(word, []plan.Text{u.Title, u.Ask, u.Args, task}, u.Writes.Value)
}

// environed finds a word in the texts of a step that find the item in their
// environment.
func (p *pass) environed(u *unit, word string) (plan.Text, bool) {
	texts := []plan.Text{u.Setup}
	for _, s := range p.scripts(u) {
		texts = append(texts, s.text)
	}
	return holding(word, texts)
}

// holding finds the first text with a word in it.
func holding(word string, lists ...[]plan.Text) (plan.Text, bool) {
	for _, texts := range lists {
		for i := range texts {
			if strings.Contains(texts[i].Value, word) {
				return texts[i], true
			}
		}
	}
	return plan.Text{}, false
}
