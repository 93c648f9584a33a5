package verify

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/plan"
)

// Fix is an edit of the plan's text that removes a finding. Another finding may follow: the
// text is to be checked again.
type Fix struct {
	Title   string // for people, what it does
	Changes []plan.Change
}

// fixed gives a finding of a plan in Markdown its fix.
func (p *pass) fixed(f *Finding, title string, changes ...plan.Change) {
	if p.doc != nil && len(p.doc.plan.Steps) > 0 && p.doc.plan.Steps[0].End > 0 {
		f.Fix = &Fix{title, changes}
	}
}

// renamed puts a word in the place of the one that stands at a place; "" for none.
func (p *pass) renamed(f *Finding, at plan.Pos, was, is string) {
	if is != "" {
		to := plan.Pos{Line: at.Line, Column: at.Column + utf8.RuneCountInString(was)}
		p.fixed(f, fmt.Sprintf("Write `%s`", is), plan.Change{From: at, To: to, Text: is})
	}
}

// waits makes a step wait for another one.
func (p *pass) waits(f *Finding, u, other *unit) {
	if !u.stuck(p.doc) && !p.doc.order().precedes(u.index, other.index) { // else it would wait for itself
		p.fixed(f, fmt.Sprintf("Make %s wait for %s", u.ID.Value, other.ID.Value), plan.AlsoNeeds(p.doc.plan, u.index, other.ID.Value))
	}
}

// begins puts a line before a script.
func (p *pass) begins(f *Finding, s script, line string) {
	end := "; "
	if s.text.Fenced {
		end = "\n"
	}
	p.fixed(f, fmt.Sprintf("Begin with `%s`", line), plan.Change{From: s.text.Pos, To: s.text.Pos, Text: line + end})
}

// admits takes away the part behind || of the last command of a script.
func (p *pass) admits(f *Finding, s script) {
	list := s.File.Stmts
	if len(list) == 0 {
		return
	}
	or, is := list[len(list)-1].Cmd.(*syntax.BinaryCmd)
	if !is || or.Op != syntax.OrStmt {
		return
	}
	from := len(strings.TrimRight(s.text.Value[:or.OpPos.Offset()], " \t"))
	to := int(or.End().Offset())
	p.fixed(f, fmt.Sprintf("Remove `%s`", strings.TrimSpace(s.text.Value[from:to])), plan.Change{From: s.text.At(from), To: s.text.At(to)})
}

// labelled puts a label above the contract of a step.
func (p *pass) labelled(f *Finding, u *unit, name, value string) {
	if at := slices.IndexFunc(u.Labels, func(l plan.Label) bool { return l.Name == "contract" }); at >= 0 {
		above := plan.Pos{Line: u.Labels[at].Pos.Line, Column: 1}
		p.fixed(f, fmt.Sprintf("Add `%s: %s`", name, value), plan.Change{From: above, To: above, Text: fmt.Sprintf("**%s:** %s\n", name, value)})
	}
}

// misspelt are the labels that were probably meant to be others, by their places.
func (d *document) misspelt() map[plan.Pos]plan.Label {
	all := map[plan.Pos]plan.Label{}
	take := func(labels []plan.Label) {
		for _, l := range labels {
			if l.Meant != "" {
				all[l.Pos] = l
			}
		}
	}
	take(d.plan.Labels)
	for _, u := range d.units {
		take(u.Labels)
	}
	return all
}

// respelt corrects a misspelt label.
func (p *pass) respelt(f *Finding, l plan.Label) {
	if l.Meant == "" {
		return
	}
	bare := strings.TrimLeft(l.Raw, "*_")
	at := plan.Pos{Line: l.Pos.Line, Column: l.Pos.Column + len(l.Raw) - len(bare)}
	name, _, _ := strings.Cut(bare, ":")
	p.renamed(f, at, strings.TrimRight(name, "*_ "), l.Meant)
}
