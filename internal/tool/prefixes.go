package tool

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// prefix is a command whose arguments are another command.
type prefix struct {
	valued   string // flags that take the next word
	operands int    // words before the command
	assigns  bool   // NAME=value may stand before it
	script   bool   // the words are a script for a shell
	fed      bool   // it adds words of its own to the command
}

// prefixes are the commands that run others.
func prefixes() map[string]prefix {
	return map[string]prefix{
		"sudo": {valued: "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir", assigns: true},
		"doas": {valued: "-u -C"}, "pkexec": {valued: "--user"}, "run0": {valued: "-u --user"},
		"env": {valued: "-u -C --unset --chdir", assigns: true}, "nohup": {}, "nice": {valued: "-n --adjustment"},
		"ionice": {valued: "-c -n --class --classdata"}, "time": {valued: "-f -o --format --output"},
		"timeout": {valued: "-k -s --kill-after --signal", operands: 1}, "stdbuf": {valued: "-i -o -e"}, "setsid": {},
		"command": {}, "builtin": {}, "exec": {valued: "-a"}, "eval": {script: true}, "chrt": {operands: 1}, "taskset": {operands: 1},
		"xargs":    {valued: "-I -L -n -P -s -d -E -a --arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var", fed: true},
		"parallel": {valued: "-j --jobs -a", fed: true}, "watch": {valued: "-n --interval", script: true},
		"strace": {valued: "-e -o -p -s"}, "ltrace": {valued: "-e -o"}, "flock": {valued: "-w -E --timeout", operands: 1},
		"busybox": {}, "toybox": {}, "unbuffer": {}, "caffeinate": {valued: "-t"}, "chronic": {}, "ts": {}, "faketime": {operands: 1},
		"ssh": {valued: "-p -i -l -o -F -J -L -R -D -W -b -c -e -m", operands: 1, script: true}, "unshare": {}, "chroot": {operands: 1},
		"nsenter": {valued: "-t"}, "su": {valued: "-c -s -g", operands: 1},
	}
}

// rest is what is left of the words once flags and operands are taken off.
func (p prefix) rest(args []word) []word {
	skip := p.operands
	for len(args) > 0 {
		a := args[0]
		switch {
		case a.text == "--":
			args = args[1:]
			return args[min(skip, len(args)):]
		case p.takes(a.text):
			args = args[min(2, len(args)):]
		case strings.HasPrefix(a.text, "-"), p.assigns && assigns(a.text):
			args = args[1:]
		case skip > 0:
			skip--
			args = args[1:]
		default:
			return args
		}
	}
	return nil
}

// takes reports a flag whose value is the next word. Programs take the beginning of
// a long one for it.
func (p prefix) takes(flag string) bool {
	return slices.ContainsFunc(strings.Fields(p.valued), func(v string) bool {
		return flag == v || strings.HasPrefix(v, "--") && !strings.Contains(flag, "=") && hasFlag(flag, v)
	})
}

func assigns(text string) bool {
	name, _, ok := strings.Cut(text, "=")
	return ok && syntax.ValidName(name)
}

// prefixed weighs a command that runs another, and that other.
func (w *reading) prefixed(name string, ws []word, p prefix, in source, away bool) {
	args := ws[1:]
	inner := p.rest(args)
	if tier, known := w.rules.weigh(name, args); known && name != "env" {
		if tier == Block {
			w.raise(Block, "is never run: %s", show(ws))
		} else if tier != Free {
			w.raise(tier, "runs another command: %s", show(ws))
		}
	}
	w.options(name, args[:len(args)-len(inner)], in, away)
	if name == "command" && len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V") {
		return
	}
	switch {
	case p.script && len(inner) > 0:
		w.inString(inner, in, away, len(inner))
	case p.fed:
		w.fed(name, inner, in)
	case len(inner) > 0:
		w.run(inner, in, away)
	case !slices.Contains([]string{"env", "exec", "time", "command", "builtin", "eval"}, name):
		w.raise(Approve, "runs nothing that the text names: %s", show(ws))
	}
}

// fed weighs a command that gets further words from elsewhere.
func (w *reading) fed(name string, inner []word, in source) {
	if len(inner) == 0 {
		if name == "parallel" {
			w.input(max(in, fromHere))
		}
		return // xargs alone is echo
	}
	inner = braces(inner)
	w.run(append(inner, word{}), in, in == fromAway && runsWords(inner[0].text))
}

