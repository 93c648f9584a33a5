package probe

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	worker "github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/plan"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/verify"
)

// Agent looks for the program of a configured agent, and starts nothing. The
// file is "" where there is none; for an agent of scripts it is the shell.
func Agent(env Env, name string) (line Line, file string) {
	a := env.Config.Agents[name]
	line = Line{Check: "agent " + name, Status: OK}
	file = agentProgram(env, a)
	switch {
	case file == "" && a.Kind == config.Shell:
		line.Status, line.Text, line.Hint = Warning, "bash is not on PATH; scripts run in it", "install bash"
		return line, ""
	case len(a.Command) == 0 && a.Kind != config.Shell:
		line.Status, line.Text, line.Hint = Warning, "has no command", "set `command:` in .piton/config.yaml"
		return line, ""
	case file == "":
		line.Status, line.Text, line.Hint = Warning, fmt.Sprintf("%s is not on PATH", a.Command[0]), verify.NotInstalled(instead(env, a))
		return line, ""
	}
	line.Text = file
	if missing := missing(env, a); len(missing) > 0 {
		line.Status, line.Hint = Warning, "set it where you start piton, unless the agent logs in without it"
		line.Text += "; not set: " + strings.Join(missing, ", ")
	}
	return line, file
}

// instead is the agent program on PATH that may be meant by a command whose program is not here,
// as a question; "" for none.
func instead(env Env, a config.Agent) string {
	path := searched(a.Env, env)
	var here []string
	for _, p := range worker.Programs() {
		for _, name := range []string{p.Name, p.Speaker} {
			if name != "" && find(name, path) != "" {
				here = append(here, name)
			}
		}
	}
	return plan.Nearest(filepath.Base(a.Command[0]), here)
}

// missing lists the unset variables that somebody may miss. Of keys one is
// enough, and what else it is known to read may be absent.
func missing(env Env, a config.Agent) []string {
	unset, p := Unset(env, a), worker.ProgramOf(a.Command)
	keyed := len(worker.KeysSet(a.EnvPass, env.Environ)) > 0
	return slices.DeleteFunc(unset, func(v string) bool {
		return slices.Contains(p.Pass, v) || keyed && slices.Contains(p.Keys, v)
	})
}

// Unset lists the variables that the agent is to be passed and that are not set.
func Unset(env Env, a config.Agent) []string {
	var unset []string
	for _, v := range a.EnvPass {
		if proc.Variable(env.Environ, v) == "" {
			unset = append(unset, v)
		}
	}
	return unset
}

// agentProgram finds the program of an agent, "" where there is none: on the PATH
// of its own configuration, if that has one.
func agentProgram(env Env, a config.Agent) string {
	switch {
	case a.Kind == config.Shell:
		return outside("bash", env)
	case len(a.Command) == 0:
		return ""
	}
	return program(a.Command[0], searched(a.Env, env), env.Workspace)
}

// searched is the PATH of a program with variables of its own.
func searched(own map[string]string, env Env) []string {
	if path, ok := own["PATH"]; ok {
		return proc.SearchPath([]string{"PATH=" + path})
	}
	return proc.SearchPath(env.Environ)
}

// program finds an agent's program: a bare name on PATH, a relative path from
// the workspace; "" where there is none.
func program(name string, path []string, workspace string) string {
	if !proc.IsBare(name) && !filepath.IsAbs(name) {
		name = filepath.Join(workspace, name)
	}
	return find(name, path)
}
