package probe

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/piton-dev/piton/internal/config"
	"github.com/piton-dev/piton/internal/tool"
	"github.com/piton-dev/piton/internal/verify"
)

// tools answers for the tools that a plan calls, with all that are built in
// beside them. A server is not started for that: nobody has approved its
// command yet. So all that is known of its tools is that it is configured.
func tools(names []string, env Env) map[string]verify.Tool {
	if len(names) == 0 {
		return nil
	}
	r, err := tool.Open(tool.Config{Workspace: env.Workspace, Environ: env.Environ})
	if err != nil {
		return nil
	}
	defer r.Close()
	answers := map[string]verify.Tool{}
	for _, d := range r.Builtin() {
		answers[d.Name] = verify.Tool{Input: d.Input, Output: d.Output}
	}
	for _, name := range names {
		if _, known := answers[name]; known {
			continue
		}
		server, _, dotted := strings.Cut(name, ".")
		s, configured := env.Config.MCPServers[server]
		answers[name] = verify.Tool{Missing: !dotted || !configured, Foreign: dotted && configured, Absent: absent(s, env)}
	}
	return answers
}

// absent is the program of a server that this machine has not, "" where it has.
func absent(s config.Server, env Env) string {
	if len(s.Command) == 0 || serverProgram(s, env) != "" {
		return ""
	}
	return s.Command[0]
}

// serverProgram finds the program of a server, "" where there is none.
func serverProgram(s config.Server, env Env) string {
	return program(s.Command[0], searched(s.Env, env), env.Workspace)
}

// server looks for the program of a server, and starts nothing.
func server(env Env, name string) Line {
	s := env.Config.MCPServers[name]
	switch {
	case len(s.Command) == 0:
		return Line{"server " + name, OK, s.URL, ""}
	case serverProgram(s, env) == "":
		return Line{"server " + name, Warning, s.Command[0] + " is not on PATH", "install it, or correct `command:` in .piton/config.yaml"}
	}
	return Line{"server " + name, OK, serverProgram(s, env), ""}
}

// calls answers what calls of built-in tools would do here. What cannot be called
// now stays unanswered, unless it never can.
func calls(ctx context.Context, list []verify.Call, env Env) map[string]verify.Weight {
	if len(list) == 0 {
		return nil
	}
	r, err := tool.Open(tool.Config{Workspace: env.Workspace, Environ: env.Environ, Hosts: env.Config.WebFetch.Allow})
	if err != nil {
		return nil
	}
	defer r.Close()
	answers := map[string]verify.Weight{}
	for _, c := range list {
		w, err := r.Weigh(ctx, c.Tool, json.RawMessage(c.Args))
		if err == nil {
			answers[c.String()] = weight(w)
		} else if p, ok := errors.AsType[*tool.Problem](err); ok && p.Final() {
			answers[c.String()] = verify.Weight{Refused: p.Message}
		}
	}
	return answers
}

func weight(w tool.Weight) verify.Weight {
	v := verify.Weight{Effect: string(w.Effect), Asks: w.Asks, Reason: w.Reason}
	for _, t := range w.Targets {
		v.Targets = append(v.Targets, t.Path)
	}
	return v
}
