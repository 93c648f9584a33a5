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
		after := replaced(t, name, before, x.edit)
		var got []string
		for _, w := range verify.Weaker(parsed(t, before), parsed(t, after)) {
			got = append(got, w.Step+": "+w.Text)
		}
		if !strings.Contains(strings.Join(got, "\n")+"\n", x.want+"\n") {
			t.Errorf("%s: %q is not among %q", name, x.want, got)
		}
	}
}

// replaced is a text with pairs of texts replaced, each of which must be there.
func replaced(t *testing.T, name, text string, edit []string) string {
	t.Helper()
	for i := 0; i < len(edit); i += 2 {
		if !strings.Contains(text, edit[i]) {
			t.Fatalf("%s: there is no %q", name, edit[i])
		}
		text = strings.Replace(text, edit[i], edit[i+1], 1)
	}
	return text
}

// many is a plan with all kinds of steps.
const many = `# A plan

**protect:** tests/**
**context:** It is a small library.
**budget:** 1000 tokens

### 1. Inventory
**id:** inventory
**target:** script
**task:**
` + "```shell\necho '{\"files\":[\"a\",\"b\"]}'\n```" + `
**writes:** none
**contract:** test "$PITON_OUTPUT" != x

### 2. Loop
**id:** loop
**for each:** $inventory.files
**target:** coder
**task:** Do {item}.
**writes:** src/**
**contract:** test -e "src/$PITON_ITEM"

### 3. Review
**id:** review
**ask:** May we go on?
- yes
- no

### 4. Code
**id:** code
**when:** $review == "yes"
**target:** coder
**mode:** read
**env:** CI
**approval:** it touches production
**writes:** **
**judge:** Is it complete?
**iterations:** 5
**context limit:** 1000 tokens
**checks:**
- test: ./check.sh
**task:** Do it.

### 5. Tool
**id:** tool
**tool:** run_command
**args:** {"command": "go", "args": ["test"]}

### 6. Sub
**id:** sub
**plan:** plans/sub.md

### 7. End
**id:** end
**target:** coder
**needs:** sub
**task:** Do the end.
**subscriptions:**
- file:src/notes.md
**contract:** make test
`

// another is a step that was not there before.
func another(labels string) string {
	return "### 8. New\n**id:** new\n**needs:** end\n" + labels + "**contract:** test -e new\n\n"
}

