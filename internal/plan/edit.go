package plan

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change puts a text in the place of a part of a source.
type Change struct {
	From, To Pos // of the part: To is behind its last character
	Text     string
}

// Changed is the source with changes, of which no two overlap. Line ends of the texts become
// those of the source. Places outside of it are moved to its nearest end.
func Changed(source []byte, changes ...Change) []byte {
	type part struct {
		from, to int
		text     string
	}
	parts := make([]part, len(changes))
	for i, c := range changes {
		from := offsetOf(source, c.From)
		parts[i] = part{from, max(from, offsetOf(source, c.To)), ended(source, c.Text)}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, p := range parts {
		out = append(append(out, source[at:max(at, p.from)]...), p.text...)
		at = max(at, p.to)
	}
	return append(out, source[at:]...)
}

// offsetOf is where a place is in a source, in bytes.
func offsetOf(source []byte, at Pos) int {
	off := 0
	for range at.Line - 1 {
		n := bytes.IndexByte(source[off:], '\n')
		if n < 0 {
			return len(source)
		}
		off += n + 1
	}
	if off == 0 && bytes.HasPrefix(source, []byte(bom)) {
		off = len(bom)
	}
	line, _, _ := bytes.Cut(source[off:], []byte("\n"))
	for i := range string(line) {
		if at.Column--; at.Column < 1 {
			return off + i
		}
	}
	return off + len(line)
}

// ended is a text with the line ends of a source.
func ended(source []byte, text string) string {
	text = normalEnds(text)
	if bytes.Contains(source, []byte("\r\n")) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// Below is the place of the line after a label with its value.
func (l Label) Below() Pos { return Pos{l.Pos.Line + strings.Count(l.Raw, "\n") + 1, 1} }

// Edits of one step of a plan's source. Each returns the whole text with every byte that
// is not of that step as it was, line ends between steps apart.

// WithoutStep is the text without the i-th step.
func WithoutStep(p *Plan, i int) []byte {
	s := p.Steps[i]
	return slices.Concat(p.Source[:s.Start], p.Source[s.End:])
}

// WithStep is the text with a piece before the step at place, which may be one more than
// there are.
func WithStep(p *Plan, place int, piece []byte) []byte {
	at := p.Steps[len(p.Steps)-1].End
	if place < len(p.Steps) {
		at = p.Steps[place].Start
	}
	end := ended(p.Source, "\n")
	out := spaced(slices.Clone(p.Source[:at]), end)
	out = append(out, ended(p.Source, string(bytes.TrimRight(piece, "\r\n")))...)
	out = append(out, end...)
	if at < len(p.Source) {
		out = append(out, end...)
	}
	return append(out, p.Source[at:]...)
}

// spaced ends a text with a blank line.
func spaced(text []byte, end string) []byte {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, end...)
	}
	if !bytes.HasSuffix(text, []byte("\n\n")) && !bytes.HasSuffix(text, []byte("\n\r\n")) {
		text = append(text, end...)
	}
	return text
}

// MovedStep is the text with the i-th step at another place, both from 0. Its number
// stays: other steps may need it by that.
func MovedStep(p *Plan, i, place int) []byte {
	s := p.Steps[i]
	piece := p.Source[s.Start:s.End]
	rest, _ := Parse(p.Name, WithoutStep(p, i))
	return WithStep(rest, place, piece)
}

// RewrittenStep is the text with the i-th step as a person wrote it, or what keeps that
// from being one step.
func RewrittenStep(p *Plan, i int, text []byte) ([]byte, error) {
	const before = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Plan\n\n## Steps\n\n"
	alone, problems := Parse("step", append([]byte(before), text...))
	for _, pr := range problems {
		if pr.Severity == Error {
			line := max(1, pr.Pos.Line-strings.Count(before, "\n"))
			text := pr.Message
			if pr.Hint != "" {
				text += " (" + pr.Hint + ")"
			}
			return nil, fmt.Errorf("line %d: %s", line, text)
		}
	}
	switch {
	case alone == nil || len(alone.Steps) == 0:
		return nil, fmt.Errorf("line 1: a step begins with a heading `### %s. Title`", p.Steps[i].Number)
	case len(alone.Steps) > 1:
		return nil, fmt.Errorf("line %d: a second step begins here; add makes another step", alone.Steps[1].Pos.Line-strings.Count(before, "\n"))
	case !alone.Notes.IsZero():
		return nil, errors.New("the text continues after the step; remove what does not belong to it")
	case !alone.Prose.IsZero():
		return nil, errors.New("line 1: text stands before the heading of the step; move it below")
	}
	return replaced(p, i, text), nil
}

