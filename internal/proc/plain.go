package proc

import (
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain turns captured output into text that is safe to show and to quote: it
// removes terminal escape sequences (CSI, OSC, DCS and their kin, in 7 and 8 bit
// form), controls other than newline and tab, and marks that reorder text. CR LF
// becomes LF, and so does a lone CR, so that text written over other text stays
// visible. Invalid UTF-8 becomes U+FFFD. Printable text is never lost, except
// inside a sequence. It costs one pass.
func Plain(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == '\x1b':
			n = escapeLen(b)
		case r == '\u009b':
			n += csiLen(b[n:])
		case isStringOpener(r):
			n += stringLen(b[n:])
		case r == '\r':
			if len(b) == 1 || b[1] != '\n' {
				out.WriteByte('\n')
			}
		case r == '\n' || r == '\t' || printable(r):
			out.WriteRune(r)
		}
		b = b[n:]
	}
	return out.String()
}

func printable(r rune) bool {
	return !unicode.Is(unicode.Cc, r) && !unicode.Is(unicode.Bidi_Control, r)
}

// isStringOpener knows the 8 bit forms of DCS, SOS, OSC, PM and APC.
func isStringOpener(r rune) bool {
	return r == '\u0090' || r == '\u0098' || r == '\u009d' || r == '\u009e' || r == '\u009f'
}

// escapeLen is the length of the sequence that begins with the ESC at b[0].
// One that is cut off or malformed ends where it stops being one.
func escapeLen(b []byte) int {
	if len(b) == 1 {
		return 1
	}
	switch c := b[1]; {
	case c == '[':
		return 2 + csiLen(b[2:])
	case strings.IndexByte("PX]^_", c) >= 0:
		return 2 + stringLen(b[2:])
	case c >= 0x20 && c <= 0x2f: // intermediates, then one final: ESC ( B
		return 1 + paramLen(b[1:], 0x20, 0x2f)
	case c >= 0x30 && c <= 0x7e:
		return 2
	}
	return 1
}

// csiLen is the length of parameters, intermediates and final byte.
func csiLen(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= 0x30 && b[n] <= 0x3f {
		n++
	}
	return n + paramLen(b[n:], 0x20, 0x2f)
}

// paramLen is the length of a run of bytes from lo to hi and one final byte.
func paramLen(b []byte, lo, hi byte) int {
	n := 0
	for n < len(b) && b[n] >= lo && b[n] <= hi {
		n++
	}
	if n < len(b) && b[n] >= 0x30 && b[n] <= 0x7e {
		n++
	}
	return n
}

// stringLen is the length of a control string with its end (BEL or ST). A newline
// ends it too, so that a stray opener cannot swallow the lines behind it.
func stringLen(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\a':
			return i + 1
		case c == '\n' || c == '\r':
			return i
		case c == '\x1b' && i+1 < len(b) && b[i+1] == '\\':
			return i + 2
		case c == 0xc2 && i+1 < len(b) && b[i+1] == 0x9c:
			return i + 2
		case c == '\x1b' || c == 0x18 || c == 0x1a:
			return i
		}
	}
	return len(b)
}

// PlainIn makes all texts of what v points to plain, as [Plain] does: in exported fields, in
// slices, and behind pointers.
func PlainIn(v any) { plainIn(reflect.ValueOf(v).Elem()) }

func plainIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); v.CanSet() {
			v.SetString(Plain([]byte(s)))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			plainIn(field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			plainIn(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			plainIn(v.Elem())
		}
	}
}