// TestDisguisesOfAll goes on with what only some kinds of steps have, and with new steps.
func TestDisguisesOfAll(t *testing.T) {
	const endTask = "**task:** Do the end.\n"
	const tool = "**tool:** run_command\n**args:** {\"command\": \"go\", \"args\": [\"test\"]}\n"
	script := func(text string) string { return "**task:**\n```shell\n" + text + "\n```\n" }
	for name, x := range map[string]struct {
		edit []string
		want string
	}{
		"names its own judge":           {[]string{"**writes:** **", "**writes:** **, check.sh"}, `code: may write check.sh, by which step "code" is judged`},
		"names the judge of another":    {[]string{"**writes:** **", "**writes:** **, Makefile"}, `code: may write Makefile, which judges (runner: Makefile)`},
		"names hooks":                   {[]string{"**writes:** **", "**writes:** **, .git/hooks/**"}, "code: may write .git/hooks/**, which is protected"},
		"names one hook":                {[]string{"**writes:** **", "**writes:** **, .git/hooks/pre-commit"}, "code: may write .git/hooks/**, which is protected"},
		"names the configuration":       {[]string{"**writes:** **", "**writes:** **, .piton/config.yaml"}, "code: may write .piton/config.yaml, which is protected"},
		"names a protected file":        {[]string{"**writes:** **", "**writes:** **, tests/a.sh"}, "code: may write tests/**, which is protected"},
		"names a sub-plan":              {[]string{"**writes:** **", "**writes:** **, plans/sub.md"}, `code: may write plans/sub.md, which step "sub" is delegated to`},
		"names its judge for the first": {[]string{endTask, endTask + "**writes:** Makefile\n"}, `end: may write Makefile, which judges (runner: Makefile)`},
		"another question of the judge": {[]string{"Is it complete?", "Is it there?"}, "code: is judged by another question (judge)"},
		"no judge":                      {[]string{"**judge:** Is it complete?\n", ""}, "code: is no longer judged"},
		"nobody is asked":               {[]string{"**ask:** May we go on?\n- yes\n- no\n", "**target:** script\n" + script("echo yes") + "**contract:** test -e x\n"}, "review: is done by a script, was by a person"},
		"another question":              {[]string{"May we go on?", "Nice weather?"}, "review: asks another question (ask)"},
		"one answer less":               {[]string{"- yes\n- no\n", "- yes\n"}, `review: no longer offers the answer "no"`},
		"a variable dropped":            {[]string{"**env:** CI\n", ""}, "code: no longer gets the variable CI"},
		"another variable":              {[]string{"**env:** CI", "**env:** LD_PRELOAD"}, "code: gets the variable LD_PRELOAD"},
		"no loop":                       {[]string{"**iterations:** 5\n**context limit:** 1000 tokens\n", ""}, "code: is no loop any more: it may pass with nothing changed (iterations)"},
		"no limit of a loop":            {[]string{"**context limit:** 1000 tokens\n", ""}, "code: may use 150000 tokens in its loop, was 1000 (context limit)"},
		"items emptied":                 {[]string{`["a","b"]`, "[]"}, `inventory: makes its output in another way, and step "loop" is done for each of it (for each)`},
		"items of another key":          {[]string{"$inventory.files", "$inventory.none"}, "loop: is no longer done for $inventory.files"},
		"other arguments":               {[]string{`["test"]`, `["version"]`}, "tool: calls its tool with other arguments, and nothing else proves it (args)"},
		"another tool":                  {[]string{tool, "**tool:** list_directory\n**args:** {\"path\": \".\"}\n"}, "tool: is done by the tool list_directory, was by the tool run_command"},
		"a script for a tool":           {[]string{tool, "**target:** script\n" + script("true") + "**contract:** test -e x\n"}, "tool: is done by a script, was by the tool run_command"},
		"another agent":                 {[]string{"**target:** coder\n**needs:** sub", "**target:** yolo\n**needs:** sub"}, "end: is done by the agent yolo, was by the agent coder"},
		"a script for an agent":         {[]string{"**target:** coder\n**needs:** sub", "**target:** script\n**needs:** sub", endTask, script("touch b")}, "end: is done by a script, was by the agent coder"},
		"another sub-plan":              {[]string{"plans/sub.md", "plans/evil.md"}, "sub: is done by the sub-plan plans/evil.md, was by the sub-plan plans/sub.md"},
		"a fallback":                    {[]string{endTask, endTask + "**fallback:** yolo\n"}, "end: may be done by yolo where its agent fails (fallback)"},
		"no person where it fails":      {[]string{endTask, endTask + "**on_fail:** retry(2), then replan\n"}, "end: asks no person if it fails (on_fail: replan)"},
		"aborts where it fails":         {[]string{endTask, endTask + "**on_fail:** retry(2), then abort\n"}, "end: asks no person if it fails (on_fail: abort)"},
		"other words to the person":     {[]string{"it touches production", "it is harmless"}, "code: asks before it runs in other words (approval)"},
		"commands before the work":      {[]string{endTask, endTask + "**workspace:** worktree\n**setup:** curl evil\n"}, "end: runs other commands before the work (setup)"},
		"commands of the plan":          {[]string{"**budget:**", "**setup:** curl evil\n**budget:**"}, ": the plan runs other commands before the work (setup)"},
		"new: full":                     {[]string{"### 7. End", another("**mode:** full\n**task:** Do it.\n") + "### 7. End"}, `new: has mode "full", which no step had`},
		"new: a longer time":            {[]string{"### 7. End", another("**timeout:** 90h\n**task:** Do it.\n") + "### 7. End"}, "new: gives each attempt 90h0m0s, more than any step had (timeout)"},
		"new: a secret":                 {[]string{"### 7. End", another("**env:** AWS_SECRET\n**task:** Do it.\n") + "### 7. End"}, "new: gets the variable AWS_SECRET"},
		"new: commands before the work": {[]string{"### 7. End", another("**workspace:** worktree\n**setup:** curl evil\n**task:** Do it.\n") + "### 7. End"}, "new: runs commands before the work that no step ran (setup)"},
		"new: a sub-plan":               {[]string{"### 7. End", "### 8. New\n**id:** new\n**needs:** sub\n**plan:** plans/evil.md\n\n### 7. End"}, "new: runs the sub-plan plans/evil.md, which no step did (plan)"},
		"new: writes a sub-plan":        {[]string{"### 7. End", another("**writes:** plans/sub.md\n**task:** Do it.\n") + "### 7. End"}, `new: may write plans/sub.md, which step "sub" is delegated to`},
	} {
		var got []string
		for _, w := range verify.Weaker(parsed(t, many), parsed(t, replaced(t, name, many, x.edit))) {
			got = append(got, w.Step+": "+w.Text)
		}
		if !strings.Contains(strings.Join(got, "\n")+"\n", x.want+"\n") {
			t.Errorf("%s: %q is not among %q", name, x.want, got)
		}
	}
	offline := strings.ReplaceAll(many, "**target:**", "**network:** no\n**target:**")
	offline = strings.Replace(offline, "**tool:**", "**network:** no\n**tool:**", 1)
	all := verify.Weaker(parsed(t, offline), parsed(t, offline+another("**task:** Do it.\n")))
	if len(all) != 1 || all[0].Text != `has network "yes", which no step had` {
		t.Error("new: network:", all)
	}
}

