package verify

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"
)

func ruleNoErrexit() Rule {
	return Rule{
		ID: "PT025", Name: "no-errexit", Severity: Warning,
		Title: "only the last line of a script decides",
		Text: "Scripts run without `-e`: a command on an earlier line may fail, and the script goes on. " +
			"Write `set -e` (or `set -euo pipefail`) on the first line, or join the commands with `&&`.",
		Bad:  "**contract:**\n```shell\nmake lint\nmake test\n```",
		Good: "**contract:**\n```shell\nset -e\nmake lint\nmake test\n```",
		step: checkNoErrexit,
	}
}

func checkNoErrexit(p *pass, u *unit) {
	for _, s := range p.scripts(u) {
		if !s.readable() || s.ends.only(s.exit) {
			continue
		}
		if stmt := ignored(s.file.Stmts); stmt != nil {
			p.report(u, s.text.At(int(stmt.Pos().Offset())), fmt.Sprintf("%s of step %q goes on when this line fails; only its last line decides", s.label, u.ID.Value),
				"begin with `set -e`, or join the lines with `&&`")
		}
	}
}

// ignored is the first statement, not on the last line, whose failure nobody heeds.
func ignored(list []*syntax.Stmt) *syntax.Stmt {
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1].Pos().Line()
	e := evaluator{}
	for _, s := range list {
		if s.Pos().Line() == last {
			return nil
		}
		if o := e.stmt(s); o.on.canFail() && !e.errexit && !e.unsure {
			return s
		}
	}
	return nil
}
