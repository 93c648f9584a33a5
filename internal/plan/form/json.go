package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/plan"
)

// cursor knows the place of an offset that only grows.
type cursor struct {
	src string
	off int
	pos plan.Pos
}

func newCursor(src string) cursor { return cursor{src: src, pos: plan.Pos{Line: 1, Column: 1}} }

func (c *cursor) at(off int) plan.Pos {
	between := c.src[c.off:off]
	if n := strings.Count(between, "\n"); n > 0 {
		c.pos = plan.Pos{Line: c.pos.Line + n, Column: 1}
		between = between[strings.LastIndexByte(between, '\n')+1:]
	}
	c.pos.Column += utf8.RuneCountInString(between)
	c.off = off
	return c.pos
}

// jsonText reads a text that is known to be JSON, and no deeper than allowed.
type jsonText struct {
	r   *reader
	src string
	off int
	cursor
}

// parseJSON returns nil if the text is no JSON.
func (r *reader) parseJSON(src string) *node {
	var any json.RawMessage
	if err := json.Unmarshal([]byte(src), &any); err != nil {
		r.notJSON(src, err)
		return nil
	}
	t := &jsonText{r: r, src: src, cursor: newCursor(src)}
	return t.value(1)
}

func (r *reader) notJSON(src string, err error) {
	at, message := len(src), err.Error()
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = max(0, min(int(e.Offset)-1, len(src)))
	}
	hint := "put a comma between values, and names in double quotes"
	if at >= len(strings.TrimRight(src, blank))-1 && strings.Contains(message, "unexpected end") {
		hint = "the text ends too early: close every quote, ] and }"
	}
	c := newCursor(src)
	r.problem(c.at(at), plan.Error, plan.BadSyntax, "this is not JSON: "+message, hint)
}

func (t *jsonText) space() byte {
	for strings.IndexByte(" \t\r\n", t.src[t.off]) >= 0 {
		t.off++
	}
	return t.src[t.off]
}

// value reads one value. It returns nil where the document is nested too deep.
func (t *jsonText) value(depth int) *node {
	first := t.space()
	n := &node{at: t.at(t.off)}
	switch first {
	case '{', '[':
		if depth > maxDepth {
			t.r.wrong(n, plan.TooDeep, "keep it flat", "values are nested more than %d deep", maxDepth)
			return nil
		}
		t.off++
		if first == '{' {
			return t.object(n, depth)
		}
		return t.list(n, depth)
	case '"':
		return t.text(n)
	}
	end := t.off
	for end < len(t.src) && strings.IndexByte(",]} \t\r\n", t.src[end]) < 0 {
		end++
	}
	n.value = t.src[t.off:end]
	t.off = end
	switch first {
	case 'n':
		n.kind, n.value = null, ""
	case 't', 'f':
		n.kind = boolean
	default:
		n.kind = number
	}
	return n
}

func (t *jsonText) object(n *node, depth int) *node {
	n.kind = object
	for t.space() != '}' {
		if t.src[t.off] == ',' {
			t.off++
			t.space()
		}
		key := t.text(&node{at: t.at(t.off)})
		t.space()
		t.off++ // the colon
		v := t.value(depth + 1)
		if v == nil {
			return nil
		}
		n.pairs = append(n.pairs, pair{key.value, key.at, v})
	}
	t.off++
	return t.r.unique(n)
}

func (t *jsonText) list(n *node, depth int) *node {
	n.kind = list
	for t.space() != ']' {
		if t.src[t.off] == ',' {
			t.off++
		}
		v := t.value(depth + 1)
		if v == nil {
			return nil
		}
		n.items = append(n.items, v)
	}
	t.off++
	return n
}

// text reads a text. The place of each of its lines is behind the \n that
// begins it.
func (t *jsonText) text(n *node) *node {
	n.kind = text
	from := t.off + 1
	end := from
	var breaks []int
	for ; t.src[end] != '"'; end++ {
		if t.src[end] != '\\' {
			continue
		}
		end++
		if t.src[end] == 'n' {
			breaks = append(breaks, end+1)
		}
	}
	raw := t.src[from:end]
	n.at, n.value = t.at(from), raw
	escapes := strings.IndexByte(raw, '\\') >= 0
	if escapes {
		if json.Unmarshal([]byte(t.src[t.off:end+1]), &n.value) != nil {
			n.value = raw
		}
		if strings.ContainsRune(n.value, utf8.RuneError) && !strings.ContainsRune(raw, utf8.RuneError) {
			t.r.wrong(n, plan.BadCharacter, "write the character itself", "half of a surrogate pair is no character")
		}
	}
	t.r.screen(n, escapes)
	if n.lines = []plan.Pos{n.at}; len(breaks) == strings.Count(n.value, "\n") {
		for _, at := range breaks {
			n.lines = append(n.lines, t.at(at))
		}
	} else {
		n.oneSource() // \u000a: rare, and then its lines are not known
	}
	t.off = end + 1
	return n
}

// writeJSON writes a document with an indent of two blanks.
func writeJSON(n *node) []byte {
	w := &jsonWriter{}
	w.value(n, "")
	w.out.WriteByte('\n')
	return w.out.Bytes()
}

type jsonWriter struct{ out bytes.Buffer }

func (w *jsonWriter) value(n *node, indent string) {
	switch n.kind {
	case null:
		w.out.WriteString("null")
	case boolean, number:
		w.out.WriteString(n.value)
	case text:
		w.text(n.value)
	case list:
		w.block('[', ']', len(n.items), indent, func(i int, in string) { w.value(n.items[i], in) })
	case object:
		w.block('{', '}', len(n.pairs), indent, func(i int, in string) {
			w.text(n.pairs[i].key)
			w.out.WriteString(": ")
			w.value(n.pairs[i].value, in)
		})
	}
}

func (w *jsonWriter) block(open, end byte, n int, indent string, item func(int, string)) {
	w.out.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.out.WriteString("\n" + indent + "  ")
		item(i, indent+"  ")
	}
	if n > 0 {
		w.out.WriteString("\n" + indent)
	}
	w.out.WriteByte(end)
}

func (w *jsonWriter) text(s string) {
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	enc.Encode(s) //nolint:errcheck // a text in memory
	w.out.Truncate(w.out.Len() - 1)
}
