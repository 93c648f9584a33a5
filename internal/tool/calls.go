package tool

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/shell"
)

// words reads arguments, with braces expanded.
func words(list []*syntax.Word) []shell.Word {
	var out []shell.Word
	for _, w := range list {
		for _, part := range unbraced(w) {
			out = append(out, shell.Constant(part))
		}
	}
	return out
}

// unbraced expands {a,b}; a word that could become many is left alone, and is
// then not known.
func unbraced(w *syntax.Word) []*syntax.Word {
	lit := w.Lit()
	if n := strings.Count(lit, "{"); n == 0 || n > 4 || strings.Contains(lit, "..") || strings.Count(lit, ",") > 32 {
		return []*syntax.Word{w}
	}
	split := *w
	syntax.SplitBraces(&split)
	var all []*syntax.Word
	for one, err := range expand.BracesSeq(nil, &split) {
		if err != nil {
			return []*syntax.Word{w}
		}
		all = append(all, one)
	}
	return all
}

func joined(ws []shell.Word) string {
	texts := make([]string, len(ws))
	for i, w := range ws {
		texts[i] = w.Text
	}
	return strings.Join(texts, " ")
}

// call weighs a simple command. What is substituted in it is weighed by itself.
func (w *reading) call(n *syntax.CallExpr, away bool) {
	ws := words(n.Args)
	if len(ws) == 0 {
		return
	}
	runs := !ws[0].Known || slices.ContainsFunc(ws, func(a shell.Word) bool { return runsText(a.Text) })
	if runs && slices.ContainsFunc(n.Args, func(a *syntax.Word) bool { return a.Lit() == "" && substitutes(a) && originsOf(a)[a] }) {
		w.raise(Block, "runs what it fetched from another machine")
	}
	w.run(ws, away)
}

func substitutes(a *syntax.Word) bool {
	for n := range syntax.Preorder(a) {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return true
		}
	}
	return false
}

// runsText reports programs that take an argument, or their input, for a program.
func runsText(name string) bool {
	name = path.Base(name)
	return shell.IsShell(name) || isInterpreter(name) || slices.Contains([]string{"eval", "env", ".", "source"}, name)
}

// isInterpreter reports programs that run a script, but for awk.
func isInterpreter(name string) bool {
	lang := shell.Interpreter(name)
	return lang != "" && !strings.HasSuffix(lang, "awk") || slices.Contains([]string{"bun", "osascript", "guile"}, strings.TrimRight(name, "0123456789."))
}

// run weighs a command by its words.
func (w *reading) run(ws []shell.Word, away bool) {
	first, args := ws[0], ws[1:]
	if !first.Known || first.Glob || first.Text == "" {
		w.raise(Approve, "which program this is, is only known when it runs: %s", show(ws))
		w.behind(args, away)
		return
	}
	name := programName(first.Text)
	w.paths(name, args)
	if strings.Contains(name, "/") && len(w.rules.of(name)) == 0 {
		if w.leaves(name) || w.moved {
			w.raise(Approve, "runs a program from outside of the workspace, or from where the text does not tell: %s", show(ws))
		} else {
			w.raise(Review, "runs a program of the workspace: %s", show(ws))
		}
		if name = path.Base(name); !w.knows(name) {
			return
		}
	}
	p, wraps := shell.WrapperOf(name)
	switch {
	case wraps && (name != "env" || len(args) > 0):
		w.prefixed(name, ws, p, away)
	case shell.IsShell(name) && (len(args) != 1 || args[0].Text != "--version"):
		w.shell(ws, away)
	default:
		w.look(name, ws)
		w.closer(name, args, away)
	}
}

// behind weighs words that may be a command of their own.
func (w *reading) behind(ws []shell.Word, away bool) {
	if len(ws) > 0 && w.knows(ws[0].Text) {
		w.run(ws, away)
	}
}

// knows reports whether the table or a list of special commands has a name.
func (w *reading) knows(name string) bool {
	name = programName(name)
	_, prefix := shell.WrapperOf(name)
	return prefix || len(w.rules.of(name)) > 0
}

