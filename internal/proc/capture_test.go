package proc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A ring, whatever the writes, holds what a plain buffer of everything says.
func TestRingIsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{-1, 1, 2, 7, 64})
		o := Output{Head: size.Draw(t, "head"), Tail: size.Draw(t, "tail")}
		r := newRing(o)
		var all []byte
		for _, w := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 100)).Draw(t, "writes") {
			r.write(w)
			all = append(all, w...)
		}
		c := r.capture()
		head := min(max(o.Head, 0), len(all))
		tail := min(max(o.Tail, 0), len(all)-head)
		sum := sha256.Sum256(all)
		switch {
		case !bytes.Equal(c.Head, all[:head]), !bytes.Equal(c.Tail, all[len(all)-tail:]):
			t.Fatalf("of %q kept %q and %q", all, c.Head, c.Tail)
		case c.Total != int64(len(all)), c.Dropped() != int64(len(all)-head-tail):
			t.Fatalf("total %d, dropped %d", c.Total, c.Dropped())
		case c.SHA256 != hex.EncodeToString(sum[:]):
			t.Fatal("wrong hash")
		case c.Dropped() == 0 && c.String() != string(all):
			t.Fatalf("String() = %q", c)
		}
	})
}

func TestCaptureSaysWhatIsLeftOut(t *testing.T) {
	r := newRing(Output{Head: 3, Tail: 3})
	r.write([]byte("abcdefghij"))
	if got := r.capture().String(); got != "abc\n… 4 bytes left out …\nhij" {
		t.Errorf("got %q", got)
	}
	r = newRing(Output{})
	r.write(make([]byte, 100<<10))
	if c := r.capture(); len(c.Head) != 4<<10 || len(c.Tail) != 64<<10 {
		t.Errorf("default keeps %d and %d", len(c.Head), len(c.Tail))
	}
}

func TestLastLines(t *testing.T) {
	tests := []struct {
		text      string
		lines, to int
		want      string
	}{
		{"a\nb\nc\n", 2, 100, "b\nc\n"},
		{"a\nb\nc", 2, 100, "b\nc"},
		{"a\nb\nc\n", 9, 100, "a\nb\nc\n"},
		{"a\n\n\n", 2, 100, "\n\n"},
		{"", 5, 100, ""},
		{"a\n", 0, 100, ""},
		{"a\n", 1, 0, ""},
		{"aaaa\nbbbb\ncc\n", 3, 8, "bbbb\ncc\n"},
		{"aaaa\nbbbb\ncc\n", 3, 7, "cc\n"},
		{"aaaa\nbbbb\ncc\n", 3, 3, "cc\n"},
		{"one long line", 1, 4, "line"},
		{"one long line\n", 1, 5, "line\n"},
		{"ééé", 1, 3, "é"},
		{"\x1b[31mred\x1b[0m\r\nx\x00y\n", 2, 100, "red\nxy\n"},
	}
	for _, tt := range tests {
		c := Capture{Head: []byte(tt.text), Total: int64(len(tt.text))}
		if got := c.LastLines(tt.lines, tt.to); got != tt.want {
			t.Errorf("last %d lines of %q to %d: %q, want %q", tt.lines, tt.text, tt.to, got, tt.want)
		}
	}
}

func FuzzLastLines(f *testing.F) {
	f.Add("a\nb\nc\n", 2, 3)
	f.Add("é\n\n\x1b]0;x\a", 1, 1)
	f.Fuzz(func(t *testing.T, text string, n, limit int) {
		n, limit = n%1000, limit%10_000
		c := Capture{Head: []byte(text), Total: int64(len(text))}
		got := c.LastLines(n, limit)
		switch {
		case len(got) > max(limit, 0), !utf8.ValidString(got):
			t.Errorf("%q does not fit %d", got, limit)
		case !strings.HasSuffix(Plain([]byte(text)), got):
			t.Errorf("%q is not the end", got)
		case strings.Count(strings.TrimSuffix(got, "\n"), "\n") >= max(n, 1):
			t.Errorf("%q is more than %d lines", got, n)
		}
	})
}
