package cli

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/proc"
)

// TestCopyLines: text that is made plain piece by piece is the same as that which is made so at once.
func TestCopyLines(t *testing.T) {
	for _, text := range []string{
		"", "no end", "\n", "x" + strings.Repeat("\x1b[31mé\x1b[0mü\r\n", 200_000), strings.Repeat("é\n", 1<<19),
	} {
		var got strings.Builder
		if err := copyLines(plainWriter{&got}, strings.NewReader(text)); err != nil || got.String() != proc.Plain([]byte(text)) {
			t.Errorf("%.20q: %d bytes, %v", text, got.Len(), err)
		}
	}
	long := strings.Repeat("x", 3<<20)
	var got strings.Builder
	if err := copyLines(&got, strings.NewReader(long)); err != nil || got.String() != long {
		t.Errorf("of a line of %d bytes come %d, %v", len(long), got.Len(), err)
	}
}

// TestBounded: what is too long is cut, and that is known.
func TestBounded(t *testing.T) {
	for _, tt := range []struct {
		parts []string
		want  string
		cut   bool
	}{
		{nil, "", false}, {[]string{"a", "bc"}, "abc", false}, {[]string{"ab", "cd"}, "abc", true}, {[]string{"abc", "d", "e"}, "abc", true},
	} {
		b := bounded{left: 3}
		for _, part := range tt.parts {
			if n, err := b.Write([]byte(part)); n != len(part) || err != nil {
				t.Errorf("%q: %d, %v", part, n, err)
			}
		}
		if b.String() != tt.want || b.cut != tt.cut {
			t.Errorf("of %q is kept %q, cut: %v", tt.parts, b.String(), b.cut)
		}
	}
}
