package plan

import (
	"slices"
	"strings"
)

// hiding is a part of Markdown that a reader of the rendered plan does not see.
type hiding uint8

const (
	nothing     hiding = iota
	inLabel            // [label, perhaps of a link definition
	beforeTitle        // a link definition that may have a title on the next line
	inNote             // a footnote is not shown unless the text refers to it
	inTable            // cells that the head of the table has no column for are not shown
	inTag              // <tag
	inAlt              // ![text of an image
	inTarget           // ](target of a link
)

func (h hiding) String() string {
	return [...]string{"", "a link definition", "a link definition", "a footnote", "a table", "an HTML tag", "an image", "the target of a link"}[h]
}

// veil is what a paragraph has begun and not ended on its earlier lines.
type veil struct {
	in    hiding
	end   byte // the quote or bracket that is open
	depth int  // brackets open inside
	num   int  // line of the beginning, and where in the source that line and it begin
	start int
	from  int
	attrs bool // the tag has attributes, which may hide what follows
	loose bool // an earlier line has unpaired back-ticks: a code span of this line may be none
}

const inCode = "remove it, or put it in `back-ticks` or a fenced block"

// shown reports what of a line outside of fenced blocks is not shown where the
// plan is rendered: nobody approves what they do not see. It errs on the side
// of reporting.
func (p *parser) shown(l *line) {
	v := &p.veil
	if v.in != nothing && v.in != beforeTitle && (l.kind == labelLine || l.kind == headingLine) {
		p.problem(p.at(l, l.text), Error, HiddenText, "this is in "+v.in.String()+" and is not shown where the plan is rendered",
			"put an empty line above it")
	}
	if l.kind == headingLine {
		*v = veil{}
	}
	text := p.src[l.text:l.end]
	if v.in == nothing && strings.IndexByte(text, '<') < 0 && strings.IndexByte(text, '[') < 0 && !delimiters(text) {
		v.loose = v.loose || unpaired(text)
		return
	}
	s := &sight{p: p, veil: v, line: l, text: text, off: quoted(text)}
	if !v.loose {
		s.spans = codeSpans(text)
	}
	s.unseen()
	s.begins()
	for s.off < len(text) {
		s.step()
	}
	v.loose = v.loose || unpaired(text)
}

// quoted is the length of the quote marks and list markers that a line begins with.
func quoted(s string) int {
	for at := 0; ; {
		rest := strings.TrimLeft(s[at:], white+">")
		at = len(s) - len(rest)
		if rest == "" || marker(rest) == 0 {
			return at
		}
		at += marker(rest)
	}
}

// unpaired reports back-ticks that no other back-ticks of the line close.
func unpaired(s string) bool {
	if strings.IndexByte(s, '`') < 0 {
		return false
	}
	if !strings.Contains(s, "``") {
		return strings.Count(s, "`")%2 == 1
	}
	end := 0
	for _, c := range codeSpans(s) {
		if strings.IndexByte(s[end:c.start], '`') >= 0 {
			return true
		}
		end = c.end
	}
	return strings.IndexByte(s[end:], '`') >= 0
}

// sight looks at one line, from off on.
type sight struct {
	*veil
	p     *parser
	line  *line
	text  string
	off   int
	spans []span // code spans from off on
}

func (s *sight) rest() string { return s.text[s.off:] }

func (s *sight) begin(in hiding, end byte, n int) {
	*s.veil = veil{in: in, end: end, num: s.line.num, start: s.line.start, from: s.line.text + s.off, loose: s.loose}
	s.off += n
}

func (s *sight) finish() { *s.veil = veil{loose: s.loose} }

// stop looks at no more of the line.
func (s *sight) stop() { s.off = len(s.text) }

func (s *sight) report(severity Severity, message, hint string) {
	s.p.problem(s.p.place(s.num, s.start, s.from), severity, HiddenText, message, hint)
}

// error reports what has begun. The rest of the line matters no more.
func (s *sight) error(message, hint string) {
	s.report(Error, message, hint)
	s.finish()
	s.stop()
}

