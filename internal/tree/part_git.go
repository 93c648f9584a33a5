package tree

import (
	"bytes"
	"slices"
	"strings"
)

// A setting is one variable of a git configuration file.
type setting struct {
	section string // lower case
	sub     string // as written; "" if there is none
	key     string // lower case
	value   string // unquoted
	bare    bool   // written without "=", which is not the same as an empty value
}

// runs reports whether a setting can make git run something, or read or write
// somewhere else. The harmless ones are listed, for git knows too many of the
// others.
func (s setting) runs() bool {
	switch s.section {
	case "branch", "user", "color", "gc", "maintenance", "pull", "push", "fetch", "rebase":
		return strings.HasSuffix(s.key, "command") || strings.HasSuffix(s.key, "hook")
	case "lfs":
		return !strings.Contains(" access locksverify repositoryformatversion ", " "+s.key+" ")
	case "remote":
		return !strings.Contains(" url pushurl fetch push pushdefault tagopt prune mirror skipfetchall ", " "+s.key+" ")
	case "submodule":
		return s.key != "url" && s.key != "active" && s.key != "branch"
	}
	return true
}

// A gitScanner reads the syntax of git's configuration files.
type gitScanner struct {
	text []byte
	i    int
	in   setting // section and sub of the header before
}

func (g *gitScanner) peek() byte {
	if g.i < len(g.text) {
		return g.text[g.i]
	}
	return '\n'
}

func (g *gitScanner) blank() {
	for g.i < len(g.text) && strings.IndexByte(" \t\r\n", g.text[g.i]) >= 0 {
		g.i++
	}
}

func (g *gitScanner) comment() {
	for g.i < len(g.text) && g.text[g.i] != '\n' {
		g.i++
	}
}

// word takes letters, digits and what else the caller allows.
func (g *gitScanner) word(also string) string {
	from := g.i
	for g.i < len(g.text) {
		c := g.text[g.i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte(also, c) < 0 {
			break
		}
		g.i++
	}
	return strings.ToLower(string(g.text[from:g.i]))
}

// settings reads a whole file, as git would or not at all.
func settings(text []byte) ([]setting, error) {
	g := &gitScanner{text: bytes.TrimPrefix(text, byteOrderMark)}
	var all []setting
	for g.blank(); g.i < len(g.text); g.blank() {
		switch c := g.peek(); {
		case c == '#' || c == ';':
			g.comment()
		case c == '[':
			if !g.header() {
				return nil, errMalformed
			}
		default:
			s, ok := g.setting()
			if !ok {
				return nil, errMalformed
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func (g *gitScanner) header() bool {
	g.i++
	name := g.word(".-")
	g.in = setting{section: name}
	if g.peek() == ' ' || g.peek() == '\t' {
		for g.peek() == ' ' || g.peek() == '\t' {
			g.i++
		}
		if g.peek() != '"' || !g.subsection() {
			return false
		}
	} else if section, sub, ok := strings.Cut(name, "."); ok {
		g.in = setting{section: section, sub: sub}
	}
	if name == "" || g.i >= len(g.text) || g.text[g.i] != ']' {
		return false
	}
	g.i++
	return true
}

func (g *gitScanner) subsection() bool {
	var b strings.Builder
	for g.i++; g.i < len(g.text) && g.text[g.i] != '\n'; g.i++ {
		c := g.text[g.i]
		if c == '"' {
			g.i++
			g.in.sub = b.String()
			return g.in.sub != ""
		}
		if c == '\\' {
			if g.i++; g.i == len(g.text) || g.text[g.i] == '\n' {
				return false
			}
			c = g.text[g.i]
		}
		b.WriteByte(c)
	}
	return false
}

func (g *gitScanner) setting() (setting, bool) {
	s := g.in
	if s.key = g.word("-"); s.key == "" || s.section == "" {
		return s, false
	}
	for g.peek() == ' ' || g.peek() == '\t' {
		g.i++
	}
	switch g.peek() {
	case '=':
		g.i++
		return s, g.value(&s)
	case '\n', '\r', '#', ';':
		s.bare = true
		return s, true
	}
	return s, false
}

// value reads to the end of the line, or of the line that a backslash continues.
func (g *gitScanner) value(s *setting) bool {
	var b strings.Builder
	quoted, end := false, 0 // end is where the value ends, less blanks behind it
	for ; g.i < len(g.text); g.i++ {
		c := g.text[g.i]
		switch {
		case c == '\n' && quoted:
			return false
		case c == '\n':
			s.value = b.String()[:end]
			return true
		case c == '\r' && g.i+1 < len(g.text) && g.text[g.i+1] == '\n':
			continue
		case (c == '#' || c == ';') && !quoted:
			g.comment()
			g.i--
			continue
		case (c == ' ' || c == '\t') && !quoted:
			if b.Len() > 0 {
				b.WriteByte(c)
			}
			continue
		case c == '"':
			quoted = !quoted
			continue
		case c == '\\':
			if !g.escape(&b) {
				return false
			}
		default:
			b.WriteByte(c)
		}
		end = b.Len()
	}
	s.value = b.String()[:end]
	return !quoted
}

func (g *gitScanner) escape(b *strings.Builder) bool {
	g.i++
	if g.peek() == '\r' && g.i+1 < len(g.text) && g.text[g.i+1] == '\n' {
		g.i++
	}
	if g.i >= len(g.text) {
		return false
	}
	switch c := g.text[g.i]; c {
	case '\n':
	case 't':
		b.WriteByte('\t')
	case 'b':
		b.WriteByte('\b')
	case 'n':
		b.WriteByte('\n')
	case '\\', '"':
		b.WriteByte(c)
	default:
		return false
	}
	return true
}

// writeSettings writes a configuration file that reads as these settings.
func writeSettings(b *bytes.Buffer, all []setting) {
	sub := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	var in setting
	for i, s := range all {
		if i == 0 || s.section != in.section || s.sub != in.sub {
			b.WriteString("[" + s.section)
			if s.sub != "" {
				b.WriteString(` "` + sub.Replace(s.sub) + `"`)
			}
			b.WriteString("]\n")
		}
		in = s
		b.WriteString("\t" + s.key)
		if !s.bare {
			b.WriteString(` = "` + value.Replace(s.value) + `"`)
		}
		b.WriteByte('\n')
	}
}

// extractGit returns the settings that can run or redirect something.
func extractGit(text []byte, _ string) ([]byte, error) {
	all, err := settings(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	writeSettings(&b, slices.DeleteFunc(all, func(s setting) bool { return !s.runs() }))
	return b.Bytes(), nil
}

func spliceGit(text, part []byte, _ string) ([]byte, error) {
	all, err := settings(text)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(bytes.Clone(part))
	writeSettings(b, slices.DeleteFunc(all, setting.runs))
	return b.Bytes(), nil
}
