package plan

import (
	"fmt"
	"slices"
	"strings"
)

// items is what a list holds, until the parser reads the next one.
type items struct {
	bullet []Text // one text for each bullet
	first  []Text // lines before the bullets
}

// list reads the items of a value: bullets, or before them what stands on the
// label's line and on the lines right below it. Everything else is prose.
type list struct {
	items
	p      *parser
	cur    textBuilder
	prose  textBuilder
	state  listState
	base   int // columns before the first bullet
	offset int // columns before the current item's content
	gap    bool
	split  bool
}

type listState uint8

const (
	atStart listState = iota
	inLines
	inBullet
	outOfList
)

func (p *parser) list(v *value) items {
	l := list{p: p, cur: textBuilder{src: p.src}, prose: textBuilder{src: p.src}}
	l.first, l.bullet = p.items.first[:0], p.items.bullet[:0]
	if t := p.inline(v); !t.IsZero() {
		l.first = append(l.first, t)
		l.state = inLines
	}
	for ln := range p.lines(v) {
		l.line(ln)
	}
	l.flush()
	p.items = l.items
	l.first, l.bullet = capped(p, v, l.first), capped(p, v, l.bullet)
	t := l.prose.text()
	if v.closer != "" && p.unbalanced(t) {
		t = t.followed(v.closer)
	}
	p.leave(t)
	return l.items
}

// capped is a list without the items that are too many.
func capped(p *parser, v *value, items []Text) []Text {
	if len(items) <= MaxItems {
		return items
	}
	p.problem(items[MaxItems].Pos, Error, TooManyItems, fmt.Sprintf("%q has more than %d items", v.spec.name, MaxItems), "use a glob, or split the step")
	return items[:MaxItems]
}

// unbalanced reports whether a fenced block of a text has no end.
func (p *parser) unbalanced(t Text) bool {
	sc := scanner{src: t.Value, inStep: p.section == inStep}
	for l := (line{}); sc.next(&l); {
	}
	return sc.closed()
}

func (l *list) line(ln *line) {
	switch {
	case ln.kind == blankLine:
		l.gap = true
		l.extend(ln)
		return
	case ln.item && (l.state != inBullet || ln.indent < l.base+2):
		l.begin(ln)
	case l.state == inBullet && (ln.kind >= fenceOpen && ln.kind <= fenceClose || !l.gap || ln.inList):
		l.extend(ln)
	case l.state == atStart && ln.kind == plainLine, l.state == inLines && !l.gap && ln.kind == plainLine:
		l.state = inLines
		if len(l.first) <= MaxItems {
			l.first = append(l.first, l.p.trimmed(ln, ln.text, ln.end))
		}
	default:
		if ln.kind == fenceOpen && l.state == atStart {
			l.p.problem(l.p.at(ln, ln.text), Error, UnexpectedFence, "a list cannot be in a fenced block", "write one `- item` a line")
		}
		l.flush()
		l.state = outOfList
		l.prose.add(ln.start, ln.end, Pos{ln.num, 1})
	}
	l.gap = false
}

// begin starts the item of a bullet.
func (l *list) begin(ln *line) {
	if l.state == outOfList && len(l.bullet) > 0 && !l.split {
		l.split = true
		l.p.problem(l.p.at(ln, ln.text), Warning, TextInList, "the list goes on after other text", "keep its items together")
	}
	l.flush()
	if l.state != inBullet {
		l.base = ln.indent
	}
	l.state, l.offset = inBullet, ln.offset
	l.cur = textBuilder{src: l.p.src}
	l.cur.add(ln.text, ln.end, l.p.at(ln, ln.text))
}

// extend adds a line to the current item.
func (l *list) extend(ln *line) {
	switch l.state {
	case inBullet:
		from := ln.cut(l.p.src, l.offset)
		if l.cur.lines == 0 {
			from = ln.text
		}
		l.cur.add(from, ln.end, l.p.at(ln, from))
	case outOfList:
		l.prose.add(ln.start, ln.end, Pos{ln.num, 1})
	}
}

