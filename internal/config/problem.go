package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is something in a source of the configuration that cannot be used.
// Its text says what is allowed instead.
type Problem struct {
	Origin  Origin
	Message string
	Hint    string // what to do, where that is known
}

// String writes the problem like a compiler: origin, message and hint.
func (p Problem) String() string {
	text := fmt.Sprintf("%s: %s", p.Origin, p.Message)
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Origin says where a setting came from. For a file, Line and Column are those
// of the value, counted from 1; else Source names the default, the variable or
// the flag.
type Origin struct {
	Source string // "default", "env PITON_X", "flag policy.expect"; empty for a file
	File   string
	Line   int
	Column int
}

// String is what people see: file:line:column, or the source's name.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return o.Source
	case o.Line == 0:
		return o.File
	default:
		return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
	}
}

// byPosition sorts problems as a reader meets them: the weakest source first,
// files from top to bottom.
func byPosition(list []Problem) {
	slices.SortStableFunc(list, func(p, q Problem) int {
		a, b := p.Origin, q.Origin
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Source, b.Source))
	})
}

// sayOnce leaves a hint that several problems in a row have to the last of them.
func sayOnce(list []Problem) {
	for i := range list {
		if i+1 < len(list) && list[i].Hint == list[i+1].Hint {
			list[i].Hint = ""
		}
	}
}

func (o Origin) rank() int {
	switch {
	case o.File == File:
		return 1
	case o.File != "":
		return 0
	case strings.HasPrefix(o.Source, "env "):
		return 2
	}
	return 3
}