// programName is the name of a program of the system; other paths stay as they are.
func programName(text string) string {
	switch path.Dir(text) {
	case "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin":
		text = path.Base(text)
	}
	return strings.TrimSuffix(text, ".exe")
}

// look finds a command's tier in the table.
func (w *reading) look(name string, ws []shell.Word) {
	rest := normalized(name, ws[1:])
	tier, known := w.rules.weigh(name, rest)
	if known && tier == Free && w.optional(name, rest) {
		w.raise(Review, "may take a file whose name begins with a dash for an option (./* does not): %s", show(ws))
	}
	switch {
	case !known:
		w.raise(Approve, "is not in the table of commands: %s", show(ws))
		if w.defines {
			w.behind(ws[1:], false)
		}
	case tier == Review:
		w.raise(Review, "runs code of the workspace or makes something: %s", show(ws))
	case tier == Approve:
		w.raise(Approve, "changes something, or reaches out: %s", show(ws))
	case tier == Block:
		w.raise(Block, "is never run: %s", show(ws))
	}
}

// optional reports whether a pattern for names of files could match an option that
// makes a command of the table worse.
func (w *reading) optional(name string, args []shell.Word) bool {
	matched := slices.Clone(args)
	for i, a := range matched {
		matched[i].Known = a.Known && !(a.Glob && strings.ContainsAny(a.Text[:1], "*?["))
	}
	tier, _ := w.rules.weigh(name, matched)
	return tier != Free
}

func show(ws []shell.Word) string {
	var b strings.Builder
	for i, a := range ws {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.Text)
		if !a.Known {
			b.WriteString("…")
		}
		if b.Len() > 120 {
			break
		}
	}
	return cut(b.String(), 120)
}

// normalized takes off what stands between git and its verb.
func normalized(name string, args []shell.Word) []shell.Word {
	if name != "git" {
		return args
	}
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		n := 1
		switch args[0].Text {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env":
			n = 2
		case "--version", "--help":
			return args
		}
		args = args[min(n, len(args)):]
	}
	return args
}

// plainSed is a script that prints or substitutes, and writes and runs nothing.
var plainSed = regexp.MustCompile(`^([0-9$]*(,[0-9$]+)?|/[^/\\]*/(,/[^/\\]*/)?)!?[pdqQ=]$|^([0-9$]+(,[0-9$]+)?)?s/([^/\\\n]|\\[^\n])*/([^/\\\n]|\\[^\n])*/[gpiI0-9]*$`)

// closer looks at what a table cannot tell.
func (w *reading) closer(name string, args []shell.Word, away bool) {
	plain := operands(args)
	switch {
	case isInterpreter(name):
		args = slices.DeleteFunc(slices.Clone(args), func(a shell.Word) bool { return slices.Contains([]string{"-u", "-B", "-I", "-s"}, a.Text) })
		if len(args) == 0 || args[0].Text == "-" || strings.HasPrefix(args[0].Text, "/dev/") {
			w.input(away)
		}
	case name == "." || name == "source":
		if len(args) > 0 && !args[0].Known {
			w.inString(shell.Word{}, away)
		} else if len(args) > 0 && strings.HasPrefix(args[0].Text, "/dev/") {
			w.input(away)
		}
	case name == "trap" && len(plain) > 0:
		w.inString(plain[0], away)
	case name == "find":
		for i, a := range args {
			if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.Text) {
				w.raise(Review, "runs a command for what it finds")
				w.run(append(shell.Executed(args[i+1:]), shell.Word{}), false)
			}
		}
	case name == "sed" || strings.HasSuffix(name, "awk"):
		w.program(name, args)
	case (name == "uniq" || name == "xxd") && len(plain) > 1:
		w.raise(Approve, "%s writes its second file: %s", name, show(args))
	case name == "date" && slices.ContainsFunc(plain, func(a shell.Word) bool { return a.Known && strings.Trim(a.Text, "0123456789.") == "" }):
		w.raise(Approve, "sets the clock")
	case name == "go" && slices.ContainsFunc(plain, func(a shell.Word) bool { return strings.Contains(a.Text, "@") }):
		w.raise(Approve, "runs a program that it fetches: %s", show(args))
	case name == "git":
		w.repository(args)
	case recursive(name, args):
		w.wide(name, args)
	case name == "dd":
		for _, a := range args {
			if to, ok := strings.CutPrefix(a.Text, "of="); ok {
				w.output(shell.Word{Text: to, Known: a.Known})
			}
		}
	case name == "test" || name == "[":
		if slices.ContainsFunc(args, func(a shell.Word) bool { return a.Text == "-v" || a.Text == "-R" }) {
			w.raise(Approve, "looks for a variable, which can run commands")
		}
	case slices.Contains([]string{"read", "unset", "mapfile", "readarray", "getopts", "wait"}, name):
		for _, a := range plain {
			w.variable(a.Text)
		}
	}
}

