package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// span is a range of bytes.
type span struct{ start, end int }

// Parse reads a plan. The name is for messages only. A broken plan still gives
// as much tree as can be read; the Plan is nil only if the bytes are refused
// altogether: larger than [MaxBytes], not UTF-8, or with a NUL in them. Problems
// come in the order of their places. The cost is linear in len(src). Parse keeps
// a copy of src, not src.
func Parse(name string, src []byte) (*Plan, []Problem) {
	if why, refused := refuse(src); refused {
		return nil, []Problem{why}
	}
	p := &parser{plan: withDefaults(), src: string(src), section: inHeader}
	p.plan.Name, p.plan.Source = name, append([]byte{}, src...)
	p.sc = scanner{src: p.src, off: len(p.src) - len(strings.TrimPrefix(p.src, bom))}
	p.prose.src = p.src
	p.veils = strings.IndexByte(p.src, '<') >= 0 || strings.IndexByte(p.src, '[') >= 0 || strings.IndexByte(p.src, '|') >= 0 || strings.Contains(p.src, ":-") || strings.Contains(p.src, "-:")
	bad := checkCharacters(p.src, &p.probs)
	p.front(bad)
	p.body()
	p.finish()
	return p.plan, p.probs.Sorted()
}

// parser is the state of one Parse: what section the scanner is in, and the
// value or the prose that the next lines belong to.
type parser struct {
	plan    *Plan
	src     string
	sc      scanner
	probs   Problems
	section section
	step    *Step       // in a step
	seen    []string    // labels of the section so far
	labels  []Label     // the same, with what is in the tree
	value   value       // open if its name is not empty
	prose   textBuilder // of the lines since the last label
	pieces  []Text      // prose of the section so far
	notes   []Text
	items   items  // of the last list
	split   []Text // the items of the last list, each on its own
	closer  string // the fence that the end of the text lacks
	full    bool   // MaxSteps reached
	veils   bool   // something may be hidden from those who see the plan rendered
	veil    veil   // of the paragraph so far
}

// value is a label and the lines that follow it.
type value struct {
	written
	spec   *spec // nil of none
	role   role
	line   line // the label's
	body   int  // the lines below, as a range of the source
	end    int
	holed  bool // a status line stands in it
	closer string
}

func (p *parser) problem(at Pos, s Severity, code, message, hint string) {
	p.probs.Add(at, s, code, message, hint)
}

// at is the place of an offset in a line.
func (p *parser) at(l *line, off int) Pos { return p.place(l.num, l.start, off) }

// place is the place of an offset in the line of a number that starts at start.
func (p *parser) place(num, start, off int) Pos {
	return Pos{num, 1 + runes(p.src[start:off])}
}

func (p *parser) body() {
	var l line
	for !p.full && p.sc.next(&l) {
		if l.end-l.start > MaxLine {
			p.problem(Pos{l.num, 1}, Error, LineTooLong,
				fmt.Sprintf("the line has %d bytes; at most %d are allowed", l.end-l.start, MaxLine), "break it")
		}
		if l.broke {
			p.unclosed()
		}
		switch l.kind {
		case blankLine, fenceOpen, fenceBody, fenceClose:
			p.veil = veil{}
		default:
			if p.veils {
				p.shown(&l)
			}
		}
		switch l.kind {
		case statusLine:
			p.status(&l)
		case headingLine:
			p.heading(&l)
		case labelLine:
			p.label(&l)
		case blankLine:
			if p.value.key == "" {
				p.prose.add(l.start, l.end, Pos{l.num, 1})
			}
		default:
			p.visible(&l)
			p.content(&l)
		}
	}
	if p.sc.fence.char != 0 {
		p.unclosed()
		if p.sc.fence.inside == 0 {
			p.closer = strings.Repeat(string(p.sc.fence.char), p.sc.fence.length)
		}
	}
	p.endSection(len(p.src))
}

func (p *parser) unclosed() {
	p.problem(p.sc.fence.at, Error, UnclosedFence, "this fenced block has no end",
		"close it with the same marks as it begins with, on a line of their own")
}

// content adds a line to the open value, or else to the prose.
func (p *parser) content(l *line) {
	if p.value.key != "" {
		p.value.end = l.end
		return
	}
	p.prose.add(l.start, l.end, Pos{l.num, 1})
}

