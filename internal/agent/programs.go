package agent

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/lazy"
	"github.com/piton-dev/piton/internal/proc"
)

// A Program is an agent program that Piton knows: all that is known of one stands in [programs].
type Program struct {
	Name string
	// Entry is what `piton init` writes of it into the configuration, below its name, with
	// four blanks before each line; "" where nobody has tried one.
	Entry string
	// Talk is what `piton init --acp` writes instead: the program, or its Speaker, in the Agent
	// Client Protocol; "" where nobody has tried that.
	Talk string
	// Speaker is the program that speaks the protocol for it, with its login; "" is itself.
	Speaker string
	// Keys are variables of which one holds the key that it logs in with.
	Keys []string
	// Pass are variables besides, that say where and as whom it asks its model; also the keys
	// of one that asks whichever company it is set to.
	Pass []string
	// SignIn is what a person does to log in without a key, and Keyed what besides to log in
	// with one.
	SignIn, Keyed string
	// Tried is the lowest version with which Entry is known to work.
	Tried string
	// Login is where it keeps its login and settings, by name in the home. It may change
	// what is listed, and sees nothing else of the home.
	Login []string
	// Obeyed are the settings, by name in the home, that make the program run or do something. A
	// step must not leave others to the next person who starts it. FILE#KEY is a key of a JSON file.
	Obeyed []string
	// Hosts are what it asks for its model and its login.
	Hosts []string
}