// program weighs the programs of sed and awk, which can write and run.
func (w *reading) program(name string, args []shell.Word) {
	plain := operands(args)
	worse := func(a shell.Word) bool {
		return !a.Known || strings.ContainsAny(a.Text, "|>@") || strings.Contains(a.Text, "system") || strings.Contains(a.Text, "getline")
	}
	if name == "sed" {
		plain = plain[:min(1, len(plain))]
		worse = func(a shell.Word) bool { return !a.Known || !plainSed.MatchString(a.Text) }
		if slices.ContainsFunc(args, func(a shell.Word) bool {
			return strings.HasPrefix(a.Text, "-") && strings.Trim(a.Text[1:], "nErszu") != ""
		}) {
			plain = nil
		}
	}
	if len(plain) == 0 || slices.ContainsFunc(plain, worse) {
		w.raise(Approve, "%s may write a file or run a command: %s", name, show(args))
	}
}

// shell weighs sh and its kin: a script in a word, in a file, or on its input.
func (w *reading) shell(ws []shell.Word, away bool) {
	script, stdin, rest := w.shellFlags(ws[1:])
	switch {
	case script && len(rest) > 0:
		w.inString(rest[0], away)
		if len(rest) > 2 && strings.Contains(rest[0].Text, "$") {
			w.behind(rest[2:], away) // as "$@"
		}
	case len(rest) > 0 && !rest[0].Known:
		w.inString(shell.Word{}, away)
	case stdin || len(rest) == 0 || strings.HasPrefix(rest[0].Text, "/dev/"):
		w.input(away)
	default: // a file, which the table and the paths speak of
		w.look(programName(ws[0].Text), ws)
	}
}

// shellFlags reads a shell's flags: -c and -s in any cluster, and what takes a value.
func (w *reading) shellFlags(args []shell.Word) (script, stdin bool, rest []shell.Word) {
	for len(args) > 0 {
		a := args[0]
		switch {
		case !a.Known:
			return script, stdin, args
		case a.Text == "-" || a.Text == "--":
			return script, stdin, args[1:]
		case strings.HasPrefix(a.Text, "--"):
			if hasFlag(a.Text, "--rcfile") || hasFlag(a.Text, "--init-file") {
				w.raise(Approve, "makes the shell read a file first: %s", show(args))
				args = args[1:]
			}
		case strings.HasPrefix(a.Text, "-") || strings.HasPrefix(a.Text, "+"):
			script = script || strings.Contains(a.Text, "c")
			stdin = stdin || strings.Contains(a.Text, "s")
			strict := len(args) > 1 && slices.Contains([]string{"pipefail", "errexit", "nounset"}, args[1].Text)
			if strings.ContainsAny(a.Text, "Ok") || strings.Contains(a.Text, "o") && !strict {
				w.raise(Approve, "changes how the shell reads: %s", show(args))
			}
			if strings.ContainsAny(a.Text, "oO") && len(args) > 1 {
				args = args[1:]
			}
		default:
			return script, stdin, args
		}
		args = args[min(1, len(args)):]
	}
	return script, stdin, nil
}

