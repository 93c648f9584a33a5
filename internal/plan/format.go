package plan

import (
	"strconv"
	"strings"
)

// Format writes the plan in its canonical layout; parsing the result gives an
// equal tree, places and unreadable parts of values apart. Labels that were not
// read are written as they were. A text that would be read as something else (a
// heading in a task, say) is put into a fenced block. What no text can say is
// not kept: a title that ends in (#…), or a list whose only item is "none".
func Format(p *Plan) []byte {
	w := &writer{section: inHeader, untitled: p.Title.IsZero()}
	w.front(p.Front)
	if title := oneLine(p.Title.Value); title != "" {
		if p.Issue != "" {
			title += " (#" + p.Issue + ")"
		}
		w.paragraph(closed("# " + title))
	}
	w.prose(p.Prose)
	w.labels(p, nil)
	w.unread(p.Labels)
	if len(p.Steps) > 0 {
		w.paragraph("## Steps")
	}
	w.section = inStep
	for i, s := range p.Steps {
		w.steps = i + 1
		w.step(i, s)
	}
	w.section = inNotes
	w.prose(p.Notes)
	text := w.out.String()
	if len(p.Front) == 0 && strings.HasPrefix(text, "---") || strings.HasPrefix(text, bom) {
		text = "\n" + text
	}
	return []byte(text)
}

// FormatStep writes one step as [Format] does.
func FormatStep(s *Step) []byte {
	w := &writer{section: inStep, steps: -1}
	w.step(0, s)
	return []byte(w.out.String())
}

// ReplaceStep returns the plan's source with the i-th step written anew from s,
// and every other byte as it was.
func ReplaceStep(p *Plan, i int, s *Step) []byte {
	old := p.Steps[i]
	out := append([]byte{}, p.Source[:old.Start]...)
	out = append(out, FormatStep(s)...)
	if old.End < len(p.Source) {
		out = append(out, '\n')
	}
	return append(out, p.Source[old.End:]...)
}

// writer gathers paragraphs. Short labels follow each other without a blank
// line between them.
type writer struct {
	out      strings.Builder
	section  section
	untitled bool
	tight    bool // a label may follow without a blank line
	steps    int  // that are written; -1 if others come before them
}

func (w *writer) front(keys []Key) {
	if len(keys) == 0 {
		return
	}
	w.out.WriteString("---\n")
	for _, k := range keys {
		entry := k.Raw
		if entry == "" {
			entry = k.Name + ": " + yamlText(k.Value)
		}
		w.out.WriteString(entry + "\n")
	}
	w.out.WriteString("---\n")
}

