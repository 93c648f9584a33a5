package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// IsBuiltin reports the names that bash itself runs.
func IsBuiltin(name string) bool {
	switch name {
	case ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command",
		"compgen", "complete", "compopt", "continue", "declare", "dirs", "disown", "echo", "enable",
		"eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help", "history",
		"jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read",
		"readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test",
		"times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait":
		return true
	}
	return false
}

// IsShell reports the names of shells that take a script with -c or as a file.
func IsShell(tool string) bool {
	switch tool {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh":
		return true
	}
	return false
}

// Wrapper describes a command that starts another one: its short options that
// take a value, its long ones, and how many words it takes before the command.
type Wrapper struct {
	Short   string
	Long    []string
	Skip    int
	Assigns bool // NAME=value may come before the command
	Script  bool // the words are a script for a shell
	Fed     bool // it adds words to the command
	Remote  bool // the command runs on another machine, or as another user there
}

// wrappers are the commands that start others.
var wrappers = map[string]Wrapper{
	"command": {}, "builtin": {}, "nohup": {}, "setsid": {}, "chronic": {}, "unbuffer": {}, "busybox": {}, "toybox": {}, "unshare": {}, "c8": {},
	"fakeroot": {Short: "lsib"}, "catchsegv": {}, "nyc": {}, "cross-env": {Assigns: true}, "doas": {Short: "uC"},
	"exec": {Short: "a"}, "pkexec": {Long: []string{"--user"}}, "run0": {Short: "u", Long: []string{"--user"}},
	"env":     {Short: "uCS", Long: []string{"--unset", "--chdir", "--split-string"}, Assigns: true},
	"sudo":    {Short: "ughpCrtTUDR", Long: []string{"--user", "--group", "--host", "--prompt", "--chdir"}, Assigns: true},
	"timeout": {Short: "ks", Long: []string{"--kill-after", "--signal"}, Skip: 1},
	"nice":    {Short: "n", Long: []string{"--adjustment"}}, "ionice": {Short: "cn", Long: []string{"--class", "--classdata"}},
	"stdbuf": {Short: "ioe", Long: []string{"--input", "--output", "--error"}}, "time": {Short: "fo", Long: []string{"--format", "--output"}},
	"xargs": {
		Short: "nPILdEsa", Fed: true,
		Long: []string{"--arg-file", "--delimiter", "--max-args", "--max-chars", "--max-procs", "--process-slot-var"},
	},
	"parallel": {Short: "jNnLPISa", Long: []string{"--jobs"}, Fed: true}, "watch": {Short: "n", Long: []string{"--interval"}, Script: true},
	"strace": {Short: "eopsuPabIOSX"}, "ltrace": {Short: "eoapsunlx"}, "valgrind": {}, "caffeinate": {Short: "t"}, "faketime": {Short: "f", Skip: 1},
	"chrt": {Short: "TPD", Skip: 1}, "taskset": {Skip: 1}, "flock": {Short: "wE", Long: []string{"--timeout"}, Skip: 1}, "xvfb-run": {Short: "nsefp"},
	"eval": {Script: true}, "chroot": {Skip: 1, Remote: true}, "nsenter": {Short: "t", Remote: true},
	"ssh": {Short: "piloFJLRDWbcem", Skip: 1, Script: true, Remote: true}, "su": {Short: "csg", Skip: 1, Remote: true},
}

// WrapperOf finds what is known of a command that starts another one.
func WrapperOf(tool string) (Wrapper, bool) {
	if tool == "gtimeout" {
		tool = "timeout"
	}
	w, ok := wrappers[tool]
	return w, ok
}

// Rest is what is left of a wrapper's words once its options, assignments and
// words before the command are taken off.
func (w Wrapper) Rest(args []Word) []Word {
	skip := w.Skip
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--":
			return args[min(i+1+skip, len(args)):]
		case strings.HasPrefix(text, "-"):
			if w.TakesNext(text) {
				i++
			}
		case w.Assigns && Assigns(text):
		case skip > 0:
			skip--
		default:
			return args[i:]
		}
	}
	return nil
}

