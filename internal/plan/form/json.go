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
	c.pos, c.off = c.pos.After(c.src[c.off:off]), off
	return c.pos
}

// jsonText reads a text that is known to be JSON.
type jsonText struct {
	r   *reader
	dec *json.Decoder
	cursor
}

// parseJSON returns nil if the text is no JSON, or nested too deep.
func (r *reader) parseJSON(src string) *node {
	var any json.RawMessage
	if err := json.Unmarshal([]byte(src), &any); err != nil {
		r.notJSON(src, err)
		return nil
	}
	t := &jsonText{r, json.NewDecoder(strings.NewReader(src)), newCursor(src)}
	t.dec.UseNumber()
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
	r.Add(c.at(at), plan.Error, plan.BadSyntax, "this is not JSON: "+message, hint)
}

// next reads a token of a text that has no fault, and where it begins.
func (t *jsonText) next() (token json.Token, from int) {
	from = int(t.dec.InputOffset())
	from = len(t.src) - len(strings.TrimLeft(t.src[from:], " \t\r\n,:"))
	token, _ = t.dec.Token()
	return token, from
}

// value reads one value. It returns nil where the document is nested too deep.
func (t *jsonText) value(depth int) *node {
	token, from := t.next()
	switch v := token.(type) {
	case string:
		return t.text(v, from)
	case json.Number:
		return &node{kind: number, value: v.String(), at: t.at(from)}
	case bool:
		n := booleans(v)
		n.at = t.at(from)
		return n
	case nil:
		return &node{at: t.at(from)}
	}
	n := &node{kind: list, at: t.at(from)}
	if token == json.Delim('{') {
		n.kind = object
	}
	if depth > maxDepth {
		t.r.wrong(n, plan.TooDeep, "keep it flat", "values are nested more than %d deep", maxDepth)
		return nil
	}
	for t.dec.More() {
		var key *node
		if n.kind == object {
			name, from := t.next()
			key = t.text(name.(string), from)
		}
		v := t.value(depth + 1)
		switch {
		case v == nil:
			return nil
		case key != nil:
			n.pairs = append(n.pairs, pair{key.value, key.at, v})
		default:
			n.items = append(n.items, v)
		}
	}
	t.next()
	return t.r.unique(n)
}

// text is a text that begins with the quote at from. The place of each of its
// lines is behind the \n that begins it.
func (t *jsonText) text(value string, from int) *node {
	raw := t.src[from+1 : t.dec.InputOffset()-1]
	n := &node{kind: text, value: value, at: t.at(from + 1)}
	if strings.ContainsRune(value, utf8.RuneError) && !strings.ContainsRune(raw, utf8.RuneError) {
		t.r.wrong(n, plan.BadCharacter, "write the character itself", "half of a surrogate pair is no character")
	}
	t.r.screen(n, strings.IndexByte(raw, '\\') >= 0)
	n.lines = []plan.Pos{n.at}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; raw[i] == 'n' {
			n.lines = append(n.lines, t.at(from+i+2))
		}
	}
	if len(n.lines) != strings.Count(value, "\n")+1 {
		n.oneSource() // \u000a: rare, and then its lines are not known
	}
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