// input weighs a program that runs what stands on its input, or in a file that is
// only known when it runs.
func (w *reading) input(away bool) {
	w.fed = true
	if away {
		w.raise(Block, "runs what it fetched from another machine")
		return
	}
	w.raise(Approve, "what this runs is only known when it runs")
}

// inString weighs a script that a word is.
func (w *reading) inString(a shell.Word, away bool) {
	if !a.Known {
		w.raise(Approve, "what the shell runs is only known when it runs")
		if _, err := parse(a.Text); err != nil {
			return // too little of it is known
		}
	}
	w.script(a.Text, away)
}

// starters run the command behind them as it is.
var starters = []string{"env", "exec", "time", "command", "builtin", "eval", "nohup", "timeout", "nice", "xargs"}

// prefixed weighs a command that runs another, and that other.
func (w *reading) prefixed(name string, ws []shell.Word, p shell.Wrapper, away bool) {
	args := ws[1:]
	if name == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V") {
		return
	}
	inner := p.Rest(args)
	tier, known := w.rules.weigh(name, args)
	switch {
	case known && tier == Block:
		w.raise(Block, "is never run: %s", show(ws))
	case known && tier != Free && name != "env", !known && !slices.Contains(starters, name):
		w.raise(tier, "runs another command: %s", show(ws))
	}
	w.options(name, args[:len(args)-len(inner)], away)
	switch {
	case p.Script && len(inner) > 0:
		unknown := slices.ContainsFunc(inner, func(a shell.Word) bool { return !a.Known })
		w.inString(shell.Word{Text: joined(inner), Known: !unknown}, away)
	case p.Fed && len(inner) == 0: // xargs alone is echo
		if name != "xargs" {
			w.input(away)
		}
	case p.Fed:
		inner = shell.Found(inner)
		if away && runsText(inner[0].Text) {
			w.input(away)
		}
		w.run(append(inner, shell.Word{}), away)
	case len(inner) > 0:
		w.run(inner, away)
	case !slices.Contains(starters, name):
		w.raise(Approve, "runs nothing that the text names: %s", show(ws))
	}
}

// options weighs flags and assignments of a prefix.
func (w *reading) options(name string, list []shell.Word, away bool) {
	for i, a := range list {
		switch {
		case shell.Assigns(a.Text):
			key, _, _ := strings.Cut(a.Text, "=")
			w.variable(key)
		case name == "env" && (hasFlag(a.Text, "-S") || hasFlag(a.Text, "--split-string")):
			text := strings.TrimPrefix(a.Text, "-S")
			if _, after, ok := strings.Cut(a.Text, "="); ok {
				text = after
			}
			w.raise(Approve, "env splits a text into a command: %s", a.Text)
			w.inString(shell.Word{Text: text + " " + joined(list[i+1:]), Known: a.Known}, away)
		case name == "env" && (strings.HasPrefix(a.Text, "-C") || hasFlag(a.Text, "--chdir")):
			w.moved = true
		case name == "time" && strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "-f") && a.Text != "-p" && a.Text != "-v":
			w.raise(Approve, "time may write a file: %s", a.Text)
		case !a.Known:
			w.raise(Approve, "what %s does is only known when it runs", name)
		}
	}
}

// writers are the programs whose operands are written.
var writers = strings.Fields("rm rmdir unlink shred mv cp ln install tee touch mkdir truncate dd chmod chown chgrp patch rsync mktemp mkfifo split sed")

