package verify

import (
	"encoding/json"
	"time"

	"github.com/piton-dev/piton/internal/plan"
)

// Queries is what a plan needs to have looked up outside of it. Each list is
// sorted and free of repetitions.
type Queries struct {
	Commands []string // names to be found on PATH, and absolute paths of commands
	Files    []string // slash-separated paths below the workspace
	Agents   []string // roles that the plan names
	Tools    []string // names of tools that steps call
	Globs    []string // patterns of which it is asked whether any file matches; see [MatchGlob]
	Texts    []string // paths as in Files whose content is wanted: scripts and their like
	Calls    []Call   // of which it is asked what they would do; see [Asks]
	Offline  bool     // whether scripts can be kept from the network is wanted
	Held     bool     // whether scripts and commands can be held inside their scope is wanted
	Git      bool     // whether worktrees can be made is wanted
}

// Facts are the answers. What was not asked, or not answered, is missing from
// the maps, and no rule says anything of it.
type Facts struct {
	Commands map[string]string `json:"commands"` // absolute path of each; "" where there is none
	Files    map[string]File   `json:"files"`
	Agents   map[string]Agent  `json:"agents"`          // every configured agent, by name
	Tools    map[string]Tool   `json:"tools,omitempty"` // those that are asked for, and all that are built in, by name
	Texts    map[string]string `json:"texts,omitempty"` // contents; of a file that is no text, or too long, missing
	Calls    map[string]Weight `json:"calls,omitempty"` // by [Call.String]
	Globs    map[string]bool   `json:"globs,omitempty"` // whether a file or directory of the workspace matches
	// Plans says of documents that steps are delegated to, by path, what is not
	// right with them. Files has whether they are there.
	Plans           map[string]Subplan `json:"plans,omitempty"`
	Exposed         *string            `json:"exposed,omitempty"`   // why scripts cannot be kept from the network, "" where they can; where it was asked for
	Loose           *string            `json:"loose,omitempty"`     // why scripts and commands cannot be held inside their scope, in the same way
	Allow           []string           `json:"allow,omitempty"`     // texts of scripts and commands that nobody is asked for
	Git             *Git               `json:"git,omitempty"`       // where it was asked for
	Commit          string             `json:"commit,omitempty"`    // what of a run in a worktree becomes a commit, where the plan does not say
	Leave           bool               `json:"leave,omitempty"`     // what a run in a worktree did stays on its branch, where the plan does not say
	Shared          bool               `json:"shared,omitempty"`    // a plan that does not say where it works works in the workspace
	Workspace       string             `json:"workspace,omitempty"` // root of the workspace, absolute, with slashes
	DefaultAgent    string             `json:"default_agent,omitempty"`
	NoPlanner       bool               `json:"no_planner,omitempty"`       // none is configured, so no plan can be revised by itself
	Judge           *Judge             `json:"judge,omitempty"`            // nil where none is configured
	RefuseUnmetered bool               `json:"refuse_unmetered,omitempty"` // a budget that nothing measures is an error
}

// File is what stands at a path. The zero File means that nothing does.
type File struct {
	Exists     bool `json:"exists,omitempty"`
	Dir        bool `json:"dir,omitempty"`
	Executable bool `json:"executable,omitempty"`
	Outside    bool `json:"outside,omitempty"` // a link that leads out of the workspace, or nowhere that can be told
}

// Subplan is what is wrong with a document that a step is delegated to, and what
// rules need to know of it.
type Subplan struct {
	Cycle  string `json:"cycle,omitempty"`  // the way that leads back to it
	Deep   string `json:"deep,omitempty"`   // the way to it, which is too long
	Unread string `json:"unread,omitempty"` // why it cannot be read
	Errors int    `json:"errors,omitempty"` // errors that it has

	Budget   plan.Budget `json:"budget,omitzero"`    // of its header
	Itemless bool        `json:"itemless,omitempty"` // neither it nor what it delegates to names PITON_ITEM
	Replans  bool        `json:"replans,omitempty"`  // a step of it has `on_fail: replan`
}

// Tool is what rules need to know of a tool.
type Tool struct {
	Missing bool            `json:"missing,omitempty"` // there is no tool of that name
	Foreign bool            `json:"foreign,omitempty"` // what it returns is a claim; without schemas, they are not known before a run
	Absent  string          `json:"absent,omitempty"`  // the program of its server, where this machine has none of that name
	Input   json.RawMessage `json:"input,omitempty"`   // JSON Schema
	Output  json.RawMessage `json:"output,omitempty"`
}

// Judge is what rules need to know of the model that judges.
type Judge struct {
	Agent    string `json:"agent,omitempty"`    // the configured agent that it is; "" for an endpoint, which always tells its tokens
	Costless bool   `json:"costless,omitempty"` // of an endpoint: no price of its model is configured
}

// Agent is what rules need to know of a configured agent.
type Agent struct {
	Shell    bool          `json:"shell,omitempty"`    // no model: the task is the script
	Metered  bool          `json:"metered,omitempty"`  // it reports what it uses
	Costless bool          `json:"costless,omitempty"` // it reports tokens and not what they cost, and no price is configured
	Time     time.Duration `json:"time,omitempty"`     // its own limit of one attempt; 0 for none
	When     string        `json:"when,omitempty"`     // what it is good at, in words
	Hosts    bool          `json:"hosts,omitempty"`    // it is known what its program asks for its model
	Missing  string        `json:"missing,omitempty"`  // its program, where this machine has none of that name
	Instead  string        `json:"instead,omitempty"`  // where it is missing: which program may be meant, as a question; "" for none
}
