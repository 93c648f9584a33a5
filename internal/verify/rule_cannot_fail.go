package verify

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleCannotFail() Rule {
	return Rule{
		ID: "PT022", Name: "cannot-fail", Severity: Error,
		Title: "a contract or check cannot fail",
		Text: "Whatever the workspace looks like, this script ends with the wanted exit code: it is a constant, " +
			"only prints, or its last command always succeeds (`|| true`, `; true`, `; echo done`). So it proves " +
			"nothing. Let the command that looks at the work come last, or begin with `set -e`. " +
			"For an optional check it is a warning.",
		Bad:  "**contract:**\n```shell\nnpm test || true\n```",
		Good: "**contract:**\n```shell\nnpm test\n```",
		step: checkCannotFail,
	}
}

func checkCannotFail(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() || !s.ends.only(s.exit) {
			continue
		}
		at, why, hint := s.reason()
		f := p.report(u, at, fmt.Sprintf("%s of step %q cannot fail: %s", s.label, u.ID.Value, why), hint)
		if !s.required {
			f.Severity = Warning
		}
	}
}

func (s script) readable() bool { return s.shell != nil && s.file != nil }

// reason says why a script always ends with the same code.
func (s script) reason() (at plan.Pos, why, hint string) {
	list := s.file.Stmts
	if len(list) == 0 {
		return s.text.Pos, "it holds no command", "write a command that fails until the step is done"
	}
	last := list[len(list)-1]
	at = s.text.At(int(last.Pos().Offset()))
	or, isOr := last.Cmd.(*syntax.BinaryCmd)
	switch {
	case isOr && or.Op == syntax.OrStmt:
		return s.text.At(int(or.OpPos.Offset())), "what stands after `||` hides every failure", "take the `||` part away"
	case len(list) > 1:
		return at, fmt.Sprintf("its last command always gives %d", s.exit), "let the command that looks at the work come last, or begin with `set -e`"
	}
	return at, fmt.Sprintf("it always gives %d", s.exit), "write a command that fails until the step is done"
}
