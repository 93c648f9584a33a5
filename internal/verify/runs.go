package verify

import (
	"path"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/judge"
	"github.com/piton-dev/piton/internal/shell"
)

// reading is what is read of a shell text. It does not know where in a plan it stands,
// so that steps with the same contract share it.
type reading struct {
	*shell.Script
	runs   []string     // files of the workspace that the words themselves run
	strays []shell.Word // what they run from outside of it
	named  []shell.Word // that look like paths of files; made when asked for
}

// read reads a script in the light of the facts.
func (d *document) read(text string) *reading {
	s := &reading{Script: shell.Read(text, d.frame)}
	var made []string
	for i, c := range s.Calls {
		s.command(c, i > 0, 0)
		if out := output(c); out != "" {
			made = append(made, shell.Within(c.Dir, out))
		}
	}
	s.runs = slices.DeleteFunc(s.runs, func(file string) bool { return slices.Contains(made, file) })
	return s
}

// maxStarted is how many commands may start one another.
const maxStarted = 8

// command notes what one command runs by its words, and those that it starts. What is
// built by commands before it is no file of theirs.
func (s *reading) command(c shell.Call, later bool, depth int) {
	if c.Name() == "" || depth > maxStarted {
		return
	}
	if strings.Contains(c.Name(), "/") {
		s.file(c.Dir, c.Words[0], later)
	}
	if inner, ok := shell.Started(c); ok {
		s.command(inner, later, depth+1)
	}
	tool := c.Tool()
	lang := shell.Interpreter(tool)
	switch {
	case (shell.IsShell(tool) || lang != "") && shell.ReadsScript(c):
		for _, w := range c.Stdin.Files {
			s.file(c.Dir, w, later)
		}
	case lang == "awk" || lang == "gawk" || lang == "mawk" || tool == "make" || tool == "gmake":
		if w, ok := shell.Option(c, "-f", "--file", "--makefile"); ok {
			s.file(c.Dir, w, later)
		}
	case tool == "go":
		if verb, rest := shell.Verb(c, shell.Wrapper{Short: "C"}); verb == "run" {
			for _, w := range rest.Args() {
				if strings.HasSuffix(w.Text, ".go") {
					s.file(c.Dir, w, later)
				}
			}
		}
	case shell.IsShell(tool) || tool == "." || tool == "source" || lang != "":
		if shell.IsShell(tool) && shell.HasScript(c) || shell.HasAny(c, inline(lang)...) {
			return
		}
		if w, ok := shell.First(c.Args(), valued(lang)); ok {
			s.file(c.Dir, w, later)
		}
	}
}

// inline are the options of an interpreter that take the place of a file.
func inline(lang string) []string {
	switch lang {
	case "":
		return nil
	case "python", "pypy":
		return []string{"-c", "-m"}
	case "perl", "ruby":
		return []string{"-e", "-E", "-ne", "-pe", "-i", "-lne", "-lane"}
	case "php":
		return []string{"-r"}
	}
	return []string{"-e", "-c", "-p", "--eval", "--print", "--test", "-Command"}
}

// valued are those whose value is the next word.
func valued(lang string) shell.Wrapper {
	switch lang {
	case "":
		return shell.Wrapper{Short: "oO"}
	case "python", "pypy":
		return shell.Wrapper{Short: "WX"}
	case "perl":
		return shell.Wrapper{Short: "IM"}
	case "ruby":
		return shell.Wrapper{Short: "IrCE"}
	case "php":
		return shell.Wrapper{Short: "cd"}
	}
	return shell.Wrapper{Short: "rC", Long: "--require --import --loader --env-file"}
}

// file notes a file that is run.
func (s *reading) file(dir string, w shell.Word, later bool) {
	if !w.Known || w.Glob || w.Text == "" || strings.HasPrefix(w.Text, "-") {
		return
	}
	p := shell.Within(dir, w.Text)
	switch {
	case p == "" || later && judge.InFilled(p):
	case p != shell.UnknownDir:
		if !slices.Contains(s.runs, p) {
			s.runs = append(s.runs, p)
		}
	case dir != shell.UnknownDir && len(s.strays) < maxPerScript && strays(w.Text):
		s.strays = append(s.strays, w)
	}
}

// strays reports a file outside of the workspace that is no program of the
// system: those are found by name as well, and no device.
func strays(name string) bool {
	switch path.Base(path.Dir(name)) {
	case "bin", "sbin", "dev", "fd":
		return !path.IsAbs(name)
	}
	return len(name) <= shell.MaxPath
}

func isGlob(name string) bool { return strings.ContainsAny(name, "*?[{\\") }

// runners are the files that a runner cannot do without: any of them.
func runners(tool string) []string {
	switch tool {
	case "make", "gmake":
		return []string{"Makefile", "makefile", "GNUmakefile"}
	case "just":
		return []string{"justfile", "Justfile", ".justfile"}
	case "task":
		return []string{"Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml", "Taskfile.dist.yml", "Taskfile.dist.yaml"}
	case "npm", "pnpm", "yarn":
		return []string{"package.json"}
	}
	return nil
}

// runnerFiles are those that a command of a script needs, seen from the workspace.
func runnerFiles(c shell.Call) []string {
	if c.Dir == shell.UnknownDir || c.Maybe || shell.HasAny(c, "-f", "-C", "-d", "--file", "--makefile", "--justfile", "--directory", "--working-directory", "--prefix", "--dir", "--cwd") {
		return nil
	}
	all := slices.Clone(runners(c.Tool()))
	if verb, _ := shell.Verb(c, shell.Wrapper{}); len(all) == 1 && verb != "test" && verb != "t" && verb != "run" && verb != "run-script" {
		return nil // of npm, only these run what package.json says
	}
	for i := range all {
		all[i] = path.Join(c.Dir, all[i])
	}
	return all
}
