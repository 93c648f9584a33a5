package tool

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call weighs a simple command. What is substituted in it is weighed by walk.
func (w *reading) call(n *syntax.CallExpr, in source) {
	for _, a := range n.Assigns {
		if a.Name != nil {
			w.variable(a.Name.Value)
		}
	}
	if len(n.Args) == 0 {
		return
	}
	away := slices.ContainsFunc(n.Args, func(a *syntax.Word) bool { return a.Lit() == "" && substitutes(a) && w.fetches(a) })
	w.run(words(n.Args), in, away)
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
func (w *reading) run(ws []word, in source, away bool) {
	if len(ws) == 0 {
		return
	}
	first, args := ws[0], ws[1:]
	if !first.known || first.glob || first.text == "" {
		w.unknown(ws, away)
		return
	}
	name := programName(first.text)
	if w.functions[name] {
		if len(args) > 0 && w.knows(args[0].text) {
			w.run(args, in, away)
		}
		return
	}
	w.paths(name, ws)
	if p, ok := prefixes()[name]; ok && (name != "env" || len(p.rest(args)) > 0) {
		w.prefixed(name, ws, p, in, away)
		return
	}
	if isShell(name) {
		w.shell(ws, in, away)
		return
	}
	w.look(first.text, name, args)
	w.closer(name, args, in, away)
}

// unknown weighs a command whose name the text does not tell.
func (w *reading) unknown(ws []word, away bool) {
	if away {
		w.raise(Block, "runs what it fetched from another machine")
		return
	}
	w.raise(Approve, "which program this is, is only known when it runs: %s", show(ws))
	if len(ws) > 1 && w.knows(ws[1].text) {
		w.run(ws[1:], fromHere, false)
	}
}

// knows reports whether the table or a list of special commands has a name.
func (w *reading) knows(name string) bool {
	name = programName(name)
	_, prefix := prefixes()[name]
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
func (w *reading) look(given, name string, args []word) {
	ws := append([]word{{text: given, known: true}}, args...)
	tier, known := w.rules.weigh(name, normalized(name, args))
	switch {
	case known && tier == Review:
		w.raise(Review, "runs code of the workspace or makes something: %s", show(ws))
	case known && tier == Approve:
		w.raise(Approve, "changes something, or reaches out: %s", show(ws))
	case known && tier == Block:
		w.raise(Block, "is never run: %s", show(ws))
	case !known && strings.Contains(name, "/") && !w.leaves(name) && !w.moved:
		w.raise(Review, "runs a program of the workspace: %s", show(ws))
	case !known:
		w.raise(Approve, "is not in the table of commands: %s", show(ws))
	}
}

func show(ws []word) string {
	var b strings.Builder
	for i, a := range ws {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.text)
		if !a.known {
			b.WriteString("…")
		}
		if b.Len() > 120 {
			break
		}
	}
	return cut(b.String(), 120)
}

// normalized takes off what stands between git and its verb.
func normalized(name string, args []word) []word {
	if name != "git" {
		return args
	}
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		n := 1
		switch args[0].text {
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
func (w *reading) closer(name string, args []word, in source, away bool) {
	switch {
	case isInterpreter(name):
		w.interpreter(args, in, away)
	case name == "." || name == "source":
		if away || in == fromAway && len(args) > 0 && strings.HasPrefix(args[0].text, "/dev/") {
			w.raise(Block, "runs what it fetched from another machine")
		}
	case name == "trap":
		w.inString(operands(args), away, 1)
	case name == "find":
		w.find(args)
	case name == "sed" || strings.HasSuffix(name, "awk"):
		w.program(name, args)
	case name == "uniq" && len(operands(args)) > 1, name == "xxd" && len(operands(args)) > 1:
		w.raise(Approve, "writes its second file: %s", show(append([]word{{text: name, known: true}}, args...)))
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

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh"}, name)
}

func isInterpreter(name string) bool {
	name = strings.TrimRight(name, "0123456789.")
	return slices.Contains([]string{"python", "node", "ruby", "perl", "php", "lua", "deno", "bun", "osascript", "tclsh", "guile"}, name)
}

// shell weighs sh and its kin: a script in a word, in a file, or on its input.
func (w *reading) shell(ws []word, in source, away bool) {
	script, stdin, rest := w.shellFlags(ws[1:])
	switch {
	case len(rest) > 0 && !rest[0].known && !script:
		w.shellUnknown(away)
	case script:
		w.inString(rest, away, 1)
		if len(rest) > 2 && strings.Contains(rest[0].text, "$") && w.knows(rest[2].text) {
			w.run(rest[2:], in, away) // as "$@"
		}
	case stdin || len(rest) == 0 || strings.HasPrefix(rest[0].text, "/dev/"):
		w.look(ws[0].text, programName(ws[0].text), ws[1:])
		w.input(in)
	default: // a file, which the table and the paths speak of
		w.look(ws[0].text, programName(ws[0].text), ws[1:])
		if away {
			w.raise(Block, "runs what it fetched from another machine")
		}
	}
}

// shellFlags reads a shell's flags: -c and -s in any cluster, and what takes a value.
func (w *reading) shellFlags(args []word) (script, stdin bool, rest []word) {
	for len(args) > 0 {
		a := args[0]
		switch {
		case !a.known:
			return script, stdin, args
		case a.text == "-" || a.text == "--":
			return script, stdin, args[1:]
		case strings.HasPrefix(a.text, "--"):
			if hasFlag(a.text, "--rcfile") || hasFlag(a.text, "--init-file") {
				w.raise(Approve, "makes the shell read a file first: %s", show(args))
				args = args[1:]
			}
		case strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+"):
			script = script || strings.Contains(a.text, "c")
			stdin = stdin || strings.Contains(a.text, "s")
			if strings.ContainsAny(a.text, "oO") && len(args) > 1 {
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
func (w *reading) inString(args []word, away bool, n int) {
	var parts []string
	known := true
	for _, a := range args[:min(n, len(args))] {
		known = known && a.known
		parts = append(parts, a.text)
	}
	text := strings.Join(parts, " ")
	if !known {
		w.shellUnknown(away)
		if _, err := parse(text); err != nil {
			return // too little of it is known
		}
	}
	w.script(text, fromNowhere)
}

// interpreter weighs what python and its kin read on their input.
func (w *reading) interpreter(args []word, in source, away bool) {
	for _, a := range args {
		switch {
		case away:
			w.raise(Block, "runs what it fetched from another machine")
			return
		case a.text == "-":
			w.input(in)
			return
		case !strings.HasPrefix(a.text, "-"):
			return
		case len(a.text) > 1 && a.text != "-u" && a.text != "-B" && a.text != "-I" && a.text != "-s" && !strings.HasPrefix(a.text, "--"):
			return // the table knows the flags that matter
		}
	}
	if len(args) == 0 || args[len(args)-1].text != "--version" {
		w.input(in)
	}
}

// find weighs what find runs.
func (w *reading) find(args []word) {
	for i, a := range args {
		if slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.text) {
			inner := args[i+1:]
			if end := slices.IndexFunc(inner, func(a word) bool { return a.text == ";" || a.text == "+" }); end >= 0 {
				inner = inner[:end]
			}
			w.raise(Review, "runs a command for what it finds")
			w.run(braces(inner), fromHere, false)
		}
	}
}

// braces makes {} a word that is not known.
func braces(ws []word) []word {
	out := slices.Clone(ws)
	for i, a := range out {
		if strings.Contains(a.text, "{}") {
			out[i].known = false
		}
	}
	return out
}

// program weighs the programs of sed and awk, which can write and run.
func (w *reading) program(name string, args []word) {
	plain := operands(args)
	for _, a := range args {
		if flag, ok := strings.CutPrefix(a.text, "-e"); ok && flag != "" {
			plain = append(plain, word{text: flag, known: a.known})
		}
		if _, text, ok := strings.Cut(a.text, "--expression="); ok {
			plain = append(plain, word{text: text, known: a.known})
		}
	}
	for _, a := range plain {
		switch {
		case !a.known:
			w.raise(Approve, "what %s does is only known when it runs", name)
		case name == "sed" && sedWrites(a.text):
			w.raise(Approve, "sed may write a file or run a command: %s", a.text)
		case name != "sed" && strings.ContainsAny(a.text, "|>") || strings.Contains(a.text, "system") || strings.Contains(a.text, "getline") || strings.Contains(a.text, "@load"):
			w.raise(Approve, "%s may write a file or run a command: %s", name, a.text)
		}
	}
}

// sedWrites reports a sed script that may hold the commands e, w or W, or the
// flags of that name: anything but addresses, s with flags, p, d, q and such.
func sedWrites(script string) bool {
	for line := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == '\n' }) {
		rest := strings.TrimLeft(line, "0123456789,$!{ \t+~")
		if rest == "" || rest[0] == '}' || rest[0] == '#' {
			continue
		}
		if (rest[0] == 's' || rest[0] == 'y') && len(rest) > 2 {
			parts := strings.Split(strings.ReplaceAll(rest[2:], `\`+rest[1:2], ""), rest[1:2])
			if len(parts) == 3 && strings.Trim(parts[2], "gpiI0123456789 }") == "" {
				continue
			}
			return true
		}
		if strings.Trim(rest, "pdqQnNDPhHgGxl=;0123456789,$!{} ") == "" || !strings.ContainsAny(rest, "wWesrR") {
			continue
		}
		return true
	}
	return false
}

// git weighs options before the verb and what goes where.
func (w *reading) git(args []word) {
	for _, a := range args[:len(args)-len(normalized("git", args))] {
		if a.text == "-c" || strings.HasPrefix(a.text, "-c") || strings.HasPrefix(a.text, "--exec-path=") || strings.HasPrefix(a.text, "--config-env") || strings.HasPrefix(a.text, "--git-dir") {
			w.raise(Approve, "changes how git works, which can run programs: %s", a.text)
		}
	}
	rest := operands(normalized("git", args))
	if len(rest) > 1 && rest[0].text == "push" && slices.ContainsFunc(rest[1:], func(a word) bool { return strings.HasPrefix(a.text, "+") }) {
		w.raise(Block, "is never run: a push with + replaces what others have")
	}
	if len(rest) > 1 && slices.Contains([]string{"branch", "tag", "stash", "remote"}, rest[0].text) && w.tier == Free {
		w.raise(Review, "git %s", show(rest))
	}
}

// recursive reports commands that change everything below their operands.
func recursive(name string, args []word) bool {
	has := func(flags ...string) bool {
		return slices.ContainsFunc(args, func(a word) bool {
			return slices.ContainsFunc(flags, func(f string) bool { return hasFlag(a.text, f) })
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
func (w *reading) wide(name string, args []word) {
	for _, a := range operands(args) {
		text := strings.TrimRight(strings.TrimSuffix(strings.TrimRight(a.text, "/"), "*"), "/")
		rooted := strings.HasPrefix(a.text, "/")
		switch {
		case rooted && (text == "" || path.Clean(text) == "/"), text == home, text == filepath.ToSlash(w.room.dir):
			w.raise(Block, "%s of %s, all that is below", name, a.text)
		case rooted && w.leaves(text) && systemPath(text):
			w.raise(Block, "%s of %s, which belongs to the system", name, a.text)
		case strings.HasPrefix(a.text, home) && strings.Count(text, "/") <= 1:
			w.raise(Block, "%s of %s, in the home directory", name, a.text)
		case path.Clean(text) == ".." || strings.HasSuffix(path.Clean(text), "/.."):
			w.raise(Block, "%s of %s, above the workspace", name, a.text)
		}
	}
}

// systemPath reports directories that the machine needs.
func systemPath(name string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path.Clean(name), "/"), "/")
	if top == "tmp" || strings.HasPrefix(path.Clean(name), "/var/tmp") || strings.HasPrefix(path.Clean(name), "/dev/shm/") {
		return false
	}
	return strings.HasPrefix(name, "/") && slices.Contains(strings.Fields("bin boot dev etc lib lib32 lib64 proc root run sbin sys usr var opt System Library Applications home Users"), top) &&
		(top != "home" && top != "Users" && top != "root" && top != "var" && top != "opt" || strings.Count(path.Clean(name), "/") <= 2)
}

func (w *reading) disk(args []word) {
	for _, a := range args {
		if to, ok := strings.CutPrefix(a.text, "of="); ok {
			w.output(word{text: to, known: a.known})
		}
	}
}

// paths weighs where the arguments lead.
func (w *reading) paths(name string, ws []word) {
	writes := slices.Contains(strings.Fields("rm rmdir unlink shred mv cp ln install tee touch mkdir truncate dd chmod chown chgrp patch rsync mktemp mkfifo split sed"), name)
	for _, a := range ws[1:] {
		text := a.text
		if strings.HasPrefix(text, "-") {
			_, text, _ = strings.Cut(text, "=")
		} else if before, after, ok := strings.Cut(text, "="); ok && !strings.Contains(before, "/") {
			text = after
		}
		if text == "" {
			continue
		}
		w.reads(word{text, a.known, a.glob}, name)
		if who := keptBy(text); writes && who != "" && (name != "sed" || hasInPlace(ws)) {
			w.raise(Block, "%s of %s, which belongs to %s", name, text, who)
		}
		if writes && w.leaves(text) && (name != "sed" || hasInPlace(ws)) && looksLikePath(text) {
			w.raise(Approve, "%s of %s, outside of the workspace", name, text)
		}
	}
}

func hasInPlace(ws []word) bool {
	return slices.ContainsFunc(ws, func(a word) bool { return hasFlag(a.text, "-i") || hasFlag(a.text, "--in-place") })
}

func looksLikePath(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, home) || strings.HasPrefix(text, "..") || strings.Contains(text, "/../")
}

// reads weighs a path that is at least looked at.
func (w *reading) reads(a word, name string) {
	if name == "echo" || name == "printf" {
		return
	}
	lower := strings.ToLower(a.text)
	for _, secret := range []string{"/.ssh", "/.aws", "/.gnupg", "/.netrc", "/.kube", "/.docker/config", "/.npmrc", "/.pypirc", "/.git-credentials", "id_rsa", "id_ed25519", "/etc/shadow", "/etc/sudoers", "/proc/self/environ", "/.config/gh", "/.azure", "/.config/gcloud"} {
		if strings.Contains(lower, secret) {
			w.raise(Approve, "looks where passwords and keys are kept: %s", a.text)
			return
		}
	}
	if strings.HasPrefix(a.text, "/dev/tcp/") || strings.HasPrefix(a.text, "/dev/udp/") {
		w.raise(Block, "connects to another machine through %s", a.text)
		return
	}
	if looksLikePath(a.text) && w.leaves(a.text) && !strings.HasPrefix(a.text, "/dev/") {
		w.raise(Review, "looks outside of the workspace: %s", a.text)
	}
}