func (l *list) flush() {
	if l.state != inBullet {
		return
	}
	if t := trimEnd(l.cur.text()); !t.IsZero() && len(l.bullet) <= MaxItems {
		l.bullet = append(l.bullet, t)
	}
	l.cur = textBuilder{src: l.p.src}
}

// sentences is a list whose items are texts. Lines before the bullets are
// one item; `none` on the label's line is an empty list.
type sentences struct{}

func (sentences) read(p *parser, v *value, to any) bool {
	l := p.list(v)
	all := l.bullet
	switch {
	case l.none():
		all = nil
	case len(l.first) > 0:
		all = append([]Text{joinLines(l.first)}, all...)
	}
	return p.setList(v, to.(*Field[[]Text]), all, l)
}

func (sentences) write(w *writer, name string, from any) {
	f := from.(*Field[[]Text])
	switch {
	case !f.Set:
		return
	case len(f.Value) == 0:
		w.label(name, "none")
		return
	}
	w.paragraph(w.name(name))
	for _, t := range f.Value {
		w.item(t.Value)
	}
}

// none reports whether the list says that it is empty.
func (l items) none() bool {
	switch {
	case len(l.first) == 1 && len(l.bullet) == 0:
		return isNone(l.first[0].Value)
	case len(l.first) == 0 && len(l.bullet) == 1:
		return isNone(l.bullet[0].Value)
	}
	return false
}

func isNone(s string) bool { return strings.EqualFold(strings.TrimSuffix(s, "."), "none") }

// atoms is a list of names, globs or references: each bullet is one, other
// lines have commas between them.
type atoms struct{}

func (atoms) read(p *parser, v *value, to any) bool {
	l := p.list(v)
	return p.setList(v, to.(*Field[[]Text]), p.atomsOf(v, l, whole), l)
}

// longest line of atoms that is not broken into a list
const atomLine = 100

func (atoms) write(w *writer, name string, from any) {
	f := from.(*Field[[]Text])
	if !f.Set {
		return
	}
	texts := make([]string, 0, len(f.Value))
	for _, t := range f.Value {
		texts = append(texts, atom(oneLine(t.Value)))
	}
	line := strings.Join(texts, ", ")
	switch {
	case len(texts) == 0:
		w.label(name, "none")
	case isNone(line):
		w.label(name, quote(line))
	case len(line) <= atomLine:
		w.label(name, line)
	default:
		w.list(name)
		for _, t := range texts {
			w.item(t)
		}
	}
}

// whole appends a bullet that is one item.
func whole(out []Text, t Text) []Text {
	if t = unquoted(t); t.IsZero() {
		return out
	}
	return append(out, t)
}

// atomsOf returns the items of a list, until the parser reads the next one;
// split appends the items of a bullet's line.
func (p *parser) atomsOf(v *value, l items, split func([]Text, Text) []Text) []Text {
	if l.none() {
		return nil
	}
	out := p.split[:0]
	for _, t := range l.first {
		if len(out) <= MaxItems {
			out = atomsOfLine(out, t)
		}
	}
	for _, t := range l.bullet {
		if n := strings.IndexByte(t.Value, '\n'); n >= 0 {
			p.problem(t.Pos, Warning, TextInList, fmt.Sprintf("an item of %q is one line", v.spec.name), "write one `- item` a line")
			t = t.slice(0, n)
		}
		if len(out) <= MaxItems {
			out = split(out, t)
		}
	}
	p.split = out
	return capped(p, v, out)
}

// atomsOfLine splits a line at the commas that are neither in a code span nor
// between braces, and appends the parts.
func atomsOfLine(out []Text, t Text) []Text {
	most := len(out) + MaxItems
	s, at := t.Value, t.Pos
	spans := codeSpans(s)
	last := strings.LastIndexByte(s, '}')
	start, depth := 0, 0
	end := func(i int) {
		if len(out) > most {
			return
		}
		part := Text{Value: s[start:i], Pos: at}
		if a := unquoted(part.slice(0, len(part.Value))); !a.IsZero() {
			out = append(out, a)
		}
		at.Column += runes(s[start:min(i+1, len(s))])
		start = i + 1
	}
	for i := 0; i < len(s); i++ {
		if len(spans) > 0 && i == spans[0].start {
			i = spans[0].end - 1
			spans = spans[1:]
			continue
		}
		switch {
		case s[i] == '{' && i < last:
			depth++
		case s[i] == '}' && depth > 0:
			depth--
		case s[i] == ',' && depth == 0:
			end(i)
		}
	}
	end(len(s))
	return out
}

