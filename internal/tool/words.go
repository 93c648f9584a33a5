package tool

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/shell"
)

// words reads arguments, with braces expanded.
func words(list []*syntax.Word) []shell.Word {
	var out []shell.Word
	for _, w := range list {
		for _, part := range unbraced(w) {
			out = append(out, shell.Constant(part))
		}
	}
	return out
}

// unbraced expands {a,b}; a word that could become many is left alone, and is
// then not known.
func unbraced(w *syntax.Word) []*syntax.Word {
	lit := w.Lit()
	if n := strings.Count(lit, "{"); n == 0 || n > 4 || strings.Contains(lit, "..") || strings.Count(lit, ",") > 32 {
		return []*syntax.Word{w}
	}
	split := *w
	syntax.SplitBraces(&split)
	var all []*syntax.Word
	for one, err := range expand.BracesSeq(nil, &split) {
		if err != nil {
			return []*syntax.Word{w}
		}
		all = append(all, one)
	}
	return all
}
