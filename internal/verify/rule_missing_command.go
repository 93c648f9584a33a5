package verify

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

func ruleMissingCommand() Rule {
	return Rule{
		ID: "PT040", Name: "missing-command", Severity: Error,
		Title: "a contract, check or script runs a command that is not there",
		Text: "A command that cannot be found ends with 127, which is neither a pass nor a proof that the work " +
			"is undone. A name is looked up on PATH, whose relative entries do not count. A path such as " +
			"./build/app or .venv/bin/x is a warning where a step, or a command before it, may make it; so is a " +
			"name in a branch, in a script that changes PATH or sources a file, or in an optional check. A file that an " +
			"earlier command of the script is told to write with `-o` is taken for made.",
		Bad:  "**contract:**\n```shell\npytset -q tests/\n```",
		Good: "**contract:**\n```shell\npytest -q tests/\n```",
		step: checkMissingCommand,
	}
}

func checkMissingCommand(p *pass, u *unit) {
	for _, s := range p.scripts(u) {
		p.commands(u, s)
	}
}

// maxPerScript is how many commands of one script are spoken of.
const maxPerScript = 20

func (p *pass) commands(u *unit, s script) {
	if !s.readable() {
		return
	}
	reported, made := map[string]bool{}, map[string]bool{}
	for i, c := range s.calls {
		name := c.name()
		if out := output(c); out != "" {
			made[within(c.dir, out)] = true
		}
		if name == "" || c.words[0].drawn || s.asked[name] || isBuiltin(name) || reported[name] || made[within(c.dir, name)] || len(reported) == maxPerScript {
			continue
		}
		if message, hint, severity := p.missing(c); message != "" {
			reported[name] = true
			if s.paths || c.maybe || !s.required || i > 0 && strings.Contains(name, "/") {
				severity = Warning
			}
			p.report(u, s.place(c.words[0].at), fmt.Sprintf("%s of step %q runs %q, %s", s.label, u.ID.Value, name, message), hint).Severity = severity
		}
	}
	for _, g := range s.guards {
		if g.absent || g.beyond || isGlob(g.path) || reported[g.path] || reported["./"+g.path] || len(reported) == maxPerScript {
			continue
		}
		if f, asked := p.facts.Files[g.path]; asked && !f.Exists && len(s.calls) == 1 && !p.doc.makers.can(g.path) {
			reported[g.path] = true
			p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q runs %q, which does not exist and which no step may write", s.label, u.ID.Value, g.path), "")
		}
	}
}

// output is the file that a command is told to write, as in `go build -o app`.
func output(c call) string {
	for i, w := range c.words {
		if w.text == "-o" && i > 0 && i+1 < len(c.words) && c.words[i+1].known {
			return c.words[i+1].text
		}
	}
	return ""
}

// missing says what is wrong with a command's name; "" for nothing.
func (p *pass) missing(c call) (message, hint string, severity Severity) {
	name := c.name()
	if !strings.Contains(name, "/") || strings.HasPrefix(name, "/") {
		at, asked := p.facts.Commands[name]
		if !asked || at != "" {
			return "", "", ""
		}
		if file := within(c.dir, name); p.facts.Files[file].Exists {
			return "which is not on PATH", fmt.Sprintf("write ./%s if the file here is meant", name), Error
		}
		if strings.HasPrefix(name, "/") {
			return "which does not exist", "", Error
		}
		return "which is not on PATH", "install it, or correct the name", Error
	}
	file := within(c.dir, name)
	f, asked := p.facts.Files[file]
	switch {
	case !asked || f.Exists:
		return "", "", ""
	case p.doc.makers.can(file):
		return "which does not exist yet", "", Warning
	}
	return "which does not exist and which no step may write", "", Error
}

// place maps an offset in the script to the file.
func (s script) place(offset int) plan.Pos { return s.text.At(offset) }
