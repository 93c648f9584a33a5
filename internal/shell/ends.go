package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Any is an end that the text does not plainly tell: a run before the work shows it.
const Any = -1

// Nonzero is an end with some code other than 0.
const Nonzero = 256

// ends is the code that a script always ends with, or [Any].
func ends(file *syntax.File) int {
	for node := range syntax.Preorder(file) {
		switch node := node.(type) {
		case *syntax.CallExpr:
			if jumps(node) {
				return Any
			}
		case *syntax.FuncDecl:
			if slices.Contains(plain, node.Name.Value) {
				return Any
			}
		}
	}
	return last(file.Stmts, false, Sets(file, "pipefail"))
}

// first is the name of a command, "" where the text does not have it.
func first(cmd *syntax.CallExpr) string {
	if len(cmd.Args) == 0 {
		return ""
	}
	return Constant(cmd.Args[0]).Text
}

// Sets reports whether a script turns an option of the shell on, anywhere.
func Sets(in syntax.Node, option string) bool {
	for n := range syntax.Preorder(in) {
		if cmd, ok := n.(*syntax.CallExpr); ok && sets(cmd, option, "-") {
			return true
		}
	}
	return false
}

func sets(cmd *syntax.CallExpr, option, sign string) bool {
	if first(cmd) != "set" {
		return false
	}
	for i, arg := range cmd.Args[1:] {
		text := arg.Lit()
		on := strings.HasPrefix(text, sign) && !strings.HasPrefix(text, "--")
		if on && (option == "errexit" && strings.Contains(text, "e") || strings.Contains(text, "o") && i+2 < len(cmd.Args) && cmd.Args[i+2].Lit() == option) {
			return true
		}
	}
	return false
}

// last is what a list of statements ends with: the last one decides, or one that ends
// the shell, and each where errexit is set.
func last(list []*syntax.Stmt, errexit, pipefail bool) int {
	end, sure := 0, true
	for _, s := range list {
		cmd, isCall := s.Cmd.(*syntax.CallExpr)
		if Sets(s, "errexit") {
			errexit, end = true, 0
			sure = sure && len(s.Redirs) == 0 && isCall
			continue
		}
		if isCall && sets(cmd, "errexit", "+") {
			errexit = false
		}
		lead := Leading(s)
		if leavesAlways(lead) {
			end = statement(lead, errexit, pipefail)
			break
		}
		end = statement(s, errexit, pipefail)
		sure = sure && (end == 0 || !errexit) && (!mayLeave(s) || s == list[len(list)-1])
	}
	if !sure {
		return Any
	}
	return end
}

// Leading is the command that a statement begins with.
func Leading(s *syntax.Stmt) *syntax.Stmt {
	for {
		list, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || s.Background || list.Op != syntax.AndStmt && list.Op != syntax.OrStmt {
			return s
		}
		s = list.X
	}
}

// mayLeave reports an exit or exec in a statement, which ends all.
func mayLeave(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		if _, sub := n.(*syntax.Subshell); sub {
			return false
		}
		cmd, ok := n.(*syntax.CallExpr)
		found = found || ok && (first(cmd) == "exit" || first(cmd) == "exec")
		return !found
	})
	return found
}

// leavesAlways reports a statement that ends the shell.
func leavesAlways(s *syntax.Stmt) bool {
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return !s.Background && (first(cmd) == "exit" || first(cmd) == "exec" && len(cmd.Args) > 1)
	case *syntax.Block:
		return !s.Background && slices.ContainsFunc(cmd.Stmts, leavesAlways)
	}
	return false
}

// statement is the code of one statement.
func statement(s *syntax.Stmt, errexit, pipefail bool) int {
	end := command(s.Cmd, errexit, pipefail)
	for _, r := range s.Redirs {
		file := r.Word.Lit()
		switch r.Op {
		case syntax.RdrIn:
			if file != "/dev/null" {
				end = Any // the file may be absent
			}
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll:
			if strings.Contains(file, "/") && !strings.HasPrefix(file, "/dev/") {
				end = Any // its directory may be
			}
		}
	}
	switch {
	case s.Background || s.Coprocess:
		return 0
	case s.Negated && end == 0:
		return 1
	case s.Negated && end > 0:
		return 0
	}
	return end
}

// same is the code of both, where that is one.
func same(a, b int) int {
	if a == b {
		return a
	}
	return Any
}

