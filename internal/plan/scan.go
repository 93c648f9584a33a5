package plan

import "strings"

// kind is what a line is before anyone asks what it means.
type kind uint8

const (
	blankLine kind = iota
	plainLine
	bulletLine
	fenceOpen
	fenceBody
	fenceClose
	headingLine
	labelLine
	statusLine // a projection: read as if it were not there
)

// line is one line of the source as the scanner sees it.
type line struct {
	kind   kind
	item   bool // begins a list item; kind is bulletLine or fenceOpen
	broke  bool // ended a fenced block that its list item left open
	level  int  // of a heading
	num    int
	start  int     // of the line
	text   int     // first byte that is not white space; in an item, of its content
	end    int     // without the line end
	next   int     // start of the next line
	indent int     // columns of white space before text
	inList bool    // belongs to a list item
	label  written // of a labelLine, as offsets from text
	offset int     // of an item: columns before its content; of a fence: columns its body is moved left
}

// fence is the fenced block that is open.
type fence struct {
	char   byte // 0 if none is open
	length int
	inside int // content offset of the list item it stands in, 0 if in none
	indent int
	at     Pos
}

// scanner splits a text into lines and keeps the two states that decide what a
// line can be: the open fenced block and the open list item. It looks at every
// byte at most a few times.
type scanner struct {
	src    string
	off    int
	num    int  // lines so far
	inStep bool // status lines are projections only here
	fence  fence
	list   int // content offset of the innermost open list item, 0 if none
}

// next reads one line into l and reports whether there was one.
func (s *scanner) next(l *line) bool {
	if s.off >= len(s.src) {
		return false
	}
	s.num++
	*l = line{num: s.num, start: s.off}
	s.bounds(l)
	s.off = l.next
	switch {
	case s.inStep && !s.closed() && isStatus(s.src[l.start:l.end]):
		l.kind = statusLine
	case s.fence.char != 0 && !s.leaves(l):
		s.inFence(l)
	default:
		s.outside(l)
	}
	return true
}

// closed reports whether nothing but a closing fence can be seen.
func (s *scanner) closed() bool { return s.fence.char != 0 && s.fence.inside == 0 }

func (s *scanner) bounds(l *line) {
	rest := s.src[l.start:]
	n := strings.IndexByte(rest, '\n')
	l.next = l.start + n + 1
	if n < 0 {
		n, l.next = len(rest), len(s.src)
	}
	for n > 0 && rest[n-1] == '\r' {
		n--
	}
	l.end = l.start + n
	i := 0
	for ; i < n && isSpace(rest[i]); i++ {
		l.indent = column(l.indent, rest[i])
	}
	l.text = l.start + i
}

// column is where the text stands after one more character of white space.
func column(at int, c byte) int {
	if c == '\t' {
		return at + 4 - at%4
	}
	return at + 1
}

// leaves reports whether the line is outside of the list item that holds the
// open fenced block, which ends the block.
func (s *scanner) leaves(l *line) bool {
	if l.text == l.end || l.indent >= s.fence.inside {
		return false
	}
	s.fence.char = 0
	l.broke = true
	return true
}

func (s *scanner) inFence(l *line) {
	l.kind, l.offset = fenceBody, s.fence.indent
	if l.text < l.end && s.src[l.text] == s.fence.char && l.indent <= s.fence.inside+3 {
		n := run(s.src[l.text:l.end])
		if n >= s.fence.length && isBlank(s.src[l.text+n:l.end]) {
			l.kind = fenceClose
			s.fence.char = 0
		}
	}
}

func (s *scanner) outside(l *line) {
	if l.text == l.end {
		return
	}
	l.kind = plainLine
	if c := s.src[l.text]; l.indent <= s.list+3 && (c == '-' || c == '+' || c == '*' || '0' <= c && c <= '9') {
		if s.bullet(l) {
			return
		}
	}
	if l.indent < s.list {
		s.list = 0
		if l.indent >= 2 {
			s.list = l.indent
		}
	}
	l.inList = s.list > 0
	switch s.src[l.text] {
	case '`', '~':
		if l.indent <= s.list+3 {
			s.open(l, l.indent, s.list)
		}
	case '#':
		if n := run(s.src[l.text:l.end]); n <= 6 && s.flush(l) && (l.text+n == l.end || isSpace(s.src[l.text+n])) {
			l.kind, l.level, s.list = headingLine, n, 0
		}
	case '*', '_':
		if s.flush(l) {
			if w, ok := splitLabel(s.src[l.text:l.end]); ok {
				l.kind, l.label, s.list = labelLine, w, 0
			}
		}
	}
}

// flush reports whether the line can begin a heading or a label: neither
// indented code nor a part of a list item.
func (s *scanner) flush(l *line) bool { return l.indent <= 3 && s.list == 0 }

// open begins a fenced block if the line at l.text does.
func (s *scanner) open(l *line, indent, inside int) {
	text := s.src[l.text:l.end]
	n := run(text)
	if n < 3 || text[0] == '`' && strings.IndexByte(text[n:], '`') >= 0 {
		return
	}
	l.kind, l.offset = fenceOpen, indent
	s.fence = fence{text[0], n, inside, indent, Pos{l.num, 1 + runes(s.src[l.start:l.text])}}
}

// bullet reports whether the line begins a list item.
func (s *scanner) bullet(l *line) bool {
	rest := s.src[l.text:l.end]
	n := marker(rest)
	if n == 0 {
		return false
	}
	at, i := l.indent+n, n
	for ; i < len(rest) && isSpace(rest[i]); i++ {
		at = column(at, rest[i])
	}
	l.kind, l.item, l.inList = bulletLine, true, true
	deep := at-l.indent-n > 4
	if deep || i == len(rest) {
		at = l.indent + n + 1
	}
	l.text += i
	l.offset, s.list = at, at
	if i < len(rest) && !deep && (rest[i] == '`' || rest[i] == '~') {
		s.open(l, at, at)
	}
	return true
}

// marker is the length of the list marker that s begins with, 0 if it does not.
func marker(s string) int {
	n := 0
	switch c := s[0]; {
	case c == '-' || c == '+' || c == '*':
		n = 1
	default:
		for n < len(s) && n < 9 && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		if n == len(s) || s[n] != '.' && s[n] != ')' {
			return 0
		}
		n++
	}
	if n < len(s) && !isSpace(s[n]) {
		return 0
	}
	return n
}

// run is the number of times s begins with its first byte.
func run(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// cut is the offset of the line's content when up to n columns of white space
// are taken from its start.
func (l *line) cut(src string, n int) int {
	i, at := l.start, 0
	for i < l.end && isSpace(src[i]) {
		if at = column(at, src[i]); at > n {
			break
		}
		i++
	}
	return i
}