// setList sets a field to a list that may be empty only by saying so.
func (p *parser) setList(v *value, to *Field[[]Text], items []Text, l items) bool {
	at := p.at(&v.line, v.line.text)
	if len(items) == 0 && !l.none() {
		p.empty(v)
		return false
	}
	if len(items) > 0 {
		at = items[0].Pos
	}
	*to = Field[[]Text]{append([]Text(nil), items...), true, at}
	return true
}

func (p *parser) empty(v *value) {
	p.problem(p.at(&v.line, v.line.text), Error, EmptyLabel, fmt.Sprintf("%q is empty", v.spec.name), "fill it in or remove it")
}

// subscriptions are `file:path`, `map:directory`, `topic:name` and `step:id`.
type subscriptions struct{}

func (subscriptions) read(p *parser, v *value, to any) bool {
	l := p.list(v)
	atoms := p.atomsOf(v, l, severalSubscriptions)
	subs := slices.Grow([]Subscription(nil), len(atoms))
	for _, t := range atoms {
		if s, ok := p.subscription(t); ok {
			subs = append(subs, s)
		}
	}
	if len(atoms) == 0 && !l.none() {
		p.empty(v)
		return false
	}
	if len(subs) == 0 && !l.none() {
		return false
	}
	*to.(*Field[[]Subscription]) = Field[[]Subscription]{subs, true, p.at(&v.line, v.line.text)}
	return true
}

func (subscriptions) write(w *writer, name string, from any) {
	f := from.(*Field[[]Subscription])
	switch {
	case !f.Set:
		return
	case len(f.Value) == 0:
		w.label(name, "none")
		return
	}
	w.list(name)
	for _, s := range f.Value {
		text := s.Kind + ":" + oneLine(s.Ref)
		if strings.ContainsAny(text, "`") {
			text = quote(text)
		}
		w.item(text)
	}
}

// severalSubscriptions splits a bullet in which each part is a reference.
func severalSubscriptions(out []Text, t Text) []Text {
	if strings.IndexByte(t.Value, ',') < 0 {
		return whole(out, t)
	}
	all := atomsOfLine(out, t)
	for _, part := range all[len(out):] {
		if kind, _, ok := strings.Cut(part.Value, ":"); !ok || !Subscribable(kindOf(kind)) {
			return whole(out, t)
		}
	}
	return all
}

// kindOf is the kind of a subscription as people write it.
func kindOf(word string) string { return strings.ToLower(trimmed(word)) }

// Subscribable reports whether a subscription can be of the kind.
func Subscribable(kind string) bool {
	return kind == "file" || kind == "map" || kind == "topic" || kind == "step"
}

func (p *parser) subscription(t Text) (Subscription, bool) {
	kind, ref, ok := strings.Cut(t.Value, ":")
	kind = kindOf(kind)
	ref = trimmed(ref)
	from, to := unquote(ref)
	ref = trimmed(ref[from:to])
	if !ok || !Subscribable(kind) || ref == "" {
		p.problem(t.Pos, Error, BadSubscription, fmt.Sprintf("%q is not a subscription", t.Value), "write file:path, map:directory, topic:name or step:id")
		return Subscription{}, false
	}
	return Subscription{kind, ref, t.Pos}, true
}

// checks are `name: command` and `name (optional): command`, and for build, lint and
// test the name alone.
type checks struct{}

func (checks) read(p *parser, v *value, to any) bool {
	l := p.list(v)
	var list []Check
	items := append(l.first, l.bullet...)
	for _, t := range items {
		if c, ok := p.check(v, t); ok {
			list = append(list, c)
		}
	}
	if len(items) == 0 {
		p.empty(v)
	}
	if len(list) == 0 {
		return false
	}
	*to.(*Field[[]Check]) = Field[[]Check]{list, true, list[0].Name.Pos}
	return true
}