// replaced is the text with other bytes for the i-th step.
func replaced(p *Plan, i int, text []byte) []byte {
	s := p.Steps[i]
	out := append(slices.Clone(p.Source[:s.Start]), ended(p.Source, string(bytes.TrimRight(text, "\r\n")))...)
	gap := p.Source[s.Start:s.End]
	gap = gap[len(bytes.TrimRight(gap, "\r\n")):]
	return slices.Concat(out, gap, p.Source[s.End:])
}

// FreshStep writes s with a title, and with a number that no step has.
func FreshStep(p *Plan, s *Step, title string) []byte {
	s.Title, s.Number = Text{Value: title}, freeNumber(p)
	return FormatStep(s)
}

func freeNumber(p *Plan) string {
	most := len(p.Steps)
	for _, s := range p.Steps {
		if n, err := strconv.Atoi(s.Number); err == nil {
			most = max(most, n)
		}
	}
	return strconv.Itoa(most + 1)
}

// leftOut is the condition of a step that runs leave out.
const leftOut = "false"

// LeftOut reports a step that runs leave out.
func LeftOut(s *Step) bool { return s.When.Value == leftOut }

// ToggledStep is the text with the i-th step left out of runs, or taken in again. It
// refuses a step that has a condition of its own, which would be lost.
func ToggledStep(p *Plan, i int) ([]byte, error) {
	s := p.Steps[i]
	at := slices.IndexFunc(s.Labels, func(l Label) bool { return l.Name == "when" })
	switch {
	case at >= 0 && LeftOut(s):
		l := s.Labels[at]
		return Changed(p.Source, Change{From: Pos{l.Pos.Line, 1}, To: l.Below()}), nil
	case at >= 0:
		return nil, fmt.Errorf("the step has the condition `when: %s`, which would be lost; change the condition itself", s.When.Value)
	case len(s.Labels) > 0:
		above := Pos{s.Labels[0].Pos.Line, 1}
		return Changed(p.Source, Change{From: above, To: above, Text: "**when:** " + leftOut + "\n"}), nil
	}
	text := strings.TrimRight(string(p.Source[s.Start:s.End]), "\r\n")
	return replaced(p, i, []byte(text+"\n\n**when:** "+leftOut)), nil
}

// AlsoNeeds is the change by which the i-th step waits for one more step. Without a label
// it still waits for the step before it.
func AlsoNeeds(p *Plan, i int, id string) Change {
	s := p.Steps[i]
	needs := Field[[]Text]{Set: true, Value: slices.Clone(s.Needs.Value)}
	if !s.Needs.Set && i > 0 {
		needs.Value = []Text{{Value: p.Steps[i-1].ID.Value}}
	}
	needs.Value = append(needs.Value, Text{Value: id})
	w := &writer{section: inStep}
	atoms{}.write(w, "needs", &needs)
	c := Change{From: Pos{s.Pos.Line + 1, 1}, Text: w.out.String()}
	c.To = c.From
	if len(s.Labels) > 0 {
		c.From = Pos{s.Labels[0].Pos.Line, 1}
		c.To = c.From
	}
	if at := slices.IndexFunc(s.Labels, func(l Label) bool { return l.Name == "needs" }); at >= 0 {
		l := s.Labels[at]
		c.From, c.To = Pos{l.Pos.Line, 1}, l.Below()
	}
	return c
}
