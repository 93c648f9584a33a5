package cli

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every verb says in one line what it does, shows how it is called, and
// explains each of its flags.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	verbs := 0
	walk = func(c *cobra.Command) {
		if c.Hidden {
			return // no help shows it
		}
		verbs++
		path := c.CommandPath()
		switch {
		case c.Short == "" || strings.HasSuffix(c.Short, "."):
			t.Errorf("%s: Short is %q", path, c.Short)
		case !strings.Contains(c.Example, path):
			t.Errorf("%s: no example", path)
		}
		for l := range strings.SplitSeq(c.Example, "\n") {
			if !strings.HasPrefix(l, "  ") || len(l) > 100 {
				t.Errorf("%s: a line of its example is %q", path, l)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s: --%s says %q", path, f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	a := &app{env: os.Environ()}
	walk(a.root())
	if verbs < 20 {
		t.Errorf("%d verbs", verbs)
	}
}

var codeRow = regexp.MustCompile(`(?m)^\| \d+ \|`)

// The exit codes are promised in one place: the help and the page about trouble
// say the same.
func TestExitCodes(t *testing.T) {
	body, err := os.ReadFile("../../docs/trouble.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for i, e := range exitCodes() {
		words = append(words, strconv.Itoa(e.code)+" "+e.means)
		if i > 0 && e.code <= exitCodes()[i-1].code {
			t.Errorf("%d comes after %d", e.code, exitCodes()[i-1].code)
		}
		if row := fmt.Sprintf("| %d | %s |", e.code, e.means); !strings.Contains(string(body), "\n"+row) {
			t.Errorf("docs/trouble.md has no row %s", row)
		}
	}
	if got := len(codeRow.FindAll(body, -1)); got != len(words) {
		t.Errorf("docs/trouble.md has %d exit codes, want %d", got, len(words))
	}
	want := "Exit codes: " + strings.Join(words, ", ") + "."
	a := &app{env: os.Environ()}
	if help := strings.Join(strings.Fields(a.root().Long), " "); !strings.Contains(help, want) {
		t.Errorf("the help does not say: %s", want)
	}
}