// visible reports what a reader of the rendered plan would see as something else
// than it is.
func (p *parser) visible(l *line) {
	text := p.src[l.text:l.end]
	if l.kind >= fenceOpen && l.kind <= fenceClose || text == "" {
		return
	}
	switch text[0] {
	case '*', '_':
		if w, ok := splitLabel(text); ok {
			if lookup(w.key, p.section) != nil {
				p.problem(p.at(l, l.text), Warning, HiddenLabel, fmt.Sprintf("%q is only text in a list or in indented code", w.key),
					"put the label at the start of the line")
			}
		}
	case '#':
		if _, _, ok := splitNumber(headingText(text, run(text))); ok {
			p.problem(p.at(l, l.text), Warning, HiddenLabel, "this heading does not begin a step: it is in a list or in indented code",
				"put it at the start of the line")
		}
	default:
		p.unmarked(l, text)
	}
}

// unmarked reports a line of prose that is a label but for its stars.
func (p *parser) unmarked(l *line, text string) {
	name, _, ok := strings.Cut(text, ":")
	if !ok || l.kind != plainLine || l.indent > 0 || p.value.key != "" || p.section == inNotes || len(name) > 20 {
		return
	}
	key := strings.ToLower(strings.TrimRight(name, white))
	for _, key := range []string{key, strings.ReplaceAll(key, "_", " "), strings.ReplaceAll(key, " ", "_")} {
		if spec := lookup(key, p.section); spec != nil && spec.where == p.section {
			p.problem(p.at(l, l.text), Warning, HiddenLabel, fmt.Sprintf("%q is only text without its stars", name), "write `**"+spec.name+":**`")
			return
		}
	}
}

// status notes a projection, and nothing else.
func (p *parser) status(l *line) {
	w, _ := splitLabel(p.src[l.start:l.end])
	text := trimmed(p.src[l.start+w.value : l.start+w.end])
	p.step.Status = Text{Value: text, Pos: p.at(l, l.start+w.value+strings.Index(p.src[l.start+w.value:l.end], text))}
	p.plan.projected = append(p.plan.projected, span{l.start, l.next})
	p.value.holed = true
}

func (p *parser) heading(l *line) {
	text := headingText(p.src[l.text:l.end], l.level)
	number, _, numbered := splitNumber(text)
	bare, _, next := bareNumber(text)
	next = next && !numbered && l.level == 3 && bare == strconv.Itoa(len(p.plan.Steps)+1)
	if next && p.section != inNotes {
		number, numbered = bare, true
	}
	switch {
	case l.level == 1 && p.section == inHeader && p.plan.Title.IsZero() && text != "":
		p.endParagraphs()
		p.title(l, text)
	case numbered && l.level >= 2 && l.level <= 4:
		p.beginStep(l, number, text)
	case p.section == inHeader && strings.EqualFold(strings.TrimRight(text, ": "), "steps"):
		p.endParagraphs()
	case l.level <= 2 && p.section == inStep:
		p.endSection(l.start)
		p.section = inNotes
		p.otherHeading(l, text, numbered)
		p.prose.add(l.text, l.end, p.at(l, l.text)) // not indented: it must end the list above
	default:
		p.endValue()
		p.otherHeading(l, text, numbered || next)
		p.content(l)
	}
}

// otherHeading says what an author may not expect of a heading that begins nothing.
func (p *parser) otherHeading(l *line, text string, numbered bool) {
	at := p.at(l, l.text)
	switch {
	case l.level <= 4 && (numbered || almostNumbered(text)):
		p.problem(at, Error, BadStepHeading, "this heading looks like a step's but begins none", "write `### 1. Title`")
	case p.section == inStep:
		p.problem(at, Warning, HeadingInStep, "the text after this heading has no label, so no agent gets it",
			"in a task, write the heading in bold")
	}
}

// headingText is the text of a heading without the marks around it.
func headingText(s string, level int) string {
	s = trimmed(s[level:])
	if bare := strings.TrimRight(s, "#"); bare == "" || isSpace(bare[len(bare)-1]) {
		s = strings.TrimRight(bare, white)
	}
	return s
}

// title reads "Title (#issue)".
func (p *parser) title(l *line, text string) {
	at := p.at(l, l.text+strings.Index(p.src[l.text:l.end], text))
	if rest, ok := strings.CutSuffix(text, ")"); ok {
		if i := strings.LastIndex(rest, "(#"); i > 0 && rest[i+2:] != "" && !strings.ContainsAny(rest[i+2:], white+"()") {
			p.plan.Issue = rest[i+2:]
			text = strings.TrimRight(rest[:i], white)
		}
	}
	p.plan.Title = Text{Value: text, Pos: at}
}

