package verify

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/shell"
)

func checkMissingCommand(p *pass, u *unit) {
	for s := range readable(p.scripts(u)) {
		p.commands(u, s)
	}
}

// maxPerScript is how many commands of one script are spoken of.
const maxPerScript = 20

func (p *pass) commands(u *unit, s script) {
	reported, made := map[string]bool{}, map[string]bool{}
	sourced, unknown := false, false // a file was, and one that may define any function
	for i, c := range s.Calls {
		name := c.Name()
		if name == "." || name == "source" {
			sourced, unknown = true, unknown || p.unread(c)
		}
		if out := output(c); out != "" {
			made[shell.Within(c.Dir, out)] = true
		}
		if name == "" || c.Words[0].Drawn || s.Asked[name] || shell.IsBuiltin(name) || reported[name] || made[shell.Within(c.Dir, name)] || unknown && !strings.Contains(name, "/") || len(reported) == maxPerScript {
			continue
		}
		if message, hint, severity := p.missing(c); message != "" {
			reported[name] = true
			if sourced && !strings.Contains(name, "/") {
				hint = "install it, or correct the name, unless the file that is sourced defines it"
			}
			if s.Paths || c.Maybe || !s.required || i > 0 && strings.Contains(name, "/") {
				severity = Warning
			}
			p.report(u, s.text.At(c.Words[0].At), fmt.Sprintf("%s of step %q runs %q, %s", s.label, u.ID.Value, name, message), hint).Severity = severity
		}
	}
	for _, file := range s.runs {
		if reported[file] || reported["./"+file] || len(reported) == maxPerScript {
			continue
		}
		if f, asked := p.facts.Files[file]; asked && !f.Exists && len(s.Calls) == 1 && !p.doc.makers.can(file) {
			reported[file] = true
			p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q runs %q, which does not exist and which no step may write", s.label, u.ID.Value, file), "")
		}
	}
}

// unread reports that a step is to make the file that is sourced, or that the text does not tell
// which it is.
func (p *pass) unread(source shell.Call) bool {
	if len(source.Words) < 2 || !source.Words[1].Known {
		return true
	}
	file := shell.Within(source.Dir, source.Words[1].Text)
	f, asked := p.facts.Files[file]
	return !asked || !f.Exists && p.doc.makers.can(file)
}

// output is the file that a command is told to write, as in `go build -o app`.
func output(c shell.Call) string {
	for i, w := range c.Words {
		if w.Text == "-o" && i > 0 && i+1 < len(c.Words) && c.Words[i+1].Known {
			return c.Words[i+1].Text
		}
	}
	return ""
}

// missing says what is wrong with a command's name; "" for nothing.
func (p *pass) missing(c shell.Call) (message, hint string, severity Severity) {
	name := c.Name()
	if !strings.Contains(name, "/") || strings.HasPrefix(name, "/") {
		at, asked := p.facts.Commands[name]
		if !asked || at != "" {
			return "", "", ""
		}
		if file := shell.Within(c.Dir, name); p.facts.Files[file].Exists {
			return "which is not on PATH", fmt.Sprintf("write ./%s if you mean the file here", name), Error
		}
		if strings.HasPrefix(name, "/") {
			return "which does not exist", "", Error
		}
		return "which is not on PATH", "install it, or correct the name", Error
	}
	file := shell.Within(c.Dir, name)
	f, asked := p.facts.Files[file]
	switch {
	case !asked || f.Exists:
		return "", "", ""
	case p.doc.makers.can(file):
		return "which does not exist yet", "", Warning
	}
	return "which does not exist and which no step may write", "", Error
}

func checkNotExecutable(p *pass, u *unit) {
	for s := range readable(p.scripts(u)) {
		p.executables(u, s)
	}
}

func (p *pass) executables(u *unit, s script) {
	reported := map[string]bool{}
	for _, c := range s.Calls {
		name := c.Name()
		if c.Words[0].Drawn || shell.IsBuiltin(name) || !strings.Contains(name, "/") || strings.HasPrefix(name, "/") {
			continue
		}
		file := shell.Within(c.Dir, name)
		f := p.facts.Files[file]
		if !f.Exists || f.Executable && !f.Dir || reported[file] || len(reported) == maxPerScript {
			continue
		}
		reported[file] = true
		message, hint := "which is a directory", ""
		if !f.Dir {
			message, hint = "which is not executable", fmt.Sprintf("chmod +x %s, or name the program that reads it, as in `bash %s`", file, file)
		}
		finding := p.report(u, s.text.At(c.Words[0].At), fmt.Sprintf("%s of step %q runs %q, %s", s.label, u.ID.Value, name, message), hint)
		if !s.required || !f.Dir && p.doc.makers.named(file) {
			finding.Severity = Warning
		}
	}
}

func checkOutside(p *pass, u *unit) {
	for s := range readable(u.proofs) {
		for _, w := range s.strays {
			if found, asked := p.facts.Commands[w.Text]; asked && found == "" {
				continue // it is not there at all
			}
			p.report(u, s.text.At(w.At), fmt.Sprintf("%s of step %q runs %q, which is outside the workspace and not protected", s.label, u.ID.Value, w.Text),
				"copy it into the workspace, or make it a program on PATH")
		}
	}
}

func checkNoRunner(p *pass, u *unit) {
	for s := range readable(u.proofs) {
		reported := map[string]bool{}
		for _, c := range s.Calls {
			all := runnerFiles(c)
			if len(all) == 0 || reported[all[0]] || p.anyOf(all) {
				continue
			}
			reported[all[0]] = true
			p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q needs %s, which does not exist and judges the step: a step that makes it counts as tampering", s.label, u.ID.Value, all[0]),
				"name it in the `writes:` of the step that makes it")
		}
	}
}

// anyOf reports whether one of the files exists, may be made by a step that
// says so, or was not looked for.
func (p *pass) anyOf(files []string) bool {
	for _, name := range files {
		f, asked := p.facts.Files[name]
		if !asked || f.Exists || p.doc.makers.named(name) {
			return true
		}
	}
	return false
}
