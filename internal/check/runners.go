package check

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/proc"
)

// A runner is a program that runs tests and says how many.
type runner struct {
	name string
	// empty is what it prints when it ran none, ran what it prints when it ran
	// at least one or failed for another reason. In a command that calls it
	// several times one run with tests is enough.
	empty, ran func() *regexp.Regexp
	// sum are the lines that say how many tests ran, and each of their parts a number in
	// front or behind; one without a number is one test.
	sum, part func() *regexp.Regexp
}

// parts are how most runners count.
var parts = lazy.Regexp(`\b(\d+) (?:passed|failed|errors?|xfailed|xpassed|passing|failing)\b`)

// lineOf is an expression that is matched line by line.
func lineOf(expr string) func() *regexp.Regexp { return lazy.Regexp(`(?m)^` + expr) }

// goTestNone begins a list of what go test prints of a package in which no test ran.
const goTestNone = `(?:\?   \t.*\[no test files\]|ok  \t.*\[no tests to run\]|testing: warning: no tests to run|no packages to test|\{.*"Output":"\?.*\[no test files\]`

var runners = []runner{
	{
		"pytest",
		lineOf(`(?:=* ?)(?:no tests ran|no tests collected|(?:\d+ (?:skipped|deselected|warnings?)(?:, )?)+) in [\d.]+`),
		lineOf(`(?:=* ?)(?:\d+ \w+, )*[1-9]\d* (?:passed|failed|errors?|xfailed|xpassed)\b.* in [\d.]+|^ERROR: |^E  `),
		lineOf(`(?:=* ?)(?:\d+ \w+, )*\d+ \w+ in [\d.]+.*$|(?:=* ?)(?:\d+ \w+, )*\d+ \w+, .* in [\d.]+.*$`), parts,
	},
	{
		"unittest",
		lineOf(`(?:Ran 0 tests in|NO TESTS RAN)`),
		lineOf(`Ran [1-9]\d* tests? in|^ERROR: |^FAIL: `),
		lineOf(`Ran \d+ tests? in.*$`), lazy.Regexp(`Ran (\d+)`),
	},
	{
		"go test",
		lineOf(goTestNone + `)`),
		lineOf(`(?:ok  \t\S+\t(?:[\d.]+s|\(cached\))(?:\tcoverage: .*)?$|=== RUN|--- |FAIL|panic:)`),
		lineOf(`\s*--- (?:PASS|FAIL): .*$`), lazy.Regexp(`---`),
	},
	{
		"go test -v", // and -json: it names each test that ended; a process that ends with 0 before that named none
		lineOf(goTestNone + `|ok  \t|\{.*"Action":"pass","Package":"[^"]*","Elapsed")`),
		lineOf(`(?:\s*--- |Benchmark|FAIL|panic:|\{.*"Action":"(?:pass|fail|skip)","Package":"[^"]*","Test":"|\{.*"Test":"Benchmark)`),
		lineOf(`(?:\s*--- (?:PASS|FAIL): |\{.*"Action":"(?:pass|fail)","Package":"[^"]*","Test":).*$`), lazy.Regexp(`^`),
	},
	{
		"cargo test",
		lineOf(`test result: ok\. 0 passed; 0 failed;`),
		lineOf(`test result: \w+\. (?:[1-9]\d* passed|\d+ passed; [1-9]\d* failed);|^error`),
		lineOf(`test result: .*$`), parts,
	},
	{
		"node --test",
		lineOf(`(?:#|ℹ) (?:tests|pass) 0$`),
		lineOf(`(?:#|ℹ) (?:pass|fail|cancelled) [1-9]`),
		lineOf(`(?:#|ℹ) (?:pass|fail) \d+$`), lazy.Regexp(`(\d+)$`),
	},
	{
		"jest",
		lineOf(`(?:No tests found, exiting with code|Tests:\s+(?:\d+ (?:skipped|todo), )*\d+ total)`),
		lineOf(`Tests:.* [1-9]\d* (?:passed|failed),|^Test Suites:.* [1-9]\d* failed,`),
		lineOf(`Tests: .*$`), parts,
	},
	{
		"vitest",
		lineOf(`(?:No test files found, exiting with code|\s*Tests  (?:no tests|(?:\d+ (?:skipped|todo)(?: \| )?)+ \(\d+\)))`),
		lineOf(`\s*(?:Test Files|Tests)  .*\b[1-9]\d* (?:passed|failed)\b.*\(\d+\)$`),
		lineOf(`\s*Tests  .*$`), parts,
	},
	{
		"mocha",
		lineOf(`(?:\s+0 passing|Error: No test files found)`),
		lineOf(`\s+[1-9]\d* (?:passing|failing)`),
		lineOf(`\s+\d+ (?:passing|failing)\b.*$`), parts,
	},
}

// tested says how many tests ran of the runners that the command calls, and names one
// that ran none. 0 and "" say that nobody knows.
func tested(command string, r proc.Result) (n int, empty string) {
	if r.Stdout.Dropped() > 0 || r.Stderr.Dropped() > 0 {
		return 0, ""
	}
	called := calls(command)
	if len(called) == 0 {
		return 0, ""
	}
	text := proc.Plain([]byte(r.Stdout.String() + "\n" + r.Stderr.String()))
	text = strings.ReplaceAll(text, "\r", "\n")
	for _, run := range runners {
		if !called[run.name] {
			continue
		}
		if run.empty().MatchString(text) && !run.ran().MatchString(text) || run.name == "go test -v" && silent(text) {
			return 0, run.name
		}
		n += run.count(text)
	}
	return n, ""
}

// silent reports whether go test -v says of a package that it passed, and names no test of it: its
// process ended before one did.
func silent(text string) bool {
	named := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimLeft(line, " "), "--- ") || strings.HasPrefix(line, "Benchmark"):
			named = true
		case strings.HasPrefix(line, "ok  \t") && !named && !strings.Contains(line, "[no tests to run]"):
			return true
		case strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?   \t"):
			named = false
		}
	}
	return false
}

// count adds up what the runner says of its tests.
func (r runner) count(text string) (n int) {
	for _, line := range r.sum().FindAllString(text, -1) {
		for _, part := range r.part().FindAllStringSubmatch(line, -1) {
			ran := 1
			if len(part) > 1 {
				ran, _ = strconv.Atoi(part[1]) // nobody runs more tests than fit
			}
			n += max(0, min(ran, maxTests))
		}
	}
	return min(n, maxTests)
}

// maxTests bounds what output can say.
const maxTests = 1 << 30
