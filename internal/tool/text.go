package tool

import (
	"strings"
	"unicode/utf8"

	"github.com/piton-dev/piton/internal/proc"
)

// Bytes of text that somebody else wrote and people or models read.
const (
	maxMessage     = 2 << 10
	maxDescription = 4 << 10
)

// bounded makes text of others safe to show, in one line of at most n bytes.
func bounded(text string, n int) string {
	return cut(strings.Join(strings.Fields(proc.Plain([]byte(cut(text, 4*n)))), " "), n)
}

// cut shortens text to at most n bytes, at the end of a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const mark = " …"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)] + mark
}
