package verify

import (
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
)

// A target is a text of the workspace that says what else a contract runs.
type target struct {
	kind targetKind
	file string       // in the workspace
	dir  string       // where it is run
	zero string       // how it was called; of make -B or nothing
	args []shell.Word // of a script; of a Makefile its goals; of package.json the scripts
}

type targetKind int

const (
	noKind  targetKind = iota // nothing more is known of it
	ranKind                   // executed: its first line says what it is
	shellKind
	makeKind
	packageKind
	pythonKind
)

// Caps on what is followed from one plan and from one contract.
const (
	maxTraced  = 256     // texts of one contract
	maxTexts   = 512     // texts of one plan
	traceBytes = 4 << 20 // read for one plan, one text perhaps several times
)

// scriptKind is what a program takes for a script.
func scriptKind(tool string) targetKind {
	switch {
	case shell.IsShell(tool):
		return shellKind
	case shell.Interpreter(tool) == "python" || shell.Interpreter(tool) == "pypy":
		return pythonKind
	}
	return noKind
}

func (t target) key() string {
	parts := []string{string(rune('0' + t.kind)), t.file, t.dir, t.zero}
	for _, w := range t.args {
		parts = append(parts, w.Text)
	}
	return strings.Join(parts, "\x01")
}

// follow notes a text that says more.
func (g *guarding) follow(t target) {
	if t.file != "" && t.kind != noKind && len(g.next) < maxTraced {
		g.next = append(g.next, t)
	}
}

// tracer follows what contracts of one plan run, through the texts that the
// facts hold. Each text is followed once for every way in which it is called.
type tracer struct {
	facts Facts
	sh    *shell.Parser
	wants map[string]bool
	known map[string]*traced
	left  int // bytes
}

// traced is what one text says.
type traced struct {
	guards []guard
	next   []target
	goals  goals
}

func newTracer(facts Facts, sh *shell.Parser) *tracer {
	return &tracer{facts: facts, sh: sh, wants: map[string]bool{}, known: map[string]*traced{}, left: traceBytes}
}

// frame is what a contract starts with.
func (t *tracer) frame() shell.Frame {
	return shell.Frame{Parser: t.sh, Root: strings.TrimSuffix(t.facts.Workspace, "/"), Git: t.facts.Files[".git"].Exists}
}

// reading is what is read of a shell text and what it leads to. It does not know
// where in a plan it stands, so that steps with the same contract share it.
type reading struct {
	*shell.Script
	guards []guard
	goals  goals        // of make
	strays []shell.Word // what it runs from outside of the workspace
	named  []shell.Word // that look like paths of files; made when asked for
}

// read reads a contract and derives its guards, those that the files it runs name included.
func (t *tracer) read(text string) *reading {
	s := &reading{Script: shell.Read(text, t.frame())}
	g := &guarding{lose: s.Lose}
	g.commands(s.Script)
	next, seen := g.next, map[string]bool{}
	for len(next) > 0 && len(seen) < maxTraced {
		to := next[0]
		next = next[1:]
		key := to.key()
		if seen[key] {
			continue
		}
		seen[key] = true
		found := t.text(key, to)
		for _, x := range found.guards {
			g.push(x)
		}
		next = append(next, found.next...)
		s.goals.add(found.goals)
	}
	if (len(next) > 0 || t.left <= 0) && len(s.Calls) > 0 {
		s.Lose(s.Calls[0].Words[0].At, "everything that these scripts run")
	}
	s.goals.settle()
	for _, name := range s.goals.idle {
		if f, asked := t.facts.Files[name]; asked && !f.Exists && soundsLikeCheck(path.Base(name)) {
			g.beyond = true
			g.config("", name)
		}
	}
	s.guards, s.strays = g.list, g.strays
	return s
}

// text is what one text says; nothing until it was looked up.
func (t *tracer) text(key string, to target) *traced {
	if found, ok := t.known[key]; ok {
		return found
	}
	found := &traced{}
	t.known[key] = found
	text, ok := t.facts.Texts[to.file]
	if !ok && len(t.wants) < maxTexts {
		t.wants[to.file] = true
	}
	if t.left -= len(text) + len(key); !ok || t.left <= 0 {
		return found
	}
	g := &guarding{lose: func(int, string) {}, beyond: true}
	switch to.kind {
	case ranKind:
		g.ran(to, text)
	case shellKind:
		g.script(to, text, t.frame())
	case makeKind:
		g.makefile(to, text, t.frame())
	case packageKind:
		g.packageScripts(to, text, t.frame())
	case pythonKind:
		g.pythonFile(to, text)
	}
	found.guards, found.next, found.goals = g.list, g.next, g.goals
	return found
}

// ran follows a file that is executed: by the program of its first line, or as a
// script of the shell that has no such line.
func (g *guarding) ran(to target, text string) {
	line, _, _ := strings.Cut(text, "\n")
	program, ok := strings.CutPrefix(line, "#!")
	if !ok {
		to.kind = shellKind
		g.follow(to)
		return
	}
	c := shell.Call{Dir: to.dir}
	for f := range strings.FieldsSeq(program) {
		c.Words = append(c.Words, shell.Word{Text: f, Known: true})
	}
	if len(c.Words) > 0 && c.Tool() == "env" {
		c, _ = shell.Unwrap(shell.Call{Words: slices.DeleteFunc(c.Words, func(w shell.Word) bool { return w.Text == "-S" }), Dir: to.dir})
	}
	if len(c.Words) == 0 {
		return
	}
	c.Words = append(c.Words[:len(c.Words):len(c.Words)], shell.Word{Text: shell.Workspace + "/" + to.file, Known: true})
	c.Words = append(c.Words, to.args...)
	switch kind := scriptKind(c.Tool()); {
	case kind == shellKind:
		to.kind = kind
		g.follow(to)
	case !strings.HasPrefix(c.Name(), "/") || shell.Interpreter(c.Tool()) != "" || c.Tool() == "make":
		g.command(c, 1)
	}
}

// script follows a script of a shell.
func (g *guarding) script(to target, text string, from shell.Frame) {
	from.Zero, from.Dir, from.Args = to.zero, to.dir, to.args
	if s := shell.Read(text, from); s.Fault == "" {
		g.commands(s)
	}
}

// line follows a command of a Makefile or a package.json.
func (g *guarding) line(text, dir string, from shell.Frame) {
	from.Dir = dir
	if s := shell.Read(text, from); s.Fault == "" {
		g.commands(s)
	}
}

// installed guards a program of node_modules, where there is one.
func (g *guarding) installed(c shell.Call) {
	if name := c.Name(); name != "" && !strings.Contains(name, "/") && !shell.IsBuiltin(name) && c.Dir != shell.UnknownDir && !g.built {
		beyond := g.beyond
		g.beyond = true
		g.put(plainName.Replace(path.Join(c.Dir, "node_modules/.bin", name)), false)
		g.beyond = beyond
	}
}
