package page

import (
	"fmt"
	"strings"
)

// DiffLine is a line of a difference as git writes it.
type DiffLine struct{ Tone, Text string }

// maxDiff is how many lines of a difference are shown.
const maxDiff = 4000

func diffLines(text string) (lines []DiffLine) {
	for l := range strings.Lines(text) {
		if len(lines) == maxDiff {
			return append(lines, DiffLine{"hk", fmt.Sprintf("… the first %d lines; piton diff shows all", maxDiff)})
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
