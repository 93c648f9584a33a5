package verify

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piton-dev/piton/internal/shell"
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
	seen   map[guard]bool  // all that the list ever held
	made   map[string]bool // what commands of the contract itself write, as in -o FILE
	js     map[string]bool // directories whose JavaScript tests are guarded
	search []string        // directories of the workspace that the script puts on PATH
	built  bool            // a command before may have built what lies in directories for products
	next   []target        // texts that say what else is run
	beyond bool            // what is found is not named by the contract itself
	goals  goals           // of make
	strays []shell.Word    // what runs from outside of the workspace
	lose   func(at int, what string)
}

// commands adds the files that commands execute, or that the programs they run
// collect or are configured by. An argument that a program only reads is none
// of them: those of test, grep, wc, cat or a linter never count.
func (g *guarding) commands(s *shell.Script) {
	g.search = s.Search
	for _, c := range s.Calls {
		g.notes(c)
		g.command(c, 0)
		g.built = g.built || builds(c.Tool())
	}
	if len(g.made) > 0 {
		g.list = slices.DeleteFunc(g.list, func(x guard) bool { return g.made[x.path] })
	}
}

// config guards files that configure a runner, present or not.
func (g *guarding) config(dir string, names ...string) { g.add(dir, true, names) }

// existing guards files only if they are there.
func (g *guarding) existing(dir string, names ...string) { g.add(dir, false, names) }

