//go:build gate && linux

package agents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// key is what the model answers to.
const key = "sesame"

// program is an agent program, and how its user sends it to the model.
type program struct {
	name string
	acp  bool // its user chose the Agent Client Protocol
	asks bool // before it writes a file or runs a command
	dear bool // it takes long to start, so it is tried only where it shows what no other does
	// keyed is the variable with its key. What the program is set to never holds the key.
	keyed string
	// settings are files of the program's own, by name in the home.
	settings func(url, model string) map[string]string
	env      func(url, model string) []string
	// tokens are those of one answer of the model, as the program counts them; 0 if it does
	// not tell all of them.
	tokens int64
	// reports changes a configuration so that the program has the tools to report with.
	reports func(config string) string
}

// programs are those that print and end, and those that talk.
var programs = []program{codex, claude, gemini, opencode, talking(codex, 0), asking(talking(gemini, gemini.tokens)), asking(talking(opencode, 0)), copilot}

// talking is the program by the protocol, which tells tokens in another way.
func talking(p program, tokens int64) program {
	p.acp, p.tokens, p.reports = true, tokens, switchedOn
	return p
}

// switchedOn has the session of each program of the protocol get the tools.
func switchedOn(config string) string {
	return strings.ReplaceAll(config, "    kind: acp\n", "    kind: acp\n    report_tools: on\n")
}

// adding puts words after the first ones of a program's command.
func adding(first string, words ...string) func(string) string {
	more := first + ", '" + strings.Join(words, "', '") + "'"
	return func(config string) string { return strings.Replace(config, first, more, 1) }
}

// server is the server of the tools as a flag takes it.
const server = `{"mcpServers": {"piton": {"command": "piton", "args": ["mcp", "--step"]}}}`

func asking(p program) program {
	p.asks = true
	return p
}

// title names the program in the names of tests.
func (p program) title() string {
	if p.acp {
		return p.name + "-acp"
	}
	return p.name
}

var (
	codex = program{
		name: "codex", keyed: "OPENAI_API_KEY", tokens: 111,
		reports: adding("[codex, exec", "-c", `mcp_servers.piton={command="piton", args=["mcp", "--step"], env_vars=["PITON_REPORT"]}`),
		settings: func(url, model string) map[string]string {
			return map[string]string{".codex/config.toml": fmt.Sprintf(`
model = %q
model_provider = "here"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.here]
name = "here"
base_url = "%s/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, model, url)}
		},
	}
	claude = program{
		name: "claude", keyed: "ANTHROPIC_API_KEY", tokens: 122,
		reports: adding("[claude, -p", "--mcp-config", server, "--allowedTools", "mcp__piton"),
		settings: func(string, string) map[string]string {
			return map[string]string{".claude/settings.json": text(object{"env": object{"CLAUDE_CODE_MAX_RETRIES": "0", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}})}
		},
		env: func(url, model string) []string {
			return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_MODEL=" + model}
		},
	}
	gemini = program{
		name: "gemini", dear: true, keyed: "GEMINI_API_KEY", tokens: 111,
		settings: func(_, model string) map[string]string {
			return map[string]string{".gemini/settings.json": text(object{
				"security":  object{"auth": object{"selectedType": "gemini-api-key"}},
				"model":     object{"name": model},
				"general":   object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 1},
				"privacy":   object{"usageStatisticsEnabled": false},
				"telemetry": object{"enabled": false},
			})}
		},
		env: func(url, _ string) []string { return []string{"GOOGLE_GEMINI_BASE_URL=" + url} },
	}
	opencode = program{
		name: "opencode", dear: true, keyed: "OPENAI_API_KEY", tokens: 111,
		settings: func(url, model string) map[string]string {
			return map[string]string{".config/opencode/opencode.json": text(object{
				"$schema": "https://opencode.ai/config.json", "autoupdate": false, "share": "disabled", "enabled_providers": []string{"here"},
				"model": "here/" + model, "small_model": "here/" + model, "permission": object{"edit": "ask", "bash": "ask"},
				"provider": object{"here": object{
					"npm": "@ai-sdk/openai-compatible", "name": "Here", "options": object{"baseURL": url + "/v1", "apiKey": "{env:OPENAI_API_KEY}"},
					"models": object{model: object{"name": model, "limit": object{"context": 100000, "output": 8000}, "cost": object{"input": 1, "output": 2}}},
				}},
			})}
		},
	}
	copilot = program{
		name: "copilot", acp: true, asks: true, keyed: "COPILOT_PROVIDER_API_KEY", tokens: 111,
		reports: adding("[copilot, --acp", "--additional-mcp-config", server),
		env: func(url, model string) []string {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_MODEL=" + model}
		},
	}
)

type object = map[string]any

func text(o object) string {
	body, _ := json.Marshal(o) // texts, numbers and lists of them
	return string(body)
}

// places are the settings, by their files.
func (p program) places(home, url, model string) map[string]string {
	files := map[string]string{}
	if p.settings == nil {
		return files
	}
	for name, body := range p.settings(url, model) {
		files[filepath.Join(home, filepath.FromSlash(name))] = body
	}
	return files
}
