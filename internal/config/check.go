package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piton-dev/piton/internal/plan"
)

// check finds what is wrong between settings that are right by themselves.
func (d *decoder) check(c *Config) {
	for _, name := range agentNames(c) {
		d.alike(c, name)
	}
	for _, name := range agentNames(c) {
		d.agent(c, name)
		d.hosts(join("agents", name)+".network", c.Agents[name].Network)
		d.inHome(join("agents", name)+".login", c.Agents[name].Login)
		d.rules(join("agents", name)+".permissions", c.Agents[name].Permissions)
	}
	d.rules("policy.permissions", c.Policy.Permissions)
	d.hosts("policy.network", c.Policy.Network)
	d.places("sandbox.visible", c.Sandbox.Visible)
	d.places("sandbox.writable", c.Sandbox.Writable)
	d.notify(c.Notify)
	if c.DefaultAgent != "" {
		d.isAgent("default_agent", c.DefaultAgent, c)
	}
	d.model("planner", c.Planner, c)
	d.model("judge", c.Judge, c)
	d.model("reviewer", c.Reviewer, c)
	d.model("extraction", c.Extraction, c)
	d.model("arbiter", c.Arbiter, c)
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		d.server(join("mcp_servers", name), c.MCPServers[name])
	}
}

func agentNames(c *Config) []string { return slices.Sorted(maps.Keys(c.Agents)) }

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
			d.wrong(path, "", "%s has no kind (exec, acp or shell)", path)
		}
	case name == Script && a.Kind != Shell:
		d.wrong(path+".kind", "choose another name", "%s is built in and its kind is shell", path)
	case a.Kind != Shell && (len(a.Command) == 0 || a.Command[0] == ""):
		if !d.refused[path+".command"] {
			d.wrong(path, "", "%s has no command, which kind %s needs", path, a.Kind)
		}
	case a.Kind == Shell:
		d.meaningless(path, "shell", "command", "prompt", "parse", "modes.read", "modes.edit", "modes.full", "model", "tools", "when", "mode", "as", "instructions", "permissions", "report_tools")
	case a.Kind == ACP && d.first(path, "prompt", "parse") != "":
		d.meaningless(path, "acp", "prompt", "parse")
	case a.Kind == Exec && d.first(path, "permissions") != "":
		d.meaningless(path, "exec, which asks nothing while it works", "permissions")
	case a.Kind == Exec && d.first(path, "report_tools") != "":
		d.meaningless(path, "exec, whose command names the servers of its tools", "report_tools")
	case len(a.Tools) > 0 && !slices.ContainsFunc(a.Command, func(s string) bool { return strings.Contains(s, "{tools}") }):
		d.wrong(path+".tools", "put {tools} into its command where the program takes them, as in [claude, -p, --allowedTools, \"{tools}\"]",
			"%s.tools does nothing: its command has no {tools}", path)
	}
}

// meaningless refuses keys that a kind of agent does not heed.
func (d *decoder) meaningless(path, kind string, keys ...string) {
	for _, key := range keys {
		if at := path + "." + key; d.origins[at] != (Origin{}) {
			d.wrong(at, "", "%s has no meaning for kind %s", at, kind)
		}
	}
}

// rules takes what may follow when an agent asks.
func (d *decoder) rules(path, text string) {
	if text == "" {
		return
	}
	if _, err := plan.ParsePermissions(text); err != nil {
		d.wrong(path, "", "%s: %v", path, err)
	}
}

// notify wants a program that does not depend on where it is started.
func (d *decoder) notify(n Notify) {
	if len(n.Command) == 0 {
		return
	}
	if name := n.Command[0]; name == "" || !filepath.IsAbs(name) && strings.ContainsAny(name, `/\\`) {
		d.wrong("notify.command", "write its name if it is on PATH, or its whole path", "notify.command begins with a program, and not with %q", name)
	}
}

func (d *decoder) isAgent(path, name string, c *Config) {
	if _, ok := c.Agents[name]; ok {
		return
	}
	names := agentNames(c)
	hint := plan.Nearest(name, names)
	if hint == "" {
		hint = "agents: " + strings.Join(names, ", ")
	}
	d.wrong(path, hint, "%s names agent %q, which is not configured", path, name)
}