// runsWords reports programs that take an argument for a program.
func runsWords(name string) bool {
	name = path.Base(name)
	return isShell(name) || isInterpreter(name) || name == "eval" || name == "env"
}

// options weighs flags and assignments of a prefix.
func (w *reading) options(name string, list []word, in source, away bool) {
	for i, a := range list {
		switch {
		case assigns(a.text):
			key, _, _ := strings.Cut(a.text, "=")
			w.variable(key)
		case name == "env" && (hasFlag(a.text, "-S") || hasFlag(a.text, "--split-string")):
			text := strings.TrimPrefix(a.text, "-S")
			if _, after, ok := strings.Cut(a.text, "="); ok {
				text = after
			}
			if i+1 < len(list) {
				text += " " + list[i+1].text
			}
			w.raise(Approve, "env splits a text into a command: %s", a.text)
			w.inString([]word{{text: text, known: a.known}}, in, away, 1)
		case name == "env" && (strings.HasPrefix(a.text, "-C") || hasFlag(a.text, "--chdir")):
			w.moved = true
		case name == "su" && a.text == "-c" && i+1 < len(list):
			w.inString(list[i+1:i+2], in, away, 1)
		case (name == "time" || name == "strace" || name == "ltrace") && (a.text == "-o" || a.text == "--output") && i+1 < len(list):
			w.output(list[i+1])
		case !a.known:
			w.raise(Approve, "what %s does is only known when it runs", name)
		}
	}
}

// variable weighs the setting of a variable that makes programs run or load others.
func (w *reading) variable(name string) {
	name, _, _ = strings.Cut(name, "[")
	name = strings.TrimSuffix(name, "+")
	upper := strings.ToUpper(name)
	dangerous := strings.Fields(`PATH BASH_ENV ENV SHELLOPTS BASHOPTS PS0 PS4 PROMPT_COMMAND IFS PAGER MANPAGER LESSOPEN LESSCLOSE LESS EDITOR
		VISUAL BROWSER NODE_OPTIONS NODE_PATH PERL5LIB PERL5OPT PERLLIB PERL5DB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS
		CLASSPATH MAKEFLAGS GNUMAKEFLAGS MAKEFILES GOFLAGS GOROOT GOPROXY GOTOOLCHAIN GOENV RUSTC RUSTC_WRAPPER RUSTFLAGS CC CXX LD SHELL SSH_ASKPASS SUDO_ASKPASS
		SSH_AUTH_SOCK HOME XDG_CONFIG_HOME HTTP_PROXY HTTPS_PROXY ALL_PROXY TAR_OPTIONS RSYNC_RSH CDPATH GLOBIGNORE BASH_LOADABLES_PATH
		BASH_CMDS BASH_ALIASES GOCACHEPROG GOAUTH GETCONF_DIR
		GCONV_PATH HOSTALIASES LOCPATH NLSPATH RIPGREP_CONFIG_PATH JQ_LIBRARY_PATH AWKPATH AWKLIBPATH TREE_COLORS`)
	prefixes := []string{"LD_", "DYLD_", "GIT_", "PYTHON", "NPM_CONFIG_", "PIP_", "CARGO_", "BASH_FUNC_", "PITON_", "DOCKER_", "KUBE"}
	if slices.Contains(dangerous, upper) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(upper, p) }) {
		w.raise(Approve, "sets %s, which changes what programs run", name)
	}
	if calculates(name) {
		w.raise(Approve, "sets %s, which calculates what it is given, and runs the commands in it", name)
	}
}

// calculates reports the variables of bash that take a number for an expression.
func calculates(name string) bool {
	return slices.Contains(strings.Fields("RANDOM SRANDOM SECONDS OPTIND HISTCMD"), name)
}

// declaration weighs declare, export and their kin.
func (w *reading) declaration(n *syntax.DeclClause) {
	named := false // subscripts are names
	for _, a := range n.Args {
		if a.Name != nil {
			w.assignment(a, named)
			continue
		}
		if a.Value == nil {
			continue
		}
		flag := constant(a.Value)
		if strings.HasPrefix(flag.text, "-") && strings.Contains(flag.text, "n") || n.Variant.Value == "nameref" {
			w.raise(Approve, "makes one name stand for another variable")
		}
		if strings.HasPrefix(flag.text, "-") && strings.Contains(flag.text, "i") {
			w.raise(Approve, "makes a variable that calculates what it is given, and runs the commands in it")
		}
		named = named || strings.HasPrefix(flag.text, "-") && strings.Contains(flag.text, "A")
		w.evaluatedWords(n.Variant.Value, []word{flag})
	}
}

