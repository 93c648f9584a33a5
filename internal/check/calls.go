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
			for _, name := range runnersOf(c) {
				called[name] = true
			}
		}
	}
	return called
}

// runnersOf returns the runners that a command stands for.
func runnersOf(c shell.Call) []string {
	verb, rest := shell.Verb(c, shell.Wrapper{Short: "CF", Long: "--prefix --cwd --dir --workspace --filter"})
	switch tool := c.Tool(); tool {
	case "pytest", "py.test":
		return []string{"pytest"}
	case "go":
		if verb == "test" {
			return []string{"go test"}
		}
	case "cargo":
		if verb == "test" || verb == "t" {
			return []string{"cargo test"}
		}
	case "node":
		if shell.HasAny(c, "--test") {
			return []string{"node --test"}
		}
	case "unittest", "jest", "vitest", "mocha":
		return []string{tool}
	case "npm", "pnpm", "yarn", "bun":
		if verb == "run" || verb == "run-script" {
			verb, rest = shell.Verb(rest, shell.Wrapper{})
		}
		if verb == "t" || verb == "tst" || strings.HasPrefix(verb, "test") {
			return []string{"node --test", "jest", "vitest", "mocha"}
		}
		if len(rest.Words) > 0 && tool != "npm" {
			return runnersOf(rest) // yarn jest
		}
	}
	return nil
}
