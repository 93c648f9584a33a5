package verify

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/shell"
)

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
	for i, c := range s.Calls {
		name := c.Name()
		if out := output(c); out != "" {
			made[shell.Within(c.Dir, out)] = true
		}
		if name == "" || c.Words[0].Drawn || s.Asked[name] || shell.IsBuiltin(name) || reported[name] || made[shell.Within(c.Dir, name)] || len(reported) == maxPerScript {
			continue
		}
		if message, hint, severity := p.missing(c); message != "" {
			reported[name] = true
			if s.Paths || c.Maybe || !s.required || i > 0 && strings.Contains(name, "/") {
				severity = Warning
			}
			p.report(u, s.text.At(c.Words[0].At), fmt.Sprintf("%s of step %q runs %q, %s", s.label, u.ID.Value, name, message), hint).Severity = severity
		}
	}
	for _, g := range s.guards {
		if g.absent || g.beyond || isGlob(g.path) || reported[g.path] || reported["./"+g.path] || len(reported) == maxPerScript {
			continue
		}
		if f, asked := p.facts.Files[g.path]; asked && !f.Exists && len(s.Calls) == 1 && !p.doc.makers.can(g.path) {
			reported[g.path] = true
			p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q runs %q, which does not exist and which no step may write", s.label, u.ID.Value, g.path), "")
		}
	}
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
	for _, s := range p.scripts(u) {
		p.executables(u, s)
	}
}

func (p *pass) executables(u *unit, s script) {
	if !s.readable() {
		return
	}
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

func checkUntold(p *pass, u *unit) {
	for _, s := range u.readable() {
		for _, lost := range s.Lost {
			p.report(u, s.text.At(lost.At), fmt.Sprintf("%s of step %q: the text does not tell %s, so it is not protected", s.label, u.ID.Value, lost.What),
				"write its path out, or list what it runs under `protect:`")
		}
	}
}

func checkOutside(p *pass, u *unit) {
	for _, s := range u.readable() {
		for _, w := range s.strays {
			if found, asked := p.facts.Commands[w.Text]; asked && found == "" {
				continue // it is not there at all
			}
			p.report(u, s.text.At(w.At), fmt.Sprintf("%s of step %q runs %q, which is outside the workspace and not protected", s.label, u.ID.Value, w.Text),
				"copy it into the workspace, or make it a program on PATH")
		}
	}
}

func checkUpToDate(p *pass, u *unit) {
	for _, s := range u.readable() {
		for _, name := range s.goals.idle {
			why := ""
			switch {
			case p.facts.Files[name].Exists:
				why = fmt.Sprintf("%q exists, so make calls it up to date and runs nothing", name)
			case soundsLikeCheck(path.Base(name)) && p.doc.makers.named(name):
				why = fmt.Sprintf("a step may write %q; make would then call it up to date and run nothing", name)
			default:
				continue
			}
			p.report(u, s.goalAt(path.Base(name)), fmt.Sprintf("%s of step %q makes the goal %q, which is not `.PHONY`: %s", s.label, u.ID.Value, path.Base(name), why),
				fmt.Sprintf("add `.PHONY: %s` to the Makefile", path.Base(name)))
		}
	}
}

// goalAt is where a script names a goal of make; its beginning where only what it
// runs does.
func (s script) goalAt(name string) plan.Pos {
	for _, c := range s.Calls {
		if c.Tool() != "make" && c.Tool() != "gmake" {
			continue
		}
		if i := slices.IndexFunc(c.Args(), func(w shell.Word) bool { return w.Text == name }); i >= 0 {
			return s.text.At(c.Args()[i].At)
		}
	}
	return s.text.Pos
}

func checkOpenInclude(p *pass, u *unit) {
	for _, s := range u.readable() {
		for _, pattern := range s.goals.open {
			if u.mayWrite(pattern) {
				p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q runs a Makefile that includes %q: a file that the step adds there is not protected and may change what make runs", s.label, u.ID.Value, pattern),
					"write the names out in the Makefile, or keep them out of the step's `writes:`")
			}
		}
	}
}

// mayWrite reports whether a step may make a file that matches a pattern.
func (u *unit) mayWrite(pattern string) bool {
	if !u.Writes.Set || badScope(pattern) != "" {
		return true
	}
	files := compileScope(pattern)
	return slices.ContainsFunc(writes(u), func(scope string) bool {
		if u.ForEach.Set {
			scope = wide(scope)
		}
		return badScope(scope) == "" && overlap(compileScope(scope), files)
	})
}

func checkNoRunner(p *pass, u *unit) {
	for _, s := range u.readable() {
		reported := map[string]bool{}
		for _, g := range s.guards {
			name, all := runnerFiles(g)
			if len(all) == 0 || reported[name] || p.anyOf(all) {
				continue
			}
			reported[name] = true
			p.report(u, s.text.Pos, fmt.Sprintf("%s of step %q needs %s, which does not exist and is protected: a step that makes it counts as tampering", s.label, u.ID.Value, name),
				"name it in the `writes:` of the step that makes it")
		}
	}
}

// runnerFiles returns the file a runner cannot do without, and every name it
// may have; nothing for other guards.
func runnerFiles(g guard) (name string, all []string) {
	if !g.absent {
		return "", nil
	}
	name, _, _ = strings.Cut(g.path, "#")
	var names []string
	switch path.Base(name) {
	case "Makefile":
		names = []string{"Makefile", "makefile", "GNUmakefile"}
	case "justfile":
		names = []string{"justfile", "Justfile", ".justfile"}
	case "Taskfile.yml":
		names = []string{"Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml"}
	case "package.json":
		names = []string{"package.json"}
	}
	for _, n := range names {
		all = append(all, path.Join(path.Dir(name), n))
	}
	return name, all
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
