package plan

import "strings"

// textBuilder gathers the lines of a Text. As long as they are consecutive
// whole lines of the source, nothing is copied.
type textBuilder struct {
	src        string
	start, end int    // while nothing is copied: Value is src[start:end]
	copied     []byte // else
	pos        Pos    // of the first line
	last       int    // number of the last line
	lines      int
	starts     []Pos
	keep       int // bytes and lines up to the last line that is not blank
	keepLines  int
}

// add appends src[from:to], which stands at pos. Blank lines before the first
// other one are left out.
func (b *textBuilder) add(from, to int, pos Pos) {
	blank := isBlank(b.src[from:to])
	if b.lines == 0 && blank {
		return
	}
	switch {
	case b.lines == 0:
		b.start, b.end, b.pos = from, to, pos
	case b.starts == nil && from == b.end+1 && pos == (Pos{b.last + 1, 1}):
		b.end = to
	default:
		b.detach()
		b.copied = append(append(b.copied, '\n'), b.src[from:to]...)
		b.starts = append(b.starts, pos)
	}
	b.lines++
	b.last = pos.Line
	if !blank {
		b.keep, b.keepLines = b.size(), b.lines
	}
}

// detach copies what was gathered so far.
func (b *textBuilder) detach() {
	if b.starts != nil {
		return
	}
	b.copied = append(b.copied, b.src[b.start:b.end]...)
	b.starts = append(b.starts, b.pos)
	for i := 1; i < b.lines; i++ {
		b.starts = append(b.starts, Pos{b.pos.Line + i, 1})
	}
}

func (b *textBuilder) size() int {
	if b.starts != nil {
		return len(b.copied)
	}
	return b.end - b.start
}

// text is the text without blank lines at its end.
func (b *textBuilder) text() Text {
	if b.starts == nil {
		return Text{Value: b.src[b.start : b.start+b.keep], Pos: b.pos}
	}
	return Text{Value: string(b.copied[:b.keep]), Pos: b.pos, starts: new(b.starts[:b.keepLines])}
}

// verbatim is the text with blank lines at its end.
func (b *textBuilder) verbatim() Text {
	b.keep, b.keepLines = b.size(), b.lines
	return b.text()
}

// open makes the builder keep blank lines at the beginning too.
func (b *textBuilder) open(from, to int, pos Pos) {
	b.start, b.end, b.pos, b.last, b.lines = from, to, pos, pos.Line, 1
}

// lineStart is the place of the first character of the i-th line of t.
func (t Text) lineStart(i int) Pos {
	switch {
	case t.starts != nil:
		return (*t.starts)[i]
	case i == 0:
		return t.Pos
	}
	return Pos{t.Pos.Line + i, 1}
}

// lineStarts are the places of the first characters of all lines of t.
func (t Text) lineStarts() []Pos {
	starts := make([]Pos, strings.Count(t.Value, "\n")+1)
	for i := range starts {
		starts[i] = t.lineStart(i)
	}
	return starts
}

// slice is the part [from, to) of a text's first line, white space at its ends left out.
func (t Text) slice(from, to int) Text {
	from, to = trim(t.Value, from, to)
	pos := t.lineStart(0)
	if pos.IsValid() {
		pos.Column += runes(t.Value[:from])
	}
	return Text{Value: t.Value[from:to], Pos: pos}
}

// join puts pieces of prose together as one text. What follows a piece must not
// be read as a part of it, so an indented piece comes after a thematic break.
func join(pieces []Text) Text {
	return joined(pieces, func(next Text) string {
		if isSpace(next.Value[0]) {
			return "\n\n---\n\n"
		}
		return "\n\n"
	})
}

// joinLines makes one text of lines.
func joinLines(lines []Text) Text { return joined(lines, func(Text) string { return "\n" }) }

// joined makes one text of pieces; before says what stands before each but the first.
func joined(pieces []Text, before func(Text) string) Text {
	switch len(pieces) {
	case 0:
		return Text{}
	case 1:
		return pieces[0]
	}
	var starts []Pos
	var b strings.Builder
	for i, t := range pieces {
		if i > 0 {
			sep := before(t)
			b.WriteString(sep)
			starts = append(starts, make([]Pos, strings.Count(sep, "\n")-1)...)
		}
		b.WriteString(t.Value)
		starts = append(starts, t.lineStarts()...)
	}
	return Text{Value: b.String(), Pos: pieces[0].Pos, starts: &starts}
}

// followed is the text with one more line that does not stand in the source.
func (t Text) followed(line string) Text {
	t.starts = new(append(t.lineStarts(), Pos{}))
	t.Value += "\n" + line
	return t
}

// trim is a range of s without the white space at its ends.
func trim(s string, from, to int) (int, int) {
	for from < to && isSpace(s[from]) {
		from++
	}
	for from < to && isSpace(s[to-1]) {
		to--
	}
	return from, to
}

// isBlank reports whether there is nothing but white space in a line.
func isBlank(s string) bool { return trimmed(s) == "" }

// trimmed is s without the white space at its ends.
func trimmed(s string) string {
	from, to := trim(s, 0, len(s))
	return s[from:to]
}

// white is what is trimmed from the ends of values. A carriage return is among
// it because one that ends no line (which is a problem) must not become one that does.
const white = " \t\r"

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func runes(s string) int { return strings.Count(s, "") - 1 }
