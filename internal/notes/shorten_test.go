package notes

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestShortening: what is kept is a head and a tail of the text, within the
// limit, and the line between them says how much is missing.
func TestShortening(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringMatching(`[a-zé\n…]{1,40}`).Draw(t, "piece"), rapid.IntRange(1, 400).Draw(t, "times"))
		limit := rapid.IntRange(0, 5000).Draw(t, "limit")
		c := Content{Text: text}
		c.shorten(limit)
		switch {
		case len(text) <= limit:
			if c.Text != text || c.Truncated {
				t.Fatalf("a text within the limit became %+v", c)
			}
		case c.Text == "":
			if limit >= worthShowing || c.Reason == "" || !c.Truncated {
				t.Fatalf("nothing is shown within %d bytes: %+v", limit, c)
			}
		default:
			checkCut(t, text, c.Text, limit)
		}
	})
}

func checkCut(t *rapid.T, text, got string, limit int) {
	if len(got) > limit || !utf8.ValidString(got) {
		t.Fatalf("%d bytes, cap %d, valid %t", len(got), limit, utf8.ValidString(got))
	}
	for at := range got {
		var n int
		rest := got[at:]
		if _, err := fmt.Sscanf(rest, "\n… %d bytes left out …\n", &n); err != nil {
			continue
		}
		head, tail := got[:at], strings.TrimPrefix(rest, fmt.Sprintf("\n… %d bytes left out …\n", n))
		if strings.HasPrefix(text, head) && strings.HasSuffix(text, tail) && len(head)+len(tail)+n == len(text) {
			return
		}
	}
	t.Fatalf("%q is not head and tail of the text", got)
}