// unseen looks for comments and their like, for elements whose content browsers
// do not show, and for tags with attributes, whatever may be open.
func (s *sight) unseen() {
	from, spans := s.off, s.spans
	for ; s.off < len(s.text); s.off++ {
		for len(spans) > 0 && s.off >= spans[0].end {
			spans = spans[1:]
		}
		if s.text[s.off] != '<' || len(spans) > 0 && s.off >= spans[0].start {
			continue
		}
		after := s.text[s.off+1:]
		name := tagName(after)
		inner := after[len(name):]
		inner = inner[:max(0, strings.IndexAny(inner, "<>"))]
		if declares(after) || slices.Contains(unseenElements, strings.ToLower(name)) || name != "" && attributes(inner) {
			s.begin(inTag, 0, 1)
			s.error("this is not shown where the plan is rendered", inCode)
			return
		}
	}
	s.off = from
}

// attributes reports what may hide the content of an element.
func attributes(s string) bool {
	return strings.IndexByte(s, '=') >= 0 || slices.ContainsFunc(strings.Fields(strings.ToLower(s)), func(w string) bool {
		return w == "hidden" || w == "inert" || w == "popover"
	})
}

// begins looks for what only a line can begin with.
func (s *sight) begins() {
	rest := s.rest()
	if s.in == beforeTitle {
		if rest != "" && strings.IndexByte(`"'(`, rest[0]) >= 0 {
			s.error(definition, linkHint)
			return
		}
		s.finish()
	}
	switch {
	case s.in != nothing || rest == "":
	case rest[0] == '[':
		s.begin(inLabel, 0, 1)
	case rest[0] == '<' && block(rest):
		s.begin(inTag, 0, 1)
		s.error("a block of HTML is not shown as it is written", inCode)
	case delimiters(rest):
		s.begin(inTable, 0, 0)
	}
}

// delimiters reports the line below the head of a table.
func delimiters(s string) bool {
	if s == "" || strings.IndexByte("|:-", s[0]) < 0 {
		return false
	}
	return strings.Trim(s, "|:-"+white) == "" && strings.ContainsRune(s, '-') && strings.ContainsAny(s, "|:")
}

// step moves behind the next sign.
func (s *sight) step() {
	switch s.in {
	case nothing:
		s.next()
	case inLabel:
		s.label()
	case inTag:
		s.tag()
	case inAlt, inTarget:
		s.brackets()
	default:
		s.stop()
	}
}

const (
	html       = "this HTML is not shown where the plan is rendered"
	definition = "a link definition is not shown where the plan is rendered"
	linkHint   = "write the link where it is used"
)

// label looks for the end of a label at the start of a line, and reads the link
// definition or footnote that it begins.
func (s *sight) label() {
	from := s.off
	if !s.bracket() {
		s.stop()
		return
	}
	if !strings.HasPrefix(s.rest(), ":") {
		s.finish()
		s.off = from // a text in brackets, which may hold anything
		return
	}
	target, title, _ := strings.Cut(trimmed(s.text[s.off+1:]), " ")
	title = trimmed(title)
	switch {
	case s.num == s.line.num && s.text[from] == '^':
		s.report(Warning, "a footnote is not shown where it is written", "write the text where it is used")
		s.in = inNote
	case s.num != s.line.num || target == "" || title != "" && strings.IndexByte(`"'(`, title[0]) >= 0:
		s.error(definition, linkHint)
	case title == "":
		s.report(Warning, definition, linkHint)
		s.in = beforeTitle
	default:
		s.finish() // more text than a definition has
		s.off = from
		return
	}
	s.stop()
}

// bracket moves behind the bracket that ends a label.
func (s *sight) bracket() bool {
	for ; s.off < len(s.text); s.off++ {
		switch s.text[s.off] {
		case ']':
			s.off++
			return true
		case '\\':
			s.off++
		}
	}
	return false
}