func (p *parser) beginStep(l *line, number, text string) {
	p.endSection(l.start)
	if len(p.plan.Steps) == MaxSteps {
		p.problem(p.at(l, l.text), Error, TooManySteps, fmt.Sprintf("a plan has at most %d steps", MaxSteps), "use `for each:` or sub-plans")
		p.full = true
		return
	}
	p.section, p.sc.inStep = inStep, true
	p.step = NewStep(number, "")
	p.step.Pos = p.at(l, l.text)
	p.step.Start = l.start
	p.plan.Steps = append(p.plan.Steps, p.step)
	p.stepTitle(l, text)
}

// stepTitle reads what follows the point after the number: a mark, and the title.
func (p *parser) stepTitle(l *line, text string) {
	at := l.text + l.level
	for isSpace(p.src[at]) {
		at++
	}
	end := at + len(text)
	_, rest, ok := splitNumber(text)
	if !ok {
		_, rest, _ = bareNumber(text)
	}
	blanks, _ := trim(rest, 0, len(rest))
	at = end - len(rest) + blanks
	where := span{-1, -1}
	if at < l.end && isSpace(p.src[at-1]) {
		where = span{at, at}
	}
	mark, n := markOf(p.src[at:l.end])
	second, _ := markOf(strings.TrimLeft(p.src[at+n:l.end], white))
	switch {
	case mark != NoMark && second != NoMark:
		p.problem(p.at(l, at), Error, TwoMarks, "the heading has two marks", "leave the marks to Piton")
		where = span{-1, -1}
	case mark != NoMark:
		p.step.Mark = mark
		where = span{at, at + n}
		p.plan.projected = append(p.plan.projected, where)
		at = min(at+n, end)
	}
	p.plan.marks = append(p.plan.marks, where)
	for at < end && isSpace(p.src[at]) {
		at++
	}
	p.step.Title = Text{Value: p.src[at:end], Pos: p.at(l, at)}
	if at == end {
		p.step.Title = Text{}
		p.problem(p.at(l, l.text), Error, MissingStepTitle, "the step has no title", "write `### 1. Title`")
	}
}

// markOf returns the mark that s begins with, and its length with the variation
// selector and the one blank that may follow it.
func markOf(s string) (Mark, int) {
	for _, m := range [...]Mark{MarkDone, MarkFailed, MarkSkipped, MarkWaiting} {
		rest, ok := strings.CutPrefix(s, string(m))
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, "\ufe0f")
		switch {
		case rest != "" && isSpace(rest[0]):
			rest = rest[1:]
		case rest != "" && rest[0] == '#':
			return NoMark, 0 // without the mark, # would close the heading
		}
		return m, len(s) - len(rest)
	}
	return NoMark, 0
}

func (p *parser) label(l *line) {
	w := l.label
	r, s := p.roleOf(w.key)
	if !r.begins() || p.section == inNotes {
		p.boldText(l, w, r, s)
		return
	}
	p.endParagraphs()
	at := p.at(l, l.text)
	repeated := r == known && slices.Contains(p.seen, s.name)
	switch {
	case r == misspelt:
		p.problem(at, Error, UnknownLabel, fmt.Sprintf("there is no label %q", w.key), fmt.Sprintf("is `%s` meant?", s.name))
	case r == misplaced:
		p.problem(at, Error, MisplacedLabel, fmt.Sprintf("%q does not belong here", s.name), placeHint(s))
	case repeated && s.name == "contract":
		p.problem(at, Error, TwoContracts, "the step has two contracts", "join them with &&, or make the second one a check")
	case repeated:
		p.problem(at, Error, DuplicateLabel, fmt.Sprintf("%q is here twice", s.name), "keep one of them")
	}
	if repeated {
		r = misplaced
	}
	if r == known {
		p.seen = append(p.seen, s.name)
	}
	p.value = value{written: w, spec: s, role: r, line: *l, body: l.next, end: l.next}
	p.value.value += l.text
	p.value.written.end += l.text
}

// roleOf stops to look for what an unknown label means once nobody will see it.
func (p *parser) roleOf(key string) (role, *spec) {
	if p.probs.Full() && lookup(key, p.section) == nil {
		return foreign, nil
	}
	return roleOf(key, p.section)
}

