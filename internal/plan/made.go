package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// This file is for readers of other forms of a plan, which make the same tree.

// Placed returns a text of several lines and where each of them stands; a line
// that does not stand in the source has the zero Pos. There are as many places
// as lines, and the first is one.
func Placed(value string, starts []Pos) Text {
	t := Text{Value: value, Pos: starts[0]}
	if len(starts) > 1 {
		t.starts = new(starts)
	}
	return t
}

// Screen notes what the bytes of no plan may hold, whatever its form: what a
// reviewer cannot see, and too much of it. It returns false if the bytes are
// refused altogether. The cost is linear.
func Screen(src []byte, probs *Problems) bool {
	why, refused := refuse(src)
	if refused {
		probs.list = append(probs.list, why)
	} else {
		checkCharacters(string(src), probs)
	}
	return !refused
}

// Unseen looks for what [Screen] would report in a value that an escape can
// bring in. It returns "" if there is nothing.
func Unseen(s string) string {
	for i, r := range s {
		if r == '\n' || r == '\t' {
			continue
		}
		n := utf8.RuneLen(r)
		if why := unseen(r); why != "" && !needed(s, i, n, r) {
			return fmt.Sprintf("%s (U+%04X)", why, r)
		}
	}
	return ""
}

// Visible is s without the characters that [Unseen] would name, and how many
// those were. The cost is linear.
func Visible(s string) (string, int) {
	var b strings.Builder
	dropped := 0
	for i, r := range s {
		n := utf8.RuneLen(r)
		if r != '\n' && r != '\t' && (n < 0 || unseen(r) != "" && !needed(s, i, n, r)) {
			dropped++
			continue
		}
		b.WriteRune(r)
	}
	return b.String(), dropped
}

// Place maps a place in t.Value, taken as a text of its own, to the file.
func (t Text) Place(inner Pos) Pos {
	at := t.lineStart(inner.Line - 1)
	at.Column += inner.Column - 1
	return at
}

// ValidCheck reports whether s can name a check.
func ValidCheck(s string) bool { return checkName(s) && oneLine(s) == s }

// ValidNumber reports whether s can stand before a step's title: "1", "3–7",
// "3–N", "N+1".
func ValidNumber(s string) bool {
	number, rest, ok := splitNumber(s + ".")
	return ok && number == s && rest == ""
}

// Complete gives every step its id, as [Plan.AssignIDs] does, and notes ids
// and numbers that two steps have. The cost is linear.
func (p *Plan) Complete(probs *Problems) {
	ids, numbers := map[string]Pos{}, make(map[string]Pos, len(p.Steps))
	for _, s := range p.Steps {
		number := plainNumber(s.Number)
		if first, twice := numbers[number]; twice {
			probs.Add(s.Pos, Warning, DuplicateNumber, fmt.Sprintf("line %d has a step %s too", first.Line, s.Number), "number the steps in order")
		} else {
			numbers[number] = s.Pos
		}
		if first, twice := ids[s.ID.Value]; s.ID.Set && twice {
			probs.Add(s.ID.Pos, Error, DuplicateID, fmt.Sprintf("the step in line %d has the id %q too", first.Line, s.ID.Value), "give each step its own")
		} else if s.ID.Set {
			ids[s.ID.Value] = s.Pos
		}
	}
	p.AssignIDs()
}