// next looks for the next sign that begins something.
func (s *sight) next() {
	for s.off < len(s.text) {
		if len(s.spans) > 0 && s.off >= s.spans[0].start {
			s.off = max(s.off, s.spans[0].end)
			s.spans = s.spans[1:]
			continue
		}
		rest := s.rest()
		switch {
		case rest[0] == '<' && tagName(rest[1:]) != "":
			s.begin(inTag, 0, 1+len(tagName(rest[1:])))
		case strings.HasPrefix(rest, "!["):
			s.begin(inAlt, ']', 2)
		case strings.HasPrefix(rest, "]("):
			s.begin(inTarget, ')', 2)
		case strings.HasPrefix(rest, "]["):
			s.begin(inTarget, ']', 2)
		default:
			s.off++
			continue
		}
		return
	}
}

// declares reports what begins a comment, a declaration or an instruction behind a <.
func declares(s string) bool {
	return strings.HasPrefix(s, "?") || len(s) > 1 && s[0] == '!' && (s[1] == '-' || s[1] == '[' || isLetter(s[1]))
}

// tag looks for the end of a tag. One with attributes, or of several lines, may
// hide what stands in it or behind it.
func (s *sight) tag() {
	for s.off < len(s.text) {
		rest := s.rest()
		switch c := rest[0]; {
		case c == '<' && tagName(rest[1:]) != "":
			if s.end == 0 && !s.attrs {
				s.begin(inTag, 0, 1+len(tagName(rest[1:]))) // the first < was no tag
				continue
			}
			s.error(html, inCode)
		case s.end != 0 && c == s.end:
			s.end = 0
		case s.end == 0 && (c == '"' || c == '\''):
			s.end = c
		case s.end == 0 && c == '=':
			s.attrs = true
		case s.end == 0 && c == '>' && (s.attrs || s.num != s.line.num):
			s.error(html, inCode)
		case s.end == 0 && c == '>':
			s.finish()
			return
		}
		s.off++
	}
}

// brackets looks for the end of an image's text or of a link's target.
func (s *sight) brackets() {
	open := byte('[')
	if s.end == ')' {
		open = '('
	}
	for ; s.off < len(s.text); s.off++ {
		switch s.text[s.off] {
		case open:
			s.depth++
		case s.end:
			if s.depth--; s.depth < 0 {
				s.finish()
				return
			}
		}
	}
}

// tagName is the name of the tag that begins behind a <, with the slash of one
// that ends an element; "" if none begins.
func tagName(s string) string {
	n := 0
	if strings.HasPrefix(s, "/") {
		n++
	}
	if n == len(s) || !isLetter(s[n]) {
		return ""
	}
	for n < len(s) && (isLetter(s[n]) || s[n] >= '0' && s[n] <= '9' || s[n] == '-') {
		n++
	}
	if n < len(s) && !isSpace(s[n]) && s[n] != '>' && s[n] != '/' {
		return ""
	}
	return s[:n]
}

func isLetter(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' }

// block reports whether a line that begins with < begins a block of HTML: an
// element of that kind, or a tag and nothing else.
func block(s string) bool {
	name := tagName(s[1:])
	return name != "" && (slices.Contains(blockElements, strings.ToLower(strings.TrimPrefix(name, "/"))) ||
		strings.IndexByte(s, '>') == len(strings.TrimRight(s, white))-1)
}

// unseenElements have content that browsers do not show, or not as text.
var unseenElements = strings.Fields(`audio canvas datalist details dialog embed frameset head iframe map math noembed noframes noscript object
	optgroup option plaintext script select style svg template textarea title video xmp`)

// blockElements begin a block of HTML at the start of a line.
var blockElements = strings.Fields(`address article aside base basefont blockquote body caption center col colgroup dd dir div dl dt fieldset
	figcaption figure footer form frame h1 h2 h3 h4 h5 h6 header hr html legend li link main menu menuitem nav ol p param pre search section summary
	table tbody td tfoot th thead tr track ul`)
