package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// codes is a set of exit codes, as far as a text tells them.
type codes struct {
	zero  bool
	one   int  // exactly this code other than zero; 0 for none
	other bool // any code other than zero
}

func code(n int) codes {
	if n == 0 {
		return codes{zero: true}
	}
	return codes{one: n}
}

func anything() codes { return codes{zero: true, other: true} }

func (c codes) or(d codes) codes {
	out := codes{zero: c.zero || d.zero, other: c.other || d.other, one: max(c.one, d.one)}
	if c.one != 0 && d.one != 0 && c.one != d.one {
		out.other = true
	}
	return out
}

func (c codes) nonzero() codes  { return codes{one: c.one, other: c.other} }
func (c codes) CanFail() bool   { return c.one != 0 || c.other }
func (c codes) Has(n int) bool  { return n == 0 && c.zero || n != 0 && (c.other || c.one == n) }
func (c codes) Only(n int) bool { return c == code(n) }

// outcome is how a command may end: it goes on with a status, or it ends the
// shell with one.
type outcome struct {
	On, exit codes
}

func goesOn(c codes) outcome { return outcome{On: c} }

func (o outcome) or(p outcome) outcome {
	return outcome{o.On.or(p.On), o.exit.or(p.exit)}
}

// results is every code a script may end with. It may name codes that the
// script never gives, and never leaves out one that it gives: so a script of
// one single result has no other.
func results(file *syntax.File) codes {
	e := Evaluator{}
	o := e.Stmts(file.Stmts)
	if e.Unsure {
		return anything()
	}
	return o.On.or(o.exit)
}

// Evaluator follows a script without running it.
type Evaluator struct {
	Errexit  bool
	Pipefail bool
	Unsure   bool // something that can change any result: a trap, a jump
	depth    int
	words    []Word // of the command at hand
}

func (e *Evaluator) Stmts(list []*syntax.Stmt) outcome {
	o := goesOn(code(0))
	for _, s := range list {
		if o.On == (codes{}) {
			break // never reached
		}
		next := e.Stmt(s)
		next.exit = next.exit.or(o.exit)
		o = next
	}
	return o
}

func (e *Evaluator) Stmt(s *syntax.Stmt) outcome {
	o := e.command(s.Cmd)
	for _, r := range s.Redirs {
		if r.Op == syntax.RdrIn && Constant(r.Word).Text != "/dev/null" {
			o.On.other = true // the file may be absent
		}
	}
	switch {
	case s.Background || s.Coprocess:
		return goesOn(code(0))
	case s.Negated:
		o.On = negated(o.On)
	case e.Errexit:
		o.exit = o.exit.or(o.On.nonzero())
		if _, list := s.Cmd.(*syntax.BinaryCmd); !list {
			o.On = codes{zero: o.On.zero}
		}
	}
	return o
}

func negated(c codes) codes {
	out := codes{zero: c.CanFail()}
	if c.zero {
		out.one = 1
	}
	return out
}

func (e *Evaluator) command(cmd syntax.Command) outcome {
	switch cmd := cmd.(type) {
	case nil:
		return goesOn(code(0)) // a redirection alone
	case *syntax.CallExpr:
		return e.simple(cmd)
	case *syntax.BinaryCmd:
		return e.binary(cmd)
	case *syntax.Block:
		return e.Stmts(cmd.Stmts)
	case *syntax.Subshell:
		return e.subshell(cmd.Stmts)
	case *syntax.IfClause:
		return e.branches(cmd)
	case *syntax.WhileClause:
		return e.loop(cmd.Cond, cmd.Do)
	case *syntax.ForClause:
		return e.loop(nil, cmd.Do)
	case *syntax.CaseClause:
		return e.cases(cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return e.Stmt(cmd.Stmt)
		}
	case *syntax.FuncDecl:
		return goesOn(code(0))
	case *syntax.DeclClause:
		return goesOn(code(0)) // as in bash: export x=$(false) is 0
	}
	return goesOn(anything())
}

// subshell ends with its own status, and what it sets stays inside.
func (e *Evaluator) subshell(list []*syntax.Stmt) outcome {
	errexit, pipefail := e.Errexit, e.Pipefail
	o := e.Stmts(list)
	e.Errexit, e.Pipefail = errexit, pipefail
	return goesOn(o.On.or(o.exit))
}

// heed evaluates a condition, where errexit does not count.
func (e *Evaluator) heed(list []*syntax.Stmt) outcome {
	saved := e.Errexit
	e.Errexit = false
	o := e.Stmts(list)
	e.Errexit = e.Errexit || saved
	return o
}

func (e *Evaluator) branches(clause *syntax.IfClause) outcome {
	if len(clause.Cond) == 0 { // else
		return e.Stmts(clause.Then)
	}
	cond := e.heed(clause.Cond)
	o := outcome{exit: cond.exit}
	if cond.On.zero {
		o = o.or(e.Stmts(clause.Then))
	}
	if cond.On.CanFail() {
		if clause.Else != nil {
			o = o.or(e.branches(clause.Else))
		} else {
			o = o.or(goesOn(code(0)))
		}
	}
	return o
}

// loop runs its body any number of times, if only its condition can hold.
func (e *Evaluator) loop(cond, body []*syntax.Stmt) outcome {
	o := goesOn(code(0))
	o.exit = e.heed(cond).exit
	return o.or(e.Stmts(body))
}

func (e *Evaluator) cases(clause *syntax.CaseClause) outcome {
	o := goesOn(code(0))
	for _, item := range clause.Items {
		o = o.or(e.Stmts(item.Stmts))
	}
	return o
}

