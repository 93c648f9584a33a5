package view

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// Long writes one document as [Write] does, with a list of entries that have a long text
// each, of which no whole one is held. A reader that is gone is no error. Call Begin, Add
// for each entry, and End.
type Long struct {
	W     io.Writer
	count int
}

// Begin opens the document and its list.
func (l *Long) Begin(kind, list string) {
	opening := encoded(envelope{Schema, kind, nil})
	l.write(strings.TrimSuffix(opening, "null}") + "{" + encoded(list) + ":[")
}

// Add writes an entry: the fields of head, which is a struct, and behind them the text
// that write writes.
func (l *Long) Add(head any, text string, write func(io.Writer) error) error {
	if l.count++; l.count > 1 {
		l.write(",")
	}
	l.write(strings.TrimSuffix(encoded(head), "}") + "," + encoded(text) + `:"`)
	to := quoting{l: l}
	err := write(&to)
	l.write(inner(to.rest))
	l.write(`"}`)
	return err
}

// End closes the list, and adds what else the document has.
func (l *Long) End(more map[string]any) {
	l.write("]," + strings.TrimPrefix(encoded(more), "{") + "}\n")
}

func (l *Long) write(text string) {
	io.WriteString(l.W, text) //nolint:errcheck // nobody reads: nothing to do
}

// quoting writes text as the inside of a string of JSON. It holds back the beginning of
// a letter whose end has not come.
type quoting struct {
	l    *Long
	rest []byte
}

func (q *quoting) Write(p []byte) (int, error) {
	text := append(q.rest, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	q.l.write(inner(text[:end]))
	q.rest = bytes.Clone(text[end:])
	return len(p), nil
}

// inner is a text in JSON without its quotes.
func inner(text []byte) string {
	s := encoded(string(text))
	return s[1 : len(s)-1]
}

// encoded is a value in JSON as documents have it; what is given always can be written.
func encoded(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(value) //nolint:errcheck // structs and texts of ours
	return strings.TrimSuffix(b.String(), "\n")
}
