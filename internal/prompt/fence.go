package prompt

import (
	"strings"
	"unicode"
)

// fence writes text as a block that it cannot close: the fence is longer than
// any run of backticks inside.
func fence(b *strings.Builder, text string) {
	text = clean(text)
	bar := strings.Repeat("`", max(3, longestRun(text)+1))
	b.WriteString(bar + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(bar + "\n")
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// clean makes s valid UTF-8 whose only control characters are newline and tab.
// A carriage return becomes a line end; anything else becomes U+FFFD, so that
// the reader sees that something was there.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r != '\n' && r != '\t' && unicode.IsControl(r):
			return '\ufffd'
		}
		return r
	}, s)
}

// inline makes s fit for the middle of a line: one line, not long, and no
// backtick that could begin code.
func inline(s string) string {
	s = strings.ReplaceAll(clean(s), "`", "'")
	return short(strings.Join(strings.Fields(s), " "))
}

// code shows a name, path or glob as it is inside a line.
func code(s string) string {
	s = short(strings.ReplaceAll(clean(s), "\n", "\ufffd"))
	run := longestRun(s)
	if run == 0 {
		return "`" + s + "`"
	}
	bar := strings.Repeat("`", run+1)
	return bar + " " + s + " " + bar
}

// short cuts s after [MaxInline] characters.
func short(s string) string {
	runes := 0
	for i := range s {
		if runes == MaxInline {
			return s[:i] + "…"
		}
		runes++
	}
	return s
}
