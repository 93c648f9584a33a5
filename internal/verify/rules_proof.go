package verify

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/shell"
)

func checkNoProof(p *pass, u *unit) {
	if u.works() && !u.provable() && !u.unread("contract") && !u.unread("checks") {
		hint := "add a `contract:` with a shell command that fails until the step is done"
		if u.Iterations.Set {
			hint = "give the loop a contract, or a check that must pass: in a task plan `config.buildCommand`, or an item with a `command`"
		}
		p.report(u, u.Pos, fmt.Sprintf("step %q has no contract and no required check, so nothing can prove it", u.ID.Value), hint)
	}
}

func (u *unit) provable() bool {
	return slices.ContainsFunc(u.proofs, func(s script) bool { return s.required })
}

func checkPlanShellSyntax(p *pass) {
	if setup := p.doc.script("setup", p.doc.plan.Setup, false, 0); setup.reading != nil && setup.Fault != "" {
		p.report(nil, setup.text.At(setup.At), "the plan's setup: "+setup.Fault, "")
	}
}

func checkShellSyntax(p *pass, u *unit) {
	for _, s := range p.scripts(u) {
		p.unparsed(u, s)
	}
	p.unparsed(u, u.setup)
}

func (p *pass) unparsed(u *unit, s script) {
	if s.reading != nil && s.Fault != "" {
		p.report(u, s.text.At(s.At), fmt.Sprintf("%s of step %q: %s", s.label, u.ID.Value, s.Fault), s.swallowed())
	}
}

// swallowed says that a script has a line which somebody meant for a label: what is no
// label is read as text of what stands before it.
func (s script) swallowed() string {
	for line := range strings.Lines(s.text.Value) {
		key, _, bold := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "**"), ":**")
		if !bold || key == "" || !strings.HasPrefix(strings.TrimSpace(line), "**") {
			continue
		}
		name := strings.TrimSpace(strings.TrimSuffix(key, "(optional)"))
		if plan.ValidCheck(name) && (name != key || plan.Found(name)) {
			return fmt.Sprintf("`%s` is no label, so it is read as text of the %s; write `**checks:**`, and below it `- %s: COMMAND`", key, s.label, key)
		}
		return fmt.Sprintf("`%s` is no label, so it is read as text of the %s; correct or remove it", key, s.label)
	}
	return ""
}

func checkCannotFail(p *pass, u *unit) {
	for s := range readable(u.proofs) {
		if s.Ends != s.exit {
			continue
		}
		at, why, hint := s.reason()
		f := p.report(u, at, fmt.Sprintf("%s of step %q cannot fail: %s", s.label, u.ID.Value, why), hint)
		p.admits(f, s)
		if !s.required {
			f.Severity = Warning
		}
	}
}

// readable are the scripts that the shell can read.
func readable(list []script) iter.Seq[script] {
	return func(yield func(script) bool) {
		for _, s := range list {
			if s.readable() && !yield(s) {
				return
			}
		}
	}
}

func (s script) readable() bool { return s.reading != nil && s.File != nil }

// reason says why a script always ends with the same code.
func (s script) reason() (at plan.Pos, why, hint string) {
	list := s.File.Stmts
	if len(list) == 0 {
		return s.text.Pos, "it has no command", "write a command that fails until the step is done"
	}
	last := list[len(list)-1]
	at = s.text.At(int(last.Pos().Offset()))
	or, isOr := last.Cmd.(*syntax.BinaryCmd)
	switch {
	case isOr && or.Op == syntax.OrStmt:
		return s.text.At(int(or.OpPos.Offset())), "the part after `||` hides every failure", "remove the part after `||`"
	case len(list) > 1:
		return at, fmt.Sprintf("its last command always gives %d", s.exit), "put the command that checks the work last, or begin with `set -e`"
	}
	return at, fmt.Sprintf("it always gives %d", s.exit), "write a command that fails until the step is done"
}

func checkCannotPass(p *pass, u *unit) {
	for s := range readable(u.proofs) {
		if s.Ends == s.exit || s.Ends == shell.Any || s.Ends == shell.Nonzero && s.exit != 0 {
			continue
		}
		f := p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q cannot pass: it never ends with exit code %d", s.label, u.ID.Value, s.exit), "")
		if !s.required {
			f.Severity = Warning
		}
	}
}