// boldText is a line that looks like a label and is only text. In running text
// it stays where it is; anywhere else it ends the value.
func (p *parser) boldText(l *line, w written, r role, s *spec) {
	severity, message := Warning, fmt.Sprintf("%q is not a label; it is read as text", w.key)
	running := p.value.key != "" && p.value.role == known && p.value.spec.text
	switch {
	case r == misplaced:
		severity = Error
		message = fmt.Sprintf("%q does nothing outside of its place", s.name)
	case r == elsewhere:
		message = fmt.Sprintf("%q is not a label here; it is read as text", s.name)
	case running || p.section == inNotes:
		severity = Note
	}
	if !running {
		p.endValue()
	}
	code, hint := UnknownLabel, ""
	if r == misplaced || r == elsewhere {
		code, hint = MisplacedLabel, placeHint(s)
	} else if name := strings.TrimSpace(strings.TrimSuffix(w.key, "(optional)")); Found(name) {
		hint = fmt.Sprintf("write `**checks:**`, and below it `- %s: COMMAND`", w.key)
	}
	p.problem(p.at(l, l.text), severity, code, message, hint)
	p.content(l)
}

func placeHint(s *spec) string {
	if s.where == inStep {
		return "it belongs under a step's heading"
	}
	return "it belongs above the steps"
}

// endParagraphs ends the open value and the open prose.
func (p *parser) endParagraphs() {
	p.endValue()
	p.endProse()
}

// endValue reads the open value.
func (p *parser) endValue() {
	if p.value.key == "" {
		return
	}
	v := &p.value
	v.closer = p.closer
	label := Label{Name: v.key, Pos: p.at(&v.line, v.line.text), Raw: p.raw(v)}
	if v.role == misspelt {
		label.Meant = v.spec.name
	}
	if v.role == known {
		label.Name = v.spec.name
		kept := len(p.pieces)
		if label.Read = v.spec.read(p, v, v.spec.at(p.plan, p.step)); !label.Read {
			p.pieces = p.pieces[:kept] // Raw has it
		}
	}
	p.labels = append(p.labels, label)
	p.value = value{}
}

// raw is the value with its label as they are written.
func (p *parser) raw(v *value) string {
	end := max(v.end, v.line.end)
	if v.end == v.line.next {
		end = v.line.end
	}
	text := p.src[v.line.text:end]
	if v.holed || strings.IndexByte(text, '\r') >= 0 {
		b := textBuilder{src: p.src}
		b.add(v.line.text, v.line.end, Pos{1, 1})
		for l := range p.lines(v) {
			b.add(l.start, l.end, Pos{1, 1})
		}
		text = b.text().Value
	}
	text = strings.TrimRight(text, white+"\n")
	if v.closer != "" {
		text += "\n" + v.closer
	}
	return text
}

// endProse keeps the prose since the last label.
func (p *parser) endProse() {
	if t := p.prose.text(); !t.IsZero() {
		if p.closer != "" {
			t = t.followed(p.closer)
		}
		p.pieces = append(p.pieces, t)
		p.prose = textBuilder{src: p.src}
	}
}

// endSection ends the header, a step or the notes at an offset.
func (p *parser) endSection(end int) {
	p.endParagraphs()
	switch p.section {
	case inHeader:
		p.plan.Prose = join(p.pieces)
		p.plan.Labels = append([]Label(nil), p.labels...)
	case inStep:
		p.step.Prose = join(p.pieces)
		p.step.Labels = append([]Label(nil), p.labels...)
		p.step.End = end
		p.sc.inStep = false
	case inNotes:
		p.notes = append(p.notes, p.pieces...)
	}
	p.pieces, p.seen, p.labels = p.pieces[:0], p.seen[:0], p.labels[:0]
}

// finish does what needs the whole plan.
func (p *parser) finish() {
	p.plan.Notes = join(p.notes)
	if p.plan.Title.IsZero() {
		p.problem(Pos{1, 1}, Error, MissingTitle, "the plan has no title", "write `# Title` above the steps")
	}
	if len(p.plan.Steps) == 0 {
		p.problem(Pos{1, 1}, Error, NoSteps, "the plan has no steps", "begin each with a heading `### 1. Title`")
	}
	p.plan.Complete(&p.probs)
}
