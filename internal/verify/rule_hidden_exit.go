package verify

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"
)

func ruleHiddenExit() Rule {
	return Rule{
		ID: "PT024", Name: "hidden-exit", Severity: Warning,
		Title: "a pipe hides how the command before it ended",
		Text: "The exit code of a pipeline is that of its last command. `tee`, `cat`, `tail` and their like " +
			"succeed whatever came before them. Write `set -o pipefail` first, or look at the result with " +
			"`grep -q` or `test`.",
		Bad:  "**contract:**\n```shell\nmake test 2>&1 | tee test.log\n```",
		Good: "**contract:**\n```shell\nset -o pipefail\nmake test 2>&1 | tee test.log\n```",
		step: checkHiddenExit,
	}
}

func checkHiddenExit(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() || len(s.file.Stmts) == 0 {
			continue
		}
		last := lastCommand(s.file.Stmts[len(s.file.Stmts)-1])
		pipe, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe && pipe.Op != syntax.PipeAll || setsPipefail(s.file) {
			continue
		}
		if name := passive(pipe.Y); name != "" {
			p.report(u, s.text.At(int(pipe.OpPos.Offset())), fmt.Sprintf("%s of step %q ends with `| %s`, which succeeds whatever the command before it does", s.label, u.ID.Value, name),
				"write `set -o pipefail` first")
		}
	}
}

// lastCommand is the command whose status a list of && has in the end.
func lastCommand(s *syntax.Stmt) *syntax.Stmt {
	for {
		list, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || list.Op != syntax.AndStmt {
			return s
		}
		s = list.Y
	}
}

// passive names the command if it only hands its input on.
func passive(s *syntax.Stmt) string {
	simple, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(simple.Args) == 0 {
		return ""
	}
	switch name := constant(simple.Args[0]).text; name {
	case "tee", "cat", "head", "tail", "sort", "uniq", "sed", "tr", "cut", "nl", "fold", "column", "wc", "ts", "less", "more", "xxd":
		return name
	}
	return ""
}

// setsPipefail reports whether the script turns pipefail on anywhere.
func setsPipefail(file *syntax.File) bool {
	e := evaluator{}
	e.stmts(file.Stmts)
	return e.pipefail
}
