package verify

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
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
	always  map[string]bool // targets that run whatever is there: those of .PHONY, and double-colon rules
	blind   bool            // others may be among them
}

// readMakefile reads the rules of a Makefile. Conditions are not judged: both
// ways count.
func readMakefile(text string) *makefile {
	m := &makefile{vars: map[string]string{}, needs: map[string][]string{}, recipes: map[string][]string{}, always: map[string]bool{}}
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

// included are the files that a line includes, those of $(wildcard …) as patterns.
func included(line string) ([]string, bool) {
	fields := strings.Fields(unwild(line))
	if len(fields) < 2 {
		return nil, false
	}
	switch fields[0] {
	case "include", "-include", "sinclude":
		return fields[1:], true
	}
	return nil, false
}

// unwild writes $(wildcard PATTERN) as PATTERN.
func unwild(line string) string {
	for {
		before, rest, ok := strings.Cut(line, "$(wildcard ")
		if !ok {
			return line
		}
		depth, end := 1, len(rest)
		for i := 0; i < len(rest) && end == len(rest); i++ {
			switch rest[i] {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 {
					end = i
				}
			}
		}
		line = before + rest[:end] + strings.TrimPrefix(rest[end:], ")")
	}
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
		if strings.HasPrefix(rest, ":") && len(m.needs[t]) == 0 {
			m.always[t] = true
		}
	}
	if slices.Contains(targets, ".PHONY") {
		for _, t := range m.needs[".PHONY"] {
			m.always[t] = true
			m.blind = m.blind || strings.Contains(t, shell.UnknownText)
		}
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

// reached returns the targets that the goals lead to, and those of all rules for
// patterns: any goal may be made by one.
func (m *makefile) reached(goals []string) []string {
	var targets []string
	seen := map[string]bool{}
	for len(goals) > 0 {
		t := goals[0]
		goals = goals[1:]
		if seen[t] {
			continue
		}
		seen[t] = true
		targets = append(targets, t)
		goals = append(goals, m.needs[t]...)
	}
	return append(targets, m.pattern...)
}

// idles reports a target for which make runs nothing where a file of its name is
// there: one with a recipe that does not make that file, and without a need that
// is a target itself, which might always be made anew.
func (m *makefile) idles(t string) bool {
	ruled := func(need string) bool { _, ok := m.needs[need]; return ok }
	return len(m.recipes[t]) > 0 && !m.always[t] && !strings.ContainsAny(t, "./%$*?[") &&
		!slices.ContainsFunc(m.needs[t], ruled) &&
		!slices.ContainsFunc(m.recipes[t], func(line string) bool { return makes(line, t) })
}

// makes reports a line of a recipe that writes the file of its target.
func makes(line, target string) bool {
	if strings.Contains(line, "$@") || strings.Contains(line, "$(@") || strings.Contains(line, "${@") {
		return true
	}
	before, tool := "", ""
	for f := range strings.FieldsSeq(strings.NewReplacer(";", " ; ", "&", " ; ", "|", " ; ", ">", " > ", "=", " ").Replace(line)) {
		if strings.TrimPrefix(strings.TrimRight(f, "/"), "./") == target && (isOutput(before) || tool == "touch" || tool == "mkdir") {
			return true
		}
		if before == "" || before == ";" {
			tool = f
		}
		before = f
	}
	return false
}

// isOutput reports the option of a file or directory that is written.
func isOutput(option string) bool {
	switch option {
	case ">", "-o", "-O", "-d", "-B", "-p", "--output", "--out", "--outdir", "--out-dir", "--output-dir", "--prefix", "--target-dir":
		return true
	}
	return false
}

// soundsLikeCheck reports the name of a goal that people give to tests and their
// like: what it runs is no product that has its name.
func soundsLikeCheck(goal string) bool {
	for part := range strings.FieldsFuncSeq(goal, func(r rune) bool { return r == '-' || r == '_' || r == ':' }) {
		switch part {
		case "test", "tests", "check", "checks", "lint", "verify", "validate", "vet", "unit", "integration", "e2e", "smoke",
			"spec", "specs", "acceptance", "typecheck", "ci":
			return true
		}
	}
	return false
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
			b.WriteString(shell.UnknownText) // $@, $<
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
	return shell.UnknownText
}

// makefile follows what a Makefile includes and what its goals run.
func (g *guarding) makefile(to target, text string, from shell.Frame) {
	m := readMakefile(text)
	for _, pattern := range m.include {
		name := m.value(pattern)
		if strings.Contains(name, shell.UnknownText) {
			m.blind = true
			continue
		}
		if p := shell.Within(to.dir, name); p != shell.UnknownDir {
			g.config("", p)
			switch {
			case !isGlob(p):
				g.follow(target{kind: makeKind, file: p, dir: to.dir, zero: to.zero, args: to.args})
			case path.Ext(p) != ".d": // what compilers write
				m.blind = true
				g.goals.open = append(g.goals.open, p)
			}
		}
	}
	var goals []string
	for _, w := range to.args {
		if name, value, ok := strings.Cut(w.Text, "="); ok {
			m.vars[name] = value
		} else {
			goals = append(goals, w.Text)
		}
	}
	if len(goals) == 0 {
		goals = []string{m.first}
	}
	for _, t := range m.reached(goals) {
		for _, line := range m.recipes[t] {
			g.line(m.value(line), to.dir, from)
		}
	}
	g.idle(m, to, goals)
}

// goals is what Makefiles say of the goals that a contract reaches.
type goals struct {
	idle   []string        // their files; see [makefile.idles]
	always map[string]bool // files of targets that run whatever is there
	blind  bool            // there may be more of those
	open   []string        // patterns of files that are included
}

// idle notes the goals for which make may run nothing.
func (g *guarding) idle(m *makefile, to target, names []string) {
	g.goals.blind = g.goals.blind || m.blind || to.zero == alwaysMake || to.dir == shell.UnknownDir
	g.goals.always = map[string]bool{}
	for t := range m.always {
		g.goals.always[path.Join(to.dir, t)] = true
	}
	for _, t := range m.reached(names) {
		if m.idles(t) {
			g.goals.idle = append(g.goals.idle, path.Join(to.dir, t))
		}
	}
}

// add takes what one more text says.
func (g *goals) add(more goals) {
	g.idle, g.open, g.blind = append(g.idle, more.idle...), append(g.open, more.open...), g.blind || more.blind
	if g.always == nil && len(more.always) > 0 {
		g.always = map[string]bool{}
	}
	maps.Copy(g.always, more.always)
}

// settle leaves the idle goals that no text says more of, each once.
func (g *goals) settle() {
	if g.blind {
		g.idle = nil
	}
	slices.Sort(g.idle)
	g.idle = slices.DeleteFunc(slices.Compact(g.idle), func(name string) bool { return g.always[name] })
	slices.Sort(g.open)
	g.open = slices.Compact(g.open)
}

// alwaysMake is the option with which make looks at no file of a goal.
const alwaysMake = "-B"

// make guards the Makefile and follows it.
func (g *guarding) make(c shell.Call) {
	dir, zero := moved(c, "-C", "--directory"), ""
	if shell.HasAny(c, alwaysMake, "--always-make") {
		zero = alwaysMake
	}
	var goals []shell.Word
	valued := shell.Wrapper{Short: "CfIoWjl", Long: []string{"--directory", "--file", "--makefile"}}
	for i := 0; i < len(c.Args()); i++ {
		switch w := c.Args()[i]; {
		case w.Known && strings.HasPrefix(w.Text, "-"):
			if valued.TakesNext(w.Text) && !(w.Text == "-j" || w.Text == "-l") {
				i++
			}
		case w.Known:
			goals = append(goals, w)
		}
	}
	names := []string{"GNUmakefile", "makefile", "Makefile"}
	if w, ok := shell.Option(c, "-f", "--file", "--makefile"); ok {
		if !w.Known {
			g.lose(w.At, "which Makefile decides here")
			return
		}
		if dir == shell.UnknownDir || shell.Within(dir, w.Text) == shell.UnknownDir {
			return
		}
		names = []string{w.Text}
	}
	for _, name := range names {
		g.config(dir, name)
		if dir != shell.UnknownDir {
			g.follow(target{kind: makeKind, file: path.Join(dir, name), dir: dir, zero: zero, args: goals})
		}
	}
}
