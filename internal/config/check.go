package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// check finds what is wrong between settings that are right by themselves.
func (d *decoder) check(c *Config) {
	names := slices.Sorted(maps.Keys(c.Agents))
	for _, name := range names {
		d.agent(c, name)
	}
	if c.DefaultAgent != "" {
		d.isAgent("default_agent", c.DefaultAgent, c)
	}
	for _, m := range []struct {
		path string
		Model
	}{{"planner", c.Planner}, {"arbiter", c.Arbiter}, {"judge", c.Judge}, {"extraction", c.Extraction}} {
		d.model(c, m.path, m.Model)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		d.server(join("mcp_servers", name), c.MCPServers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Queues)) {
		d.isAgent(join("queues", name), name, c)
	}
}

// wrong records a problem of the setting at a path, or of the nearest one above it.
func (d *decoder) wrong(path, hint, format string, args ...any) {
	p := Problem{Message: fmt.Sprintf(format, args...), Hint: hint}
	for at := path; ; {
		if o, ok := d.origins[at]; ok {
			p.Origin = o
			break
		}
		dot := strings.LastIndexByte(at, '.')
		if dot < 0 {
			p.Origin = Origin{Source: "default"}
			break
		}
		at = at[:dot]
	}
	d.problems = append(d.problems, p)
}

func (d *decoder) agent(c *Config, name string) {
	a, path := c.Agents[name], join("agents", name)
	switch {
	case name == "any" || name == "none":
		d.wrong(path, "", "an agent cannot be called %q: the word has a meaning in plans", name)
	case a.Kind == "":
		if !d.refused[path] && !d.refused[path+".kind"] {
			d.wrong(path, "", "%s has no kind (acp, exec or shell)", path)
		}
	case name == Script && a.Kind != Shell:
		d.wrong(path+".kind", "choose another name", "%s is built in and its kind is shell", path)
	case a.Kind != Shell && (len(a.Command) == 0 || a.Command[0] == ""):
		if !d.refused[path+".command"] {
			d.wrong(path, "", "%s has no command, which kind %s needs", path, a.Kind)
		}
	default:
		d.meaningless(path, a.Kind)
	}
}

// meaningless refuses keys that an agent of this kind would not heed.
func (d *decoder) meaningless(path string, kind Kind) {
	heeds := []struct {
		key   string
		kinds []Kind
	}{
		{"command", []Kind{ACP, Exec}},
		{"prompt", []Kind{Exec}},
		{"parse", []Kind{Exec}},
		{"modes.read", []Kind{ACP, Exec}},
		{"modes.edit", []Kind{ACP, Exec}},
		{"modes.full", []Kind{ACP, Exec}},
		{"permissions.read", []Kind{ACP}},
		{"permissions.edit", []Kind{ACP}},
		{"permissions.full", []Kind{ACP}},
		{"limits.cost_usd", []Kind{ACP, Exec}},
		{"auth", []Kind{ACP}},
		{"resume", []Kind{ACP, Exec}},
		{"model", []Kind{ACP, Exec}},
		{"mode", []Kind{ACP, Exec}},
	}
	for _, h := range heeds {
		if _, there := d.origins[path+"."+h.key]; there && !slices.Contains(h.kinds, kind) {
			d.wrong(path+"."+h.key, "", "%s.%s has no meaning for kind %s", path, h.key, kind)
		}
	}
}

func (d *decoder) isAgent(path, name string, c *Config) {
	if _, ok := c.Agents[name]; ok {
		return
	}
	names := slices.Sorted(maps.Keys(c.Agents))
	hint := plan.Nearest(name, names)
	if hint == "" {
		hint = "agents: " + strings.Join(names, ", ")
	}
	d.wrong(path, hint, "%s names agent %q, which is not configured", path, name)
}

func (d *decoder) model(c *Config, path string, m Model) {
	switch {
	case m.Agent != "" && (m.API != "" || m.BaseURL != "" || m.Model != "" || m.KeyEnv != ""):
		d.wrong(path+".agent", "", "%s is either an agent or an api with its model, not both", path)
	case m.Agent != "":
		d.isAgent(path+".agent", m.Agent, c)
		if c.Agents[m.Agent].Kind == Shell {
			d.wrong(path+".agent", "", "%s needs an agent with a model, and %q is of kind shell", path, m.Agent)
		}
	case m.API == "" && m != Model{}:
		d.wrong(d.first(path, "base_url", "model", "key_env"), "", "%s has no api (openai or anthropic)", path)
	case m.API != "" && m.Model == "":
		d.wrong(path+".api", "", "%s names no model", path)
	}
	if m.KeyEnv != "" && !isEnvName(m.KeyEnv) {
		d.wrong(path+".key_env", "", "%s.key_env is the name of a variable, and %q is none", path, m.KeyEnv)
	}
	if m.BaseURL != "" {
		d.webAddress(path+".base_url", m.BaseURL)
	}
}

// first returns the first of the keys below path that a source has set.
func (d *decoder) first(path string, keys ...string) string {
	for _, k := range keys {
		if _, ok := d.origins[path+"."+k]; ok {
			return path + "." + k
		}
	}
	return path
}

func (d *decoder) server(path string, s Server) {
	switch {
	case len(s.Command) > 0 && s.URL != "":
		d.wrong(path+".url", "", "%s has a command and a url; it is one of them", path)
	case len(s.Command) == 0 && s.URL == "":
		d.wrong(path, "", "%s needs a command or a url", path)
	case s.URL != "":
		d.webAddress(path+".url", s.URL)
	}
}

func (d *decoder) webAddress(path, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		d.wrong(path, "", "%s is an address such as http://127.0.0.1:11434/v1, not %q", path, text)
	}
}
