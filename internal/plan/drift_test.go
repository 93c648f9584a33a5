package plan_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
)

// replace returns a drift that rewrites what a pattern matches.
func replace(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(s string) string { return re.ReplaceAllString(s, with) }
}

// TestDrifts checks that the three plans that the format was made for mean the
// same when they are written a little differently.
func TestDrifts(t *testing.T) {
	t.Parallel()
	drifts := map[string]func(string) string{
		"steps at level 2":      replace(`(?m)^### `, "## "),
		"steps at level 4":      replace(`(?m)^### `, "#### "),
		"no steps heading":      replace(`(?m)^## Steps\n`, ""),
		"steps heading level 3": replace(`(?m)^## Steps`, "### STEPS:"),
		"more blank lines":      replace(`\n\n`, "\n\n\n\n"),
		"blank after label":     replace(`(?m):\*\*\n`, ":**\n\n"),
		"blanks with spaces":    replace(`\n\n`, "\n \t\n"),
		"no blank lines":        replace(`\n\n+`, "\n"),
		"colon outside":         replace(`:\*\*`, "**:"),
		"colon after a blank":   replace(`:\*\*`, "** :"),
		"upper case labels": func(s string) string {
			return regexp.MustCompile(`(?m)^\*\*\w+:`).ReplaceAllStringFunc(s, strings.ToUpper)
		},
		"underscores for bold":   replace(`(?m)^\*\*(\w+):\*\*`, "__${1}:__"),
		"indented labels":        replace(`(?m)^\*\*`, " **"),
		"bullets *":              replace(`(?m)^- `, "* "),
		"bullets +":              replace(`(?m)^- `, "+   "),
		"numbered lists":         replace(`(?m)^- `, "1. "),
		"indented lists":         replace(`(?m)^- `, "  - "),
		"subscriptions quoted":   replace("(?m)^- (.*)$", "- `$1`"),
		"subscriptions spaced":   replace(`(?m)^- (file|topic):`, "- $1: "),
		"CRLF":                   replace(`\n`, "\r\n"),
		"BOM":                    func(s string) string { return "\ufeff" + s },
		"BOM and CRLF":           func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") },
		"no newline at the end":  func(s string) string { return strings.TrimRight(s, "\n") },
		"marks":                  replace(`(?m)^(### [^.]+\.)`, "$1 ✅"),
		"marks of two":           replace(`(?m)^(### [^.]+\.)`, "$1 ⏸️ "),
		"status lines":           replace(`(?m)^(### .*)$`, "$1\n\n**status:** done"),
		"status in the contract": replace(`(?m)^(exit_code.*)$`, "**status: failed (timeout)**\n$1"),
		"tilde fences":           replace("(?m)^```", "~~~"),
		"long fences":            replace("(?m)^```", "``````"),
		"sh fences":              replace("(?m)^```shell", "``` sh"),
		"bash fences":            replace("(?m)^```shell", "```Bash title=x"),
		"plain fences":           replace("(?m)^```shell", "```"),
		"indented fences":        replace("(?m)^```(.*)\n(.*)\n```", "  ```$1\n  $2\n   ```  "),
		"fences in a list":       replace("(?m)^```shell\n(.*)\n```\nexit", "- ```shell\n  $1\n  ```\n- exit"),
		"exit code first":        replace("(?m)^(```shell\n.*\n```)\nexit_code == 0", "exit_code == 0\n$1"),
		"exit code apart":        replace(`exit_code == 0`, "\n`exit_code==0`\n"),
		"exit code explained":    replace(`exit_code == 0`, "exit code = 0  # all is well"),
		"trailing spaces":        replace(`(?m)$`, "  "),
		"closed headings":        replace(`(?m)^(#+)( .*)$`, "$1$2 $1"),
		"hyphen for dash":        replace(`3–N`, "3-N"),
		"capital policy":         replace(`retry\((\d)\), then escalate`, "Retry ($1), Then Escalate"),
		"a note at the end":      func(s string) string { return s + "\n## Notes\n\n**Note:** none\n" },
		"quoted status":          replace(`status: draft`, `status: 'draft'  # for now`),
	}
	if len(drifts) < 20 {
		t.Fatal("too few drifts")
	}
	for _, name := range []string{"bug-fix", "refactor", "migration"} {
		a := corpus(t)["testdata/"+name+".txtar"]
		if a == nil {
			t.Fatalf("no plan %s", name)
		}
		src := string(a.Files[0].Data)
		want := meaning(t, src)
		for drift, change := range drifts {
			t.Run(name+"/"+drift, func(t *testing.T) {
				text := change(src)
				if text == src && drift != "hyphen for dash" {
					t.Fatal("the drift changes nothing")
				}
				if diff := cmp.Diff(want, meaning(t, text)); diff != "" {
					t.Errorf("-plan +drift:\n%s\n%s", diff, text)
				}
				checkLaws(t, []byte(text))
			})
		}
	}
}

// meaning is what a plan does, however it is written.
func meaning(t *testing.T, src string) string {
	t.Helper()
	p, problems := plan.Parse("", []byte(src))
	for _, problem := range problems {
		if problem.Severity == plan.Error {
			t.Errorf("%+v", problem)
		}
	}
	for _, s := range p.Steps {
		s.Number = strings.ReplaceAll(s.Number, "-", "–")
		s.Task.Value = strings.Join(strings.Fields(s.Task.Value), " ")
		s.Contract.Command.Value = strings.TrimRight(s.Contract.Command.Value, " ")
	}
	p.Context.Value = strings.TrimRight(p.Context.Value, " ")
	return tree(p, "Mark", "Status", "Front", "Fenced", "Notes")
}
