package check

import (
	"regexp"
	"strings"

	"github.com/piton-dev/piton/internal/proc"
)

// A runner is a program that runs tests and says how many.
type runner struct {
	name string
	// empty is what it prints when it ran none, ran what it prints when it ran
	// at least one or failed for another reason. In a command that calls it
	// several times one run with tests is enough.
	empty, ran *regexp.Regexp
}

// lineOf compiles an expression that is matched line by line.
func lineOf(expr string) *regexp.Regexp { return regexp.MustCompile(`(?m)^` + expr) }

var runners = []runner{
	{
		"pytest",
		lineOf(`(?:=* ?)(?:no tests ran|no tests collected|(?:\d+ (?:skipped|deselected|warnings?)(?:, )?)+) in [\d.]+`),
		lineOf(`(?:=* ?)(?:\d+ \w+, )*[1-9]\d* (?:passed|failed|errors?|xfailed|xpassed)\b.* in [\d.]+|^ERROR: |^E  `),
	},
	{
		"unittest",
		lineOf(`(?:Ran 0 tests in|NO TESTS RAN)`),
		lineOf(`Ran [1-9]\d* tests? in|^ERROR: |^FAIL: `),
	},
	{
		"go test",
		lineOf(`(?:\?   \t.*\[no test files\]|ok  \t.*\[no tests to run\]|testing: warning: no tests to run|no packages to test|\{.*"Output":"\?.*\[no test files\])`),
		lineOf(`(?:ok  \t\S+\t(?:[\d.]+s|\(cached\))(?:\tcoverage: .*)?$|=== RUN|--- |FAIL|panic:|\{.*"Test":")`),
	},
	{
		"cargo test",
		lineOf(`test result: ok\. 0 passed; 0 failed;`),
		lineOf(`test result: \w+\. (?:[1-9]\d* passed|\d+ passed; [1-9]\d* failed);|^error`),
	},
	{
		"node --test",
		lineOf(`(?:#|ℹ) (?:tests|pass) 0$`),
		lineOf(`(?:#|ℹ) (?:pass|fail|cancelled) [1-9]`),
	},
	{
		"jest",
		lineOf(`(?:No tests found, exiting with code|Tests:\s+(?:\d+ (?:skipped|todo), )*\d+ total)`),
		lineOf(`Tests:.* [1-9]\d* (?:passed|failed),|^Test Suites:.* [1-9]\d* failed,`),
	},
	{
		"vitest",
		lineOf(`(?:No test files found, exiting with code|\s*Tests  (?:no tests|(?:\d+ (?:skipped|todo)(?: \| )?)+ \(\d+\)))`),
		lineOf(`\s*(?:Test Files|Tests)  .*\b[1-9]\d* (?:passed|failed)\b.*\(\d+\)$`),
	},
	{
		"mocha",
		lineOf(`(?:\s+0 passing|Error: No test files found)`),
		lineOf(`\s+[1-9]\d* (?:passing|failing)`),
	},
}

// emptyRunner returns the name of a runner that the command calls and that ran
// no test, or "".
func emptyRunner(command string, r proc.Result) string {
	if r.Stdout.Dropped() > 0 || r.Stderr.Dropped() > 0 {
		return ""
	}
	called := calls(command)
	if len(called) == 0 {
		return ""
	}
	text := proc.Plain([]byte(r.Stdout.String() + "\n" + r.Stderr.String()))
	text = strings.ReplaceAll(text, "\r", "\n")
	for _, run := range runners {
		if called[run.name] && run.empty.MatchString(text) && !run.ran.MatchString(text) {
			return run.name
		}
	}
	return ""
}