// Assigns reports NAME=value.
func Assigns(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && syntax.ValidName(name)
}

// Unwrap returns the command that a wrapper starts on this machine. Its name need
// not be known.
func Unwrap(cmd Call) (Call, bool) {
	w, ok := WrapperOf(cmd.Tool())
	if !ok || w.Script || w.Remote || asks(cmd) {
		return Call{}, false
	}
	inner, ok := w.inner(cmd)
	if dir, moved := Option(Call{Words: cmd.Words[:len(cmd.Words)-len(inner.Words)]}, "-C", "--chdir"); moved && cmd.Tool() == "env" {
		inner.Dir = changed(Call{Words: []Word{{}, dir}, Dir: cmd.Dir})
	}
	return inner, ok
}

// begun returns the commands that a command starts by its arguments.
func begun(cmd Call) []Call {
	if inner, ok := Unwrap(cmd); ok {
		return []Call{inner}
	}
	switch cmd.Tool() {
	case "find", "fd":
		return executed(cmd)
	case "git":
		if v, rest := Verb(cmd, Wrapper{Short: "Cc"}); v == "bisect" && len(rest.Words) > 2 && rest.Words[1].Text == "run" {
			rest.Words = rest.Words[2:]
			return []Call{rest}
		}
	}
	return nil
}

// executed are the commands that find -exec and its like start.
func executed(cmd Call) []Call {
	var list []Call
	for i := 0; i < len(cmd.Words); i++ {
		switch cmd.Words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X":
			inner := Executed(cmd.Words[i+1:])
			if i += len(inner); len(inner) > 0 {
				list = append(list, Call{Words: inner, Dir: cmd.Dir, Maybe: cmd.Maybe, Stdin: cmd.Stdin})
			}
		}
	}
	return list
}

// Executed is the command behind -exec, without its end. {} is a file that is
// found, which cannot be told.
func Executed(words []Word) []Word {
	if end := slices.IndexFunc(words, func(w Word) bool { return w.Text == ";" || w.Text == "+" }); end >= 0 {
		words = words[:end]
	}
	return Found(words)
}

// Found makes words with {} in them ones that are not known.
func Found(words []Word) []Word {
	words = slices.Clone(words)
	for i, w := range words {
		if w.Text == "{}" {
			words[i].Text = UnknownText
		}
		words[i].Known = w.Known && !strings.Contains(w.Text, "{}")
	}
	return words
}

// inner is the command that a wrapper's words lead to.
func (w Wrapper) inner(cmd Call) (Call, bool) {
	cmd.Words = w.Rest(cmd.Args())
	return cmd, len(cmd.Words) > 0
}

// TakesNext reports whether the value of an option is the next word. Programs take
// the beginning of a long option for it.
func (w Wrapper) TakesNext(option string) bool {
	if strings.HasPrefix(option, "--") {
		return slices.ContainsFunc(w.Long, func(l string) bool { return len(option) > 2 && strings.HasPrefix(l, option) })
	}
	for i := 1; i < len(option); i++ {
		if strings.IndexByte(w.Short, option[i]) >= 0 {
			return i == len(option)-1
		}
	}
	return false
}

// FirstIndex is the place of the first word after the options, which need not be
// known; -1 if there is none.
func FirstIndex(args []Word, w Wrapper) int {
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--" && i+1 < len(args):
			return i + 1
		case !args[i].Known || !strings.HasPrefix(text, "-"):
			return i
		case w.TakesNext(text):
			i++
		}
	}
	return -1
}

// First is the first word after the options.
func First(args []Word, w Wrapper) (Word, bool) {
	if i := FirstIndex(args, w); i >= 0 {
		return args[i], true
	}
	return Word{}, false
}

// Interpreter is the language of a program that takes a script, or "".
func Interpreter(tool string) string {
	base := strings.TrimRight(tool, "0123456789.")
	switch base {
	case "python", "pypy", "node", "ruby", "perl", "php", "lua", "Rscript", "tsx", "ts-node",
		"deno", "awk", "gawk", "mawk", "bats", "expect", "tclsh", "pwsh":
		return base
	}
	return ""
}

