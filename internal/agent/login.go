package agent

import "path/filepath"

// logins are where programs keep their login and settings, by name in the home. An agent
// may change what is listed for its program, and sees nothing else of the home.
var logins = map[string][]string{
	"aider":        {".aider", ".aider.conf.yml"},
	"amp":          {".config/amp", ".local/share/amp"},
	"claude":       {".claude", ".claude.json", ".config/claude"},
	"cline":        {".cline"},
	"codex":        {".codex"},
	"copilot":      {".copilot", ".config/github-copilot"},
	"crush":        {".config/crush", ".local/share/crush"},
	"cursor-agent": {".cursor", ".config/cursor"},
	"gemini":       {".gemini"},
	"goose":        {".config/goose", ".local/share/goose", ".local/state/goose"},
	"opencode":     {".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"},
	"pi":           {".pi"},
	"qwen":         {".qwen"},
}

// hosts are what programs ask for their models and their logins.
var hosts = map[string][]string{
	"amp":          {"ampcode.com"},
	"claude":       {"api.anthropic.com", "claude.ai", "console.anthropic.com", "platform.claude.com"},
	"codex":        {"api.openai.com", "auth.openai.com", "chatgpt.com"},
	"copilot":      {"api.github.com", "*.githubcopilot.com"},
	"cursor-agent": {"*.cursor.sh"},
	"gemini":       {"accounts.google.com", "cloudcode-pa.googleapis.com", "generativelanguage.googleapis.com", "oauth2.googleapis.com"},
	"qwen":         {"chat.qwen.ai", "dashscope.aliyuncs.com", "portal.qwen.ai"},
}

// HostsOf are the hosts that a program is known to need.
func HostsOf(command []string) []string {
	if len(command) == 0 {
		return nil
	}
	return hosts[filepath.Base(command[0])]
}

// LoginOf is what an agent may change in its home: what is configured, or what its program
// is known to need.
func LoginOf(command, configured []string) []string {
	if len(configured) > 0 || len(command) == 0 {
		return configured
	}
	return logins[filepath.Base(command[0])]
}