// paths weighs where the arguments lead.
func (w *reading) paths(name string, args []shell.Word) {
	if name == "echo" || name == "printf" {
		return
	}
	writes := slices.Contains(writers, name) && (name != "sed" || slices.ContainsFunc(args, func(a shell.Word) bool { return hasFlag(a.Text, "-i") || hasFlag(a.Text, "--in-place") }))
	pattern := slices.Contains(strings.Fields("sed awk gawk mawk nawk grep egrep fgrep zgrep rg jq"), name)
	for _, a := range args {
		text := a.Text
		if strings.HasPrefix(text, "-") {
			_, text, _ = strings.Cut(text, "=")
		} else if pattern && len(operands(args)) > 1 {
			pattern = false // the first operand is no path
			continue
		} else if before, after, ok := strings.Cut(text, "="); ok && !strings.Contains(before, "/") {
			text = after
		}
		w.reads(shell.Word{Text: text, Known: a.Known, Glob: a.Glob})
		if who := keptBy(text); writes && who != "" {
			w.raise(Block, "%s of %s, which belongs to %s", name, text, who)
		}
		if writes && looksLikePath(text) && w.leaves(text) {
			w.raise(Approve, "%s of %s, outside of the workspace", name, text)
		}
	}
}

// repository weighs options of git before the verb and what goes where.
func (w *reading) repository(args []shell.Word) {
	rest := normalized("git", args)
	freed := func(r rule) bool { return r.custom && r.tier == Free && r.fits(rest) }
	w.git = w.git || !slices.ContainsFunc(w.rules.of("git"), freed)
	for _, a := range args[:len(args)-len(rest)] {
		w.moved = w.moved || strings.HasPrefix(a.Text, "-C")
		if strings.HasPrefix(a.Text, "-c") || strings.HasPrefix(a.Text, "--exec-path=") || strings.HasPrefix(a.Text, "--config-env") || strings.HasPrefix(a.Text, "--git-dir") {
			w.raise(Approve, "changes how git works, which can run programs: %s", a.Text)
		}
	}
	for _, a := range rest {
		if slices.ContainsFunc([]string{"--output", "--ext-diff", "--upload-pack", "--receive-pack", "--edit-description"}, func(f string) bool { return hasFlag(a.Text, f) }) {
			w.raise(Approve, "git may write a file or run a program: %s", a.Text)
		}
	}
	plain := operands(rest)
	if len(plain) > 1 && plain[0].Text == "push" && slices.ContainsFunc(plain[1:], func(a shell.Word) bool { return strings.HasPrefix(a.Text, "+") }) {
		w.raise(Block, "is never run: a push with + replaces what others have")
	}
	if len(plain) > 1 && slices.Contains([]string{"branch", "tag", "stash", "remote"}, plain[0].Text) && w.tier == Free {
		w.raise(Review, "git %s", show(plain))
	}
}

// recursive reports commands that change everything below their operands.
func recursive(name string, args []shell.Word) bool {
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args, func(a shell.Word) bool {
			return slices.ContainsFunc(flags, func(f string) bool { return hasFlag(a.Text, f) })
		})
	}
	switch name {
	case "rm":
		return has("-r", "-R", "--recursive", "--no-preserve-root")
	case "chmod", "chown", "chgrp":
		return has("-R", "--recursive")
	case "mv", "shred":
		return true
	}
	return false
}

// wide blocks what would ruin the machine or all that the person has.
func (w *reading) wide(name string, args []shell.Word) {
	for _, a := range operands(args) {
		text := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(a.Text, "/"), "*"), "/")
		rooted := strings.HasPrefix(a.Text, "/")
		switch {
		case rooted && (text == "" || path.Clean(text) == "/"), text == shell.Home, text == filepath.ToSlash(w.room.dir):
			w.raise(Block, "%s of %s, all that is below", name, a.Text)
		case rooted && w.leaves(text) && systemPath(text):
			w.raise(Block, "%s of %s, which belongs to the system", name, a.Text)
		case strings.HasPrefix(a.Text, shell.Home) && strings.Count(text, "/") <= 1:
			w.raise(Block, "%s of %s, in the home directory", name, a.Text)
		case path.Clean(text) == ".." || strings.HasSuffix(path.Clean(text), "/.."):
			w.raise(Block, "%s of %s, above the workspace", name, a.Text)
		}
	}
}
