package proc

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"text", "héllo\twörld\n日本\n", "héllo\twörld\n日本\n"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"colon parameters", "\x1b[38:2::1:2:3mx\x1b[m", "x"},
		{"private mode", "\x1b[?25lx\x1b[?25h", "x"},
		{"CSI with intermediates", "\x1b[0 qx", "x"},
		{"8 bit CSI", "\u009b31mred", "red"},
		{"title by BEL", "\x1b]0;evil\ax", "x"},
		{"hyperlink by ST", "\x1b]8;;http://e\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"8 bit OSC", "\u009d0;t\u009cx", "x"},
		{"DCS", "\x1bPq#0;2\x1b\\x", "x"},
		{"APC, PM, SOS", "\x1b_a\x1b\\\x1b^b\x1b\\\x1bXc\x1b\\x", "x"},
		{"charset", "\x1b(Bx\x1b)0y", "xy"},
		{"two bytes", "\x1b7\x1b8\x1bcx\x1b=", "x"},
		{"cut off", "x\x1b", "x"},
		{"cut off CSI", "x\x1b[31", "x"},
		{"cut off OSC", "x\x1b]0;t", "x"},
		{"OSC does not swallow lines", "\x1b]0;t\nnext", "\nnext"},
		{"ESC before ESC", "\x1b\x1b[31mx", "x"},
		{"malformed CSI keeps text", "\x1b[\x01é", "é"},
		{"CR LF", "a\r\nb\r\n", "a\nb\n"},
		{"lone CR keeps both", "10%\r20%\r\n", "10%\n20%\n"},
		{"controls", "a\x00b\bc\ad\x7fe\vf\fg", "abcdefg"},
		{"C1", "a\u0085b", "ab"},
		{"bidi", "a\u202eb\u2066c\u200fd", "abcd"},
		{"joiner stays", "👩\u200d💻", "👩\u200d💻"},
		{"invalid", "a\xffb\xc3", "a\uFFFDb\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Plain([]byte(tt.in)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("\x1b[1;31mred\x1b[0m \x1b]0;t\a\x1bPq\x1b\\ \r\n\u009b1m\xff"))
	f.Add([]byte("a\r\x1b\x1b]\x18\u202e"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := Plain(b)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
		}); i >= 0 {
			t.Errorf("control left at %d in %q", i, got)
		}
		if again := Plain([]byte(got)); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
		if lines := strings.Count(string(b), "\n"); strings.Count(got, "\n") < lines {
			t.Errorf("lost one of %d lines: %q", lines, got)
		}
	})
}
