package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) agentsCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "agents",
		Example: "  piton agents\n  piton agents --json | jq -r '.data.agents[] | select(.found | not) | .name'",
		Short:   "List the agents that steps can name, and whether they are installed",
		Long: `Lists the configured agents and the built-in one: kind, command, model, where the program is, and
where it is configured. Starts none of them; piton doctor asks them for their version.`,
		Args: atMost("nothing", 0),
		RunE: func(*cobra.Command, []string) error { return a.agents() },
	}
}

func (a *app) agents() error {
	place, err := a.place()
	if err != nil {
		return err
	}
	docs := a.product(place, a.readable(place)).Agents()
	a.prints("agents", map[string]any{"agents": docs}, func(t theme) []string { return t.agents(docs) })
	return nil
}

var agentColumns = []column{
	{most: 1},
	{most: 24}, // name
	{most: 5},  // kind
	{flex: true},
}

// agents shows each agent in a row, with what is to be known of it below.
func (t theme) agents(docs []api.Agent) []string {
	rows := make([][]cell, len(docs))
	for i, d := range docs {
		l := doctorLook(d.Status)
		rows[i] = []cell{{t.glyph(l), l.tone}, {d.Name, plainTone}, {string(d.Kind), idleTone}, {t.line(aboutAgent(d)), idleTone}}
	}
	var lines []string
	for i, row := range t.table(agentColumns, rows) {
		d := docs[i]
		lines = append(append(lines, row), t.under(4, plainTone, t.line(d.Text))...)
		if len(d.Command) > 0 {
			lines = append(lines, t.under(4, idleTone, "command: "+t.line(command(d)))...)
		}
		if !d.BuiltIn {
			lines = append(lines, t.under(4, idleTone, "configured at "+t.line(d.Origin.Origin))...)
		}
		if d.Hint != "" {
			lines = append(lines, t.under(4, warnTone, "hint: "+t.line(d.Hint))...)
		}
	}
	return lines
}

func command(d api.Agent) string {
	words := make([]string, len(d.Command))
	for i, w := range d.Command {
		words[i] = view.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// aboutAgent says in a few words what else is to be known of an agent.
func aboutAgent(d api.Agent) string {
	var words []string
	if d.BuiltIn {
		words = append(words, "built in")
	}
	if d.Model != "" {
		words = append(words, "model "+d.Model)
	}
	if d.Default {
		words = append(words, "the default")
	}
	return view.Join(words)
}
