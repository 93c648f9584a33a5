package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages into a directory",
		Long: `Writes one page for each verb, with the texts of --help. Existing pages are replaced. The date in
them is $SOURCE_DATE_EPOCH, or today.`,
		Example: "  piton man ~/.local/share/man/man1 && man piton-run",
		Args:    exactly("a directory", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.man(c.Root(), args[0]) },
	}
}

func (a *app) man(root *cobra.Command, dir string) error {
	if info, err := os.Stat(a.at(dir)); err == nil && !info.IsDir() {
		return &api.Problem{Code: api.Invalid, Message: dir + " is not a directory", Hint: "give a directory for the pages"}
	}
	if err := os.MkdirAll(a.at(dir), 0o755); err != nil {
		return api.CannotWrite(dir, err)
	}
	at := a.now()
	if epoch := a.environ()["SOURCE_DATE_EPOCH"]; epoch != "" {
		n, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return &api.Problem{Code: api.Invalid, Message: fmt.Sprintf("SOURCE_DATE_EPOCH is %q", epoch), Hint: "give seconds since 1970, or leave it out"}
		}
		at = time.Unix(n, 0)
	}
	pages := manPages(root)
	for _, c := range pages {
		name := filepath.Join(dir, manName(c)+".1")
		if err := os.WriteFile(a.at(name), []byte(manPage(c, at.UTC())), 0o644); err != nil { //nolint:gosec // for all to read
			return api.CannotWrite(name, err)
		}
	}
	a.did("man", dir, fmt.Sprintf("wrote %s to %s", view.Plural(len(pages), "page", "pages"), filepath.Clean(dir)))
	return nil
}

// manPages are the verbs that have a page: a verb, and those below it.
func manPages(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, below := range manBelow(c) {
		all = append(all, manPages(below)...)
	}
	return all
}

func manBelow(c *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(c.Commands()), func(b *cobra.Command) bool { return !b.IsAvailableCommand() || b.IsAdditionalHelpTopicCommand() })
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a page in the man macros of roff.
func manPage(c *cobra.Command, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH PITON 1 %s %s Piton\n", strconv.Quote(at.Format("Jan 2006")), strconv.Quote("piton "+roff(Version())))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n\\fB%s\\fR\n.SH DESCRIPTION\n%s", roff(manName(c)), roff(c.Short), roff(c.UseLine()), roffText(c.Long+"\n"))
	c.InitDefaultHelpFlag()
	manFlags(&b, "OPTIONS", c.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL VERBS", c.InheritedFlags())
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLE\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	var others []string
	for _, o := range manBelow(c) {
		others = append(others, o.CommandPath())
	}
	if c.HasParent() {
		others = append([]string{c.Parent().CommandPath()}, others...)
	}
	if len(others) > 0 {
		b.WriteString(".SH SEE ALSO\n")
		for n, name := range others {
			end := ","
			if n+1 == len(others) {
				end = ""
			}
			fmt.Fprintf(&b, ".BR %s (1)%s\n", roff(strings.ReplaceAll(name, " ", "-")), end)
		}
	}
	return b.String()
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "\\fB\\-\\-" + roff(f.Name) + "\\fR"
		if f.Shorthand != "" {
			name = "\\fB\\-" + f.Shorthand + "\\fR, " + name
		}
		if value != "" {
			name += " \\fI" + roff(value) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, roff(usage))
		if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && d != "0s" {
			fmt.Fprintf(b, "(default %s)\n", roff(d))
		}
	})
}

// roff writes a text of which nothing is a request or an escape.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// roffText writes paragraphs, what is in backticks in bold. One with indented lines stays as it is.
func roffText(s string) string {
	var b strings.Builder
	for p := range strings.SplitSeq(strings.Trim(s, "\n"), "\n\n") {
		parts := strings.Split(roff(p), "`")
		var text strings.Builder
		for n, part := range parts {
			switch {
			case n%2 == 0:
				text.WriteString(part)
			case n+1 == len(parts):
				text.WriteString("`" + part)
			default:
				text.WriteString(`\fB` + part + `\fR`)
			}
		}
		if strings.Contains("\n"+p, "\n ") {
			fmt.Fprintf(&b, ".PP\n.nf\n%s\n.fi\n", text.String())
			continue
		}
		fmt.Fprintf(&b, ".PP\n%s\n", text.String())
	}
	return b.String()
}
