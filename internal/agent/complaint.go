package agent

import (
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
)

// complaint is the line of what a program printed that tells why it ended: the first that
// begins as errors do, else the first that speaks of one, else the last that says something.
// "" if there is none.
func complaint(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		if line = oneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	usage := slices.IndexFunc(lines, usageLine().MatchString)
	until := usage // what comes then are the words of options
	if usage < 0 {
		until = len(lines)
	}
	for _, tells := range []func(string) bool{anError().MatchString, ofError().MatchString} {
		for i, line := range lines[:until] {
			if !tells(line) || noise().MatchString(line) {
				continue
			}
			if strings.HasSuffix(line, ":") && i+1 < len(lines) {
				line += " " + lines[i+1]
			}
			return line
		}
	}
	if usage >= 0 {
		return "it printed how it is called, and no error: it may not know what `command:` passes to it"
	}
	for _, line := range slices.Backward(lines) {
		if !noise().MatchString(line) {
			return line
		}
	}
	return ""
}

var (
	// anError is how a line begins that is an error: that of a shell and of clap, of commander,
	// of Node, of Python, of Go.
	anError = lazy.Regexp(`(?i)^(?:uncaught )?(?:[\w.]*error|[\w.]*exception|fatal|panic)(?: \[\w+\])?: \S`)
	// ofError is how a line speaks of one.
	ofError = lazy.Regexp(`(?i)\berror\b|\b(?:cannot|could not|can't|failed to|unable to)\b|\b(?:unexpected|unknown|unrecognized|invalid|missing) \w+|\bnot found\b|\bno such\b|\bdenied\b`)
	// noise is what tells no error though it may have its words: the version that Node ends
	// with, the places of a stack, the source that threw, hints on help and warnings.
	noise = lazy.Regexp(`(?i)^(?:node\.js v\d|at \S|throw\b|warn(?:ing)?\b|for more information|tip:|\(did you mean|[\]})^,;]+$|(?:code|errno|syscall|requirestack): )|--help\b`)
	// usageLine begins what a program says of how it is called.
	usageLine = lazy.Regexp(`(?i)^(?:usage|options|positionals|commands):`)
)