func command(cmd syntax.Command, errexit, pipefail bool) int {
	inner := func(list []*syntax.Stmt) int { return last(list, errexit, pipefail) }
	switch cmd := cmd.(type) {
	case nil, *syntax.FuncDecl:
		return 0
	case *syntax.DeclClause: // as in bash: export x=$(false) is 0, and of another word it may end otherwise
		if cmd.Variant.Value != "local" && !slices.ContainsFunc(cmd.Args, func(a *syntax.Assign) bool { return a.Name == nil }) {
			return 0
		}
	case *syntax.CallExpr:
		return call(cmd)
	case *syntax.Block:
		return inner(cmd.Stmts)
	case *syntax.Subshell:
		return inner(cmd.Stmts)
	case *syntax.IfClause:
		switch cond := last(cmd.Cond, false, pipefail); {
		case len(cmd.Cond) == 0 || cond == 0: // else
			return inner(cmd.Then)
		case cmd.Else != nil && cond > 0:
			return command(cmd.Else, errexit, pipefail)
		case cmd.Else != nil:
			return same(inner(cmd.Then), command(cmd.Else, errexit, pipefail))
		default:
			return same(0, inner(cmd.Then))
		}
	case *syntax.BinaryCmd:
		x, y := statement(cmd.X, false, pipefail), statement(cmd.Y, errexit, pipefail)
		switch {
		case cmd.Op == syntax.OrStmt && x > 0, cmd.Op == syntax.AndStmt && x == 0:
			return y
		case cmd.Op == syntax.AndStmt && x > 0:
			return x
		case cmd.Op == syntax.AndStmt && y > 0:
			return Nonzero
		case cmd.Op == syntax.OrStmt && (x == 0 || y == 0):
			return 0
		case cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt && !pipefail:
			return y
		}
	}
	return Any
}

// call is the code of a simple command whose words alone decide it.
func call(cmd *syntax.CallExpr) int {
	if len(cmd.Args) == 0 {
		for _, a := range cmd.Assigns {
			if a.Value != nil && a.Value.Lit() == "" {
				return Any // of a command in it
			}
		}
		return 0
	}
	words := make([]Word, len(cmd.Args))
	for i, arg := range cmd.Args {
		words[i] = Constant(arg)
	}
	c := Call{Words: words}
	switch c.Name() {
	case "true", ":", "echo", "pwd":
		return 0
	case "false":
		return 1
	case "printf":
		if len(words) > 1 && words[1].Known && !strings.Contains(strings.ReplaceAll(words[1].Text, "%s", ""), "%") {
			return 0
		}
	case "exit":
		if len(words) > 1 && words[1].Known {
			if n, err := strconv.Atoi(words[1].Text); err == nil {
				return n & 255
			}
		}
	case "date":
		if len(words) == 1 {
			return 0
		}
	case "test", "[":
		return tested(words[1:])
	case "command", "builtin", "env", "timeout", "exec":
		if inner, ok := Unwrap(c); ok {
			return call(&syntax.CallExpr{Args: cmd.Args[len(words)-len(inner.Words):]})
		}
	default:
		if at := scriptIndex(c); IsShell(c.Tool()) && at > 0 && words[at].Known {
			if s := NewParser().fresh(words[at].Text); s.File != nil {
				return s.Ends
			}
		}
	}
	return Any
}

// plain are the commands that end in one way.
var plain = []string{"true", "false", ":", "echo", "printf", "pwd", "date"}

// prepares are commands that set the stage for others: nobody looks at how they end.
var prepares = []string{"set", "shopt", "export", "unset", "umask", "date", "printf"}

// tested is the code of test where its words alone decide it.
func tested(args []Word) int {
	if n := len(args); n > 0 && args[n-1].Text == "]" {
		args = args[:n-1]
	}
	if slices.ContainsFunc(args, func(w Word) bool { return !w.Known || w.Glob }) {
		return Any
	}
	holds := false
	switch {
	case len(args) == 0:
	case len(args) == 1:
		holds = args[0].Text != ""
	case len(args) == 3 && (args[1].Text == "=" || args[1].Text == "=="):
		holds = args[0].Text == args[2].Text
	case len(args) == 3 && args[1].Text == "-eq":
		x, err := strconv.Atoi(args[0].Text)
		y, wrong := strconv.Atoi(args[2].Text)
		if err != nil || wrong != nil {
			return Any
		}
		holds = x == y
	case len(args) == 2 && (args[0].Text == "-n" || args[0].Text == "-z"):
		holds = (args[0].Text == "-n") == (args[1].Text != "")
	default:
		return Any
	}
	if holds {
		return 0
	}
	return 1
}

// Ignored is the first statement, not on the last line, whose failure nobody heeds.
func Ignored(list []*syntax.Stmt) *syntax.Stmt {
	for _, s := range list {
		cmd, calls := s.Cmd.(*syntax.CallExpr)
		if calls && jumps(cmd) || Sets(s, "errexit") || s.Pos().Line() == list[len(list)-1].Pos().Line() {
			return nil
		}
		_, declares := s.Cmd.(*syntax.DeclClause)
		if statement(s, false, false) != 0 && !mayLeave(s) && !declares && !(calls && slices.Contains(prepares, first(cmd))) {
			return s
		}
	}
	return nil
}

// jumps reports a command that may change any end.
func jumps(cmd *syntax.CallExpr) bool {
	switch first(cmd) {
	case "return", "eval", "source", ".":
		return true
	case "trap":
		return len(cmd.Args) > 1 && (!Constant(cmd.Args[1]).Known || strings.Contains(Constant(cmd.Args[1]).Text, "exit"))
	}
	return false
}
