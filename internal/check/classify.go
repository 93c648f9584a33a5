package check

import (
	"fmt"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/proc"
)

// Exit codes of a shell that could not run a command at all.
const (
	notExecutable = 126
	notFound      = 127
)

// Classify says what the end of a check's process means, and why where that is
// not plain from its exit code.
//
//   - Pass: it exited by itself with the wanted code.
//   - Fail: it exited with another one, or died of a signal that the harness did
//     not send.
//   - Timeout: the harness ended it.
//   - Infra: it never ran, was lost or called off, ran out of time over a cache that was empty,
//     the disk is full, or it could not change what its tool needs of the home.
//   - Inconclusive: a command in it was not there (126 or 127, unless wanted), or
//     it ran a test runner and that ran no test, whatever the exit code.
//
// Whether tests ran is read from the output of runners that the command itself
// calls: pytest, unittest, go test, cargo test, node --test, jest, vitest and
// mocha, the last four also by way of npm, yarn, pnpm and bun. Where output was
// too long to be kept whole nothing is concluded from it. It costs one pass over
// what was kept.
func Classify(c engine.Check, r proc.Result) (engine.Verdict, string) {
	switch {
	case r.Err != nil:
		return engine.Infra, r.Err.Error()
	case r.TimedOut && len(r.Cold) > 0:
		return engine.Infra, tooLong(r) + "; it began with an empty " + strings.Join(r.Cold, ", ") + ", so all was made anew: run it once yourself, which fills that, and try again"
	case r.TimedOut:
		return engine.Timeout, tooLong(r)
	case r.Cancelled:
		return engine.Infra, "stopped by Piton"
	case r.Signal != "":
		return engine.Fail, "killed by " + r.Signal
	}
	status, ok := r.Exited()
	if !ok {
		return engine.Infra, "its end is not known"
	}
	if _, runner := tested(c.Command, r); runner != "" {
		return engine.Inconclusive, runner + " ran no test"
	}
	switch {
	case status == c.Exit:
		return engine.Pass, ""
	case status == notFound:
		return engine.Inconclusive, missing(r.Stderr, "command not found")
	case status == notExecutable:
		return engine.Inconclusive, missing(r.Stderr, "cannot be executed")
	case diskFull(r):
		return engine.Infra, noSpace
	}
	if dir := fixed(r); dir != "" {
		return engine.Infra, dir + " cannot be changed inside of the seal: something is mounted in it; unmount that, or list the directory under `sandbox: {writable: […]}` in .piton/config.yaml"
	}
	return engine.Fail, ""
}

// complaint is how shells say which command they could not run.
var complaint = lazy.Regexp(`(?m)^(?:[^\s:]+: )?(?:(?:line )?\d+: )?([^\n]+?): (?:command not found|not found|No such file or directory|Permission denied|Is a directory|cannot execute[^\n]*|[^\n]*bad interpreter[^\n]*)$`)

// missing says which command it was that the shell could not run, if it said so.
func missing(stderr proc.Capture, what string) string {
	found := complaint().FindAllStringSubmatch(stderr.LastLines(tailLines, tailBytes), -1)
	if len(found) == 0 {
		return what
	}
	return what + ": " + found[len(found)-1][1]
}

// unreached is what programs say that found no network.
var unreached = lazy.Regexp(`(?i)resolve host|network is unreachable|name resolution|dial tcp|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|connection refused|couldn't connect|failed to connect`)

// cutOff says what a check may lack whose output speaks of a connection that failed.
func cutOff(a *engine.CheckEnded) string {
	if a.Verdict != engine.Fail || a.Network != proc.ReachesLoopback || !unreached().MatchString(a.Stderr+a.Stdout) {
		return ""
	}
	return "it may need the network, which checks do not have: write `network: contract` in the step"
}

// tooLong says what a check needs that was ended.
func tooLong(r proc.Result) string {
	return fmt.Sprintf("took longer than %s (`contract timeout:` gives it more)", strings.Replace(r.Duration.Round(1e8).String(), "m0s", "m", 1))
}

// fixed is what a check says that it could not change, of what programs change elsewhere.
func fixed(r proc.Result) string {
	for _, dir := range r.Fixed {
		for _, out := range []proc.Capture{r.Stderr, r.Stdout} {
			for line := range strings.Lines(out.LastLines(tailLines, tailBytes)) {
				if strings.Contains(line, dir) && strings.Contains(strings.ToLower(line), "read-only file system") {
					return dir
				}
			}
		}
	}
	return ""
}

const noSpace = "No space left on device"

// diskFull reports whether the last thing that was said is that the disk is full.
func diskFull(r proc.Result) bool {
	const last = 5
	return strings.Contains(r.Stderr.LastLines(last, tailBytes), noSpace) ||
		strings.Contains(r.Stdout.LastLines(last, tailBytes), noSpace)
}
