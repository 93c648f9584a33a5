package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/probe"
	"github.com/piton-dev/piton/internal/view"
)

func (a *app) agentsCmd() *cobra.Command {
	c := &cobra.Command{
		Use:     "agents",
		Example: "  piton agents\n  piton agents test\n  piton agents --json | jq -r '.data.agents[] | select(.found | not) | .name'",
		Short:   "List the agents that steps can name, and whether they are installed",
		Long: `Lists the configured agents and the built-in one: kind, command, model, and where its program and its
configuration are. It starts none of them. piton doctor asks for their versions, piton agents test
asks them to work.`,
		Args: verbs,
		RunE: func(*cobra.Command, []string) error { return a.agents() },
	}
	c.AddCommand(&cobra.Command{
		Use: "test [NAME]...", Example: "  piton agents test\n  piton agents test claude",
		Short: "Test whether the agents can work here, and say what to do if not",
		Long: `Asks each configured agent for one word. It starts them as a step does: with the same command,
environment, home, isolation and limits. This asks their models, which may cost a little. The
exit code is 9 unless all of them work.`,
		RunE: func(c *cobra.Command, names []string) error { return a.testAgents(c.Context(), names) },
	})
	return c
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

// triedAgent is how an agent did, for programs.
type triedAgent struct {
	Name   string  `json:"name"`
	Status string  `json:"status"` // works, or why not
	Text   string  `json:"text"`
	Hint   string  `json:"hint"`
	TookMs int64   `json:"took_ms"`
	In     *int64  `json:"tokens_in"`
	Out    *int64  `json:"tokens_out"`
	Log    *string `json:"log"` // all that it printed
}

// testAgents tries the agents of these names, or all that have a program.
func (a *app) testAgents(ctx context.Context, names []string) error {
	if err := a.byPerson(); err != nil {
		return err
	}
	place, conf, err := a.here(nil)
	if err != nil {
		return err
	}
	if names, err = agentNames(conf, names); err != nil {
		return err
	}
	works := true
	if !a.json {
		printLines(a.out, []string{"trying " + strings.Join(names, ", ") + ": each has up to 2 minutes to say one word"})
	}
	docs, err := a.try(ctx, place, conf, names, a.hears, func(d triedAgent) {
		works = works && d.Status == "works"
		if !a.json {
			printLines(a.out, a.theme(a.out).tried(d))
		}
	})
	if err != nil {
		return err
	}
	if a.json {
		a.document("agents_test", map[string]any{"agents": docs})
	}
	if !works {
		return ended(exitMachine)
	}
	return nil
}

// agentNames are the names, which must be agents with a program; without names all of these.
func agentNames(conf config.Config, names []string) ([]string, error) {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(conf.Agents)) {
		if conf.Agents[name].Kind != config.Shell {
			all = append(all, name)
		}
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, misuse(fmt.Sprintf("no agent %q that runs a program is configured", name), cmp.Or(plan.Nearest(name, all), "piton agents lists them"))
		}
	}
	if len(all) == 0 {
		return nil, &api.Problem{Code: api.Invalid, Message: "no agent is configured", Hint: "piton init writes entries for the agents found here, or says which to add to your " + config.File}
	}
	if len(names) == 0 {
		return all, nil
	}
	return names, nil
}

// hears shows at once what keeps an agent from its model: its program may try again for long.
func (a *app) hears(name string, why engine.Cause) {
	if !a.json {
		t := a.theme(a.out)
		printLines(a.out, t.under(4, warnTone, t.line(name+": "+why.String())))
	}
}

// try tries agents and hands on how each did.
func (a *app) try(ctx context.Context, place api.Place, conf config.Config, names []string, hear func(string, engine.Cause), tell func(triedAgent)) ([]triedAgent, error) {
	docs := []triedAgent{}
	err := owner.TryAgents(ctx, place, conf, a.env, a.program, names, hear, func(t owner.Tried) {
		d := triedOf(t)
		docs = append(docs, d)
		tell(d)
	})
	return docs, err
}

func triedOf(t owner.Tried) triedAgent {
	d := triedAgent{Name: t.Name, Status: string(t.Cause.Kind), Text: t.Cause.Text, Hint: t.Cause.Next, TookMs: t.Took.Milliseconds(), In: t.Usage.In, Out: t.Usage.Out}
	if t.Log != "" {
		d.Log = &t.Log
	}
	switch {
	case t.Works:
		d.Status, d.Text = "works", fmt.Sprintf("%.1f s, %s", t.Took.Seconds(), view.Used(t.Usage.Tokens(), t.Usage.CostMicros))
	case t.Absent:
		d.Status, d.Text, d.Hint = "not-installed", t.Cause.Text, "install it, or correct `command:` in .piton/config.yaml"
	case t.Old != "":
		d.Status, d.Text, d.Hint = "too-old", t.Old+": "+t.Words, t.Cause.Next
	case d.Status == "":
		d.Status, d.Text = "failed", cmp.Or(t.Words, "it said nothing")
	}
	if d.Hint == "" && !t.Works && t.Log != "" {
		d.Hint = "all that it printed is in " + t.Log
	}
	return d
}

// sentence says how an agent did.
func (d triedAgent) sentence() string {
	if d.Status == "works" {
		return "works (" + d.Text + ")"
	}
	said := engine.Cause{Kind: engine.CauseKind(d.Status), Text: d.Text}
	switch d.Status {
	case "not-installed", "too-old", "failed":
		said = engine.Cause{Text: strings.ReplaceAll(d.Status, "-", " ") + ": " + d.Text}
	}
	return said.String()
}

// tried shows how an agent did.
func (t theme) tried(d triedAgent) []string {
	l := doctorLook(probe.Warning)
	if d.Status == "works" {
		l = doctorLook(probe.OK)
	}
	lines := []string{" " + t.paint(l.tone, t.glyph(l)) + "  " + t.line(d.Name)}
	lines = append(lines, t.under(4, plainTone, t.line(d.sentence()))...)
	if d.Hint != "" {
		lines = append(lines, t.under(4, warnTone, "hint: "+t.line(d.Hint))...)
	}
	return lines
}

func command(d api.Agent) string {
	words := make([]string, len(d.Command))
	for i, w := range d.Command {
		words[i] = engine.ShellWord(w)
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
