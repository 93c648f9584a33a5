package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/probe"
)

// Agent is an agent that steps can name.
type Agent struct {
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
	Origin
}

// Origin is where a setting comes from.
type Origin struct {
	Origin string `json:"origin"`
	File   string `json:"file,omitzero"` // where the origin is a file
	Line   int    `json:"line,omitzero"`
	Column int    `json:"column,omitzero"`
}

func originOf(o config.Origin) Origin { return Origin{o.String(), o.File, o.Line, o.Column} }

// Agents are those of the configuration and the built-in one, by name. None of them
// is started.
func (p *Product) Agents() []Agent {
	all := []Agent{}
	env := p.probeEnv()
	for _, name := range slices.Sorted(maps.Keys(p.Config.Agents)) {
		c, at := p.Config.Agents[name], p.Config.Origin("agents."+name)
		said, file := probe.Agent(env, name)
		a := Agent{
			Name: name, Kind: c.Kind, Command: append([]string{}, c.Command...), Model: c.Model, Default: name == p.Config.DefaultAgent,
			BuiltIn: at.File == "", Found: file != "", Unset: append([]string{}, probe.Unset(env, c)...),
			Status: said.Status, Text: said.Text, Hint: said.Hint, Origin: originOf(at),
		}
		if a.Found {
			a.Program = &file
		}
		all = append(all, a)
	}
	return all
}

// Setting is a setting in force.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	Origin
}

// Settings are those in force: all, or one with those below it.
func Settings(conf config.Config, below string) ([]Setting, error) {
	all := []Setting{}
	for _, s := range conf.Settings() {
		if below == "" || s.Path == below || strings.HasPrefix(s.Path, below+".") {
			all = append(all, Setting{s.Path, s.Value, originOf(s.Origin)})
		}
	}
	if len(all) == 0 && below != "" {
		return nil, &Problem{Code: NotFound, Message: fmt.Sprintf("no setting %q is in force", below), Hint: "piton config show lists them all"}
	}
	return all, nil
}
