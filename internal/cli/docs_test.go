package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The page of all verbs has the texts of the program; -update rewrites it.
func TestVerbsPage(t *testing.T) {
	a := &app{}
	page := verbsPage(a.root())
	const path = "../../docs/verbs.md"
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), page); diff != "" {
		t.Errorf("docs/verbs.md is not what the verbs say; go test ./internal/cli -run TestVerbsPage -update writes it (-have +want):\n%s", diff)
	}
}

// kindsText lists the kinds of JSON documents.
const kindsText = `The ` + "`kind`" + ` is the name of the verb, with these exceptions:

| kind | printed by |
|---|---|
| ` + "`plan`" + ` | ` + "`show`, `run --dry-run`" + ` |
| ` + "`draft`" + ` | ` + "`plan`" + ` |
| ` + "`task`" + ` | ` + "`show INTENT`, `show TASK`" + ` |
| ` + "`findings`" + ` | ` + "`verify`" + `, and every verb that refuses a plan which does not verify (exit code 4) |
| ` + "`run`" + ` | ` + "`status`" + `; ` + "`run` and `resume`" + ` at the end. A run whose plan waits for approval has no id yet, and the status ` + "`verified`" + ` |
| ` + "`errands`" + ` | ` + "`status`" + ` where no plan has run yet, and a model is asked something |
| ` + "`event`" + ` | ` + "`run`, `resume`, `watch` and `log`" + `: one line for each event since the run was opened. ` + "`log ERRAND` and `log --transcript`" + ` print ` + "`log`" + ` |
| ` + "`error`" + ` | every verb that fails: ` + "`code`, `message`, `hint`" + ` |

Times are RFC 3339 in UTC with milliseconds, durations are milliseconds in keys that end in ` + "`_ms`" + `, money is dollars in
` + "`cost_usd`" + `. New keys may be added at any time. Any other change raises ` + "`schema`" + `.

`

func verbsPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Verbs\n\nEvery verb of the command line, with the texts of `piton VERB --help`.\n\n")
	b.WriteString("Data goes to standard output, notices to standard error. Piton asks questions only at a terminal.\n" +
		"Every verb takes `--json` and prints `{\"schema\":1,\"kind\":…,\"data\":…}`: one object if it ends, one per line if it\n" +
		"streams. An id may be shortened to a unique prefix. Without a run, a verb takes the newest one of the workspace.\n" +
		"With `--server URL` a verb about plans and runs asks [the server](server.md) of another workspace.\n\n" + kindsText)
	each(root, func(c *cobra.Command) {
		if c != root {
			fmt.Fprintf(&b, "- [`%s`](#%s): %s\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"), c.Short)
		}
	})
	each(root, func(c *cobra.Command) {
		if c != root {
			verbSection(&b, c)
		}
	})
	b.WriteString("\n## Exit codes\n\n| code | means |\n|---|---|\n")
	for _, e := range exitCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.means)
	}
	return b.String()
}

func each(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			each(sub, do)
		}
	}
}

func verbSection(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", c.CommandPath(), c.Short)
	fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.TrimSuffix(c.UseLine(), " [flags]"))
	if c.Long != "" {
		fmt.Fprintf(b, "\n%s\n", c.Long)
	}
	if c.HasLocalFlags() {
		b.WriteString("\n| flag | does |\n|---|---|\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				fmt.Fprintf(b, "| %s | %s |\n", flagText(f), strings.ReplaceAll(f.Usage, "|", `\|`))
			}
		})
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindented(c.Example))
	}
}

func flagText(f *pflag.Flag) string {
	text := "`--" + f.Name
	if name, _ := pflag.UnquoteUsage(f); name != "" {
		text += " " + strings.ToUpper(name)
	}
	text += "`"
	if f.Shorthand != "" {
		text = "`-" + f.Shorthand + "`, " + text
	}
	return text
}

func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}
