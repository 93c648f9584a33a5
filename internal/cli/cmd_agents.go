package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/probe"
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
	env := probe.Env{Workspace: place.Dir, Environ: a.env, Config: a.readable(place)}
	docs := []agentDoc{}
	for _, name := range slices.Sorted(maps.Keys(env.Config.Agents)) {
		docs = append(docs, agentDocument(env, name))
	}
	a.prints("agents", map[string]any{"agents": docs}, func(t theme) []string { return t.agents(docs) })
	return nil
}

// agentDoc is one agent for programs.
type agentDoc struct {
	Name    string       `json:"name"`
	Kind    config.Kind  `json:"kind"`
	Command []string     `json:"command"`
	Model   string       `json:"model"`
	Default bool         `json:"default"` // of steps that name none
	BuiltIn bool         `json:"built_in"`
	Found   bool         `json:"found"`
	Program *string      `json:"program"` // where it is
	Unset   []string     `json:"not_set"` // variables that it is to be passed
	Status  probe.Status `json:"status"`
	Text    string       `json:"text"`
	Hint    string       `json:"hint"` // what to do, where something is to be done
	Origin  string       `json:"origin"`
	File    string       `json:"file,omitzero"` // where the origin is a file
	Line    int          `json:"line,omitzero"`
	Column  int          `json:"column,omitzero"`
}

func agentDocument(env probe.Env, name string) agentDoc {
	c, at := env.Config.Agents[name], env.Config.Origin("agents."+name)
	said, file := probe.Agent(env, name)
	return agentDoc{
		Name: name, Kind: c.Kind, Command: view.List(c.Command), Model: c.Model, Default: name == env.Config.DefaultAgent,
		BuiltIn: at.File == "", Found: file != "", Program: view.OrNull(file), Unset: view.List(probe.Unset(env, c)),
		Status: said.Status, Text: said.Text, Hint: said.Hint,
		Origin: at.String(), File: at.File, Line: at.Line, Column: at.Column,
	}
}

var agentColumns = []column{
	{most: 1},
	{most: 24}, // name
	{most: 5},  // kind
	{flex: true},
}

// agents shows each agent in a row, with what is to be known of it below.
func (t theme) agents(docs []agentDoc) []string {
	rows := make([][]cell, len(docs))
	for i, d := range docs {
		l := doctorLook(d.Status)
		rows[i] = []cell{{t.glyph(l), l.tone}, {d.Name, plainTone}, {string(d.Kind), idleTone}, {t.line(d.about()), idleTone}}
	}
	var lines []string
	for i, row := range t.table(agentColumns, rows) {
		d := docs[i]
		lines = append(append(lines, row), t.under(4, plainTone, t.line(d.Text))...)
		if len(d.Command) > 0 {
			lines = append(lines, t.under(4, idleTone, "command: "+t.line(d.command()))...)
		}
		if !d.BuiltIn {
			lines = append(lines, t.under(4, idleTone, "configured at "+t.line(d.Origin))...)
		}
		if d.Hint != "" {
			lines = append(lines, t.under(4, warnTone, "hint: "+t.line(d.Hint))...)
		}
	}
	return lines
}

func (d agentDoc) command() string {
	words := make([]string, len(d.Command))
	for i, w := range d.Command {
		words[i] = view.ShellWord(w)
	}
	return strings.Join(words, " ")
}

// about says in a few words what else is to be known of an agent.
func (d agentDoc) about() string {
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
