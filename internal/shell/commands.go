package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// is reports a word of a list.
func is(list, word string) bool {
	return word != "" && !strings.Contains(word, " ") && strings.Contains(" "+list+" ", " "+word+" ")
}

// IsBuiltin reports the names that bash itself runs.
func IsBuiltin(name string) bool {
	return is(". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable "+
		"eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read "+
		"readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait", name)
}

// IsShell reports the names of shells that take a script with -c or as a file.
func IsShell(tool string) bool { return is("sh bash dash zsh ksh ash fish csh tcsh", tool) }

// Interpreter is the language of a program that takes a script, or "".
func Interpreter(tool string) string {
	base := strings.TrimRight(tool, "0123456789.")
	if is("python pypy node ruby perl php lua Rscript tsx ts-node deno awk gawk mawk bats expect tclsh pwsh", base) {
		return base
	}
	return ""
}

// Wrapper describes a command that starts another one: its short options that
// take a value, its long ones, and how many words it takes before the command.
type Wrapper struct {
	Short string
	Long  string // separated by blanks
	Skip  int
}

// wrappers are the commands that start others.
var wrappers = map[string]Wrapper{
	"command": {}, "builtin": {}, "exec": {Short: "a"}, "nohup": {}, "setsid": {}, "busybox": {}, "unbuffer": {}, "cross-env": {}, "doas": {Short: "uC"},
	"env": {"uCS", "--unset --chdir --split-string", 0}, "sudo": {"ughpCrtTUDR", "--user --group --host --prompt --chdir", 0},
	"timeout": {"ks", "--kill-after --signal", 1}, "gtimeout": {"ks", "--kill-after --signal", 1},
	"nice": {"n", "--adjustment", 0}, "ionice": {"cn", "--class --classdata", 0}, "stdbuf": {"ioe", "--input --output --error", 0},
	"time": {"fo", "--format --output", 0}, "xargs": {"nPILdEsa", "--arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var", 0},
	"parallel": {"jNnLPISa", "--jobs", 0}, "strace": {Short: "eopsuPabIOSX"}, "ltrace": {Short: "eoapsunlx"}, "valgrind": {},
	"taskset": {Skip: 1}, "chrt": {Short: "TPD", Skip: 1}, "faketime": {Short: "f", Skip: 1}, "caffeinate": {Short: "t"}, "fakeroot": {Short: "lsib"},
	"toybox": {}, "unshare": {}, "chronic": {}, "nyc": {}, "c8": {}, "catchsegv": {}, "pkexec": {Long: "--user"}, "run0": {Short: "u", Long: "--user"}, "flock": {"wE", "--timeout", 1}, "xvfb-run": {Short: "nsefp"},
}

// rest is what is left of the words once options, assignments and words before the
// command are taken off.
func (w Wrapper) rest(args []Word) []Word {
	for skip := w.Skip; ; {
		at := w.first(args)
		if at < 0 {
			return nil
		}
		if args = args[at:]; !assigns(args[0].Text) {
			if skip == 0 {
				return args
			}
			skip--
		}
		args = args[1:]
	}
}

// assigns reports NAME=value.
func assigns(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && syntax.ValidName(name)
}

// Unwrap returns the command that a wrapper starts on this machine. Its name need
// not be known.
func Unwrap(cmd Call) (Call, bool) {
	w, ok := wrappers[cmd.Tool()]
	if !ok || asks(cmd) {
		return Call{}, false
	}
	inner, ok := w.inner(cmd)
	if dir, moved := Option(Call{Words: cmd.Words[:len(cmd.Words)-len(inner.Words)]}, "-C", "--chdir"); moved && cmd.Tool() == "env" {
		inner.Dir = changed(Call{Words: []Word{{}, dir}, Dir: cmd.Dir})
	}
	return inner, ok
}

// inner is the command that a wrapper's words lead to.
func (w Wrapper) inner(cmd Call) (Call, bool) {
	cmd.Words = w.rest(cmd.Args())
	return cmd, len(cmd.Words) > 0
}

// begun returns the commands that a command starts by its arguments.
func begun(cmd Call) (list []Call) {
	if inner, ok := Unwrap(cmd); ok {
		return []Call{inner}
	}
	switch v, rest := Verb(cmd, Wrapper{Short: "Cc"}); {
	case cmd.Tool() == "git" && v == "bisect" && len(rest.Words) > 2 && rest.Words[1].Text == "run":
		rest.Words = rest.Words[2:]
		return []Call{rest}
	case cmd.Tool() != "find" && cmd.Tool() != "fd":
		return nil
	}
	for i, w := range cmd.Words {
		if !is("-exec -execdir -ok -okdir -x -X", w.Text) {
			continue
		}
		inner := slices.Clone(cmd.Words[i+1:])
		if end := slices.IndexFunc(inner, func(w Word) bool { return w.Text == ";" || w.Text == "+" }); end >= 0 {
			inner = inner[:end]
		}
		for n := range inner { // {} is a file that is found, which cannot be told
			inner[n].Known = inner[n].Known && !strings.Contains(inner[n].Text, "{}")
		}
		if len(inner) > 0 {
			list = append(list, Call{Words: inner, Dir: cmd.Dir, Maybe: cmd.Maybe, Stdin: cmd.Stdin})
		}
	}
	return list
}

