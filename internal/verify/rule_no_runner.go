package verify

import (
	"fmt"
	"path"
	"strings"
)

func ruleNoRunner() Rule {
	return Rule{
		ID: "PT029", Name: "no-runner", Severity: Warning,
		Title: "a contract runs a Makefile or its like that does not exist and that no step may make",
		Text: "What configures the runner of a contract is protected, and so is its absence: an agent that adds a " +
			"Makefile could make the contract say anything. If a step is meant to make it, that step's " +
			"`writes:` must name it.",
		Bad:  "**contract:**\n```shell\nmake test\n```",
		Good: "**writes:**\n- Makefile\n- src/**\n**contract:**\n```shell\nmake test\n```",
		step: checkNoRunner,
	}
}

func checkNoRunner(p *pass, u *unit) {
	for _, s := range u.proofs {
		if !s.readable() {
			continue
		}
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
