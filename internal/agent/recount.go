package agent

import (
	"bytes"
	"sort"
)

// Recount tells what an agent printed as people read it, while it comes: its deeds, and the
// lines that do not have its form, as they stand. A call is told as it begins and as it
// ends, a message as a whole. It keeps one line, one message and the calls under way. It is
// not safe for concurrent use.
type Recount struct {
	tell   func(Deed)
	plain  func(line string)
	shape  reader // nil: all lines are plain
	lines  lines
	said   said
	saying Deed // the message under way; no type where there is none
}

// NewRecount hands the deeds in what is printed in a form to tell, and the other lines to
// plain.
func NewRecount(p Preset, tell func(Deed), plain func(line string)) *Recount {
	r := &Recount{tell: tell, plain: plain, shape: p.reader()}
	r.said.tell = r.take
	return r
}

// Write takes what was printed next. It never fails.
func (r *Recount) Write(p []byte) (int, error) {
	r.lines.feed(p, r.line)
	return len(p), nil
}

// Close takes the end of what was printed, also in the middle of a line, and returns the
// calls that have no end there, in the order of their names.
func (r *Recount) Close() (open []Deed) {
	r.lines.end(r.line)
	if a, ok := r.shape.(*acpReader); ok {
		a.hush(&r.said.doings)
	}
	r.hush()
	for _, d := range r.said.open {
		open = append(open, d)
	}
	sort.Slice(open, func(i, j int) bool { return bytes.Compare([]byte(open[i].ID), []byte(open[j].ID)) < 0 })
	return open
}

// line takes a line, from its first brace on: see [transcript.take].
func (r *Recount) line(line []byte) {
	at := bytes.IndexByte(line, '{')
	if r.shape == nil || at < 0 {
		r.hush()
		r.plain(string(line))
		return
	}
	if o, ok := decode(line[at:]); !ok || o == nil {
		if at > 0 { // else it is one that was cut off
			r.hush()
			r.plain(string(line))
		}
		return
	}
	r.shape.hear(&r.said, line[at:])
}

// take puts the pieces of a message together.
func (r *Recount) take(d Deed) {
	if d.Type == SaidIt && d.Piece {
		if r.saying.Type == "" {
			r.saying = Deed{Type: SaidIt}
		}
		if len(r.saying.Text) < maxDeedText {
			r.saying.Text += d.Text
		}
		return
	}
	r.hush()
	r.tell(d)
}

// hush ends the message under way.
func (r *Recount) hush() {
	if d := r.saying; d.Type != "" {
		r.saying = Deed{}
		r.tell(d)
	}
}
