package tool

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/shell"
)

// prefixed weighs a command that runs another, and that other.
func (w *reading) prefixed(name string, ws []shell.Word, p shell.Wrapper, in source, away bool) {
	args := ws[1:]
	inner := p.Rest(args)
	if tier, known := w.rules.weigh(name, args); known && name != "env" {
		if tier == Block {
			w.raise(Block, "is never run: %s", show(ws))
		} else if tier != Free {
			w.raise(tier, "runs another command: %s", show(ws))
		}
	}
	w.options(name, args[:len(args)-len(inner)], in, away)
	if name == "command" && len(args) > 0 && (args[0].Text == "-v" || args[0].Text == "-V") {
		return
	}
	switch {
	case p.Script && len(inner) > 0:
		w.inString(inner, in, away, len(inner))
	case p.Fed:
		w.fed(name, inner, in)
	case len(inner) > 0:
		w.run(inner, in, away)
	case !slices.Contains([]string{"env", "exec", "time", "command", "builtin", "eval"}, name):
		w.raise(Approve, "runs nothing that the text names: %s", show(ws))
	}
}

// fed weighs a command that gets further words from elsewhere.
func (w *reading) fed(name string, inner []shell.Word, in source) {
	if len(inner) == 0 {
		if name == "parallel" {
			w.input(max(in, fromHere))
		}
		return // xargs alone is echo
	}
	inner = shell.Found(inner)
	w.run(append(inner, shell.Word{}), in, in == fromAway && runsWords(inner[0].Text))
}

// runsWords reports programs that take an argument for a program.
func runsWords(name string) bool {
	name = path.Base(name)
	return shell.IsShell(name) || isInterpreter(name) || name == "eval" || name == "env"
}

// options weighs flags and assignments of a prefix.
func (w *reading) options(name string, list []shell.Word, in source, away bool) {
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
			if i+1 < len(list) {
				text += " " + list[i+1].Text
			}
			w.raise(Approve, "env splits a text into a command: %s", a.Text)
			w.inString([]shell.Word{{Text: text, Known: a.Known}}, in, away, 1)
		case name == "env" && (strings.HasPrefix(a.Text, "-C") || hasFlag(a.Text, "--chdir")):
			w.moved = true
		case name == "su" && a.Text == "-c" && i+1 < len(list):
			w.inString(list[i+1:i+2], in, away, 1)
		case (name == "time" || name == "strace" || name == "ltrace") && (a.Text == "-o" || a.Text == "--output") && i+1 < len(list):
			w.output(list[i+1])
		case !a.Known:
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
		flag := shell.Constant(a.Value)
		if strings.HasPrefix(flag.Text, "-") && strings.Contains(flag.Text, "n") || n.Variant.Value == "nameref" {
			w.raise(Approve, "makes one name refer to another variable")
		}
		if strings.HasPrefix(flag.Text, "-") && strings.Contains(flag.Text, "i") {
			w.raise(Approve, "makes a variable that calculates what it is given, and runs the commands in it")
		}
		named = named || strings.HasPrefix(flag.Text, "-") && strings.Contains(flag.Text, "A")
		w.evaluatedWords(n.Variant.Value, []shell.Word{flag})
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
	if v := shell.Constant(a.Value); v.Known && hidesCommand(v.Text) {
		w.raise(Approve, "keeps a command in a variable: %s", v.Text)
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

func (w *reading) evaluatedWords(name string, args []shell.Word) {
	for _, a := range args {
		if hidesCommand(a.Text) || !a.Known && slices.ContainsFunc(args, func(f shell.Word) bool { return f.Text == "-v" }) {
			w.raise(Approve, "%s may run the text: %s", name, a.Text)
		}
		if name != "test" && name != "[" && name != "printf" && name != "wait" && !strings.HasPrefix(a.Text, "-") {
			key, _, _ := strings.Cut(a.Text, "=")
			w.variable(key)
		}
		if !a.Known && name != "test" && name != "[" && name != "printf" {
			w.raise(Review, "which variable %s sets is only known when it runs", name)
		}
	}
}

// evaluated weighs [[ … ]], which evaluates numbers and subscripts in quoted texts.
func (w *reading) evaluated(n *syntax.TestClause) {
	for node := range syntax.Preorder(n) {
		if q, ok := node.(*syntax.SglQuoted); ok && hidesCommand(q.Value) {
			w.raise(Approve, "[[ may run the text: %s", q.Value)
		}
		if u, ok := node.(*syntax.UnaryTest); ok && (u.Op == syntax.TsVarSet || u.Op == syntax.TsRefVar) && !named(u.X) {
			w.raise(Approve, "[[ may run the text in the name of a variable")
		}
		if b, ok := node.(*syntax.BinaryTest); ok && b.Op >= syntax.TsEql && b.Op <= syntax.TsGtr {
			w.raise(Review, "compares numbers in [[, where a value could hold a command; [ does not run it")
		}
	}
}

// named reports a test of a variable whose name stands in the text.
func named(x syntax.TestExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && syntax.ValidName(shell.Constant(w).Text) && shell.Constant(w).Known
}
