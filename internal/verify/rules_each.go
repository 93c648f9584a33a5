package verify

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
)

func stepEach(p *pass, u *unit) {
	if !u.ForEach.Set {
		if u.Batch.Set && !u.unread("for each") {
			p.report(u, u.Batch.Pos, fmt.Sprintf("step %q has a `batch:` and no `for each:`", u.ID.Value), "add `for each:`, or remove it").Severity = Warning
		}
		if u.AllowEmpty.Set && !u.unread("for each") {
			p.report(u, u.AllowEmpty.Pos, fmt.Sprintf("step %q has an `allow_empty:` and no `for each:`", u.ID.Value), "add `for each:`, or remove it").Severity = Warning
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
		p.report(u, item.Pos, fmt.Sprintf("`for each:` of step %q: %q is not a reference", u.ID.Value, item.Value),
			"outputs of steps are $id, and their parts $id.key and $id[0]; write $$ for a text that begins with a dollar")
	case !p.doc.has(ref.Step):
		p.report(u, item.Pos, fmt.Sprintf("`for each:` of step %q: no step has the id in $%s", u.ID.Value, ref.Step),
			"use the id of an earlier step")
	default:
		from := p.doc.units[p.doc.refs.Find(ref.Step)[0]]
		p.waitedFor(u, from.index, "$"+ref.Step, item.Pos)
		if why := p.misses(ref, from); why != "" {
			p.report(u, item.Pos, fmt.Sprintf("`for each:` of step %q: there is no such output: %s", u.ID.Value, why), "")
		}
	}
}

// eachFile looks at a pattern of files.
func (p *pass) eachFile(u *unit, item plan.Text) {
	if why := badScope(item.Value); why != "" {
		p.report(u, item.Pos, fmt.Sprintf("`for each: %s` %s", item.Value, why), scopeHint)
		return
	}
	matches, asked := p.facts.Globs[path.Clean(item.Value)]
	if asked && !matches {
		then, hint := "ask a person", "ignore this if an earlier step makes some; add `allow_empty: yes` if there may be none"
		if u.AllowEmpty.Value {
			then, hint = "do nothing", "ignore this if an earlier step makes some"
		}
		p.report(u, item.Pos, fmt.Sprintf("`for each: %s` matches no file now, so step %q would %s", item.Value, u.ID.Value, then), hint).Severity = Warning
	}
}

// eachScope reports instances that would all write the same files at once.
func (p *pass) eachScope(u *unit) {
	if p.doc.plan.Parallel.Value < 2 || u.apart() || !u.Plan.IsZero() || len(u.Writes.Value) == 0 {
		return
	}
	for _, w := range u.Writes.Value {
		if !strings.Contains(w.Value, engine.ItemMark) {
			p.report(u, w.Pos, fmt.Sprintf("instances of step %q may run in parallel, and all write %q", u.ID.Value, w.Value),
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

func stepItem(p *pass, u *unit) {
	said, speaks := u.spliced(p.facts, engine.ItemMark)
	if !u.ForEach.Set {
		if speaks && !u.unread("for each") {
			p.itemAt(u, said, "step %q uses {item} but has no `for each:`", "add `for each:` with the items")
		}
		return
	}
	if t, ok := p.environed(u, engine.ItemMark); ok {
		p.itemAt(u, t, "a script of step %q contains {item}, which is not replaced there", `write "$PITON_ITEM"`)
	}
	_, reads := p.environed(u, engine.ItemVariable)
	file, delegated := Delegate(u.Step)
	switch {
	case delegated && !reads && p.facts.Plans[file].Itemless:
		p.report(u, u.ForEach.Pos, fmt.Sprintf("step %q runs %q for each item, but nothing in it reads the item", u.ID.Value, file),
			"put \"$PITON_ITEM\" into its scripts and contracts")
	case !delegated && !speaks && !reads:
		p.report(u, u.ForEach.Pos, fmt.Sprintf("step %q has `for each:` but never uses its item", u.ID.Value), "put {item} into its task, and \"$PITON_ITEM\" into its contract")
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
