package tool

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/shell"
)

// call weighs a simple command. What is substituted in it is weighed by walk.
func (w *reading) call(n *syntax.CallExpr, in source) {
	for _, a := range n.Assigns {
		if a.Name != nil {
			w.assignment(a, false)
		}
	}
	if len(n.Args) == 0 {
		return
	}
	away := slices.ContainsFunc(n.Args, func(a *syntax.Word) bool { return a.Lit() == "" && substitutes(a) && w.fetches(a) })
	ws := words(n.Args)
	if from, ok := w.functions[ws[0].Text]; ok && ws[0].Known && n.Pos().Offset() >= from {
		w.assumed = true
		if len(ws) > 1 && w.knows(ws[1].Text) {
			w.run(ws[1:], in, away)
		}
		return
	}
	w.run(ws, in, away)
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

// run weighs a command by its words. away says that one of them is fetched from
// another machine.
func (w *reading) run(ws []shell.Word, in source, away bool) {
	if len(ws) == 0 {
		return
	}
	first, args := ws[0], ws[1:]
	if !first.Known || first.Glob || first.Text == "" {
		w.unknown(ws, away)
		return
	}
	name := programName(first.Text)
	w.paths(name, ws)
	if strings.Contains(name, "/") && len(w.rules.of(name)) == 0 {
		w.own(ws)
		name = path.Base(name)
		if !w.knows(name) {
			return
		}
	}
	if p, ok := shell.WrapperOf(name); ok && (name != "env" || len(args) > 0) {
		w.prefixed(name, ws, p, in, away)
		return
	}
	if shell.IsShell(name) {
		w.shell(ws, in, away)
		return
	}
	w.look(first.Text, name, args)
	w.closer(name, args, in, away)
}

// own weighs a program that a path names. What its name would mean is weighed too.
func (w *reading) own(ws []shell.Word) {
	if w.leaves(ws[0].Text) || w.moved {
		w.raise(Approve, "runs a program from outside of the workspace, or from where the text does not tell: %s", show(ws))
		return
	}
	w.raise(Review, "runs a program of the workspace: %s", show(ws))
}

// unknown weighs a command whose name the text does not tell.
func (w *reading) unknown(ws []shell.Word, away bool) {
	if away {
		w.raise(Block, "runs what it fetched from another machine")
		return
	}
	w.raise(Approve, "which program this is, is only known when it runs: %s", show(ws))
	if len(ws) > 1 && w.knows(ws[1].Text) {
		w.run(ws[1:], fromHere, false)
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
func (w *reading) look(given, name string, args []shell.Word) {
	ws := append([]shell.Word{{Text: given, Known: true}}, args...)
	rest := normalized(name, args)
	tier, known := w.rules.weigh(name, rest)
	if known && tier == Free && w.optional(name, rest) {
		w.raise(Review, "may take a file whose name begins with a dash for an option (./* does not): %s", show(ws))
	}
	switch {
	case known && tier == Review:
		w.raise(Review, "runs code of the workspace or makes something: %s", show(ws))
	case known && tier == Approve:
		w.raise(Approve, "changes something, or reaches out: %s", show(ws))
	case known && tier == Block:
		w.raise(Block, "is never run: %s", show(ws))
	case !known:
		w.raise(Approve, "is not in the table of commands: %s", show(ws))
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

// closer looks at what a table cannot tell.
func (w *reading) closer(name string, args []shell.Word, in source, away bool) {
	switch {
	case isInterpreter(name):
		w.interpreter(args, in, away)
	case name == "." || name == "source":
		switch {
		case away || len(args) > 0 && !args[0].Known:
			w.shellUnknown(away)
		case len(args) > 0 && strings.HasPrefix(args[0].Text, "/dev/"):
			w.input(max(in, fromHere))
		}
	case name == "unset":
		w.unset = w.unset || len(args) == 0 || args[0].Text != "-v"
		w.evaluatedWords(name, args)
	case name == "trap":
		w.inString(operands(args), fromNowhere, away, 1)
	case name == "find":
		w.find(args)
	case name == "sed" || strings.HasSuffix(name, "awk"):
		w.program(name, args)
	case name == "uniq" && len(operands(args)) > 1, name == "xxd" && len(operands(args)) > 1:
		w.raise(Approve, "writes its second file: %s", show(append([]shell.Word{{Text: name, Known: true}}, args...)))
	case name == "date" && slices.ContainsFunc(operands(args), func(a shell.Word) bool { return a.Known && strings.Trim(a.Text, "0123456789.") == "" }):
		w.raise(Approve, "sets the clock")
	case name == "go" && len(args) > 0 && args[0].Text == "run" && slices.ContainsFunc(args, func(a shell.Word) bool { return strings.Contains(a.Text, "@") }):
		w.raise(Approve, "runs a program that it fetches: %s", show(args))
	case name == "hostname" && len(operands(args)) > 0:
		w.raise(Block, "renames the machine")
	case name == "git":
		w.git(args)
	case recursive(name, args):
		w.wide(name, args)
	case name == "dd":
		w.disk(args)
	case evaluates(name):
		w.evaluatedWords(name, args)
	}
}

// isInterpreter reports programs that run a script, but for awk, which [reading.program] weighs.
func isInterpreter(name string) bool {
	lang := shell.Interpreter(name)
	return lang != "" && !strings.HasSuffix(lang, "awk") || slices.Contains([]string{"bun", "osascript", "guile"}, strings.TrimRight(name, "0123456789."))
}

// shell weighs sh and its kin: a script in a word, in a file, or on its input.
func (w *reading) shell(ws []shell.Word, in source, away bool) {
	script, stdin, rest := w.shellFlags(ws[1:])
	switch {
	case len(rest) > 0 && !rest[0].Known && !script:
		w.shellUnknown(away)
	case script:
		w.inString(rest, in, away, 1)
		if len(rest) > 2 && strings.Contains(rest[0].Text, "$") && w.knows(rest[2].Text) {
			w.run(rest[2:], in, away) // as "$@"
		}
	case stdin || len(rest) == 0 || strings.HasPrefix(rest[0].Text, "/dev/"):
		w.look(ws[0].Text, programName(ws[0].Text), ws[1:])
		w.input(in)
	default: // a file, which the table and the paths speak of
		w.look(ws[0].Text, programName(ws[0].Text), ws[1:])
		if away {
			w.raise(Block, "runs what it fetched from another machine")
		}
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

func (w *reading) shellUnknown(away bool) {
	if away {
		w.raise(Block, "runs what it fetched from another machine")
		return
	}
	w.raise(Approve, "what the shell runs is only known when it runs")
}

// input weighs a program that runs what stands on its input.
func (w *reading) input(in source) {
	switch in {
	case fromAway:
		w.raise(Block, "runs what it fetched from another machine")
	case fromHere:
		w.raise(Approve, "runs what another command prints")
	}
}

// inString weighs a script that the first n words are.
func (w *reading) inString(args []shell.Word, in source, away bool, n int) {
	var parts []string
	known := true
	for _, a := range args[:min(n, len(args))] {
		known = known && a.Known
		parts = append(parts, a.Text)
	}
	text := strings.Join(parts, " ")
	if !known {
		w.shellUnknown(away)
		if _, err := parse(text); err != nil {
			return // too little of it is known
		}
	}
	w.script(text, in)
}

// interpreter weighs what python and its kin read on their input.
func (w *reading) interpreter(args []shell.Word, in source, away bool) {
	for _, a := range args {
		switch {
		case away:
			w.raise(Block, "runs what it fetched from another machine")
			return
		case a.Text == "-":
			w.input(in)
			return
		case !strings.HasPrefix(a.Text, "-"):
			return
		case len(a.Text) > 1 && a.Text != "-u" && a.Text != "-B" && a.Text != "-I" && a.Text != "-s" && !strings.HasPrefix(a.Text, "--"):
			return // the table knows the flags that matter
		}
	}
	if len(args) == 0 || args[len(args)-1].Text != "--version" {
		w.input(in)
	}
}

// paths weighs where the arguments lead.
func (w *reading) paths(name string, ws []shell.Word) {
	writes := slices.Contains(strings.Fields("rm rmdir unlink shred mv cp ln install tee touch mkdir truncate dd chmod chown chgrp patch rsync mktemp mkfifo split sed"), name)
	for _, a := range ws[1:] {
		text := a.Text
		if strings.HasPrefix(text, "-") {
			_, text, _ = strings.Cut(text, "=")
		} else if before, after, ok := strings.Cut(text, "="); ok && !strings.Contains(before, "/") {
			text = after
		}
		if text == "" {
			continue
		}
		w.secret(text, name)
		if !isPattern(a, name, ws) {
			w.reads(shell.Word{Text: text, Known: a.Known, Glob: a.Glob}, name)
		}
		if who := keptBy(text); writes && who != "" && (name != "sed" || hasInPlace(ws)) {
			w.raise(Block, "%s of %s, which belongs to %s", name, text, who)
		}
		if writes && w.leaves(text) && (name != "sed" || hasInPlace(ws)) && looksLikePath(text) {
			w.raise(Approve, "%s of %s, outside of the workspace", name, text)
		}
	}
}

func hasInPlace(ws []shell.Word) bool {
	return slices.ContainsFunc(ws, func(a shell.Word) bool { return hasFlag(a.Text, "-i") || hasFlag(a.Text, "--in-place") })
}

func looksLikePath(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, shell.Home) || strings.HasPrefix(text, "..") || strings.Contains(text, "/../")
}

// isPattern reports the first operand of a program that takes a pattern or a
// program there and no file.
func isPattern(a shell.Word, name string, ws []shell.Word) bool {
	if !slices.Contains(strings.Fields("sed awk gawk mawk nawk grep egrep fgrep zgrep rg jq"), name) {
		return false
	}
	plain := operands(ws[1:])
	return len(plain) > 1 && plain[0] == a && !slices.ContainsFunc(ws, func(f shell.Word) bool { return hasFlag(f.Text, "-e") || hasFlag(f.Text, "-f") })
}

// secret weighs the places where passwords and keys are kept.
func (w *reading) secret(text, name string) {
	if name == "echo" || name == "printf" {
		return
	}
	lower := strings.ToLower(text)
	for _, secret := range []string{"/.ssh", "/.aws", "/.gnupg", "/.netrc", "/.kube", "/.docker/config", "/.npmrc", "/.pypirc", "/.git-credentials", "id_rsa", "id_ed25519", "/etc/shadow", "/etc/sudoers", "/environ", "/.config/gh", "/.azure", "/.config/gcloud"} {
		if strings.Contains(lower, secret) {
			w.raise(Approve, "looks where passwords and keys are kept: %s", text)
			return
		}
	}
}

// reads weighs a path that is at least looked at.
func (w *reading) reads(a shell.Word, name string) {
	switch {
	case name == "echo" || name == "printf":
	case strings.HasPrefix(a.Text, "/dev/tcp/"), strings.HasPrefix(a.Text, "/dev/udp/"):
		w.raise(Block, "connects to another machine through %s", a.Text)
	case looksLikePath(a.Text) && w.leaves(a.Text) && !(strings.HasPrefix(path.Clean(a.Text), "/dev/") && !strings.Contains(a.Text, "..")):
		w.raise(Review, "looks outside of the workspace: %s", a.Text)
	}
}