// programs are in the order in which `piton init` prefers them. An entry stands here only
// after it was tried: it works without a terminal and without questions, may run the
// project's tests and write its report and its output, and leaves the model to the program.
// What keeps it from the rest of the machine is Piton's seal, not its own mode.
var programs = []Program{
	{
		Name: "claude", SignIn: "run `claude /login`", Tried: "2.1.185", Speaker: "claude-agent-acp",
		Entry: `
    kind: exec
    command: [claude, -p, --output-format, stream-json, --verbose, --permission-mode, "{mode}", --allowedTools, Bash, --add-dir, "{scratch}"]
    modes: {read: plan, edit: acceptEdits, full: bypassPermissions}
    parse: claude
`,
		Keys:  []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		Pass:  []string{"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"},
		Login: []string{".claude", ".claude.json", ".config/claude"},
		Obeyed: []string{
			".claude.json#allowedTools", ".claude.json#mcpServers", ".claude/settings.json", ".claude/settings.local.json", ".claude/CLAUDE.md", ".claude/agents", ".claude/commands",
			".claude/hooks", ".claude/output-styles", ".claude/plugins", ".claude/skills",
		},
		Hosts: []string{"api.anthropic.com", "claude.ai", "console.anthropic.com", "platform.claude.com"},
	},
	// Its own sandbox would close the loopback that tests listen on. Its speaker begins with
	// read-only, and its mode auto starts a sandbox without that setting.
	{
		Name: "codex", SignIn: "run `codex login`", Tried: "0.169.0", Speaker: "codex-acp",
		Entry: `
    kind: exec
    command: [codex, exec, --json, --skip-git-repo-check, -s, "{mode}", -c, sandbox_workspace_write.network_access=true, -]
    modes: {read: read-only, edit: workspace-write, full: danger-full-access}
    parse: codex
`,
		Talk: `
    kind: acp
    command: [codex-acp]
    modes: {read: read-only, edit: full-access, full: full-access}
`,
		Keys:   []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		Pass:   []string{"OPENAI_BASE_URL"},
		Login:  []string{".codex"},
		Obeyed: []string{codexConfig, ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".codex/prompts", ".codex/rules"},
		Hosts:  []string{"api.openai.com", "auth.openai.com", "chatgpt.com"},
	},
	// Under auto_edit it has no shell.
	{
		Name: "gemini", SignIn: "run `gemini` and log in", Tried: "0.61.0",
		Keyed: "where GOOGLE_GEMINI_BASE_URL is set, ~/.gemini/settings.json must say {\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}",
		Entry: `
    kind: exec
    command: [gemini, --skip-trust, --approval-mode, "{mode}", --include-directories, "{scratch}", -o, stream-json]
    modes: {read: plan, edit: yolo, full: yolo}
    parse: gemini
`,
		Talk: `
    kind: acp
    command: [gemini, --acp, --skip-trust, --include-directories, "{scratch}"]
    modes: {read: plan, edit: default, full: yolo}
`,
		Keys:   []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		Pass:   []string{"GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GEMINI_MODEL"},
		Login:  []string{".gemini"},
		Obeyed: []string{".gemini/.env", ".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/commands", ".gemini/extensions", ".gemini/policies", ".gemini/trustedFolders.json"},
		Hosts:  []string{"accounts.google.com", "cloudcode-pa.googleapis.com", "generativelanguage.googleapis.com", "oauth2.googleapis.com"},
	},
	{
		Name: "opencode", SignIn: "run `opencode auth login`", Tried: "1.18.33",
		Entry: `
    kind: exec
    command: [opencode, run, --format, json, --auto]
    parse: opencode
`,
		Talk: `
    kind: acp
    command: [opencode, acp]
    modes: {read: plan, edit: build, full: build}
`,
		Pass:  []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_API_KEY"},
		Login: []string{".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"},
		Obeyed: []string{
			".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", ".config/opencode/config.json", ".config/opencode/AGENTS.md", ".config/opencode/agent", ".config/opencode/agents",
			".config/opencode/command", ".config/opencode/commands", ".config/opencode/plugin", ".config/opencode/plugins", ".config/opencode/skills", ".config/opencode/tool", ".config/opencode/tools",
		},
	},
	{
		Name: "copilot", SignIn: "run `copilot` and log in with `/login`", Tried: "1.0.102",
		Entry: `
    kind: exec
    command: [copilot, --allow-all-tools, --add-dir, "{scratch}", --output-format, json]
    parse: copilot
`,
		Talk: `
    kind: acp
    command: [copilot, --acp, --add-dir, "{scratch}"]
    modes: {read: plan, edit: agent, full: agent}
`,
		Keys:   []string{"COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"},
		Pass:   []string{"COPILOT_PROVIDER_BASE_URL", "COPILOT_MODEL", "COPILOT_OFFLINE"},
		Obeyed: []string{".copilot/mcp-config.json", ".copilot/agents", ".copilot/copilot-instructions.md"},
		Login:  []string{".copilot", ".config/github-copilot", ".cache/copilot"},
		Hosts:  []string{"api.github.com", "*.githubcopilot.com"},
	},
	{
		Name: "qwen", SignIn: "run `qwen` and log in", Tried: "0.15.10",
		Entry: `
    kind: exec
    command: [qwen, -y, -o, stream-json]
    parse: qwen
`,
		Keys:   []string{"OPENAI_API_KEY"},
		Pass:   []string{"OPENAI_BASE_URL", "OPENAI_MODEL"},
		Login:  []string{".qwen"},
		Obeyed: []string{".qwen/.env", ".qwen/settings.json", ".qwen/QWEN.md", ".qwen/commands", ".qwen/extensions"},
		Hosts:  []string{"chat.qwen.ai", "dashscope.aliyuncs.com", "portal.qwen.ai"},
	},
	{
		Name: "pi", SignIn: "run `pi` and log in with `/login`", Tried: "0.73.1",
		Entry: `
    kind: exec
    command: [pi, --mode, json, -p]
    parse: pi
`,
		Pass:  []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"},
		Login: []string{".pi"},
	},
	{
		Name: "cline", SignIn: "run `cline auth`", Tried: "3.0.65",
		Entry: `
    kind: exec
    command: [cline, --json, --auto-approve, "true"]
    prompt: arg
    parse: cline
`,
		Login: []string{".cline"},
	},
	{Name: "aider", Login: []string{".aider"}, Obeyed: []string{".aider.conf.yml"}},
	{Name: "amp", Login: []string{".config/amp", ".local/share/amp"}, Hosts: []string{"ampcode.com"}},
	{Name: "crush", Login: []string{".config/crush", ".local/share/crush"}},
	{Name: "cursor-agent", SignIn: "run `cursor-agent login`", Login: []string{".cursor", ".config/cursor"}, Obeyed: []string{".cursor/cli-config.json", ".cursor/mcp.json", ".cursor/hooks.json", ".cursor/rules", ".cursor/commands"}, Hosts: []string{"*.cursor.sh"}},
	{Name: "goose", Obeyed: []string{".config/goose/config.yaml"}, Login: []string{".config/goose", ".local/share/goose", ".local/state/goose"}},
}

