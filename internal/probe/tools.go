package probe

import (
	"strings"

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
		_, configured := env.Config.MCPServers[server]
		answers[name] = verify.Tool{Missing: !dotted || !configured, Foreign: dotted && configured}
	}
	return answers
}