// model checks who answers questions.
func (d *decoder) model(path string, m Model, c *Config) {
	const one = "write {agent: NAME}, or {api: openai, model: NAME} with base_url and key_env as needed"
	ofEndpoint := d.first(path, "api", "base_url", "model", "key_env")
	switch {
	case m.Agent != "" && ofEndpoint != "":
		d.wrong(ofEndpoint, one, "%s is an agent or an endpoint, not both", path)
	case m.Agent != "":
		d.isAgent(path+".agent", m.Agent, c)
		if a, ok := c.Agents[m.Agent]; ok && a.Kind == Shell {
			d.wrong(path+".agent", "name an agent of the kind exec or acp", "%s.agent is %q, which runs scripts and answers nothing", path, m.Agent)
		}
	case m.API == "" && ofEndpoint != "":
		d.wrong(ofEndpoint, one, "%s has no api (openai or anthropic)", path)
	case m.API != "" && m.Model == "":
		d.wrong(ofEndpoint, one, "%s has no model, which an endpoint needs", path)
	}
	if m.BaseURL != "" {
		d.webAddress(path+".base_url", m.BaseURL)
	}
	switch {
	case m.KeyEnv != "" && !isEnvName(m.KeyEnv):
		d.wrong(path+".key_env", "the key itself has no place in a file", "%s.key_env is the name of a variable that holds the key", path)
	case strings.HasPrefix(m.KeyEnv, "PITON_"):
		d.wrong(path+".key_env", "name another variable", "%s.key_env names a variable of Piton itself, whose value no endpoint gets", path)
	}
}

// first is the path of the first of these keys that a source has set; "" if none is.
func (d *decoder) first(path string, keys ...string) string {
	for _, key := range keys {
		if _, set := d.origins[path+"."+key]; set {
			return path + "." + key
		}
	}
	return ""
}

func (d *decoder) server(path string, s Server) {
	switch {
	case len(s.Command) > 0 && s.URL != "":
		d.wrong(path+".url", "", "%s has a command and a url; it is one of them", path)
	case len(s.Command) == 0 && s.URL == "":
		d.wrong(path, "", "%s needs a command or a url", path)
	case s.URL != "":
		d.webAddress(path+".url", s.URL)
		for _, key := range []string{"login", "network", "isolation"} {
			if at := path + "." + key; d.origins[at] != (Origin{}) {
				d.wrong(at, "", "%s has no meaning for a server that Piton does not start", at)
			}
		}
	case s.Isolation == "none" && len(s.Login)+len(s.Network) > 0:
		d.wrong(path+".isolation", "take it out, or the login and the network", "%s has isolation none, and a login or a network that nothing would hold it to", path)
	}
	d.hosts(path+".network", s.Network)
	d.inHome(path+".login", s.Login)
}

// inHome takes paths in the home, which may begin with ~/.
func (d *decoder) inHome(path string, list []string) {
	for i, name := range list {
		list[i] = strings.TrimPrefix(name, "~/")
		if !filepath.IsLocal(list[i]) || list[i] == "." {
			d.wrong(path, "sandbox.writable takes other places", "%s has paths in your home, such as .codex, and not %q", path, name)
		}
	}
}

// places takes paths of this machine.
func (d *decoder) places(path string, list []string) {
	for _, name := range list {
		rest, home := strings.CutPrefix(name, "~/")
		if !home && !filepath.IsAbs(name) || home && !filepath.IsLocal(rest) || filepath.Clean(name) == "/" {
			d.wrong(path, "", "%s has paths such as ~/.npmrc or /opt/data, and not %q", path, name)
		}
	}
}

func (d *decoder) hosts(path string, list []string) {
	for _, h := range list {
		if _, err := plan.ParseListed(h); err != nil {
			d.wrong(path, "", "%s: %v", path, err)
		}
	}
}

func (d *decoder) webAddress(path, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		d.wrong(path, "", "%s is an address such as http://127.0.0.1:11434/v1, not %q", path, text)
	}
}