// anyone ends each entry: real agents think for minutes, and none should think for hours.
const anyone = "    limits: {time: 30m, idle: 10m}\n"

// Programs lists the agent programs that Piton knows, the preferred ones first.
func Programs() []Program { return slices.Clone(programs) }

const codexConfig = ".codex/config.toml"

// ProgramOf is what is known of the program of a command; without a name if nothing is.
func ProgramOf(command []string) (p Program) {
	if len(command) == 0 {
		return p
	}
	name := filepath.Base(command[0])
	if at := slices.IndexFunc(programs, func(p Program) bool { return p.Name == name || p.Speaker == name }); at >= 0 {
		if p = programs[at]; p.Name != name {
			p.Tried = "" // which is of the other one
		}
	}
	return p
}

// Configured is the program's whole entry in `agents:` of the configuration, indented as
// there; "" where nobody has tried one.
func (p Program) Configured() string {
	if p.Entry == "" {
		return ""
	}
	text := "  " + p.Name + ":" + p.Entry
	if names := slices.Concat(p.Keys, p.Pass); len(names) > 0 {
		text += "    env_pass: [" + strings.Join(names, ", ") + "]\n"
	}
	return text + anyone
}

// key is the variable that its key is best given in.
func (p Program) key() string {
	if len(p.Keys) == 0 { // of the company that it is set to
		keys := slices.DeleteFunc(slices.Clone(p.Pass), func(name string) bool { return !strings.HasSuffix(name, "_KEY") })
		return strings.TrimSuffix("one of "+strings.Join(keys, ", "), "one of ")
	}
	return p.Keys[0]
}

// KeysSet are those of the names that speak of a key or a token and are set in an environment.
func KeysSet(names, environ []string) (set []string) {
	for _, name := range names {
		if upper := strings.ToUpper(name); (strings.Contains(upper, "KEY") || strings.Contains(upper, "TOKEN")) && proc.Variable(environ, name) != "" {
			set = append(set, name)
		}
	}
	return set
}

// LoginOf is what an agent may change in its home: what is configured, or what its program
// is known to need.
func LoginOf(command, configured []string) []string {
	if len(configured) > 0 {
		return configured
	}
	return ProgramOf(command).Login
}

// ObeyedOf are settings that a person's programs obey and an agent must not change: those of any known
// program that lie in what the agent may change of its home, and all of its own program. If other
// places are configured, it does not see the latter at all. codex-acp writes one of them itself when it
// starts.
func ObeyedOf(command, configured []string) []string {
	login, all := LoginOf(command, configured), []string(nil)
	if len(configured) == 0 {
		all = slices.Clone(ProgramOf(command).Obeyed)
	}
	for _, p := range programs {
		for _, name := range p.Obeyed {
			if slices.ContainsFunc(login, func(dir string) bool { return strings.HasPrefix(name, dir+"/") || strings.HasPrefix(name, dir+"#") }) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool {
		return name == codexConfig && len(command) > 0 && filepath.Base(command[0]) == "codex-acp"
	})
}

// Older reports whether what a program says of its version names one before another;
// false where it names none.
func Older(says, than string) bool {
	is := version().FindString(says)
	if is == "" {
		return false
	}
	have, want := strings.Split(is, "."), strings.Split(than, ".")
	for i := range min(len(have), len(want)) {
		a, _ := strconv.Atoi(have[i]) // digits, and few of them
		b, _ := strconv.Atoi(want[i])
		if a != b {
			return a < b
		}
	}
	return false
}

// Newer says what to do about a program that is older than what was tried.
func Newer(lowest string) string { return "update it to " + lowest + " or later" }

var version = lazy.Regexp(`\d{1,9}\.\d{1,9}(\.\d{1,9})?`)
