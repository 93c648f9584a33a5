package notes

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// worthShowing is the least that is kept of a text that does not fit.
const worthShowing = 512

// shorten cuts c.Text to about limit bytes: its head and its tail, at line ends
// where there are some nearby, with a line between them that says how much is
// left out.
func (c *Content) shorten(limit int) {
	if len(c.Text) <= limit {
		return
	}
	c.Truncated = true
	if limit < worthShowing {
		c.Text, c.Reason = "", "not shown: there is too much context in all"
		return
	}
	room := limit - 64 // for the line between
	head := headOf(c.Text, room/2)
	tail := tailOf(c.Text, room-room/2)
	c.Text = fmt.Sprintf("%s\n… %d bytes left out …\n%s", head, len(c.Text)-len(head)-len(tail), tail)
}

// headOf returns at most size bytes from the start, without half a character,
// up to the last line end if that is in the second half.
func headOf(s string, size int) string {
	for size > 0 && !utf8.RuneStart(s[size]) {
		size--
	}
	if i := strings.LastIndexByte(s[:size], '\n'); i > size/2 {
		return s[:i]
	}
	return s[:size]
}

// tailOf returns at most size bytes from the end, without half a character,
// from a line's start if there is one in the first half.
func tailOf(s string, size int) string {
	from := len(s) - size
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	if i := strings.IndexByte(s[from:], '\n'); i >= 0 && i < size/2 {
		return s[from+i+1:]
	}
	return s[from:]
}

// isText reports whether a body is UTF-8 without NUL.
func isText(body []byte) bool {
	return bytes.IndexByte(body, 0) < 0 && utf8.Valid(body)
}
