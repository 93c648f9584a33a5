package verify

import (
	"path"
	"strings"
	"unicode/utf8"
)

// automaton finds out whether two scopes may name one path. A scope is compiled to
// a small automaton over the characters of a path; two of them overlap where
// both can go the same way to their end.
type automaton struct {
	states []state
	accept int
}

type state struct {
	free []int  // states reached without a character
	on   letter // the character that leads to next
	next int    // -1 for none
}

// letter is a set of characters.
type letter struct {
	any    bool // every character, slashes too
	name   bool // every character of a name: all but the slash
	one    rune
	ranges []rune // pairs; of a class
	not    bool
}

func (l letter) has(r rune) bool {
	switch {
	case l.any:
		return true
	case l.name:
		return r != '/'
	case len(l.ranges) == 0:
		return r == l.one
	}
	in := false
	for i := 0; i+1 < len(l.ranges); i += 2 {
		in = in || l.ranges[i] <= r && r <= l.ranges[i+1]
	}
	return in != l.not && r != '/'
}

// samples are characters of which one is in both letters if any is.
func (l letter) samples() []rune {
	if l.any || l.name {
		return []rune{'a', utf8.MaxRune}
	}
	if len(l.ranges) == 0 {
		return []rune{l.one}
	}
	list := []rune{utf8.MaxRune}
	for _, r := range l.ranges {
		list = append(list, r-1, r, r+1)
	}
	return list
}

func (l letter) meets(m letter) bool {
	for _, r := range l.samples() {
		if l.has(r) && m.has(r) {
			return true
		}
	}
	for _, r := range m.samples() {
		if l.has(r) && m.has(r) {
			return true
		}
	}
	return false
}

// compileScope makes the automaton of a scope that [badScope] lets pass. One
// without a wildcard names a file, or a directory with all below it; where its
// last name has a dot, it is taken for a file.
func compileScope(scope string) *automaton {
	scope = cleanScope(scope)
	a := &automaton{}
	end := a.add()
	switch {
	case scope == ".":
		end = a.tree(end)
	case isGlob(scope), strings.Contains(path.Base(scope), "."):
		end = a.glob(scope, end, true)
	default:
		end = a.glob(scope, end, true)
		below := a.tree(a.step(end, letter{one: '/'}))
		last := a.add()
		a.link(end, last)
		a.link(below, last)
		end = last
	}
	a.accept = end
	return a
}

func (a *automaton) add() int {
	a.states = append(a.states, state{next: -1})
	return len(a.states) - 1
}

func (a *automaton) link(from, to int) { a.states[from].free = append(a.states[from].free, to) }

// step goes on by one character. A state has one way of that kind, so a state
// that has one already gets another state beside it.
func (a *automaton) step(from int, on letter) int {
	to := a.add()
	if a.states[from].next >= 0 {
		beside := a.add()
		a.link(from, beside)
		from = beside
	}
	a.states[from].on, a.states[from].next = on, to
	return to
}

// loop takes any number of characters.
func (a *automaton) loop(from int, on letter) int {
	at, out := a.add(), a.add()
	a.link(from, at)
	a.states[at].on, a.states[at].next = on, at
	a.link(at, out)
	return out
}

// tree takes any path.
func (a *automaton) tree(from int) int { return a.loop(from, letter{any: true}) }

// glob adds a pattern. starts says that it stands at the start of a name.
func (a *automaton) glob(p string, at int, starts bool) int {
	for len(p) > 0 {
		switch {
		case starts && (p == "**" || strings.HasPrefix(p, "**/")):
			if p == "**" {
				return a.tree(at)
			}
			after := a.add()
			a.link(at, after)
			a.link(a.step(a.tree(at), letter{one: '/'}), after)
			at, p = after, p[3:]
			continue
		case p == "/**":
			out := a.add()
			a.link(at, out)
			a.link(a.tree(a.step(at, letter{one: '/'})), out)
			return out
		case p[0] == '*':
			at, p = a.loop(at, letter{name: true}), strings.TrimLeft(p, "*")
		case p[0] == '?':
			at, p = a.step(at, letter{name: true}), p[1:]
		case p[0] == '[':
			l, rest := class(p)
			at, p = a.step(at, l), rest
		case p[0] == '{':
			parts, rest := alternatives(p)
			out := a.add()
			for _, part := range parts {
				a.link(a.glob(part, at, starts), out)
			}
			at, p = out, rest
		default:
			r, size := utf8.DecodeRuneInString(p)
			at, p, starts = a.step(at, letter{one: r}), p[size:], r == '/'
			continue
		}
		starts = false
	}
	return at
}

// class reads [a-z] and [!x] off the start of a pattern.
func class(p string) (letter, string) {
	end := strings.IndexByte(p[min(2, len(p)):], ']') + 2
	if end < 2 {
		return letter{one: '['}, p[1:]
	}
	in := []rune(p[1:end])
	l := letter{}
	if in[0] == '!' || in[0] == '^' {
		l.not, in = true, in[1:]
	}
	for i := 0; i < len(in); i++ {
		if i+2 < len(in) && in[i+1] == '-' {
			if in[i] > in[i+2] {
				return letter{name: true}, p[end+1:] // no range: take it for any character
			}
			l.ranges = append(l.ranges, in[i], in[i+2])
			i += 2
			continue
		}
		l.ranges = append(l.ranges, in[i], in[i])
	}
	return l, p[end+1:]
}

// alternatives splits {a,b} off the start of a pattern.
func alternatives(p string) (parts []string, rest string) {
	depth, from := 0, 1
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '[': // a comma in a class is one of its characters
			if end := strings.IndexByte(p[min(i+2, len(p)):], ']'); end >= 0 {
				i += end + 2
			}
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts, from = append(parts, p[from:i]), i+1
			}
		case '}':
			if depth--; depth == 0 {
				return append(parts, p[from:i]), p[i+1:]
			}
		}
	}
	return []string{p[1:]}, ""
}

// overlaps reports whether one path is in both. It costs at most the product
// of their sizes.
func (a *automaton) overlaps(b *automaton) bool {
	type pair struct{ x, y int }
	seen := make([]bool, len(a.states)*len(b.states))
	var open []pair
	visit := func(x, y int) {
		if at := x*len(b.states) + y; !seen[at] {
			seen[at] = true
			open = append(open, pair{x, y})
		}
	}
	for visit(0, 0); len(open) > 0; {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		if p.x == a.accept && p.y == b.accept {
			return true
		}
		s, t := &a.states[p.x], &b.states[p.y]
		for _, x := range s.free {
			visit(x, p.y)
		}
		for _, y := range t.free {
			visit(p.x, y)
		}
		if s.next >= 0 && t.next >= 0 && s.on.meets(t.on) {
			visit(s.next, t.next)
		}
	}
	return false
}

// trunk is the part of a scope before its first wildcard; without one, all of it
// and a slash, for what stands below it.
func trunk(scope string) string {
	scope = cleanScope(scope)
	if at := strings.IndexAny(scope, "*?[{\\"); at >= 0 {
		return scope[:at]
	}
	if scope == "." {
		return ""
	}
	return scope + "/"
}
