package verify

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"
)

func ruleWeak() Rule {
	return Rule{
		ID: "PT027", Name: "weak", Severity: Note,
		Title: "a contract only looks whether files exist",
		Text:  "An empty file would satisfy it. Look at what the file says (`grep -q`), or run it.",
		Bad:   "**contract:**\n```shell\ntest -f docs/analysis.md\n```",
		Good:  "**contract:**\n```shell\ngrep -q '^## Root cause' docs/analysis.md\n```",
		step:  checkWeak,
	}
}

func checkWeak(p *pass, u *unit) {
	for _, s := range u.proofs {
		if s.label == "contract" && s.readable() && onlyExists(s) {
			p.report(u, s.text.Pos, fmt.Sprintf("contract of step %q only looks whether files exist", u.ID.Value),
				"look at what is in them as well")
		}
	}
}

// onlyExists reports a script of nothing but tests whether files exist.
func onlyExists(s script) bool {
	if len(s.calls) > 0 {
		return false
	}
	tests := 0
	for node := range syntax.Preorder(s.file) {
		switch n := node.(type) {
		case *syntax.CallExpr:
			if !looksForFile(n) {
				return false
			}
			tests++
		case *syntax.TestClause:
			one, ok := n.X.(*syntax.UnaryTest)
			if !ok || one.Op != syntax.TsExists && one.Op != syntax.TsRegFile && one.Op != syntax.TsDirect {
				return false
			}
			tests++
		case *syntax.CmdSubst, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.FuncDecl:
			return false
		}
	}
	return tests > 0
}

func looksForFile(n *syntax.CallExpr) bool {
	if len(n.Args) < 3 {
		return len(n.Args) > 0 && constant(n.Args[0]).text == "set"
	}
	name, op := constant(n.Args[0]).text, constant(n.Args[1]).text
	return (name == "test" || name == "[") && (op == "-e" || op == "-f" || op == "-d")
}

// leading is the command that a statement begins with.
func leading(s *syntax.Stmt) *syntax.Stmt {
	for {
		list, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return s
		}
		s = list.X
	}
}