// yamlText writes a text as a YAML scalar.
func yamlText(s string) string {
	for i := range len(s) {
		c := s[i]
		if (c|32 < 'a' || c|32 > 'z') && (i == 0 || (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' && c != '/') {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// labels writes every label of the section that is set.
func (w *writer) labels(p *Plan, s *Step) {
	for i := range table {
		if l := &table[i]; l.where == w.section {
			l.write(w, l.name, l.at(p, s))
		}
	}
}

func (w *writer) step(i int, s *Step) {
	number := s.Number
	if number == "" {
		number = strconv.Itoa(i + 1)
	}
	head := "### " + number + "."
	if s.Mark.valid() && s.Mark != NoMark {
		head += " " + string(s.Mark)
	}
	if title := oneLine(s.Title.Value); title != "" {
		head = closed(head + " " + title)
	}
	w.paragraph(head)
	w.prose(s.Prose)
	w.labels(nil, s)
	w.unread(s.Labels)
}

// unread writes the labels that are not in the tree.
func (w *writer) unread(labels []Label) {
	for _, l := range labels {
		raw := l.Raw
		if first, _, _ := strings.Cut(raw, "\n"); isStatus(first) {
			raw = " " + raw // or it would become a projection
		}
		if !l.Read && raw != "" {
			w.paragraph(raw)
		}
	}
}

// prose writes text that belongs to no label.
func (w *writer) prose(t Text) {
	if t.IsZero() {
		return
	}
	text := normalEnds(t.Value)
	if !w.proseFits(text) {
		text = FencedBlock("text", text)
	}
	w.paragraph(text)
}

func (w *writer) gap() {
	if w.out.Len() > 0 {
		w.out.WriteByte('\n')
	}
	w.tight = false
}

func (w *writer) paragraph(text string) {
	w.gap()
	w.out.WriteString(text + "\n")
}

// label writes a label with its value on the same line.
func (w *writer) label(name, value string) {
	if !w.tight {
		w.gap()
	}
	w.out.WriteString(w.name(name) + " " + value + "\n")
	w.tight = true
}

// name is the label as it is written: with a capital in the header.
func (w *writer) name(name string) string {
	if w.section == inHeader {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	return "**" + name + ":**"
}

// bare is a line that is read as s: s, or s as a code span.
func bare(s string) string {
	if from, _ := unquote(s); from > 0 {
		return quote(s)
	}
	return s
}

// text writes running text: on the label's line if it is one line, else (and
// for a task always) below, and in a fenced block if nothing else can hold it.
func (w *writer) text(name string, t Text, below bool) {
	if t.IsZero() {
		return
	}
	value := normalEnds(t.Value)
	single := !strings.Contains(value, "\n")
	onLine, onBlock := !t.Fenced && w.fits(value, true, false), !t.Fenced && w.fits(value, false, false)
	switch {
	case onLine && (single && !below || !onBlock):
		w.label(name, value)
		w.tight = single
	case onBlock:
		w.paragraph(w.name(name) + "\n" + value)
	default:
		w.paragraph(w.name(name) + "\n" + FencedBlock(t.Lang, value))
	}
}

// code writes a value that is a fenced block or inline code.
func (w *writer) code(name string, t Text) {
	_, exit := exitLine(t.Value)
	switch {
	case t.IsZero():
	case t.Fenced || exit && name == "contract" || strings.Contains(t.Value, "\n"):
		w.paragraph(w.name(name) + "\n" + FencedBlock(t.Lang, normalEnds(t.Value)))
	default:
		w.tight = false
		w.label(name, quote(t.Value))
	}
}

// item writes a bullet. Its further lines are indented, so that nothing in it
// can begin a label or a heading.
func (w *writer) item(text string) {
	text = strings.Trim(normalEnds(text), white+"\n")
	for i, l := range strings.Split(text, "\n") {
		switch {
		case i == 0:
			l = "- " + l
		case l != "":
			l = "  " + l
		}
		w.out.WriteString(l + "\n")
	}
}

// list begins a label whose items follow.
func (w *writer) list(name string) {
	if !w.tight {
		w.gap()
	}
	w.out.WriteString(w.name(name) + "\n")
	w.tight = false
}

// atom writes a name, glob or reference: as a code span if Markdown or a list
// could read it as something else.
func atom(s string) string {
	for i := range len(s) {
		c := s[i]
		plain := c|32 >= 'a' && c|32 <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '/' || c == '$' || c >= 0x80 ||
			i > 0 && (c == '-' || c == '_' || c == ' ' || c == '+' || c == ':' || c == '@')
		if !plain {
			return quote(s)
		}
	}
	return s
}

// FencedBlock writes a fenced block that holds the text verbatim.
func FencedBlock(lang, text string) string {
	mark := byte('`')
	if words := strings.Fields(lang); len(words) > 0 {
		lang = words[0]
	}
	if strings.IndexByte(lang, '`') >= 0 {
		mark = '~'
	}
	marks := strings.Repeat(string(mark), max(3, longestRun(text, mark)+1))
	if text == "" {
		return marks + lang + "\n" + marks
	}
	return marks + lang + "\n" + text + "\n" + marks
}

// oneLine is s without line ends and without white space around it.
func oneLine(s string) string {
	return strings.Trim(strings.ReplaceAll(normalEnds(s), "\n", " "), white)
}

// closed writes a heading so that # at its end is no mark of the heading.
func closed(s string) string {
	if strings.HasSuffix(s, "#") {
		return s + " #"
	}
	return s
}

// fits reports whether running text is read as itself on the label's line and
// below, or only below it.
func (w *writer) fits(text string, onLine, noItems bool) bool {
	if text == "" || strings.TrimRight(text, white+"\n") != text {
		return false
	}
	first, rest, more := strings.Cut(text, "\n")
	if trimmed(first) == "" || onLine && trimmed(first) != first {
		return false
	}
	if onLine && !more {
		return true
	}
	if !onLine {
		rest = text
	}
	return w.plain(rest, noItems) && (onLine || !soleFence(text))
}

// plain reports whether lines below a label are nothing but text.
func (w *writer) plain(text string, noItems bool) bool {
	sc := scanner{src: text, inStep: w.section == inStep}
	for l := (line{}); sc.next(&l); {
		switch {
		case l.kind == headingLine, l.kind == statusLine, noItems && l.item && l.indent <= 3:
			return false
		case l.kind == labelLine && w.begins(&l):
			return false
		}
	}
	return !sc.closed()
}

// begins reports whether a line begins a value.
func (w *writer) begins(l *line) bool {
	r, _ := roleOf(l.label.key, w.section)
	return r.begins()
}

// soleFence reports whether a text is one fenced block and nothing else.
func soleFence(text string) bool {
	sc := scanner{src: text}
	var l line
	if !sc.next(&l) || l.kind != fenceOpen || l.item {
		return false
	}
	for sc.next(&l) && l.kind == fenceBody {
	}
	return l.next == len(text)
}

// proseFits reports whether text is read as prose of the section.
func (w *writer) proseFits(text string) bool {
	sc := scanner{src: text, inStep: w.section == inStep}
	first := true
	for l := (line{}); sc.next(&l); first = false {
		switch {
		case l.kind == statusLine, first && w.section == inNotes && (l.kind != headingLine || l.level > 2):
			return false
		case l.kind == headingLine && w.structural(&l, text):
			return false
		case l.kind == labelLine && w.section != inNotes && w.begins(&l):
			return false
		}
	}
	return !sc.closed()
}

// structural reports whether a heading in prose would begin something.
func (w *writer) structural(l *line, text string) bool {
	head := headingText(text[l.text:l.end], l.level)
	_, _, numbered := splitNumber(head)
	if n, _, bare := bareNumber(head); bare && w.section != inNotes && l.level == 3 && (w.steps < 0 || n == strconv.Itoa(w.steps+1)) {
		numbered = true
	}
	switch {
	case numbered && l.level >= 2 && l.level <= 4:
		return true
	case w.section == inHeader:
		return l.level == 1 && w.untitled && head != "" || strings.EqualFold(strings.TrimRight(head, ": "), "steps")
	}
	return w.section == inStep && l.level <= 2
}