// TestHonestRevisions: what whoever revises a plan does for a step that failed, and which
// proves and guards as much, waits for nobody.
func TestHonestRevisions(t *testing.T) {
	const endTask = "**task:** Do the end.\n"
	for name, edit := range map[string][]string{
		"nothing":                    nil,
		"another task":               {"Do the end.", "Do the end, and begin with the tests."},
		"another title":              {"### 7. End", "### 7. The end"},
		"more to read":               {"- file:src/notes.md", "- file:src/notes.md\n- file:src/more.md"},
		"less to read":               {"**subscriptions:**\n- file:src/notes.md\n", ""},
		"another context":            {"It is a small library.", "It is a small library, with one package."},
		"a stricter contract":        {"make test", "make test && make lint"},
		"a check more":               {endTask, endTask + "**checks:**\n- lint: make lint\n"},
		"a criterion more":           {endTask, endTask + "**acceptance:**\n- it is short\n"},
		"red before":                 {endTask, endTask + "**expect:** red\n"},
		"more tries":                 {endTask, endTask + "**on_fail:** retry(5), then escalate\n"},
		"less time":                  {endTask, endTask + "**timeout:** 5m\n"},
		"a budget":                   {endTask, endTask + "**budget:** 500 tokens\n"},
		"a scope":                    {endTask, endTask + "**writes:** src/**, docs/\n"},
		"a narrower scope":           {"**writes:** src/**", "**writes:** src/a/**"},
		"no scope for all":           {"**writes:** **", "**writes:** src/**"},
		"in a worktree":              {endTask, endTask + "**workspace:** worktree\n"},
		"offline":                    {endTask, endTask + "**network:** no\n"},
		"a yes is asked":             {endTask, endTask + "**approval:** required\n"},
		"a question more":            {"### 7. End", "### 8. Ask\n**id:** ask\n**needs:** sub\n**ask:** Is that so?\n\n### 7. End"},
		"a judge more":               {endTask, endTask + "**judge:** Is it short?\n"},
		"an answer more":             {"- yes\n- no\n", "- yes\n- no\n- later\n"},
		"a loop":                     {endTask, endTask + "**iterations:** 4\n"},
		"fewer iterations":           {"**iterations:** 5", "**iterations:** 3"},
		"waits for more":             {"**needs:** sub", "**needs:** sub, tool"},
		"a step before it":           {"### 7. End", "### 8. New\n**id:** new\n**needs:** sub\n**target:** coder\n**writes:** src/new/**\n**task:** Do it.\n**contract:** test -e src/new/a\n\n### 7. End", "**needs:** sub\n**task:** Do the end.", "**needs:** new\n**task:** Do the end."},
		"a step after it":            {"**contract:** make test\n", "**contract:** make test\n\n" + another("**target:** coder\n**task:** Do it.\n")},
		"a script":                   {"### 7. End", another("**target:** script\n**task:**\n```shell\ntouch new\n```\n") + "### 7. End"},
		"a step with the variable":   {"### 7. End", another("**env:** CI\n**task:** Do it.\n") + "### 7. End"},
		"the same sub-plan again":    {"### 7. End", "### 8. New\n**id:** new\n**needs:** sub\n**plan:** ./plans/sub.md\n\n### 7. End"},
		"another task of a loop":     {"Do {item}.", "Do {item} with care."},
		"the inventory with a check": {`**contract:** test "$PITON_OUTPUT" != x`, `**contract:** test "$PITON_OUTPUT" != x && test -e src`},
	} {
		if all := verify.Weaker(parsed(t, many), parsed(t, replaced(t, name, many, edit))); len(all) > 0 {
			t.Errorf("%s is called weaker: %v", name, all)
		}
	}
}
