package project

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// Edits of one step of a plan's text. Each returns the whole text with every
// byte that is not of that step as it was, line ends between steps apart.

// Removed is the text without the i-th step.
func Removed(p *plan.Plan, i int) []byte {
	s := p.Steps[i]
	return append(slices.Clone(p.Source[:s.Start]), p.Source[s.End:]...)
}

// Inserted is the text with a piece before the step at place, which may be one
// more than there are.
func Inserted(p *plan.Plan, place int, piece []byte) []byte {
	at := p.Steps[len(p.Steps)-1].End
	if place < len(p.Steps) {
		at = p.Steps[place].Start
	}
	out := spaced(slices.Clone(p.Source[:at]))
	out = append(out, bytes.TrimRight(piece, "\r\n")...)
	out = append(out, '\n')
	if at < len(p.Source) {
		out = append(out, '\n')
	}
	return append(out, p.Source[at:]...)
}

// spaced ends a text with a blank line.
func spaced(text []byte) []byte {
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	if !bytes.HasSuffix(text, []byte("\n\n")) && !bytes.HasSuffix(text, []byte("\n\r\n")) {
		text = append(text, '\n')
	}
	return text
}

// Moved is the text with the i-th step at another place, both from 0. Its number
// stays: other steps may need it by that.
func Moved(p *plan.Plan, i, place int) []byte {
	s := p.Steps[i]
	piece := p.Source[s.Start:s.End]
	rest, _ := plan.Parse(p.Name, Removed(p, i))
	return Inserted(rest, place, piece)
}

// Replaced is the text with the i-th step as a person wrote it, or what keeps
// that from being one step.
func Replaced(p *plan.Plan, i int, text []byte) ([]byte, error) {
	const before = "---\ntype: plan\nstatus: draft\nowner: me\n---\n\n# Plan\n\n## Steps\n\n"
	alone, problems := plan.Parse("step", append([]byte(before), text...))
	for _, pr := range problems {
		if pr.Severity == plan.Error {
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
		return nil, fmt.Errorf("the text continues after the step; remove what does not belong to it")
	}
	return plan.ReplaceStep(p, i, alone.Steps[0]), nil
}

// FreshStep is s with a title, and with a number that no step has.
func FreshStep(p *plan.Plan, s *plan.Step, title string) []byte {
	s.Title, s.Number = plan.Text{Value: title}, freeNumber(p)
	return plan.FormatStep(s)
}

func freeNumber(p *plan.Plan) string {
	most := len(p.Steps)
	for _, s := range p.Steps {
		if n, err := strconv.Atoi(s.Number); err == nil {
			most = max(most, n)
		}
	}
	return strconv.Itoa(most + 1)
}

// Toggled is the text with the i-th step left out of runs, or taken in again.
func Toggled(p *plan.Plan, i int) []byte {
	s := *p.Steps[i]
	if LeftOut(&s) {
		s.When = plan.Text{}
	} else {
		s.When = plan.Text{Value: "false"}
	}
	return plan.ReplaceStep(p, i, &s)
}

// LeftOut reports a step that runs leave out.
func LeftOut(s *plan.Step) bool { return s.When.Value == "false" }
