// Package config turns the configuration files, the environment and the flags
// into one typed value that knows where each of its settings came from.
//
// A setting is declared once, as a field of [Config] or of a type below it:
// its tags carry the key, the words it allows, its limits and its default.
// Reading, the variables of the environment, the listing for people, the JSON
// Schema and the hash all follow from those declarations. A key that does
// nothing does not exist: it is an error.
//
// It must never run anything, never expand a variable inside a value, and
// never guess: an unknown key or a wrong value is a [Problem] with a line and a
// column, and on and off are words here, never booleans.
package config

import "time"

// Kind says how an agent is driven.
type Kind string

const (
	Exec  Kind = "exec"  // any command that takes a prompt and ends
	ACP   Kind = "acp"   // a command that speaks the Agent Client Protocol
	Shell Kind = "shell" // no model: the step's task is the script
)

// Script is the agent that always exists: it runs a step's task as a script.
const Script = "script"

// Config is the effective configuration. Make it with [Load] or [Default] and
// do not change it: its origins would no longer be true.
type Config struct {
	Agents       map[string]Agent  `key:"agents"`                 // by the name that a plan's target gives
	DefaultAgent string            `key:"default_agent"`          // where a step names none; empty = none
	Planner      Model             `key:"planner" whole:"yes"`    // makes plans of requests; empty = none
	Judge        Model             `key:"judge" whole:"yes"`      // reads the evidence of steps that ask for it; empty = none
	Reviewer     Model             `key:"reviewer" whole:"yes"`   // reads plans before people approve them; empty = none
	Extraction   Model             `key:"extraction" whole:"yes"` // says what of a run is worth keeping; empty = nobody
	Arbiter      Model             `key:"arbiter" whole:"yes"`    // says what follows an attempt; empty = rules do
	MCPServers   map[string]Server `key:"mcp_servers"`
	WebFetch     WebFetch          `key:"web_fetch"`
	Sandbox      Sandbox           `key:"sandbox"`
	Prices       map[string]Price  `key:"prices" names:"any"` // by role, or by the model's own name
	Retention    time.Duration     `key:"retention" default:"90d"`
	Notify       Notify            `key:"notify"`
	Policy       Policy            `key:"policy"`

	origins map[string]Origin
}

// Agent is how one role is driven.
type Agent struct {
	Kind    Kind              `key:"kind" words:"exec|acp|shell"`
	Command []string          `key:"command"` // argv; the first word is looked up on PATH
	Prompt  string            `key:"prompt" words:"stdin|arg|file" default:"stdin"`
	Parse   string            `key:"parse" words:"none|codex|claude|gemini|opencode|copilot|qwen|pi|cline" default:"none"`
	Modes   Modes             `key:"modes"`
	Env     map[string]string `key:"env" names:"env"`      // set for the agent
	EnvPass []string          `key:"env_pass" items:"env"` // passed on from the harness
	Home    string            `key:"home" words:"inherit|isolated" default:"inherit"`
	Login   []string          `key:"login"`   // what it may change in the home, by name there; empty = what its program is known to need
	Network []string          `key:"network"` // hosts that it may ask for itself; given, it reaches no others but those of its step
	Limits  Limits            `key:"limits"`
	Stop    Stop              `key:"stop"`
	Model   string            `key:"model"`
	Tools   []string          `key:"tools"` // that it may use, in its own words: {tools} in the command
	When    string            `key:"when"`  // what it is good at, in words; for steps that name no agent
	Mode    string            `key:"mode"`  // the agent's own word where the step's mode has none in Modes
	As      string            `key:"as"`    // an agent that it is like in all that it does not say itself
	// Instructions are what it is told before every task; the text of an agent's own file.
	Instructions string `key:"instructions"`
	// Permissions say what follows when it asks whether it may do something; see
	// [plan.ParsePermissions].
	Permissions string `key:"permissions"`
	// ReportTools gives it tools to report with, in a session of the Agent Client Protocol.
	ReportTools string `key:"report_tools" words:"on|off" default:"off"`
}

// Modes maps a step's mode to the agent's own word for it; empty = none.
type Modes struct {
	Read string `key:"read"`
	Edit string `key:"edit"`
	Full string `key:"full"`
}

// Limits bound one attempt of an agent; zero means no limit of its own.
type Limits struct {
	Time time.Duration `key:"time"`
	Idle time.Duration `key:"idle"` // without any output
}

// Stop says how long an agent may take to end by itself once it is told to.
type Stop struct {
	CancelGrace time.Duration `key:"cancel_grace" default:"10s"`
	TermGrace   time.Duration `key:"term_grace" default:"5s"`
}

