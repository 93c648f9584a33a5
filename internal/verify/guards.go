package verify

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// guard is a path or a glob, relative to the workspace, whose content decides
// what a contract says.
type guard struct {
	path   string
	absent bool // that it is absent counts as well: it would configure the runner
}

// guarding collects the guards of one contract.
type guarding struct {
	list []guard
	seen map[guard]bool
	made map[string]bool // what commands of the contract itself write, as in -o FILE
	js   map[string]bool // directories whose JavaScript tests are guarded
}

// guards names the files that a contract executes, or that the programs it runs
// collect or are configured by. An argument that a program only reads is none
// of them: those of test, grep, wc, cat or a linter never count.
func guards(calls []call) []guard {
	g := &guarding{seen: map[guard]bool{}, made: map[string]bool{}, js: map[string]bool{}}
	for _, c := range calls {
		g.notes(c)
		g.command(c, 0)
	}
	g.list = slices.DeleteFunc(g.list, func(x guard) bool { return g.made[x.path] })
	return g.list
}

// config guards files that configure a runner, present or not.
func (g *guarding) config(dir string, names ...string) { g.add(dir, true, names) }

// existing guards files only if they are there.
func (g *guarding) existing(dir string, names ...string) { g.add(dir, false, names) }

func (g *guarding) add(dir string, absent bool, names []string) {
	if dir == unknownDir {
		dir, absent = "**", false
	}
	for _, name := range names {
		g.put(path.Join(strings.ReplaceAll(dir, "#", "?"), name), absent)
	}
}

// put adds a guard, unless its name is a pattern that nothing could match.
func (g *guarding) put(name string, absent bool) {
	glob := isGlob(name)
	if glob && (!doublestar.ValidatePattern(name) || len(name) > maxPattern || strings.Count(name, "{") > maxAlternatives) {
		return
	}
	if x := (guard{name, absent && !glob}); !g.seen[x] {
		g.seen[x] = true
		g.list = append(g.list, x)
	}
}

// file guards a file that is executed, unless it is the product of a build.
func (g *guarding) file(dir string, w word) {
	if !w.known || strings.HasPrefix(w.text, "-") || w.text == "" {
		return
	}
	p := within(dir, w.text)
	if p == unknownDir || p == "" || isProduct(p) {
		return
	}
	if isGlob(p) && !w.glob {
		return // a name that only looks like a pattern
	}
	g.put(strings.ReplaceAll(p, "#", "?"), false) // a # would name a part
}

