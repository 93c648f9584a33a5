package verify

import (
	"fmt"
	"path"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// compileScope makes of a scope that [badScope] lets pass the program of a regular
// expression, so that two of them can be compared. One without a wildcard names a
// file, or a directory with all below it; where its last name has a dot, it is
// taken for a file.
func compileScope(scope string) *syntax.Prog {
	scope = path.Clean(scope)
	expr := globExpr(scope)
	switch {
	case scope == ".":
		expr = `.*`
	case !isGlob(scope) && !strings.Contains(path.Base(scope), "."):
		expr += `(?:/.*)?`
	}
	parsed, err := syntax.Parse(`(?s)`+expr, syntax.Perl)
	if err != nil {
		parsed, _ = syntax.Parse(`(?s).*`, syntax.Perl) // what cannot be read may name anything
	}
	prog, _ := syntax.Compile(parsed.Simplify()) // it has no flag that could fail
	return prog
}

// globExpr writes a pattern as a regular expression.
func globExpr(p string) string {
	var b strings.Builder
	starts := true    // p stands at the start of a name
	var groups []bool // of each { that is open, whether it does
	ends := func(rest string) bool {
		return rest == "" || len(groups) > 0 && (rest[0] == ',' || rest[0] == '}')
	}
	for len(p) > 0 {
		size, next := 1, false
		switch c := p[0]; {
		case starts && strings.HasPrefix(p, "**/"):
			b.WriteString(`(?:.*/)?`)
			size, next = 3, true
		case starts && strings.HasPrefix(p, "**") && ends(p[2:]):
			b.WriteString(`.*`)
			size = 2
		case strings.HasPrefix(p, "/**") && ends(p[3:]):
			b.WriteString(`(?:/.*)?`)
			size = 3
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			size = class(&b, p)
		case c == '{':
			b.WriteString(`(?:`)
			groups, next = append(groups, starts), starts
		case c == ',' && len(groups) > 0:
			b.WriteByte('|')
			next = groups[len(groups)-1]
		case c == '}' && len(groups) > 0:
			b.WriteByte(')')
			groups = groups[:len(groups)-1]
		default:
			var r rune
			r, size = utf8.DecodeRuneInString(p)
			next = r == '/'
			fmt.Fprintf(&b, `\x{%x}`, r)
		}
		p, starts = p[size:], next
	}
	return b.String()
}

// class writes [a-z] or [!x] at the start of a pattern, and returns its length.
func class(b *strings.Builder, p string) int {
	end := strings.IndexByte(p[min(2, len(p)):], ']') + 2
	if end < 2 {
		b.WriteString(`\[`)
		return 1
	}
	in := []rune(p[1:end])
	open, not := `[`, ""
	if in[0] == '!' || in[0] == '^' {
		open, not, in = `[^`, `/`, in[1:]
	}
	var chars strings.Builder
	for i := 0; i < len(in); i++ {
		fmt.Fprintf(&chars, `\x{%x}`, in[i])
		if i+2 < len(in) && in[i+1] == '-' {
			if in[i] > in[i+2] {
				b.WriteString(`[^/]`) // no range: take it for any character
				return end + 1
			}
			fmt.Fprintf(&chars, `-\x{%x}`, in[i+2])
			i += 2
		}
	}
	b.WriteString(open + not + chars.String() + `]`)
	return end + 1
}

// overlap reports whether one path is in both scopes. It costs at most the product
// of their sizes.
func overlap(a, b *syntax.Prog) bool {
	type pair struct{ x, y uint32 }
	seen := make([]bool, len(a.Inst)*len(b.Inst))
	var open []pair
	visit := func(x, y uint32) {
		if at := int(x)*len(b.Inst) + int(y); !seen[at] {
			seen[at] = true
			open = append(open, pair{x, y})
		}
	}
	for visit(uint32(a.Start), uint32(b.Start)); len(open) > 0; {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		s, t := &a.Inst[p.x], &b.Inst[p.y]
		if s.Op == syntax.InstMatch && t.Op == syntax.InstMatch {
			return true
		}
		for _, x := range free(s) {
			visit(x, p.y)
		}
		for _, y := range free(t) {
			visit(p.x, y)
		}
		if meet(runesOf(s), runesOf(t)) {
			visit(s.Out, t.Out)
		}
	}
	return false
}

// free are the instructions that follow one without a character.
func free(i *syntax.Inst) []uint32 {
	switch i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return []uint32{i.Out, i.Arg}
	case syntax.InstNop, syntax.InstCapture:
		return []uint32{i.Out}
	}
	return nil
}

// runesOf are the characters that an instruction takes, as pairs; nil if it takes
// none.
func runesOf(i *syntax.Inst) []rune {
	switch i.Op {
	case syntax.InstRune, syntax.InstRune1:
		if len(i.Rune) == 1 {
			return []rune{i.Rune[0], i.Rune[0]}
		}
		return i.Rune
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return []rune{0, utf8.MaxRune}
	}
	return nil
}

func meet(a, b []rune) bool {
	for i := 0; i < len(a); i += 2 {
		for j := 0; j < len(b); j += 2 {
			if a[i] <= b[j+1] && b[j] <= a[i+1] {
				return true
			}
		}
	}
	return false
}

// trunk is the part of a scope before its first wildcard; without one, all of it
// and a slash, for what stands below it.
func trunk(scope string) string {
	scope = path.Clean(scope)
	if at := strings.IndexAny(scope, "*?[{\\"); at >= 0 {
		return scope[:at]
	}
	if scope == "." {
		return ""
	}
	return scope + "/"
}