// Model answers questions: a configured agent, or a model behind an endpoint. The zero
// value is none.
type Model struct {
	Agent   string        `key:"agent"`
	API     string        `key:"api" words:"openai|anthropic"`
	BaseURL string        `key:"base_url"` // empty = that of the company
	Model   string        `key:"model"`
	KeyEnv  string        `key:"key_env"` // variable that holds the key; empty = no key
	Time    time.Duration `key:"time" default:"10m"`
}

// None reports whether no model is configured.
func (m Model) None() bool { return m.Agent == "" && m.API == "" }

// Server is an MCP server whose tools plans may use: a command or a URL.
type Server struct {
	Command []string          `key:"command"`
	URL     string            `key:"url"`
	Env     map[string]string `key:"env" names:"env"`
	EnvPass []string          `key:"env_pass" items:"env"`
	Reads   []string          `key:"reads"` // its tools that only read: nobody is asked for them
	// What it gets of the machine, as agents do. Isolation none: all that the harness has.
	Login     []string `key:"login"`
	Network   []string `key:"network"`
	Isolation string   `key:"isolation" words:"auto|none" default:"auto"`
}

// WebFetch lists the hosts that the tool of that name may ask.
type WebFetch struct {
	Allow []string `key:"allow"`
}

// Price is what a model costs, per million tokens.
type Price struct {
	Input  USD `key:"input"`
	Output USD `key:"output"`
}

// Price is what a role's agent costs: the price of the role itself, else of the one that
// it is like, else of the model its configuration names. False where there is none.
func (c Config) Price(role string) (Price, bool) {
	a := c.Agents[role]
	for _, name := range []string{role, a.As} {
		if p, ok := c.Prices[name]; ok {
			return p, true
		}
	}
	return c.ModelPrice(a.Model)
}

// ModelPrice is what a model costs by its own name. False where that is not known.
func (c Config) ModelPrice(name string) (Price, bool) {
	p, ok := c.Prices[name]
	return p, ok && name != ""
}

// Sandbox is what the processes of steps get of the machine besides the workspace.
type Sandbox struct {
	Visible  []string `key:"visible"`  // absolute, or from the home with ~/
	Writable []string `key:"writable"` // the same, to be changed too
}

// Notify says how a person hears that something waits for them, or that a run has ended.
type Notify struct {
	Command []string `key:"command"` // argv; the program gets the event on its standard input
	Bell    string   `key:"bell" words:"on|off" default:"off"`
}

// Policy is what runs in this workspace must keep to.
type Policy struct {
	Approve     string   `key:"approve" words:"ask|auto|low-risk" default:"ask"`
	Allow       []string `key:"allow"`                                                           // scripts and commands, word by word, that nobody is asked for
	MaxParallel int      `key:"max_parallel" min:"1" max:"256" default:"4"`                      // caps a plan's Parallel
	MaxAttempts int      `key:"max_attempts" min:"0" max:"1000000" default:"50" zero:"no limit"` // in vain, without a person
	MaxFailures int      `key:"max_failures" min:"0" max:"1000000" default:"3" zero:"no limit"`  // of steps in a row
	Ratchet     string   `key:"ratchet" words:"off|end" default:"end"`
	Baseline    string   `key:"baseline" words:"on|off" default:"on"`
	Expect      string   `key:"expect" words:"any|red" default:"any"`
	Isolation   string   `key:"isolation" words:"auto|sealed|fenced|none" default:"auto"` // the minimum; auto = the best there is
	Network     []string `key:"network"`                                                  // hosts beyond which no step may ask for any
	Mark        string   `key:"mark" words:"end|off" default:"end"`
	Unmetered   string   `key:"unmetered" words:"warn|refuse" default:"warn"`
	Unproven    string   `key:"unproven" words:"accept|ask|refuse" default:"accept"`  // where checks pass and rest on what the step itself changed
	Permissions string   `key:"permissions"`                                          // for all agents that ask; empty says nothing
	Workspace   string   `key:"workspace" words:"worktree|shared" default:"worktree"` // where agents work that no plan says it of
	// PermissionWait is how long an agent that asks waits for a person.
	PermissionWait time.Duration `key:"permission_wait" default:"10m"`
	Commit         string        `key:"commit" words:"run|step|none" default:"run"` // what of a run in a worktree becomes a commit on its branch
	Land           string        `key:"land" words:"yes|no" default:"yes"`          // whether that is merged at its end
	Frames         int           `key:"frames" min:"1" max:"1000" default:"40"`     // that are visible
}
