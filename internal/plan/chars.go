package plan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// bom is the byte order mark that a text may begin with.
const bom = "\ufeff"

// refuse says why bytes are no plan at all, or returns false.
func refuse(src []byte) (Problem, bool) {
	p := Problem{Pos: Pos{1, 1}, Severity: Error}
	switch nul := bytes.IndexByte(src, 0); {
	case len(src) > MaxBytes:
		p.Code = TooLarge
		p.Message = fmt.Sprintf("the text has more than %d bytes, which is the most that a plan may have", MaxBytes)
		p.Hint = "split it into sub-plans (`plan:`)"
	case !utf8.Valid(src):
		p.Code, p.Pos = NotUTF8, position(string(src), invalid(src))
		p.Message, p.Hint = "the text is not UTF-8 here", "save the file as UTF-8"
	case nul >= 0:
		p.Code, p.Pos = NULByte, position(string(src), nul)
		p.Message, p.Hint = "the text has a NUL byte", "take it out"
	default:
		return p, false
	}
	return p, true
}

// invalid is the offset of the first byte that is not UTF-8.
func invalid(src []byte) int {
	off := 0
	for off < len(src) {
		r, n := utf8.DecodeRune(src[off:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		off += n
	}
	return off
}

// position is the place of a byte offset.
func position(src string, off int) Pos {
	return Pos{1, 1}.After(strings.TrimPrefix(src[:off], bom))
}

// checkCharacters reports every character that a reviewer cannot see or that
// changes how the text around it looks. It returns the offset of the first one,
// or len(src).
func checkCharacters(src string, probs *Problems) int {
	first := len(src)
	known := len(src) - len(strings.TrimPrefix(src, bom)) // the offset whose place is at
	at := Pos{1, 1}
	for i := known; i < len(src) && !probs.Full(); {
		c := src[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' || c == '\r' && lineEnd(src[i:]) {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(src[i:])
		if why := unseen(r); why != "" && !needed(src, i, n, r) {
			first = min(first, i)
			at, known = at.After(src[known:i]), i
			probs.Add(at, Error, BadCharacter,
				fmt.Sprintf("%s (U+%04X) is not allowed: a reviewer cannot see it", why, r), "take it out")
			n = skipRun(src[i:], n)
		}
		i += n
	}
	return first
}

// After is the place behind a text that begins at p.
func (p Pos) After(text string) Pos {
	if n := strings.Count(text, "\n"); n > 0 {
		p = Pos{p.Line + n, 1}
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.Column += runes(text)
	return p
}

// skipRun is the length of the repetition of the character of n bytes at the
// start of s, which is one problem and not many.
func skipRun(s string, n int) int {
	total := n
	for strings.HasPrefix(s[total:], s[:n]) {
		total += n
	}
	return total
}

// lineEnd reports whether a carriage return belongs to a line end.
func lineEnd(s string) bool { return len(s) > 1 && s[1] == '\n' }

// unseen names a character that must not be in a plan.
func unseen(r rune) string {
	switch {
	case r < ' ' || r == 0x7f:
		return "a control character"
	case r < 0x80:
		return ""
	case r <= 0x9f:
		return "a C1 control character"
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x61c, r == 0x200e, r == 0x200f:
		return "a direction override"
	case r == 0x2028 || r == 0x2029:
		return "a line separator"
	case r >= 0x200b && r <= 0x200d, r >= 0x2060 && r <= 0x2064, r == 0xfeff, r == 0xad, r == 0x180e, r == 0x34f:
		return "a zero-width character"
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800:
		return "an invisible letter"
	case r >= 0xfff0 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff, r >= 0x206a && r <= 0x206f,
		r >= 0xfdd0 && r <= 0xfdef, r == 0x17b4, r == 0x17b5, r >= 0x1d173 && r <= 0x1d17a, r >= 0x1bca0 && r <= 0x1bca3:
		return "an invisible format character"
	case variation(r):
		return "a variation selector"
	}
	return ""
}

// Escaped is a text with an escape for each character that a reader cannot see or takes for
// another, and whether it had one. keep are blanks that stay as they are.
func Escaped(s, keep string) (shown string, hidden bool) {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case strings.ContainsRune(keep, r) || needed(s, i, n, r) || unicode.IsPrint(r) && unseen(r) == "":
			b.WriteString(s[i : i+n])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String(), b.String() != s
}

// needed reports whether the unseen character r at i, n bytes long, is one that
// the characters beside it are written with.
func needed(s string, i, n int, r rune) bool {
	return joiner(r) && between(s, i, n) || variation(r) && varies(s, i, n)
}

// variation reports whether r chooses between two looks of the character before.
func variation(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f }

// varies reports whether a variation selector at i, n bytes long, stands where
// it has a look to choose: behind a sign, or within a keycap.
func varies(s string, i, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	return before >= 0xa9 && unseen(before) == "" && before != utf8.RuneError || strings.HasPrefix(s[i+n:], "\u20e3")
}

// joiner reports whether a zero-width character is one that scripts and emoji need.
func joiner(r rune) bool { return r == 0x200c || r == 0x200d }

// between reports whether the character at i, n bytes long, stands between two
// characters of a script that joiners are for.
func between(s string, i, n int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	return before >= 0x600 && after >= 0x600 && (unseen(before) == "" || variation(before)) && unseen(after) == ""
}

// codeSpans returns the places of the inline code of a line, back-ticks
// included, in linear time.
func codeSpans(s string) []span {
	if strings.IndexByte(s, '`') < 0 {
		return nil
	}
	var ticks []span
	last := map[int]int{} // length of a run of back-ticks → index of the last such run
	for i := strings.IndexByte(s, '`'); i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := run(s[i:])
		last[n] = len(ticks)
		ticks = append(ticks, span{i, i + n})
		i += n
	}
	var out []span
	for i := 0; i < len(ticks); i++ {
		n := ticks[i].end - ticks[i].start
		if last[n] <= i {
			continue
		}
		j := i + 1
		for ticks[j].end-ticks[j].start != n {
			j++
		}
		out = append(out, span{ticks[i].start, ticks[j].end})
		i = j
	}
	return out
}

// unquote returns the range of s without the back-ticks of the code span that
// it consists of, or all of it.
func unquote(s string) (from, to int) {
	if s == "" || s[0] != '`' {
		return 0, len(s)
	}
	spans := codeSpans(s)
	if len(spans) != 1 || spans[0] != (span{0, len(s)}) {
		return 0, len(s)
	}
	n := run(s)
	from, to = n, len(s)-n
	if to-from > 2 && s[from] == ' ' && s[to-1] == ' ' && strings.Trim(s[from:to], " ") != "" {
		from, to = from+1, to-1
	}
	return from, to
}

// longestRun is how often a byte is repeated at most.
func longestRun(s string, c byte) int {
	most, n := 0, 0
	for i := range len(s) {
		if n++; s[i] != c {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// quote writes s as a code span.
func quote(s string) string {
	ticks := strings.Repeat("`", longestRun(s, '`')+1)
	pad := ""
	if s != "" && (s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ') && strings.Trim(s, " ") != "" {
		pad = " "
	}
	return ticks + pad + s + pad + ticks
}