// takesNext reports whether the value of an option is the next word. Programs take
// the beginning of a long option for it.
func (w Wrapper) takesNext(option string) bool {
	if strings.HasPrefix(option, "--") {
		return len(option) > 2 && strings.Contains(" "+w.Long, " "+option)
	}
	at := strings.IndexAny(option, w.Short)
	return at > 0 && at == len(option)-1
}

// first is the place of the first word after the options, which need not be
// known; -1 if there is none.
func (w Wrapper) first(args []Word) int {
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--" && i+1 < len(args):
			return i + 1
		case !args[i].Known || !strings.HasPrefix(text, "-"):
			return i
		case w.takesNext(text):
			i++
		}
	}
	return -1
}

// First is the first word after the options.
func First(args []Word, w Wrapper) (Word, bool) {
	if i := w.first(args); i >= 0 {
		return args[i], true
	}
	return Word{}, false
}

// Option is the value of one of the options: -f FILE, -fFILE, --file=FILE.
func Option(c Call, names ...string) (Word, bool) {
	args := c.Args()
	for i, w := range args {
		for _, name := range names {
			rest, found := strings.CutPrefix(w.Text, name)
			switch {
			case !w.Known || !found:
			case rest == "" && i+1 < len(args):
				return args[i+1], true
			case strings.HasPrefix(rest, "=") && strings.HasPrefix(name, "--"), rest != "" && len(name) == 2:
				w.Text = strings.TrimPrefix(rest, "=")
				return w, true
			}
		}
	}
	return Word{}, false
}

// HasAny reports whether one of the words stands among the arguments.
func HasAny(c Call, options ...string) bool {
	return slices.ContainsFunc(c.Args(), func(w Word) bool { return slices.Contains(options, w.Text) })
}

// Verb is the first argument that is no option, and the words from it on.
func Verb(c Call, options Wrapper) (string, Call) {
	i := options.first(c.Args())
	if i < 0 || !c.Args()[i].Known {
		return "", Call{Dir: c.Dir}
	}
	return c.Args()[i].Text, Call{Words: c.Args()[i:], Dir: c.Dir}
}

// starters are programs that run programs of a project: by which verbs, none where they
// need none, and with which options.
var starters = map[string]struct {
	verbs string
	Wrapper
}{
	"uvx": {"", Wrapper{Long: "--with --from --python"}},
	"uv":  {"run", Wrapper{Short: "pC", Long: "--with --extra --group --python --project --directory --env-file --package"}},
	"npx": {"", Wrapper{"pw", "--package", 0}}, "bunx": {"", Wrapper{}}, "pnpx": {"", Wrapper{}},
	"poetry": {"run", Wrapper{}}, "pdm": {"run", Wrapper{}}, "rye": {"run", Wrapper{}}, "pipenv": {"run", Wrapper{}}, "pixi": {"run", Wrapper{Short: "e"}}, "hatch": {"run", Wrapper{}},
	"conda": {"run", Wrapper{Short: "np"}}, "mamba": {"run", Wrapper{Short: "np"}}, "bundle": {"exec", Wrapper{}},
	"npm": {"exec x", Wrapper{Short: "wp"}}, "pnpm": {"exec dlx", Wrapper{Short: "CF"}}, "yarn": {"exec dlx", Wrapper{}}, "bun": {"x", Wrapper{}}, "mise": {"exec x", Wrapper{}},
}

// Started returns the command that a program which runs programs of a project
// starts: uv run pytest, npx jest, bundle exec rspec, python -m pytest.
func Started(c Call) (Call, bool) {
	tool := c.Tool()
	if base := Interpreter(tool); base == "python" || base == "pypy" || tool == "py" {
		w, found := Option(c, "-m")
		at := slices.Index(c.Words, w)
		if first := (Wrapper{Short: "WX"}).first(c.Args()); !found || at < 0 || first >= 0 && first+1 < at || HasAny(c, "-c") {
			return Call{}, false
		}
		c.Words = c.Words[at:]
		return c, true
	}
	verb, rest := Verb(c, Wrapper{})
	if tool == "coverage" && verb == "run" || tool == "uv" && verb == "run" && len(rest.Words) > 2 && rest.Words[1].Text == "-m" {
		rest.Words = append([]Word{{Text: "python", Known: true}}, rest.Args()...)
		return rest, true
	}
	s, ok := starters[tool]
	if !ok || s.verbs == "" {
		inner, begins := s.inner(c)
		return inner, ok && begins
	}
	if verb, rest = Verb(c, s.Wrapper); !is(s.verbs, verb) {
		return Call{}, false
	}
	return s.inner(rest)
}

// Only reports whether all that the script runs is allowed, and the text tells what that is.
// allowed gets the name of a program, and its first argument that is no option.
func (s *Script) Only(allowed func(tool, verb string) bool) bool {
	return s.Fault == "" && !s.Vague && !s.Paths && !slices.ContainsFunc(s.Calls, func(c Call) bool {
		verb, _ := Verb(c, Wrapper{Short: "Cc"})
		return strings.Contains(c.Name(), "/") || !allowed(c.Tool(), verb)
	})
}
