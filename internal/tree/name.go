package tree

import (
	"path"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// wire spells a file name of the system so that it is UTF-8, is not taken for
// file#part, and can be turned back by disk.
func wire(name string) string {
	if file, part := splitPart(name); part != "" {
		return wire(file) + "\x0023" + wire(part)
	}
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			b.WriteByte(0)
			b.WriteByte(hexDigits[name[0]>>4])
			b.WriteByte(hexDigits[name[0]&15])
		} else {
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}

// disk undoes wire. A NUL that wire did not write stays, and no system accepts it.
func disk(name string) string {
	if strings.IndexByte(name, 0) < 0 {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != 0 || i+2 >= len(name) {
			b.WriteByte(name[i])
			continue
		}
		hi, lo := strings.IndexByte(hexDigits, name[i+1]), strings.IndexByte(hexDigits, name[i+2])
		if hi < 0 || lo < 0 {
			b.WriteByte(0)
			continue
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	return b.String()
}

// clean brings a path of a plan into the form used here: "./a//b/" becomes
// "a/b", and the workspace itself ".". ok is false for a path that leads out of
// the workspace.
func clean(p string) (name string, ok bool) {
	if p == "" || strings.HasPrefix(p, "/") {
		return "", false
	}
	p = path.Clean(p)
	return p, p != ".." && !strings.HasPrefix(p, "../")
}

// isName reports whether p is a name as this package writes them.
func isName(p string) bool {
	c, ok := clean(p)
	return ok && c == p && utf8.ValidString(p)
}

// below reports whether name is dir or lies below it.
func below(name, dir string) bool {
	return dir == "." || name == dir || len(name) > len(dir) && name[len(dir)] == '/' && name[:len(dir)] == dir
}

// join is path.Join for a clean directory and one plain name.
func join(dir, base string) string {
	if dir == "." || dir == "" {
		return base
	}
	return dir + "/" + base
}
