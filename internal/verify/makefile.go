package verify

import (
	"path"
	"strings"
)

// makefile is what is read of a Makefile: plain variables, and of each target
// what it needs and the lines of its recipe.
type makefile struct {
	vars    map[string]string
	needs   map[string][]string
	recipes map[string][]string
	first   string
	pattern []string // targets with a %, in the order of the text
	include []string
}

// readMakefile reads the rules of a Makefile. Conditions are not judged: both
// ways count.
func readMakefile(text string) *makefile {
	m := &makefile{vars: map[string]string{}, needs: map[string][]string{}, recipes: map[string][]string{}}
	var targets []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			m.recipe(targets, recipe)
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if names, ok := included(line); ok {
			m.include = append(m.include, names...)
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok && isVariable(name) {
			m.vars[strings.TrimSpace(strings.TrimRight(name, ":?+! \t"))] = strings.TrimSpace(value)
			continue
		}
		if names, rest, ok := strings.Cut(line, ":"); ok {
			targets = m.rule(names, rest)
		}
	}
	return m
}

func included(line string) ([]string, bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return nil, false
	}
	switch fields[0] {
	case "include", "-include", "sinclude":
		return fields[1:], true
	}
	return nil, false
}

// isVariable reports the left side of an assignment.
func isVariable(name string) bool {
	name = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(name), ":?+!"))
	return name != "" && !strings.ContainsAny(name, ": \t")
}

func (m *makefile) rule(names, rest string) []string {
	needs, recipe, inline := strings.Cut(strings.TrimLeft(rest, ":"), ";")
	targets := strings.Fields(m.value(names))
	for _, t := range targets {
		if m.first == "" && !strings.HasPrefix(t, ".") {
			m.first = t
		}
		if _, known := m.needs[t]; !known && strings.Contains(t, "%") {
			m.pattern = append(m.pattern, t)
		}
		m.needs[t] = append(m.needs[t], strings.Fields(strings.ReplaceAll(m.value(needs), "|", " "))...)
	}
	if inline {
		m.recipe(targets, recipe)
	}
	return targets
}

func (m *makefile) recipe(targets []string, line string) {
	for _, t := range targets {
		m.recipes[t] = append(m.recipes[t], strings.TrimLeft(line, "@-+ \t"))
	}
}

// reached returns the recipes that the goals lead to, and those of all rules for
// patterns: any goal may be made by one.
func (m *makefile) reached(goals []string) []string {
	var lines []string
	seen := map[string]bool{}
	for len(goals) > 0 {
		t := goals[0]
		goals = goals[1:]
		if seen[t] {
			continue
		}
		seen[t] = true
		lines = append(lines, m.recipes[t]...)
		goals = append(goals, m.needs[t]...)
	}
	for _, t := range m.pattern {
		lines = append(lines, m.recipes[t]...)
	}
	return lines
}

// maxMakeValue is the longest value of a make variable that is followed.
const maxMakeValue = 4096

// value writes $(NAME) as what the Makefile says, and as unknown text where it
// says nothing.
func (m *makefile) value(text string) string { return m.expand(text, 4) }

func (m *makefile) expand(text string, depth int) string {
	var b strings.Builder
	for i := 0; i < len(text) && b.Len() <= maxMakeValue; i++ {
		if text[i] != '$' || i+1 >= len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		open := strings.IndexByte("({", text[i])
		if text[i] == '$' {
			b.WriteByte('$')
			continue
		}
		end := -1
		if open >= 0 {
			end = strings.IndexByte(text[i:], ")}"[open])
		}
		if end < 0 {
			b.WriteString(unknownText) // $@, $<
			continue
		}
		b.WriteString(m.named(text[i+1:i+end], depth))
		i += end
	}
	return b.String()
}

func (m *makefile) named(name string, depth int) string {
	switch value, ok := m.vars[name]; {
	case name == "CURDIR":
		return "$PWD"
	case name == "MAKE":
		return "make"
	case name == "SHELL" && !ok:
		return "sh"
	case ok && depth > 0:
		return m.expand(value, depth-1)
	}
	return unknownText
}

// makefile follows what a Makefile includes and what its goals run.
func (g *guarding) makefile(to target, text string, from frame) {
	m := readMakefile(text)
	for _, pattern := range m.include {
		name := m.value(pattern)
		if strings.Contains(name, unknownText) {
			continue
		}
		if p := within(to.dir, name); p != unknownDir {
			g.config("", p)
			if !isGlob(p) {
				g.follow(target{kind: makeKind, file: p, dir: to.dir, args: to.args})
			}
		}
	}
	var goals []string
	for _, w := range to.args {
		if name, value, ok := strings.Cut(w.text, "="); ok {
			m.vars[name] = value
		} else {
			goals = append(goals, w.text)
		}
	}
	if len(goals) == 0 {
		goals = []string{m.first}
	}
	for _, line := range m.reached(goals) {
		g.line(m.value(line), to.dir, from)
	}
}

// make guards the Makefile and follows it.
func (g *guarding) make(c call) {
	dir := moved(c, "-C", "--directory")
	var goals []word
	valued := wrapper{short: "CfIoWjl", long: []string{"--directory", "--file", "--makefile"}}
	for i := 0; i < len(c.args()); i++ {
		switch w := c.args()[i]; {
		case w.known && strings.HasPrefix(w.text, "-"):
			if valued.takesNext(w.text) && !(w.text == "-j" || w.text == "-l") {
				i++
			}
		case w.known:
			goals = append(goals, w)
		}
	}
	names := []string{"GNUmakefile", "makefile", "Makefile"}
	if w, ok := option(c, "-f", "--file", "--makefile"); ok {
		if !w.known {
			g.lose(w.at, "which Makefile decides here")
			return
		}
		if dir == unknownDir || within(dir, w.text) == unknownDir {
			return
		}
		names = []string{w.text}
	}
	for _, name := range names {
		g.config(dir, name)
		if dir != unknownDir {
			g.follow(target{kind: makeKind, file: path.Join(dir, name), dir: dir, args: goals})
		}
	}
}