// assignment weighs NAME=value. A value with a substitution in quotes does nothing
// by itself, but any later calculation with the variable runs it. named says that
// subscripts in a list are names and not numbers.
func (w *reading) assignment(a *syntax.Assign, named bool) {
	if v := a.Value; !calculates(a.Name.Value) || v != nil && (v.Lit() == "" || strings.Trim(v.Lit(), "0123456789") != "") {
		w.variable(a.Name.Value)
	}
	if a.Array != nil && !named {
		for _, e := range a.Array.Elems {
			w.calculated(e.Index)
		}
	}
	if a.Value == nil {
		return
	}
	for n := range syntax.Preorder(a.Value) {
		if q, ok := n.(*syntax.SglQuoted); ok && hidesCommand(q.Value) {
			w.raise(Approve, "keeps a command in a variable: %s", q.Value)
		}
	}
	if v := constant(a.Value); v.known && hidesCommand(v.text) {
		w.raise(Approve, "keeps a command in a variable: %s", v.text)
	}
	w.calculated(a.Index)
}

func hidesCommand(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`")
}

// parameter weighs expansions that set variables or run their value.
func (w *reading) parameter(n *syntax.ParamExp) {
	w.calculated(n.Index)
	if n.Slice != nil {
		w.calculated(n.Slice.Offset)
		w.calculated(n.Slice.Length)
	}
	if n.Excl {
		w.raise(Review, "expands the variable that another one names")
	}
	if n.Exp == nil {
		return
	}
	switch n.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if n.Param != nil {
			w.variable(n.Param.Value)
		}
	case syntax.OtherParamOps:
		w.raise(Approve, "expands a variable's value once more, which can run commands")
	}
}

// calculated weighs an expression: the shell runs what substitutions it finds in
// the values of its variables, which may come from a file.
func (w *reading) calculated(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	for n := range syntax.Preorder(x) {
		if v, ok := n.(*syntax.Word); ok && strings.Trim(v.Lit(), "0123456789@*") != "" || ok && v.Lit() == "" {
			w.raise(Review, "calculates with a variable, whose value could hold a command")
			return
		}
	}
}

// evaluates lists the builtins that read names of variables, and with them
// subscripts, which can run commands.
func evaluates(name string) bool {
	return slices.Contains(strings.Fields("test [ printf read unset let declare typeset local export readonly mapfile readarray getopts wait"), name)
}

func (w *reading) evaluatedWords(name string, args []word) {
	for _, a := range args {
		if hidesCommand(a.text) || !a.known && slices.ContainsFunc(args, func(f word) bool { return f.text == "-v" }) {
			w.raise(Approve, "%s may run what stands in a text: %s", name, a.text)
		}
		if name != "test" && name != "[" && name != "printf" && name != "wait" && !strings.HasPrefix(a.text, "-") {
			key, _, _ := strings.Cut(a.text, "=")
			w.variable(key)
		}
		if !a.known && name != "test" && name != "[" && name != "printf" {
			w.raise(Review, "which variable %s sets is only known when it runs", name)
		}
	}
}

// evaluated weighs [[ … ]], which evaluates numbers and subscripts in quoted texts.
func (w *reading) evaluated(n *syntax.TestClause) {
	for node := range syntax.Preorder(n) {
		if q, ok := node.(*syntax.SglQuoted); ok && hidesCommand(q.Value) {
			w.raise(Approve, "[[ may run what stands in a text: %s", q.Value)
		}
		if u, ok := node.(*syntax.UnaryTest); ok && (u.Op == syntax.TsVarSet || u.Op == syntax.TsRefVar) && !named(u.X) {
			w.raise(Approve, "[[ may run what stands in the name of a variable")
		}
		if b, ok := node.(*syntax.BinaryTest); ok && b.Op >= syntax.TsEql && b.Op <= syntax.TsGtr {
			w.raise(Review, "compares numbers in [[, where a value could hold a command; [ does not run it")
		}
	}
}

// named reports a test of a variable whose name stands in the text.
func named(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && syntax.ValidName(constant(w).text) && constant(w).known
}
