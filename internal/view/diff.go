package view

import (
	"fmt"
	"strings"
)

// DiffLine is a line of a difference. Its tone is the class of a page's style sheet: hk for what
// says where it is, a for what came, d for what went.
type DiffLine struct{ Tone, Text string }

// DiffLines are the first lines of a difference as git writes it, at most so many, and one that
// says so if there are more.
func DiffLines(text string, most int) (lines []DiffLine) {
	for l := range strings.Lines(text) {
		if len(lines) == most {
			return append(lines, DiffLine{"hk", fmt.Sprintf("… the first %d lines; piton diff shows all", most)})
		}
		tone := ""
		switch {
		case strings.HasPrefix(l, "diff "), strings.HasPrefix(l, "+++ "), strings.HasPrefix(l, "--- "), strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "index "):
			tone = "hk"
		case strings.HasPrefix(l, "+"):
			tone = "a"
		case strings.HasPrefix(l, "-"):
			tone = "d"
		}
		lines = append(lines, DiffLine{tone, strings.TrimRight(l, "\r\n")})
	}
	return lines
}