// Option is the value of one of the options: -f FILE, -fFILE, --file=FILE.
func Option(c Call, names ...string) (Word, bool) {
	args := c.Args()
	for i, w := range args {
		for _, name := range names {
			switch {
			case !w.Known:
			case w.Text == name && i+1 < len(args):
				return args[i+1], true
			case strings.HasPrefix(name, "--") && strings.HasPrefix(w.Text, name+"="):
				return Word{Text: w.Text[len(name)+1:], Known: true, Glob: w.Glob, At: w.At}, true
			case len(name) == 2 && len(w.Text) > 2 && strings.HasPrefix(w.Text, name):
				return Word{Text: w.Text[2:], Known: true, Glob: w.Glob, At: w.At}, true
			}
		}
	}
	return Word{}, false
}

func HasAny(c Call, options ...string) bool {
	for _, w := range c.Args() {
		if slices.Contains(options, w.Text) {
			return true
		}
	}
	return false
}

// Verb is the first argument that is no option, and the words from it on.
func Verb(c Call, options Wrapper) (string, Call) {
	i := FirstIndex(c.Args(), options)
	if i < 0 || !c.Args()[i].Known {
		return "", Call{Dir: c.Dir}
	}
	return c.Args()[i].Text, Call{Words: c.Args()[i:], Dir: c.Dir}
}

// Started returns the command that a program which runs programs of a project
// starts: uv run pytest, npx jest, bundle exec rspec.
func Started(c Call) (Call, bool) {
	run := func(verbs string, w Wrapper) (Call, bool) {
		v, rest := Verb(c, w)
		if v == "" || !strings.Contains(" "+verbs+" ", " "+v+" ") {
			return Call{}, false
		}
		return w.inner(rest)
	}
	switch tool := c.Tool(); tool {
	case "python", "python3", "py", "pypy", "pypy3":
		return module(c)
	case "uvx":
		return Wrapper{Long: []string{"--with", "--from", "--python"}}.inner(c)
	case "uv":
		if v, rest := Verb(c, Wrapper{}); v == "run" && len(rest.Words) > 2 && rest.Words[1].Text == "-m" {
			return Call{Words: append([]Word{{Text: "python", Known: true}}, rest.Args()...), Dir: c.Dir}, true
		}
		return run("run", Wrapper{Short: "pC", Long: []string{
			"--with", "--extra", "--group", "--python", "--project", "--directory", "--env-file", "--package",
		}})
	case "poetry", "pdm", "rye", "pipenv", "pixi", "hatch":
		return run("run", Wrapper{Short: "ep"})
	case "conda", "mamba", "micromamba":
		return run("run", Wrapper{Short: "np"})
	case "bundle":
		return run("exec", Wrapper{})
	case "npm":
		return run("exec x", Wrapper{Short: "wp"})
	case "pnpm":
		return run("exec dlx", Wrapper{Short: "CF"})
	case "yarn":
		return run("exec dlx", Wrapper{})
	case "bun":
		return run("x", Wrapper{})
	case "npx", "bunx", "pnpx":
		return Wrapper{Short: "pw", Long: []string{"--package"}}.inner(c)
	case "coverage":
		return coverage(c)
	case "mise", "rtx", "asdf":
		return run("exec x", Wrapper{})
	}
	return Call{}, false
}

// module is what python -m runs, as a command of that name.
func module(c Call) (Call, bool) {
	for i := 1; i+1 < len(c.Words); i++ {
		switch text := c.Words[i].Text; {
		case text == "-m":
			c.Words = c.Words[i+1:]
			return c, true
		case text == "-W" || text == "-X":
			i++
		case text == "-c" || !strings.HasPrefix(text, "-"):
			return Call{}, false
		}
	}
	return Call{}, false
}

// coverage runs a script or a module as python does.
func coverage(c Call) (Call, bool) {
	v, rest := Verb(c, Wrapper{})
	if v != "run" {
		return Call{}, false
	}
	rest.Words = append([]Word{{Text: "python", Known: true}}, rest.Args()...)
	return rest, true
}
