// Package config turns the configuration files, the environment and the flags
// into one typed value that knows where each of its settings came from.
//
// A setting is declared once, as a field of [Config] or of a type below it:
// its tags carry the key, the words it allows, its limits and its default.
// Reading, the variables of the environment, the listing for people, the JSON
// Schema and the hash all follow from those declarations. A key that this version reads and
// does not heed yet is marked idle, and [Config.Idle] says so.
//
// It must never run anything, never expand a variable inside a value, and
// never guess: an unknown key or a wrong value is a [Problem] with a line and a
// column, and on and off are words here, never booleans.
package config

import "time"

// Kind says how an agent is driven.
type Kind string

const (
	ACP   Kind = "acp"   // speaks the Agent Client Protocol on its standard streams
	Exec  Kind = "exec"  // any command that takes a prompt and ends
	Shell Kind = "shell" // no model: the step's task is the script
)

// Script is the agent that always exists: it runs a step's task as a script.
const Script = "script"

// Config is the effective configuration. Make it with [Load] or [Default] and
// do not change it: its origins would no longer be true.
type Config struct {
	Agents         map[string]Agent  `key:"agents"`        // by the name that a plan's target gives
	DefaultAgent   string            `key:"default_agent"` // where a step names none; empty = none
	Planner        Model             `key:"planner" idle:"yes"`
	Arbiter        Model             `key:"arbiter" idle:"yes"` // empty = the built-in rules
	Judge          Model             `key:"judge" idle:"yes"`
	Extraction     Model             `key:"extraction" idle:"yes"`
	MCPServers     map[string]Server `key:"mcp_servers"`
	WebFetch       WebFetch          `key:"web_fetch"`
	Commands       Tiers             `key:"commands"`
	Prices         map[string]Price  `key:"prices" names:"any"` // by role, or by the model's own name
	Retention      time.Duration     `key:"retention" default:"90d"`
	PermissionWait time.Duration     `key:"permission_wait" default:"10m" idle:"yes"` // how long an agent's question in the middle of its turn waits for a person
	DatabaseURL    string            `key:"database_url" secret:"url" idle:"yes"`
	Queues         map[string]Queue  `key:"queues" idle:"yes"` // by role
	OTel           OTel              `key:"otel" idle:"yes"`
	Notify         Notify            `key:"notify" idle:"yes"`
	Policy         Policy            `key:"policy"`

	origins map[string]Origin
}

// Agent is how one role is driven.
type Agent struct {
	Kind        Kind              `key:"kind" words:"acp|exec|shell"`
	Command     []string          `key:"command"` // argv; the first word is looked up on PATH
	Prompt      string            `key:"prompt" words:"stdin|arg|file" default:"stdin"`
	Parse       string            `key:"parse" words:"none|codex|claude|gemini|opencode|copilot|qwen|pi|cline" default:"none"`
	Modes       Modes             `key:"modes"`
	Permissions Permissions       `key:"permissions" idle:"yes"`
	Env         map[string]string `key:"env" names:"env"`      // set for the agent
	EnvPass     []string          `key:"env_pass" items:"env"` // passed on from the harness
	Home        string            `key:"home" words:"inherit|isolated" default:"inherit"`
	Limits      Limits            `key:"limits"`
	Stop        Stop              `key:"stop"`
	When        string            `key:"when" idle:"yes"` // what the arbiter matches a step against
	Auth        string            `key:"auth" idle:"yes"` // id of the protocol's authentication method, where one is asked for
	Resume      []string          `key:"resume" idle:"yes"`
	Model       string            `key:"model"`
	Mode        string            `key:"mode"` // the agent's own word where the step's mode has none in Modes
}

// Modes maps a step's mode to the agent's own word for it; empty = none.
type Modes struct {
	Read string `key:"read"`
	Edit string `key:"edit"`
	Full string `key:"full"`
}

// Permissions is the answer to an agent that asks before it acts, by the step's mode.
type Permissions struct {
	Read string `key:"read" words:"allow|deny|ask" default:"deny"`
	Edit string `key:"edit" words:"allow|deny|ask" default:"allow"`
	Full string `key:"full" words:"allow|deny|ask" default:"ask"`
}

// Limits bound one attempt of an agent; zero means no limit of its own.
type Limits struct {
	Time time.Duration `key:"time"`
	Idle time.Duration `key:"idle"` // without any output
	Cost USD           `key:"cost_usd" idle:"yes"`
}

// Stop says how long an agent may take to end by itself once it is told to.
type Stop struct {
	CancelGrace time.Duration `key:"cancel_grace" default:"10s"`
	TermGrace   time.Duration `key:"term_grace" default:"5s"`
}

// Model names who answers a question of the harness itself: an agent of this
// configuration, or a model behind an API. At most one of Agent and API is set.
type Model struct {
	Agent   string `key:"agent"`
	API     string `key:"api" words:"openai|anthropic"`
	BaseURL string `key:"base_url"`
	Model   string `key:"model"`
	KeyEnv  string `key:"key_env"` // the variable that holds the key, never the key
}

// Server is an MCP server whose tools plans may use: a command or a URL.
type Server struct {
	Command []string          `key:"command"`
	URL     string            `key:"url"`
	Env     map[string]string `key:"env" names:"env"`
	EnvPass []string          `key:"env_pass" items:"env"`
}

// WebFetch lists the hosts that the tool of that name may ask.
type WebFetch struct {
	Allow []string `key:"allow"`
}

// Tiers sort commands by what they need before they run.
type Tiers struct {
	Free    []string `key:"free"`
	Review  []string `key:"review"`
	Approve []string `key:"approve"`
	Block   []string `key:"block"`
}

// Price is what a model costs, per million tokens.
type Price struct {
	Input  USD `key:"input"`
	Cached USD `key:"cached" idle:"yes"`
	Output USD `key:"output"`
}

// Price is what a role's agent costs: the price of the role itself, else that
// of the model its configuration names. False where there is none.
func (c Config) Price(role string) (Price, bool) {
	if p, ok := c.Prices[role]; ok {
		return p, true
	}
	model := c.Agents[role].Model
	p, ok := c.Prices[model]
	return p, ok && model != ""
}

// Queue bounds the work of one role over all runs; zero means unbounded.
type Queue struct {
	Limit int  `key:"limit" min:"1" max:"10000"`
	Rate  Rate `key:"rate"`
}

// OTel says where traces go; empty = nowhere.
type OTel struct {
	Endpoint string `key:"endpoint"`
}

// Notify is the command that is run when a person is waited for or a run ends.
type Notify struct {
	Command []string `key:"command"`
}

// Policy is what runs in this workspace must keep to.
type Policy struct {
	Approve     string `key:"approve" words:"ask|auto|low-risk" default:"ask"`
	MaxParallel int    `key:"max_parallel" min:"1" max:"256" default:"4"` // caps a plan's Parallel
	Ratchet     string `key:"ratchet" words:"off|end" default:"end"`
	Baseline    string `key:"baseline" words:"on|off" default:"on"`
	Expect      string `key:"expect" words:"any|red" default:"any"`
	Isolation   string `key:"isolation" words:"auto|sealed|fenced|none" default:"auto"` // the minimum; auto = the best there is
	Mark        string `key:"mark" words:"end|off" default:"end"`
	Unmetered   string `key:"unmetered" words:"warn|refuse" default:"warn"`
}
