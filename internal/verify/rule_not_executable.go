package verify

import (
	"fmt"
	"strings"
)

func ruleNotExecutable() Rule {
	return Rule{
		ID: "PT041", Name: "not-executable", Severity: Error,
		Title: "a contract, check or script runs a file that cannot be executed",
		Text: "A file without the right to be executed, or a directory, ends with 126, which is neither a pass " +
			"nor a proof that the work is undone. It is a warning where a step may still change the file.",
		Bad:  "**contract:**\n```shell\n./scripts/check.sh\n```",
		Good: "**contract:**\n```shell\nbash scripts/check.sh\n```",
		step: checkNotExecutable,
	}
}

func checkNotExecutable(p *pass, u *unit) {
	for _, s := range p.scripts(u) {
		p.executables(u, s)
	}
}

func (p *pass) executables(u *unit, s script) {
	if !s.readable() {
		return
	}
	reported := map[string]bool{}
	for _, c := range s.calls {
		name := c.name()
		if c.words[0].drawn || isBuiltin(name) || !strings.Contains(name, "/") || strings.HasPrefix(name, "/") {
			continue
		}
		file := within(c.dir, name)
		f := p.facts.Files[file]
		if !f.Exists || f.Executable && !f.Dir || reported[file] || len(reported) == maxPerScript {
			continue
		}
		reported[file] = true
		message, hint := "which is a directory", ""
		if !f.Dir {
			message, hint = "which is not executable", fmt.Sprintf("chmod +x %s, or name the program that reads it, as in `bash %s`", file, file)
		}
		finding := p.report(u, s.place(c.words[0].at), fmt.Sprintf("%s of step %q runs %q, %s", s.label, u.ID.Value, name, message), hint)
		if !s.required || !f.Dir && p.doc.makers.named(file) {
			finding.Severity = Warning
		}
	}
}
