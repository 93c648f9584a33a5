package shell

import (
	"slices"
	"strings"
)

// verbose are the options with which go test names each test.
var verbose = []string{"-v", "--v", "-v=true", "-json", "--json", "-test.v", "-test.v=true"}

// names reports whether a go test names each test.
func names(c Call) bool {
	for _, w := range c.Words {
		if w.Text == "-args" || w.Text == "--args" {
			return false // what follows is for the tests
		}
		if slices.Contains(verbose, w.Text) {
			return true
		}
	}
	return false
}

// TestRunners names the test runners that a command calls: several if only the output tells which.
// It knows the runners whose tests Piton counts.
func TestRunners(c Call) []string {
	verb, rest := Verb(c, Wrapper{Short: "CF", Long: "--prefix --cwd --dir --workspace --filter"})
	switch tool := c.Tool(); tool {
	case "pytest", "py.test":
		return []string{"pytest"}
	case "go":
		switch {
		case verb == "test" && names(rest):
			return []string{"go test -v"}
		case verb == "test":
			return []string{"go test"}
		}
	case "cargo":
		if verb == "test" || verb == "t" {
			return []string{"cargo test"}
		}
	case "node":
		if HasAny(c, "--test") {
			return []string{"node --test"}
		}
	case "unittest", "jest", "vitest", "mocha":
		return []string{tool}
	case "npm", "pnpm", "yarn", "bun":
		if verb == "run" || verb == "run-script" {
			verb, rest = Verb(rest, Wrapper{})
		}
		if verb == "t" || verb == "tst" || strings.HasPrefix(verb, "test") {
			return []string{"node --test", "jest", "vitest", "mocha"}
		}
		if len(rest.Words) > 0 && tool != "npm" {
			return TestRunners(rest) // yarn jest
		}
	}
	return nil
}
