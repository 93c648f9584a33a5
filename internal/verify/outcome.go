package verify

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
func (c codes) canFail() bool   { return c.one != 0 || c.other }
func (c codes) has(n int) bool  { return n == 0 && c.zero || n != 0 && (c.other || c.one == n) }
func (c codes) only(n int) bool { return c == code(n) }

// outcome is how a command may end: it goes on with a status, or it ends the
// shell with one.
type outcome struct {
	on, exit codes
}

func goesOn(c codes) outcome { return outcome{on: c} }

func (o outcome) or(p outcome) outcome {
	return outcome{o.on.or(p.on), o.exit.or(p.exit)}
}

// results is every code a script may end with. It may name codes that the
// script never gives, and never leaves out one that it gives: so a script of
// one single result has no other.
func results(file *syntax.File) codes {
	e := evaluator{}
	o := e.stmts(file.Stmts)
	if e.unsure {
		return anything()
	}
	return o.on.or(o.exit)
}

// evaluator follows a script without running it.
type evaluator struct {
	errexit  bool
	pipefail bool
	unsure   bool // something that can change any result: a trap, a jump
	depth    int
	words    []word // of the command at hand
}

func (e *evaluator) stmts(list []*syntax.Stmt) outcome {
	o := goesOn(code(0))
	for _, s := range list {
		if o.on == (codes{}) {
			break // never reached
		}
		next := e.stmt(s)
		next.exit = next.exit.or(o.exit)
		o = next
	}
	return o
}

func (e *evaluator) stmt(s *syntax.Stmt) outcome {
	o := e.command(s.Cmd)
	for _, r := range s.Redirs {
		if r.Op == syntax.RdrIn && constant(r.Word).text != "/dev/null" {
			o.on.other = true // the file may be absent
		}
	}
	switch {
	case s.Background || s.Coprocess:
		return goesOn(code(0))
	case s.Negated:
		o.on = negated(o.on)
	case e.errexit:
		o.exit = o.exit.or(o.on.nonzero())
		if _, list := s.Cmd.(*syntax.BinaryCmd); !list {
			o.on = codes{zero: o.on.zero}
		}
	}
	return o
}

func negated(c codes) codes {
	out := codes{zero: c.canFail()}
	if c.zero {
		out.one = 1
	}
	return out
}

func (e *evaluator) command(cmd syntax.Command) outcome {
	switch cmd := cmd.(type) {
	case nil:
		return goesOn(code(0)) // a redirection alone
	case *syntax.CallExpr:
		return e.simple(cmd)
	case *syntax.BinaryCmd:
		return e.binary(cmd)
	case *syntax.Block:
		return e.stmts(cmd.Stmts)
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
			return e.stmt(cmd.Stmt)
		}
	case *syntax.FuncDecl:
		return goesOn(code(0))
	case *syntax.DeclClause:
		return goesOn(code(0)) // as in bash: export x=$(false) is 0
	}
	return goesOn(anything())
}

// subshell ends with its own status, and what it sets stays inside.
func (e *evaluator) subshell(list []*syntax.Stmt) outcome {
	errexit, pipefail := e.errexit, e.pipefail
	o := e.stmts(list)
	e.errexit, e.pipefail = errexit, pipefail
	return goesOn(o.on.or(o.exit))
}

// heed evaluates a condition, where errexit does not count.
func (e *evaluator) heed(list []*syntax.Stmt) outcome {
	saved := e.errexit
	e.errexit = false
	o := e.stmts(list)
	e.errexit = e.errexit || saved
	return o
}

func (e *evaluator) branches(clause *syntax.IfClause) outcome {
	if len(clause.Cond) == 0 { // else
		return e.stmts(clause.Then)
	}
	cond := e.heed(clause.Cond)
	o := outcome{exit: cond.exit}
	if cond.on.zero {
		o = o.or(e.stmts(clause.Then))
	}
	if cond.on.canFail() {
		if clause.Else != nil {
			o = o.or(e.branches(clause.Else))
		} else {
			o = o.or(goesOn(code(0)))
		}
	}
	return o
}

// loop runs its body any number of times, if only its condition can hold.
func (e *evaluator) loop(cond, body []*syntax.Stmt) outcome {
	o := goesOn(code(0))
	o.exit = e.heed(cond).exit
	return o.or(e.stmts(body))
}

func (e *evaluator) cases(clause *syntax.CaseClause) outcome {
	o := goesOn(code(0))
	for _, item := range clause.Items {
		o = o.or(e.stmts(item.Stmts))
	}
	return o
}

