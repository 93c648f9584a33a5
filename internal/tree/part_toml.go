package tree

import (
	"bytes"
	"iter"
	"slices"
	"strings"
)

// A tomlScanner follows just enough of TOML to know which lines are table
// headers: strings of all four kinds, comments and brackets of values.
type tomlScanner struct {
	quote string // the delimiter of the string that is open over lines, or ""
	depth int    // of open brackets in a value
}

// between reports whether a new statement may begin on the next line.
func (s *tomlScanner) between() bool { return s.quote == "" && s.depth == 0 }

// line takes a line up. It fails on what no TOML file has.
func (s *tomlScanner) line(l string) error {
	header := s.between() && strings.HasPrefix(strings.TrimSpace(l), "[")
	for l != "" {
		if s.quote != "" {
			l = s.inString(l)
			continue
		}
		n := 1
		switch c := l[0]; {
		case strings.HasPrefix(l, `"""`), strings.HasPrefix(l, "'''"):
			s.quote, n = l[:3], 3
		case c == '"' || c == '\'':
			if n = shortString(l); n == 0 {
				return errMalformed
			}
		case c == '#':
			n = len(l)
		case c == '[' || c == '{':
			s.depth++
		case c == ']' || c == '}':
			if s.depth--; s.depth < 0 {
				return errMalformed
			}
		}
		l = l[n:]
	}
	if header && !s.between() {
		return errMalformed
	}
	return nil
}

// inString goes on in a string over lines and returns what comes after it.
func (s *tomlScanner) inString(l string) string {
	for i := 0; i < len(l); i++ {
		switch {
		case l[i] == '\\' && s.quote == `"""`:
			i++
		case strings.HasPrefix(l[i:], s.quote):
			end := i + 3
			for end < len(l) && end < i+5 && l[end] == s.quote[0] {
				end++ // up to two quotes may stand before the delimiter
			}
			s.quote = ""
			return l[end:]
		}
	}
	return ""
}

// shortString is the length of the string that l begins with, or 0 if it does
// not end.
func shortString(l string) int {
	for i := 1; i < len(l); i++ {
		switch {
		case l[i] == '\\' && l[0] == '"':
			i++
		case l[i] == l[0]:
			return i + 1
		}
	}
	return 0
}

// tomlKey splits a dotted key, quoted parts included, and returns what follows it.
func tomlKey(l string) (parts []string, rest string) {
	for {
		l = strings.TrimLeft(l, " \t")
		if l == "" {
			return parts, ""
		}
		n := strings.IndexAny(l, " \t.=]#\"'")
		if l[0] == '"' || l[0] == '\'' {
			if n = shortString(l); n == 0 {
				return parts, l
			}
			parts = append(parts, unquoteTOML(l[:n]))
		} else {
			if n < 0 {
				n = len(l)
			}
			parts = append(parts, l[:n])
		}
		l = strings.TrimLeft(l[n:], " \t")
		if !strings.HasPrefix(l, ".") {
			return parts, l
		}
		l = l[1:]
	}
}

// unquoteTOML returns a quoted key's text. An escaped one is taken for "tool",
// so that nobody hides that name behind escapes.
func unquoteTOML(s string) string {
	if s[0] == '"' && strings.Contains(s, `\`) {
		return "tool"
	}
	return s[1 : len(s)-1]
}

// tomlLines are the lines of a text. A carriage return ends one too, as the readers of
// such files have it.
func tomlLines(text []byte) iter.Seq[string] {
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if r == '\r' {
			return '\n'
		}
		return r
	}, s)
	return strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n")
}

// splitTOML separates the lines of [tool.*] from the others. Comments and blank
// lines are left out of mine, for they configure nothing.
func splitTOML(text []byte) (mine, others []string, err error) {
	var s tomlScanner
	inTool, top, keep := false, true, false
	if bytes.HasPrefix(text, byteOrderMark) {
		err = errMalformed
	}
	for l := range tomlLines(text) {
		plain := strings.TrimSpace(l)
		if s.between() && plain != "" && plain[0] != '#' {
			if plain[0] == '[' {
				key, _ := tomlKey(strings.TrimLeft(plain, "["))
				inTool, top = configures(key), false
				keep = inTool
			} else if top {
				key, _ := tomlKey(plain)
				keep = configures(key)
			} else {
				keep = inTool
			}
		}
		blank := s.between() && (plain == "" || plain[0] == '#')
		switch {
		case keep && !blank:
			mine = append(mine, strings.TrimRight(l, " \t"))
		case !keep:
			others = append(others, l)
		}
		if e := s.line(l); e != nil {
			err = e
		}
	}
	if !s.between() {
		err = errMalformed
	}
	return mine, others, err
}

// configures reports whether a table of this name configures a tool. What only
// lists packages to install does not.
func configures(key []string) bool {
	if len(key) == 0 || key[0] != "tool" {
		return false
	}
	last := key[len(key)-1]
	installer := len(key) > 2 && (key[1] == "poetry" || key[1] == "pdm")
	return !installer || last != "dependencies" && last != "dev-dependencies"
}

func extractTOML(text []byte, _ string) ([]byte, error) {
	mine, _, err := splitTOML(text)
	if err != nil || len(mine) == 0 {
		return nil, err
	}
	return []byte(strings.Join(mine, "\n") + "\n"), nil
}

// spliceTOML puts the part's tables at the end, and keys that it has before
// its first table at the beginning.
func spliceTOML(text, part []byte, _ string) ([]byte, error) {
	_, others, err := splitTOML(text)
	if err != nil {
		return nil, err
	}
	keys, tables := beforeTables(part)
	var b bytes.Buffer
	for _, l := range slices.Concat(keys, others, tables) {
		b.WriteString(l + "\n")
	}
	return b.Bytes(), nil
}

// beforeTables splits a part at its first table header.
func beforeTables(part []byte) (keys, tables []string) {
	var s tomlScanner
	for l := range tomlLines(part) {
		if len(tables) > 0 || s.between() && strings.HasPrefix(strings.TrimSpace(l), "[") {
			tables = append(tables, l)
			continue
		}
		keys = append(keys, l)
		_ = s.line(l) // it was scanned before, when it was extracted
	}
	return keys, tables
}
