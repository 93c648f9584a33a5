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
	beyond bool // the contract itself does not name it
}

// guarding collects the guards of one script, and what has to be read to find more.
type guarding struct {
	list   []guard
	seen   map[guard]bool  // all that the list ever held; nil while it is short and holds them all
	made   map[string]bool // what commands of the contract itself write, as in -o FILE
	js     map[string]bool // directories whose JavaScript tests are guarded
	search []string        // directories of the workspace that the script puts on PATH
	built  bool            // a command before may have built what lies in directories for products
	next   []target        // texts that say what else is run
	beyond bool            // what is found is not named by the contract itself
	goals  goals           // of make
	strays []word          // what runs from outside of the workspace
	lose   func(at int, what string)
}

// commands adds the files that commands execute, or that the programs they run
// collect or are configured by. An argument that a program only reads is none
// of them: those of test, grep, wc, cat or a linter never count.
func (g *guarding) commands(s *shell) {
	g.search = s.search
	for _, c := range s.calls {
		g.notes(c)
		g.command(c, 0)
		g.built = g.built || builds(c.tool())
	}
	if len(g.made) > 0 {
		g.index()
		g.list = slices.DeleteFunc(g.list, func(x guard) bool { return g.made[x.path] })
	}
}

// config guards files that configure a runner, present or not.
func (g *guarding) config(dir string, names ...string) { g.add(dir, true, names) }

// existing guards files only if they are there.
func (g *guarding) existing(dir string, names ...string) { g.add(dir, false, names) }

func (g *guarding) add(dir string, absent bool, names []string) {
	if dir == unknownDir {
		dir, absent = "**", false
	}
	g.list = slices.Grow(g.list, len(names))
	for _, name := range names {
		g.put(joint(strings.ReplaceAll(dir, "#", "?"), name), absent)
	}
}

// put adds a guard, unless its name is a pattern that nothing could match.
func (g *guarding) put(name string, absent bool) {
	glob := isGlob(name)
	if glob && (!doublestar.ValidatePattern(name) || len(name) > maxPattern || strings.Count(name, "{") > maxAlternatives) {
		return
	}
	g.push(guard{name, absent && !glob, g.beyond})
}

// fewGuards are looked through faster than a map of them is made.
const fewGuards = 32

// push adds a guard that the list never held.
func (g *guarding) push(x guard) {
	if g.seen[x] || g.seen == nil && slices.Contains(g.list, x) {
		return
	}
	g.list = append(g.list, x)
	if len(g.list) > fewGuards {
		g.index()
	}
	if g.seen != nil {
		g.seen[x] = true
	}
}

// index makes the map of a list that is long, or that something is taken from.
func (g *guarding) index() {
	if g.seen != nil {
		return
	}
	g.seen = make(map[guard]bool, len(g.list))
	for _, x := range g.list {
		g.seen[x] = true
	}
}

// file guards a file that is executed, and returns its path: "" for one that is
// not in the workspace, not known, or built by the contract itself.
func (g *guarding) file(dir string, w word) string {
	if !w.known {
		g.lose(w.at, "which file runs here")
		return ""
	}
	if strings.HasPrefix(w.text, "-") || w.text == "" {
		return ""
	}
	p := within(dir, w.text)
	if p == unknownDir && dir == unknownDir && within("", w.text) != unknownDir {
		g.lose(w.at, "the directory of what runs here")
	}
	if p == unknownDir && dir != unknownDir && len(g.strays) < maxPerScript && strays(w.text) {
		g.strays = append(g.strays, w)
	}
	if p == unknownDir || p == "" || g.built && isProduct(p) {
		return ""
	}
	if w.glob {
		g.put(strings.ReplaceAll(p, "#", "?"), false) // a # would name a part
		return ""
	}
	g.put(plainName.Replace(p), false)
	return p
}

// strays reports a file outside of the workspace that is no program of the
// system: those are found by name as well, and no device.
func strays(name string) bool {
	switch path.Base(path.Dir(name)) {
	case "bin", "sbin", "dev", "fd":
		return !path.IsAbs(name)
	}
	return len(name) <= maxPath
}