func (e *evaluator) binary(cmd *syntax.BinaryCmd) outcome {
	if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt {
		return e.pipe(cmd)
	}
	x := e.heed([]*syntax.Stmt{cmd.X})
	goes, stays := codes{zero: x.on.zero}, x.on.nonzero()
	if cmd.Op == syntax.OrStmt {
		goes, stays = stays, goes
	}
	o := outcome{on: stays, exit: x.exit}
	if goes != (codes{}) {
		o = o.or(e.heed([]*syntax.Stmt{cmd.Y}))
	}
	return o
}

func (e *evaluator) pipe(cmd *syntax.BinaryCmd) outcome {
	x := e.subshell([]*syntax.Stmt{cmd.X})
	y := e.subshell([]*syntax.Stmt{cmd.Y})
	if e.pipefail {
		y.on = y.on.or(x.on.nonzero())
	}
	return y
}

func (e *evaluator) simple(cmd *syntax.CallExpr) outcome {
	if len(cmd.Args) == 0 {
		return e.assignment(cmd)
	}
	e.words = slices.Grow(e.words[:0], len(cmd.Args))
	for _, arg := range cmd.Args {
		e.words = append(e.words, constant(arg))
	}
	return e.run(call{words: e.words})
}

// assignment has the status of the last command substitution in it.
func (e *evaluator) assignment(cmd *syntax.CallExpr) outcome {
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

func (e *evaluator) run(cmd call) outcome {
	switch name := cmd.name(); name {
	case "true", ":", "echo", "printf", "pwd", "date", "sleep", "hostname", "whoami", "uname",
		"shopt", "export", "unset", "umask", "alias", "jobs", "times":
		return goesOn(code(0))
	case "false":
		return goesOn(code(1))
	case "set":
		e.set(cmd.args())
		return goesOn(code(0))
	case "exit":
		return e.exit(cmd.args())
	case "test", "[":
		return goesOn(tested(cmd))
	case "trap":
		e.unsure = e.unsure || strings.Contains(constants(cmd, name), "exit") || constants(cmd, name) == ""
		return goesOn(code(0))
	case "return", "break", "continue", "source", ".", "eval":
		e.unsure = true
	case "exec":
		if inner, ok := unwrap(cmd); ok {
			o := e.run(inner)
			return outcome{exit: o.on.or(o.exit)}
		}
	case "command", "builtin", "env", "nohup", "nice", "setsid", "time", "timeout", "stdbuf":
		return e.wrapped(cmd)
	default:
		if isShell(cmd.tool()) {
			return e.nested(shellArgument(cmd))
		}
	}
	return goesOn(anything())
}

// wrapped is the outcome of what a wrapper starts; the wrapper itself may fail
// only where the command may.
func (e *evaluator) wrapped(cmd call) outcome {
	inner, ok := unwrap(cmd)
	if !ok || inner.name() == "" || inner.name() == "exit" || inner.name() == "set" {
		return goesOn(anything())
	}
	return e.run(inner)
}

func (e *evaluator) nested(text string) outcome {
	if text == "" || e.depth >= maxStrings {
		return goesOn(anything())
	}
	file := parseInner(text)
	if file == nil {
		return goesOn(anything())
	}
	inner := evaluator{depth: e.depth + 1}
	o := inner.stmts(file.Stmts)
	if inner.unsure {
		return goesOn(anything())
	}
	return goesOn(o.on.or(o.exit))
}

func (e *evaluator) exit(args []word) outcome {
	if len(args) == 0 {
		return outcome{exit: anything()}
	}
	n, err := strconv.Atoi(args[0].text)
	if err != nil || !args[0].known {
		return outcome{exit: anything()}
	}
	return outcome{exit: code(n & 255)}
}

// set follows the options that change how a script ends.
func (e *evaluator) set(args []word) {
	for i, w := range args {
		on := strings.HasPrefix(w.text, "-")
		if !on && !strings.HasPrefix(w.text, "+") || w.text == "--" {
			continue
		}
		if strings.Contains(w.text, "e") {
			e.errexit = on
		}
		if strings.Contains(w.text, "o") && i+1 < len(args) {
			switch args[i+1].text {
			case "errexit":
				e.errexit = on
			case "pipefail":
				e.pipefail = on
			}
		}
	}
}

// tested is the outcome of test and [ where their words alone decide it.
func tested(cmd call) codes {
	var args []string
	for _, w := range cmd.args() {
		if !w.known || w.glob {
			return anything()
		}
		args = append(args, w.text)
	}
	if cmd.name() == "[" && len(args) > 0 {
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
