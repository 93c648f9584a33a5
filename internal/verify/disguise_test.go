package verify_test

import (
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/verify"
)

// TestDisguises: whoever revises a plan so that it proves or guards less may call it
// by other names. Each is named, and with the step that it is of.
func TestDisguises(t *testing.T) {
	const before = `# A plan

**protect:** go.mod
**constraints:**
- keep the public API
**budget:** 1000 tokens

### 1. First
**id:** first
**writes:** src/
**acceptance:**
- it is short
**checks:**
- lint: make lint
**expect:** red
**timeout:** 5m
**contract timeout:** 30s
**contract:** go test ./...
**task:** Do it.

### 2. Second
**id:** second
**contract:** make e2e
**task:** Do more.
`
	for name, x := range map[string]struct {
		edit []string
		want string
	}{
		"renamed step":              {[]string{"**id:** first", "**id:** one"}, "first: is gone, or has another id"},
		"moved check":               {[]string{"**checks:**\n- lint: make lint\n", "", "**contract:** make e2e", "**checks:**\n- lint: make lint\n**contract:** make e2e"}, `first: check "lint" is gone`},
		"swallowed failure":         {[]string{"go test ./...", "go test ./... || true"}, "first: contract can no longer fail"},
		"swallowed by a command":    {[]string{"go test ./...", "go test ./...; true"}, "first: contract can no longer fail"},
		"narrower selector":         {[]string{"go test ./...", "go test -run TestOne ./..."}, "first: contract is replaced: it may prove less"},
		"fewer packages":            {[]string{"go test ./...", "go test ./a"}, "first: contract is replaced: it may prove less"},
		"longer timeout":            {[]string{"**timeout:** 5m", "**timeout:** 2h"}, "first: gives each attempt 2h0m0s, was 5m0s (timeout)"},
		"longer contract timeout":   {[]string{"**contract timeout:** 30s", "**contract timeout:** 10m"}, "first: gives its contract and each check 10m0s, was 30s (contract timeout)"},
		"timeout left out":          {[]string{"**timeout:** 5m\n", ""}, "first: gives each attempt 10m0s, was 5m0s (timeout)"},
		"optional check":            {[]string{"- lint: make lint", "- lint (optional): make lint"}, `first: check "lint" is optional now`},
		"contract made a check":     {[]string{"**contract:** make e2e", "**checks:**\n- e2e (optional): make e2e\n- other: make other"}, "second: contract is gone"},
		"not held":                  {[]string{"**id:** first", "**id:** first\n**holds:** step"}, "first: is no longer proven at the end of the run (holds: step)"},
		"contract dropped by split": {[]string{"**contract:** make e2e\n", "**contract:** test -e e2e\n", "**task:** Do more.\n", "**task:** Do more.\n\n### 3. Rest\n**id:** rest\n**contract:** make e2e\n**critical:** no\n**task:** Do the rest.\n"}, "second: contract is replaced: it may prove less"},
		"exit code changed":         {[]string{"**contract:** make e2e", "**contract:**\n```shell\nmake e2e\n```\nexit_code == 2"}, "second: contract wants exit code 2, was 0"},
		"expect lowered":            {[]string{"**expect:** red", "**expect:** any"}, "first: expects its checks to be any before the work, was red"},
		"protect removed":           {[]string{"**protect:** go.mod\n", ""}, ": the plan no longer protects go.mod"},
		"writes widened":            {[]string{"**writes:** src/", "**writes:** src/, test/"}, "first: may also change test/"},
		"budget raised":             {[]string{"1000 tokens", "9000 tokens"}, ": the plan may use more tokens (budget)"},
		"not rerunnable":            {[]string{"**id:** first", "**id:** first\n**rerunnable:** no"}, "first: is no longer proven before the work and at the end of the run (rerunnable: no)"},
		"not critical":              {[]string{"**id:** second", "**id:** second\n**critical:** no"}, "second: may fail and other steps go on (critical: no)"},
		"criterion dropped":         {[]string{"**acceptance:**\n- it is short\n", ""}, `first: drops the criterion "it is short"`},
		"constraint dropped":        {[]string{"- keep the public API", "- keep it tidy"}, `: the plan drops the constraint "keep the public API"`},
		"skipped":                   {[]string{"**id:** second", "**id:** second\n**when:** `false`"}, "second: is skipped if a condition is false (when)"},
		"more replans":              {[]string{"**budget:**", "**replans:** 50\n**budget:**"}, ": the plan may be revised 50 times after failures, was 3 (replans)"},
		"given up by policy":        {[]string{"**id:** second", "**id:** second\n**on_fail:** retry(1), then skip"}, "second: is skipped if it fails (on_fail)"},
	} {
		after := before
		for i := 0; i < len(x.edit); i += 2 {
			if !strings.Contains(after, x.edit[i]) {
				t.Fatalf("%s: there is no %q", name, x.edit[i])
			}
			after = strings.Replace(after, x.edit[i], x.edit[i+1], 1)
		}
		var got []string
		for _, w := range verify.Weaker(parsed(t, before), parsed(t, after)) {
			got = append(got, w.Step+": "+w.Text)
		}
		if !strings.Contains(strings.Join(got, "\n")+"\n", x.want+"\n") {
			t.Errorf("%s: %q is not among %q", name, x.want, got)
		}
	}
}
