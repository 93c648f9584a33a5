package tasklist

import (
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/plan"
)

// item is one line of a list of tasks, with what is indented below it.
type item struct {
	text    string
	body    string
	checked bool
	indent  int
	under   string // the nearest heading above
	parent  int    // index of the item that it is indented under, -1 for none
}

// outline is what a text of Markdown consists of, seen as a list of tasks.
type outline struct {
	title   string // of the first # heading
	items   []item
	rest    string // what is neither title nor item
	hidden  int    // comments, which nobody sees
	opening string // the rest before the first item
}

var (
	// checkbox is a line of a task list.
	checkbox = lazy.Regexp(`^([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[([ xX~-])\][ \t]+(.*)$`)
	heading  = lazy.Regexp(`^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*$`)
	fence    = lazy.Regexp("^[ \t]*(```+|~~~+)")
)

// lines reads Markdown line by line, and knows which are inside of a fenced block.
type lines struct {
	left  []string
	fence string // the marks that close the block; empty outside
}

func linesOf(text string) *lines {
	return &lines{left: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")}
}

// next returns a line, and whether it is code: of a fenced block or one of its marks.
func (r *lines) next() (line string, code, ok bool) {
	if len(r.left) == 0 {
		return "", false, false
	}
	line, r.left = r.left[0], r.left[1:]
	var m []string
	if strings.ContainsAny(line, "`~") {
		m = fence().FindStringSubmatch(line)
	}
	switch {
	case r.fence == "" && m != nil:
		r.fence = m[1]
		return line, true, true
	case r.fence != "":
		if m != nil && m[1][0] == r.fence[0] && len(m[1]) >= len(r.fence) && strings.TrimRight(strings.TrimLeft(line, blank), blank) == m[1] {
			r.fence = ""
		}
		return line, true, true
	}
	return line, false, true
}

// outlineOf reads a text, as far as it has no more items than a plan could hold, and one. The
// cost is linear.
func outlineOf(text string) outline {
	text, hidden := uncommented(text)
	o := outline{hidden: hidden}
	var rest, body strings.Builder
	under, open := "", -1 // the item whose indented lines follow
	var stack []int
	closeItem := func() {
		if open >= 0 {
			o.items[open].body = dedent(body.String())
			body.Reset()
		}
		open = -1
	}
	r := linesOf(text)
	for line, code, ok := r.next(); ok && len(o.items) <= plan.MaxSteps; line, code, ok = r.next() {
		var box, head []string
		if !code {
			box, head = marked(line)
		}
		switch {
		case box != nil:
			closeItem()
			if len(o.items) == 0 {
				o.opening = rest.String()
			}
			open = len(o.items)
			stack = o.nest(stack, item{text: strings.TrimSpace(box[3]), checked: box[2] == "x" || box[2] == "X", indent: width(box[1]), under: under})
		case open >= 0 && (strings.TrimSpace(line) == "" || width(line) > o.items[open].indent && line != strings.TrimLeft(line, " \t")):
			body.WriteString(line + "\n")
		case head != nil:
			closeItem()
			stack = stack[:0]
			under = head[2]
			if len(head[1]) == 1 && o.title == "" {
				o.title = head[2]
				continue
			}
			rest.WriteString(line + "\n")
		default:
			closeItem()
			if strings.TrimSpace(line) != "" {
				stack = stack[:0]
			}
			rest.WriteString(line + "\n")
		}
	}
	closeItem()
	o.rest = squeezed(rest.String())
	if len(o.items) == 0 {
		o.opening = o.rest
	}
	o.opening = squeezed(o.opening)
	return o
}

// marked are the parts of a line that is a task or a heading.
func marked(line string) (box, head []string) {
	switch start := strings.TrimLeft(line, " \t"); {
	case start == "":
	case start[0] == '#':
		head = heading().FindStringSubmatch(line)
	case strings.Contains(start, "["):
		box = checkbox().FindStringSubmatch(line)
	}
	return box, head
}

// nest adds an item below the last of the open ones that is indented less, and returns those that are open then.
func (o *outline) nest(open []int, it item) []int {
	for len(open) > 0 && o.items[open[len(open)-1]].indent >= it.indent {
		open = open[:len(open)-1]
	}
	it.parent = -1
	if len(open) > 0 {
		it.parent = open[len(open)-1]
	}
	o.items = append(o.items, it)
	return append(open, len(o.items)-1)
}

// width is how far a line is indented; a tab goes to the next multiple of four.
func width(s string) int {
	n := 0
	for _, c := range s {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// dedent takes the indent of the first line off all lines.
func dedent(s string) string {
	s = strings.Trim(s, "\n")
	first, _, _ := strings.Cut(s, "\n")
	indent := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(strings.TrimPrefix(line, indent))
	}
	return strings.Trim(b.String(), blank)
}

// squeezed is s without more than one blank line in a row.
func squeezed(s string) string {
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) == "" {
			if empty++; empty > 1 {
				continue
			}
			line = "\n"
		} else {
			empty = 0
		}
		b.WriteString(line)
	}
	return strings.Trim(b.String(), blank)
}

// uncommented is a text without the comments of HTML, which nobody sees who reads it on a
// page, and how many those were. In code they are code.
func uncommented(text string) (string, int) {
	if !strings.Contains(text, "<!--") {
		return text, 0
	}
	var b strings.Builder
	n, inside := 0, false
	r := linesOf(text)
	for {
		if inside { // a comment holds no fence
			r.fence = ""
		}
		if len(r.left) == 0 {
			break
		}
		if inside {
			_, after, ended := strings.Cut(r.left[0], "-->")
			if !ended {
				r.left = r.left[1:]
				continue
			}
			r.left[0], inside = after, false
		}
		line, code, _ := r.next()
		for ticks := 0; !code; n++ {
			at := strings.Index(line, "<!--")
			if at < 0 {
				break
			}
			if ticks += strings.Count(line[:at], "`"); ticks%2 == 1 {
				break
			}
			b.WriteString(line[:at])
			_, after, ended := strings.Cut(line[at+4:], "-->")
			if line = after; !ended {
				inside = true
				n++
				break
			}
		}
		b.WriteString(line + "\n")
	}
	return b.String(), n
}

// frontmatter parts a text into what stands between two lines of --- at its start, and
// what follows.
func frontmatter(text string) (front, body string) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	after, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text
	}
	front, body, ok = strings.Cut(after, "\n---")
	if !ok || body != "" && body[0] != '\n' {
		return "", text
	}
	return front, body
}

var topKey = lazy.Regexp(`(?m)^([A-Za-z_]+):`)

// topKeys are the keys at the start of lines.
func topKeys(front string) []string {
	var keys []string
	for _, m := range topKey().FindAllStringSubmatch(front, 50) {
		keys = append(keys, m[1])
	}
	return keys
}