// plainName writes a name so that nothing in it is read as a pattern or a part:
// what no guard can spell is any character.
var plainName = strings.NewReplacer("#", "?", "*", "?", "[", "?", "]", "?", "{", "?", "}", "?", `\`, "?")

// notes remembers what a compiler is told to write.
func (g *guarding) notes(c call) {
	for i, w := range c.args() {
		if w.text == "-o" && i+1 < len(c.args()) && c.args()[i+1].known {
			if g.made == nil {
				g.made = map[string]bool{}
			}
			g.made[within(c.dir, c.args()[i+1].text)] = true
		}
	}
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?[{\\") }

// builds reports programs that may make what lies in directories for products.
func builds(tool string) bool {
	switch tool {
	case "make", "gmake", "cmake", "ninja", "meson", "cargo", "go", "npm", "pnpm", "yarn", "bun", "npx", "tsc", "gradle", "gradlew",
		"mvn", "mvnw", "dotnet", "swift", "bazel", "just", "task", "uv", "pip", "pip3", "python", "python3", "poetry", "composer",
		"bundle", "cc", "gcc", "clang", "c++", "g++", "rustc", "javac", "zig", "stack", "cabal", "mix", "sbt", "docker":
		return true
	}
	return false
}

// isProduct reports a path in a directory that builds and installations fill. It
// is made anew by a contract that builds before it runs it.
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
	if c.name() == "" {
		if len(c.words) > 0 && !c.words[0].known {
			g.lose(c.words[0].at, "which command runs here")
		}
		return
	}
	if depth > maxRunners {
		return
	}
	tool := c.tool()
	if strings.Contains(c.name(), "/") {
		g.follow(target{kind: ranKind, file: g.file(c.dir, c.words[0]), dir: c.dir, zero: c.name(), args: c.args()})
	} else if !isBuiltin(tool) {
		for _, dir := range g.search {
			g.config(dir, tool)
		}
	}
	if inner, ok := started(c); ok {
		if isPackager(tool) {
			g.installed(inner)
		}
		g.command(inner, depth+1)
	}
	switch lang := interpreter(tool); {
	case (isShell(tool) || lang != "") && readsScript(c):
		g.reads(c)
	case isShell(tool) || tool == "." || tool == "source":
		g.scriptFile(c, "oO", shellKind)
	case lang != "":
		g.interpreted(c, lang, depth)
	default:
		g.runner(c, tool)
	}
}

// reads guards the files that an interpreter reads its script from.
func (g *guarding) reads(c call) {
	kind := scriptKind(c.tool())
	switch c.stdin.kind {
	case fileInput:
		for _, w := range c.stdin.files {
			if w.at == 0 {
				w.at = c.words[0].at
			}
			g.follow(target{kind: kind, file: g.file(c.dir, w), dir: c.dir, zero: c.name()})
		}
	case unknownInput:
		g.lose(c.words[0].at, "what "+c.tool()+" reads here")
	}
}

// scriptFile guards the first argument that is no option.
func (g *guarding) scriptFile(c call, valued string, kind targetKind) {
	if _, ok := scriptWord(c); ok && isShell(c.tool()) {
		return
	}
	i := firstIndex(c.args(), wrapper{short: valued})
	if i < 0 {
		return
	}
	w := c.args()[i]
	g.follow(target{kind: kind, file: g.file(c.dir, w), dir: c.dir, zero: w.text, args: c.args()[i+1:]})
}

// firstIndex is the place of the first word after the options, which need not be
// known; -1 if there is none.
func firstIndex(args []word, w wrapper) int {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case text == "--" && i+1 < len(args):
			return i + 1
		case !args[i].known || !strings.HasPrefix(text, "-"):
			return i
		case w.takesNext(text):
			i++
		}
	}
	return -1
}

// first is the first word after the options.
func first(args []word, w wrapper) (word, bool) {
	if i := firstIndex(args, w); i >= 0 {
		return args[i], true
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
		g.scriptFile(c, "IM", noKind)
	case "ruby":
		if !hasAny(c, "-e", "-ne", "-pe") {
			g.scriptFile(c, "IrC", noKind)
		}
	case "php":
		if hasAny(c, "-r") {
			return
		}
		g.scriptFile(c, "cd", noKind)
		if w, ok := first(c.args(), wrapper{short: "cd"}); ok && path.Base(w.text) == "phpunit" {
			g.phpunit(c.dir)
		}
	default:
		if !hasAny(c, "-e", "-c", "-Command") {
			g.scriptFile(c, "", noKind)
		}
	}
}

// python guards the script, or what a module that runs tests collects.
func (g *guarding) python(c call, depth int) {
	args := c.args()
	for i, w := range args {
		switch {
		case w.text == "-c":
			return
		case w.text == "-m" && i+1 < len(args):
			g.module(call{words: args[i+1:], dir: c.dir}, depth)
			return
		case w.text == "-W" || w.text == "-X":
			continue
		case i > 0 && (args[i-1].text == "-W" || args[i-1].text == "-X"):
			continue
		case !w.known || !strings.HasPrefix(w.text, "-"):
			g.follow(target{kind: pythonKind, file: g.file(c.dir, w), dir: c.dir})
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
		g.scriptFile(rest, "", noKind)
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
		if !args[i].known {
			g.lose(args[i].at, "which file runs here")
		} else if path.Ext(text) != "" || isGlob(text) {
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
				return word{text: w.text[len(name)+1:], known: true, glob: w.glob, at: w.at}, true
			case len(name) == 2 && len(w.text) > 2 && strings.HasPrefix(w.text, name):
				return word{text: w.text[2:], known: true, glob: w.glob, at: w.at}, true
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