// notes remembers what a compiler is told to write.
func (g *guarding) notes(c call) {
	for i, w := range c.args() {
		if w.text == "-o" && i+1 < len(c.args()) && c.args()[i+1].known {
			g.made[within(c.dir, c.args()[i+1].text)] = true
		}
	}
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?[{\\") }

// isProduct reports a path in a directory that builds and installations fill:
// it is made anew from what is guarded, or from outside.
func isProduct(p string) bool {
	for dir := range strings.SplitSeq(path.Dir(p), "/") {
		switch dir {
		case "build", "dist", "target", "out", "node_modules", ".venv", "venv", ".tox", ".nox", "vendor", "_build":
			return true
		}
	}
	return false
}

// maxRunners is how many runners may start one another.
const maxRunners = 8

// command adds the guards of one command, and of the commands it starts.
func (g *guarding) command(c call, depth int) {
	tool := c.tool()
	if c.name() == "" || depth > maxRunners {
		return
	}
	if strings.Contains(c.name(), "/") {
		g.file(c.dir, c.words[0])
	}
	if inner, ok := started(c); ok {
		g.command(inner, depth+1)
	}
	if isShell(tool) || tool == "." || tool == "source" {
		g.scriptFile(c, "oO")
		return
	}
	if lang := interpreter(tool); lang != "" {
		g.interpreted(c, lang, depth)
		return
	}
	g.runner(c, tool)
}

// scriptFile guards the first argument that is no option.
func (g *guarding) scriptFile(c call, valued string) {
	if shellArgument(c) != "" {
		return
	}
	if w, ok := first(c.args(), wrapper{short: valued}); ok {
		g.file(c.dir, w)
	}
}

// first is the first word after the options.
func first(args []word, w wrapper) (word, bool) {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case !args[i].known:
			return word{}, false
		case text == "--" && i+1 < len(args):
			return args[i+1], true
		case !strings.HasPrefix(text, "-"):
			return args[i], true
		case w.takesNext(text):
			i++
		}
	}
	return word{}, false
}

// interpreter is the language of a program that takes a script, or "".
func interpreter(tool string) string {
	base := strings.TrimRight(tool, "0123456789.")
	switch base {
	case "python", "pypy", "node", "ruby", "perl", "php", "lua", "Rscript", "tsx", "ts-node",
		"deno", "awk", "gawk", "mawk", "bats", "expect", "tclsh", "pwsh":
		return base
	}
	return ""
}

func (g *guarding) interpreted(c call, lang string, depth int) {
	switch lang {
	case "python", "pypy":
		g.python(c, depth)
	case "node", "tsx", "ts-node":
		g.node(c)
	case "deno":
		g.deno(c)
	case "awk", "gawk", "mawk":
		if w, ok := option(c, "-f", "--file"); ok {
			g.file(c.dir, w)
		}
	case "perl":
		if hasAny(c, "-e", "-E", "-ne", "-pe", "-i", "-lne", "-lane") {
			return
		}
		g.scriptFile(c, "IM")
	case "ruby":
		if !hasAny(c, "-e", "-ne", "-pe") {
			g.scriptFile(c, "IrC")
		}
	case "php":
		if hasAny(c, "-r") {
			return
		}
		g.scriptFile(c, "cd")
		if w, ok := first(c.args(), wrapper{short: "cd"}); ok && path.Base(w.text) == "phpunit" {
			g.phpunit(c.dir)
		}
	default:
		if !hasAny(c, "-e", "-c", "-Command") {
			g.scriptFile(c, "")
		}
	}
}

// python guards the script, or what a module that runs tests collects.
func (g *guarding) python(c call, depth int) {
	args := c.args()
	for i, w := range args {
		switch {
		case !w.known || w.text == "-c":
			return
		case w.text == "-m" && i+1 < len(args):
			g.command(call{words: args[i+1:], dir: c.dir}, depth+1)
			return
		case w.text == "-W" || w.text == "-X":
			continue
		case i > 0 && (args[i-1].text == "-W" || args[i-1].text == "-X"):
			continue
		case !strings.HasPrefix(w.text, "-"):
			g.file(c.dir, w)
			return
		}
	}
}

func (g *guarding) node(c call) {
	if hasAny(c, "-e", "--eval", "-p", "--print") {
		return
	}
	options := wrapper{short: "rC", long: []string{"--require", "--import", "--loader", "--env-file"}}
	if !hasAny(c, "--test") {
		if w, ok := first(c.args(), options); ok {
			g.file(c.dir, w)
		}
		return
	}
	if !g.paths(c, options) {
		g.existing(c.dir, "**/*.test.{js,cjs,mjs,ts,mts,cts}", "**/*-test.{js,cjs,mjs}", "**/test.{js,cjs,mjs}", "**/test/**/*.{js,cjs,mjs}")
	}
}

func (g *guarding) deno(c call) {
	g.config(c.dir, "deno.json#tasks", "deno.jsonc")
	args := c.args()
	if len(args) == 0 {
		return
	}
	rest := call{words: args, dir: c.dir}
	switch args[0].text {
	case "test":
		if !g.paths(rest, wrapper{}) {
			g.existing(c.dir, "**/*_test.{ts,tsx,js,mjs,jsx}", "**/*.test.{ts,tsx,js,mjs,jsx}")
		}
	case "run":
		g.scriptFile(rest, "")
	}
}

// paths guards the files and directories that a runner is given; it reports
// whether there were any.
func (g *guarding) paths(c call, options wrapper) bool {
	found := false
	args := c.args()
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if strings.HasPrefix(text, "-") {
			if options.takesNext(text) {
				i++
			}
			continue
		}
		found = true
		if path.Ext(text) != "" || isGlob(text) {
			g.file(c.dir, args[i])
		} else if dir := within(c.dir, text); args[i].known && dir != unknownDir {
			g.existing(dir, "**")
		}
	}
	return found
}

// option is the value of one of the options: -f FILE, -fFILE, --file=FILE.
func option(c call, names ...string) (word, bool) {
	args := c.args()
	for i, w := range args {
		for _, name := range names {
			switch {
			case !w.known:
			case w.text == name && i+1 < len(args):
				return args[i+1], true
			case strings.HasPrefix(name, "--") && strings.HasPrefix(w.text, name+"="):
				return word{text: w.text[len(name)+1:], known: true, glob: w.glob}, true
			case len(name) == 2 && len(w.text) > 2 && strings.HasPrefix(w.text, name):
				return word{text: w.text[2:], known: true, glob: w.glob}, true
			}
		}
	}
	return word{}, false
}

func hasAny(c call, options ...string) bool {
	for _, w := range c.args() {
		if slices.Contains(options, w.text) {
			return true
		}
	}
	return false
}

// verb is the first argument that is no option, and the words from it on.
func verb(c call, options wrapper) (string, call) {
	args := c.args()
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i].text, "-") {
			if !args[i].known {
				break
			}
			return args[i].text, call{words: args[i:], dir: c.dir}
		}
		if options.takesNext(args[i].text) {
			i++
		}
	}
	return "", call{dir: c.dir}
}