func (checks) write(w *writer, name string, from any) {
	f := from.(*Field[[]Check])
	if !f.Set || len(f.Value) == 0 {
		return
	}
	w.paragraph(w.name(name))
	for _, c := range f.Value {
		name := oneLine(c.Name.Value)
		if c.Optional {
			name += " (optional)"
		}
		if c.Command.IsZero() {
			w.item(name)
			continue
		}
		if c.Command.Fenced || strings.Contains(c.Command.Value, "\n") {
			w.item(name + ":\n" + FencedBlock(c.Command.Lang, normalEnds(c.Command.Value)))
			continue
		}
		w.item(name + ": " + quote(c.Command.Value))
	}
}

func (p *parser) check(v *value, t Text) (Check, bool) {
	first, _, more := strings.Cut(t.Value, "\n")
	c := Check{}
	colon := checkColon(first)
	if bare, _ := cutSuffixFold(first, "(optional)"); !more && colon < 0 && Found(strings.Trim(bare, white+"`*")) {
		colon = len(first)
	}
	if colon > 0 {
		c.Name = t.slice(0, colon)
		if name, ok := cutSuffixFold(c.Name.Value, "(optional)"); ok {
			c.Optional = true
			c.Name = c.Name.slice(0, len(name))
		}
		c.Name = unbold(unquoted(c.Name))
		if strings.HasPrefix(first, "**") && colon < len(first) {
			colon = len(first) - len(strings.TrimLeft(first[colon+1:], "*")) - 1
		}
		c.Command = unquoted(t.slice(min(colon+1, len(first)), len(first)))
	}
	if more && colon > 0 && c.Command.IsZero() {
		c.Command = p.checkBlock(t)
	} else if more {
		p.problem(t.Pos, Error, BadCheck, "a check of several lines needs a fenced block", "put the command between lines of ```")
		return c, false
	}
	if c.Name.IsZero() || c.Command.IsZero() && (more || !Found(c.Name.Value)) || !checkName(c.Name.Value) {
		p.problem(t.Pos, Error, BadCheck, fmt.Sprintf("%q is not a check", first), "write `name: command`; build, lint and test need no command")
		return c, false
	}
	if len(c.Command.Value) > MaxContract {
		p.problem(c.Command.Pos, Error, ScriptTooLong,
			fmt.Sprintf("the check has %d bytes; at most %d are allowed", len(c.Command.Value), MaxContract), "put it into a script file")
	}
	p.language(v, c.Command, shellBlock)
	return c, true
}

// checkColon is the colon that ends a check's name.
func checkColon(s string) int {
	for i := range len(s) {
		if s[i] == ':' && (i+1 == len(s) || isSpace(s[i+1]) || s[i+1] == '*' || s[i+1] == '`') {
			return i
		}
	}
	return -1
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if n := len(s) - len(suffix); n >= 0 && strings.EqualFold(s[n:], suffix) {
		return s[:n], true
	}
	return s, false
}

// unbold is a one-line text without the asterisks around it.
func unbold(t Text) Text {
	s := t.Value
	from := len(s) - len(strings.TrimLeft(s, "*"))
	to := len(strings.TrimRight(s, "*"))
	return t.slice(min(from, to), to)
}

// checkName reports whether s can name a check.
func checkName(s string) bool {
	return len(s) <= maxID && !strings.ContainsAny(s, "`*:()[]\n") && s != ""
}

// checkBlock reads the fenced block below a check's name.
func (p *parser) checkBlock(t Text) Text {
	sc := scanner{src: t.Value}
	place := func(num, start, off int) Pos {
		at := t.lineStart(num - 1)
		at.Column += runes(t.Value[start:off])
		return at
	}
	var l line
	sc.next(&l)
	for sc.next(&l) && l.kind == blankLine {
	}
	if l.kind != fenceOpen {
		return Text{}
	}
	code, _ := fenced(&sc, &l, place)
	for sc.next(&l) {
		if l.kind != blankLine {
			return Text{}
		}
	}
	return code
}
