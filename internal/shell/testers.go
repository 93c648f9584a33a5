package shell

import "strings"

// TestRunners are the names of the programs that a command runs tests with: several where only
// the output tells which. It knows those of which Piton counts the tests.
func TestRunners(c Call) []string {
	verb, rest := Verb(c, Wrapper{Short: "CF", Long: "--prefix --cwd --dir --workspace --filter"})
	switch tool := c.Tool(); tool {
	case "pytest", "py.test":
		return []string{"pytest"}
	case "go":
		switch {
		case verb == "test" && HasAny(rest, "-v", "--v", "-json", "--json", "-test.v"):
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
