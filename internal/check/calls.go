package check

import (
	"strings"

	"github.com/piton-dev/piton/internal/judge"
	"github.com/piton-dev/piton/internal/shell"
)

// Looks reports whether a check does nothing but look at files: what it opens is the work
// that it judges, and judges nothing itself.
func Looks(command string) bool {
	return shell.Parse(command).Only(judge.Looks)
}

// calls returns the names of the runners that a script calls. A script that no
// shell could read calls none.
func calls(script string) map[string]bool {
	called := map[string]bool{}
	for _, c := range shell.Parse(script).Calls {
		for ok := true; ok; c, ok = shell.Started(c) {
			for _, name := range shell.TestRunners(c) {
				if name == "go test -v" && strings.ContainsAny(strings.ReplaceAll(script, "||", ""), "|>") {
					name = "go test" // another program may show a part of it
				}
				called[name] = true
			}
		}
	}
	return called
}