func checkHiddenExit(p *pass, u *unit) {
	for s := range readable(u.proofs) {
		if len(s.File.Stmts) == 0 {
			continue
		}
		last := lastCommand(s.File.Stmts[len(s.File.Stmts)-1])
		pipe, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe && pipe.Op != syntax.PipeAll || shell.Sets(s.File, "pipefail") {
			continue
		}
		if name := passive(pipe.Y); name != "" {
			f := p.report(u, s.text.At(int(pipe.OpPos.Offset())), fmt.Sprintf("%s of step %q ends with `| %s`, which succeeds whatever the command before it does", s.label, u.ID.Value, name),
				"write `set -o pipefail` first")
			p.begins(f, s, "set -o pipefail")
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
	switch name := shell.Constant(simple.Args[0]).Text; name {
	case "tee", "cat", "head", "tail", "sort", "uniq", "sed", "tr", "cut", "nl", "fold", "column", "wc", "ts", "less", "more", "xxd":
		return name
	}
	return ""
}

func checkNoErrexit(p *pass, u *unit) {
	for s := range readable(p.scripts(u)) {
		if s.Ends == s.exit {
			continue
		}
		if stmt := shell.Ignored(s.File.Stmts); stmt != nil {
			f := p.report(u, s.text.At(int(stmt.Pos().Offset())), fmt.Sprintf("%s of step %q continues if this line fails; only its last line decides", s.label, u.ID.Value),
				"begin with `set -e`, or join the lines with `&&`")
			p.begins(f, s, "set -e")
		}
	}
}

func checkNegated(p *pass, u *unit) {
	if u.Contract == nil || u.Holds.Set || len(u.proofs) == 0 || u.proofs[0].label != "contract" {
		return
	}
	if s := u.proofs[0]; s.readable() && len(s.File.Stmts) > 0 && shell.Leading(s.File.Stmts[0]).Negated {
		f := p.report(u, s.text.Pos, fmt.Sprintf("contract of step %q begins with `!` and must still pass at the end of the run", u.ID.Value),
			"write `holds: step` if a later step changes that")
		p.labelled(f, u, "holds", "step")
	}
}

func checkWeak(p *pass, u *unit) {
	for s := range readable(u.proofs) {
		if s.label == "contract" && onlyExists(s) {
			p.report(u, s.text.Pos, fmt.Sprintf("contract of step %q only checks that files exist", u.ID.Value),
				"check their content as well")
		}
	}
}

// onlyExists reports a script of nothing but tests whether files exist.
func onlyExists(s script) bool {
	if len(s.Calls) > 0 {
		return false
	}
	tests := 0
	for node := range syntax.Preorder(s.File) {
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
		return len(n.Args) > 0 && shell.Constant(n.Args[0]).Text == "set"
	}
	name, op := shell.Constant(n.Args[0]).Text, shell.Constant(n.Args[1]).Text
	return (name == "test" || name == "[") && (op == "-e" || op == "-f" || op == "-d")
}

// checkStrong says where a step has nothing that can be taken back, or no checks that can
// say what they see of it.
func checkStrong(p *pass, u *unit) {
	if !u.Strong.Value {
		return
	}
	says := func(text, hint string) {
		p.report(u, u.Strong.Pos, fmt.Sprintf("step %q is `strong`, ", u.ID.Value)+text, hint)
	}
	switch _, delegated := Delegate(u.Step); {
	case u.Tool.Set, !u.Ask.IsZero(), delegated:
		says("and no agent or script of its own changes anything that could be taken back", "remove `strong`")
	case u.Mode.Value == "read":
		says("and its `mode: read` changes nothing that could be taken back", "remove one of the two")
	case !u.Rerunnable.Value:
		says("but its checks may run only once", "remove `rerunnable: no`")
	case u.Expect.Value == "green":
		says("so its checks must fail without its change, but `expect: green` wants them to pass before it", "remove one of the two")
	}
}

// checkJudge says where a judge could not be asked, or would decide alone.
func checkJudge(p *pass, u *unit) {
	for _, c := range u.Checks.Value {
		if c.Name.Value == engine.Judge {
			p.report(u, c.Name.Pos, fmt.Sprintf("step %q has a check named %q, which is the name of the label", u.ID.Value, engine.Judge), "rename it")
		}
	}
	if u.Judge.IsZero() {
		return
	}
	says := func(text, hint string) *Finding {
		return p.report(u, u.Judge.Pos, fmt.Sprintf("step %q has a `judge`, ", u.ID.Value)+text, hint)
	}
	switch {
	case !u.Ask.IsZero():
		says("and a person answers it", "take it out")
	case u.works() && !u.provable(): // that is said already
	case !u.provable():
		says("which proves nothing alone", "add a contract, or a check that must pass")
	case p.facts.Judge == nil:
		says("and no model that judges is configured", "in .piton/config.yaml, name an agent, as in `judge: {agent: reviewer}`, or a model, as in `judge: {api: openai, model: NAME}`")
	case !u.Writes.Set:
		says("and no `writes:`: the judge does not see what changed", "add `writes:`").Severity = Warning
	}
}

func checkDuplicateCheck(p *pass, u *unit) {
	seen := map[string]bool{engine.Contract: u.Contract != nil}
	for _, c := range u.Checks.Value {
		if seen[c.Name.Value] {
			p.report(u, c.Name.Pos, fmt.Sprintf("step %q has two checks named %q", u.ID.Value, c.Name.Value), "rename one of them")
		}
		seen[c.Name.Value] = true
	}
}