func (g *guarding) add(dir string, absent bool, names []string) {
	if dir == shell.UnknownDir {
		dir, absent = "**", false
	}
	g.list = slices.Grow(g.list, len(names))
	for _, name := range names {
		g.put(shell.Joint(strings.ReplaceAll(dir, "#", "?"), name), absent)
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

// push adds a guard that the list never held.
func (g *guarding) push(x guard) {
	if g.seen[x] {
		return
	}
	if g.seen == nil {
		g.seen = map[guard]bool{}
	}
	g.seen[x] = true
	g.list = append(g.list, x)
}

// file guards a file that is executed, and returns its path: "" for one that is
// not in the workspace, not known, or built by the contract itself.
func (g *guarding) file(dir string, w shell.Word) string {
	if !w.Known {
		g.lose(w.At, "which file runs here")
		return ""
	}
	if strings.HasPrefix(w.Text, "-") || w.Text == "" {
		return ""
	}
	p := shell.Within(dir, w.Text)
	if p == shell.UnknownDir && dir == shell.UnknownDir && shell.Within("", w.Text) != shell.UnknownDir {
		g.lose(w.At, "the directory of what runs here")
	}
	if p == shell.UnknownDir && dir != shell.UnknownDir && len(g.strays) < maxPerScript && strays(w.Text) {
		g.strays = append(g.strays, w)
	}
	if p == shell.UnknownDir || p == "" || g.built && isProduct(p) {
		return ""
	}
	if w.Glob {
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
	return len(name) <= shell.MaxPath
}

// plainName writes a name so that nothing in it is read as a pattern or a part:
// what no guard can spell is any character.
var plainName = strings.NewReplacer("#", "?", "*", "?", "[", "?", "]", "?", "{", "?", "}", "?", `\`, "?")

// notes remembers what a compiler is told to write.
func (g *guarding) notes(c shell.Call) {
	if out := output(c); out != "" {
		if g.made == nil {
			g.made = map[string]bool{}
		}
		g.made[shell.Within(c.Dir, out)] = true
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
func (g *guarding) command(c shell.Call, depth int) {
	if c.Name() == "" {
		if len(c.Words) > 0 && !c.Words[0].Known {
			g.lose(c.Words[0].At, "which command runs here")
		}
		return
	}
	if depth > maxRunners {
		return
	}
	tool := c.Tool()
	if strings.Contains(c.Name(), "/") {
		g.follow(target{kind: ranKind, file: g.file(c.Dir, c.Words[0]), dir: c.Dir, zero: c.Name(), args: c.Args()})
	} else if !shell.IsBuiltin(tool) {
		for _, dir := range g.search {
			g.config(dir, tool)
		}
	}
	if inner, ok := shell.Started(c); ok {
		if isPackager(tool) {
			g.installed(inner)
		}
		g.command(inner, depth+1)
	}
	switch lang := shell.Interpreter(tool); {
	case (shell.IsShell(tool) || lang != "") && shell.ReadsScript(c):
		g.reads(c)
	case shell.IsShell(tool) || tool == "." || tool == "source":
		g.scriptFile(c, "oO", shellKind)
	case lang != "":
		g.interpreted(c, lang)
	default:
		g.runner(c, tool)
	}
}

// reads guards the files that an interpreter reads its script from.
func (g *guarding) reads(c shell.Call) {
	kind := scriptKind(c.Tool())
	switch c.Stdin.Kind {
	case shell.FileInput:
		for _, w := range c.Stdin.Files {
			if w.At == 0 {
				w.At = c.Words[0].At
			}
			g.follow(target{kind: kind, file: g.file(c.Dir, w), dir: c.Dir, zero: c.Name()})
		}
	case shell.UnknownInput:
		g.lose(c.Words[0].At, "what "+c.Tool()+" reads here")
	}
}

// scriptFile guards the first argument that is no option.
func (g *guarding) scriptFile(c shell.Call, valued string, kind targetKind) {
	if _, ok := shell.ScriptWord(c); ok && shell.IsShell(c.Tool()) {
		return
	}
	i := shell.FirstIndex(c.Args(), shell.Wrapper{Short: valued})
	if i < 0 {
		return
	}
	w := c.Args()[i]
	g.follow(target{kind: kind, file: g.file(c.Dir, w), dir: c.Dir, zero: w.Text, args: c.Args()[i+1:]})
}

func (g *guarding) interpreted(c shell.Call, lang string) {
	switch lang {
	case "python", "pypy":
		g.python(c)
	case "node", "tsx", "ts-node":
		g.node(c)
	case "deno":
		g.config(c.Dir, "deno.json#tasks", "deno.jsonc")
		g.runner(c, lang)
		if verb, rest := shell.Verb(c, shell.Wrapper{}); verb == "run" {
			g.scriptFile(rest, "", noKind)
		}
	case "awk", "gawk", "mawk":
		if w, ok := shell.Option(c, "-f", "--file"); ok {
			g.file(c.Dir, w)
		}
	default:
		inline, valued := scripting(lang)
		if shell.HasAny(c, inline...) {
			return
		}
		g.scriptFile(c, valued, noKind)
		if w, ok := shell.First(c.Args(), shell.Wrapper{Short: valued}); ok && lang == "php" && path.Base(w.Text) == "phpunit" {
			g.runner(c, "phpunit")
		}
	}
}

// scripting gives the options of an interpreter that take the place of a file,
// and the letters of those whose value is the next word.
func scripting(lang string) (inline []string, valued string) {
	switch lang {
	case "perl":
		return []string{"-e", "-E", "-ne", "-pe", "-i", "-lne", "-lane"}, "IM"
	case "ruby":
		return []string{"-e", "-ne", "-pe"}, "IrCE"
	case "php":
		return []string{"-r"}, "cd"
	}
	return []string{"-e", "-c", "-Command"}, ""
}

// python guards the script, or what a module that runs tests collects.
func (g *guarding) python(c shell.Call) {
	module, ok := shell.Started(c)
	i := shell.FirstIndex(c.Args(), shell.Wrapper{Short: "WX"})
	switch {
	case ok:
		g.module(module)
	case i >= 0 && !shell.HasAny(shell.Call{Words: c.Words[:i+1]}, "-c"):
		g.scriptFile(c, "WX", pythonKind)
	}
}

func (g *guarding) node(c shell.Call) {
	if shell.HasAny(c, "-e", "--eval", "-p", "--print") {
		return
	}
	options := shell.Wrapper{Short: "rC", Long: []string{"--require", "--import", "--loader", "--env-file"}}
	if !shell.HasAny(c, "--test") {
		if w, ok := shell.First(c.Args(), options); ok {
			g.file(c.Dir, w)
		}
		return
	}
	if !g.paths(c, options) {
		g.existing(c.Dir, "**/*.test.{js,cjs,mjs,ts,mts,cts}", "**/*-test.{js,cjs,mjs}", "**/test.{js,cjs,mjs}", "**/test/**/*.{js,cjs,mjs}")
	}
}

// paths guards the files and directories that a runner is given; it reports
// whether there were any.
func (g *guarding) paths(c shell.Call, options shell.Wrapper) bool {
	found := false
	args := c.Args()
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		if strings.HasPrefix(text, "-") {
			if options.TakesNext(text) {
				i++
			}
			continue
		}
		found = true
		if !args[i].Known {
			g.lose(args[i].At, "which file runs here")
		} else if path.Ext(text) != "" || isGlob(text) {
			g.file(c.Dir, args[i])
		} else if dir := shell.Within(c.Dir, text); args[i].Known && dir != shell.UnknownDir {
			g.existing(dir, "**")
		}
	}
	return found
}
