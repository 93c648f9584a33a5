package verify_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/verify"
)

func rewrite(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(s string) string { return re.ReplaceAllString(s, with) }
}

// TestDriftsMeanTheSame writes the three plans that the format was made for in
// thirty other ways: the verifier asks and says the same, and compiles the same
// steps and contracts.
func TestDriftsMeanTheSame(t *testing.T) {
	t.Parallel()
	drifts := map[string]func(string) string{
		"steps at level 2":     rewrite(`(?m)^### `, "## "),
		"steps at level 4":     rewrite(`(?m)^### `, "#### "),
		"no steps heading":     rewrite(`(?m)^## Steps\n`, ""),
		"steps in capitals":    rewrite(`(?m)^## Steps`, "## STEPS:"),
		"more blank lines":     rewrite(`\n\n`, "\n\n\n"),
		"blanks with spaces":   rewrite(`\n\n`, "\n \t\n"),
		"no blank lines":       rewrite(`\n\n+`, "\n"),
		"colon outside":        rewrite(`:\*\*`, "**:"),
		"colon apart":          rewrite(`:\*\*`, "** :"),
		"capital labels":       rewrite(`(?m)^\*\*t(arget|ask):`, "**T$1:"),
		"underscores":          rewrite(`(?m)^\*\*(\w+):\*\*`, "__${1}:__"),
		"indented labels":      rewrite(`(?m)^\*\*`, " **"),
		"stars":                rewrite(`(?m)^- `, "* "),
		"pluses":               rewrite(`(?m)^- `, "+ "),
		"numbered lists":       rewrite(`(?m)^- `, "1. "),
		"indented lists":       rewrite(`(?m)^- `, "  - "),
		"quoted items":         rewrite("(?m)^- (.*)$", "- `$1`"),
		"CRLF":                 rewrite(`\n`, "\r\n"),
		"BOM":                  func(s string) string { return "\ufeff" + s },
		"no newline at end":    func(s string) string { return strings.TrimRight(s, "\n") },
		"marks":                rewrite(`(?m)^(### [^.]+\.)`, "$1 ✅"),
		"status lines":         rewrite(`(?m)^(### .*)$`, "$1\n\n**status:** done"),
		"tilde fences":         rewrite("(?m)^```", "~~~"),
		"long fences":          rewrite("(?m)^```", "`````"),
		"bash fences":          rewrite("(?m)^```shell", "```bash"),
		"plain fences":         rewrite("(?m)^```shell", "```"),
		"exit code first":      rewrite("(?m)^(```shell\n.*\n```)\nexit_code == 0", "exit_code == 0\n$1"),
		"exit code explained":  rewrite(`exit_code == 0`, "exit code = 0  # all is well"),
		"trailing spaces":      rewrite(`(?m)$`, "  "),
		"closed headings":      rewrite(`(?m)^(#+)( .*)$`, "$1$2 $1"),
		"capital policy":       rewrite(`retry\((\d)\), then escalate`, "Retry ($1), Then Escalate"),
		"a section at the end": func(s string) string { return s + "\n## Notes\n\nNothing.\n" },
	}
	if len(drifts) < 30 {
		t.Fatal("too few drifts")
	}
	for _, name := range []string{"bug-fix", "refactor", "migration"} {
		for _, a := range archives(t, "../plan/testdata/"+name+".txtar") {
			src := string(a.Files[0].Data)
			want := seen(t, src)
			for drift, change := range drifts {
				text := change(src)
				if text == src {
					t.Errorf("%s: %s changes nothing", name, drift)
				}
				if diff := cmp.Diff(want, seen(t, text)); diff != "" {
					t.Errorf("%s, %s (-plan +drift):\n%s", name, drift, diff)
				}
			}
		}
	}
}

// seen is what the verifier makes of a plan, places and white space apart.
func seen(t *testing.T, text string) string {
	t.Helper()
	p, problems := plan.Parse("plan.md", []byte(text))
	queries := verify.Needs(p)
	f := facts(t, queries, "none")
	for i, s := range p.Steps { // templates are refused; here each is one step
		s.Number = fmt.Sprint(i + 1)
		s.Task.Value = strings.Join(strings.Fields(s.Task.Value), " ")
		if s.Contract != nil {
			s.Contract.Command.Value = strings.TrimRight(s.Contract.Command.Value, " ")
		}
	}
	var out []string
	for _, found := range verify.Check(p, problems, f) {
		out = append(out, found.Code+" "+found.Step+" "+found.Message)
	}
	slices.Sort(out)
	program, err := verify.Compile(p, problems, f, verify.Options{Plan: "p"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range program.Len() {
		step, err := json.Marshal(program.Step(i))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(step))
	}
	asked, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(append(out, string(asked)), "\n")
}