func (e *Evaluator) binary(cmd *syntax.BinaryCmd) outcome {
	if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt {
		return e.pipe(cmd)
	}
	x := e.heed([]*syntax.Stmt{cmd.X})
	goes, stays := codes{zero: x.On.zero}, x.On.nonzero()
	if cmd.Op == syntax.OrStmt {
		goes, stays = stays, goes
	}
	o := outcome{On: stays, exit: x.exit}
	if goes != (codes{}) {
		o = o.or(e.heed([]*syntax.Stmt{cmd.Y}))
	}
	return o
}

func (e *Evaluator) pipe(cmd *syntax.BinaryCmd) outcome {
	x := e.subshell([]*syntax.Stmt{cmd.X})
	y := e.subshell([]*syntax.Stmt{cmd.Y})
	if e.Pipefail {
		y.On = y.On.or(x.On.nonzero())
	}
	return y
}

func (e *Evaluator) simple(cmd *syntax.CallExpr) outcome {
	if len(cmd.Args) == 0 {
		return e.assignment(cmd)
	}
	e.words = slices.Grow(e.words[:0], len(cmd.Args))
	for _, arg := range cmd.Args {
		e.words = append(e.words, Constant(arg))
	}
	return e.run(Call{Words: e.words})
}

// assignment has the status of the last command substitution in it.
func (e *Evaluator) assignment(cmd *syntax.CallExpr) outcome {
	o := goesOn(code(0))
	for _, a := range cmd.Assigns {
		for _, sub := range substitutions(a) {
			o = e.subshell(sub.Stmts)
		}
	}
	return o
}

// substitutions are those of a node that stand in no other one.
func substitutions(in syntax.Node) (list []*syntax.CmdSubst) {
	syntax.Walk(in, func(n syntax.Node) bool {
		sub, ok := n.(*syntax.CmdSubst)
		if ok {
			list = append(list, sub)
		}
		return !ok
	})
	return list
}

func (e *Evaluator) run(cmd Call) outcome {
	switch name := cmd.Name(); name {
	case "true", ":", "echo", "printf", "pwd", "date", "sleep", "hostname", "whoami", "uname",
		"shopt", "export", "unset", "umask", "alias", "jobs", "times":
		return goesOn(code(0))
	case "false":
		return goesOn(code(1))
	case "set":
		e.set(cmd.Args())
		return goesOn(code(0))
	case "exit":
		return e.exit(cmd.Args())
	case "test", "[":
		return goesOn(tested(cmd))
	case "trap":
		e.Unsure = e.Unsure || strings.Contains(constants(cmd, name), "exit") || constants(cmd, name) == ""
		return goesOn(code(0))
	case "return", "break", "continue", "source", ".", "eval":
		e.Unsure = true
	case "exec":
		if inner, ok := Unwrap(cmd); ok {
			o := e.run(inner)
			return outcome{exit: o.On.or(o.exit)}
		}
	case "command", "builtin", "env", "nohup", "nice", "setsid", "time", "timeout", "stdbuf":
		return e.wrapped(cmd)
	default:
		if IsShell(cmd.Tool()) {
			return e.nested(shellArgument(cmd))
		}
	}
	return goesOn(anything())
}

// wrapped is the outcome of what a wrapper starts; the wrapper itself may fail
// only where the command may.
func (e *Evaluator) wrapped(cmd Call) outcome {
	inner, ok := Unwrap(cmd)
	if !ok || inner.Name() == "" || inner.Name() == "exit" || inner.Name() == "set" {
		return goesOn(anything())
	}
	return e.run(inner)
}

func (e *Evaluator) nested(text string) outcome {
	if text == "" || e.depth >= maxStrings {
		return goesOn(anything())
	}
	file := parseInner(text)
	if file == nil {
		return goesOn(anything())
	}
	inner := Evaluator{depth: e.depth + 1}
	o := inner.Stmts(file.Stmts)
	if inner.Unsure {
		return goesOn(anything())
	}
	return goesOn(o.On.or(o.exit))
}

func (e *Evaluator) exit(args []Word) outcome {
	if len(args) == 0 {
		return outcome{exit: anything()}
	}
	n, err := strconv.Atoi(args[0].Text)
	if err != nil || !args[0].Known {
		return outcome{exit: anything()}
	}
	return outcome{exit: code(n & 255)}
}

// set follows the options that change how a script ends.
func (e *Evaluator) set(args []Word) {
	for i, w := range args {
		on := strings.HasPrefix(w.Text, "-")
		if !on && !strings.HasPrefix(w.Text, "+") || w.Text == "--" {
			continue
		}
		if strings.Contains(w.Text, "e") {
			e.Errexit = on
		}
		if strings.Contains(w.Text, "o") && i+1 < len(args) {
			switch args[i+1].Text {
			case "errexit":
				e.Errexit = on
			case "pipefail":
				e.Pipefail = on
			}
		}
	}
}

// tested is the outcome of test and [ where their words alone decide it.
func tested(cmd Call) codes {
	var args []string
	for _, w := range cmd.Args() {
		if !w.Known || w.Glob {
			return anything()
		}
		args = append(args, w.Text)
	}
	if cmd.Name() == "[" && len(args) > 0 {
		args = args[:len(args)-1]
	}
	truth := func(holds bool) codes {
		if holds {
			return code(0)
		}
		return code(1)
	}
	switch {
	case len(args) == 0:
		return code(1)
	case len(args) == 1:
		return truth(args[0] != "")
	case len(args) == 2 && args[0] == "-n":
		return truth(args[1] != "")
	case len(args) == 2 && args[0] == "-z":
		return truth(args[1] == "")
	case len(args) == 3 && (args[1] == "=" || args[1] == "==" || args[1] == "-eq"):
		return truth(args[0] == args[2])
	case len(args) == 3 && (args[1] == "!=" || args[1] == "-ne"):
		return truth(args[0] != args[2])
	}
	return anything()
}
