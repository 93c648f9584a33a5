package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// An Effect is what a call does to the world.
type Effect string

const (
	Read      Effect = "read"      // looks, and changes nothing
	Create    Effect = "create"    // makes something where nothing was
	Overwrite Effect = "overwrite" // what was there is lost
	Move      Effect = "move"      // something leaves its place
	Delete    Effect = "delete"    // takes something away
	Command   Effect = "command"   // runs a program, which may do anything
	Network   Effect = "network"   // talks to another machine
)

// Definition is what plans, people and models are told of a tool.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Output      json.RawMessage `json:"output_schema,omitempty"` // absent: any JSON value
	Effect      Effect          `json:"effect"`                  // the worst that a call can do
	Server      string          `json:"server,omitempty"`        // the MCP server it belongs to
	Foreign     bool            `json:"foreign"`                 // not ours: what it returns is a claim
}

// Hash is a SHA-256 over all of the definition, in hex: what an approval of a
// foreign tool can be bound to, since its server may say something else tomorrow.
func (d Definition) Hash() string {
	text, err := json.Marshal(d)
	if err != nil {
		return "" // only a schema that is no JSON, which Register refuses
	}
	return hashOf(text)
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// A Tool is a definition with what carries it out. Both functions get arguments
// that fit the input schema, may be called at the same time from several
// goroutines, and return a *[Problem] where they know the code.
type Tool struct {
	Definition
	// Call does the work and returns the output as JSON. It must end soon after ctx.
	Call func(ctx context.Context, c *Call) (json.RawMessage, error)
	// Weigh looks at what the call would do. Nil: by the effect alone.
	Weigh func(ctx context.Context, args json.RawMessage) (Weight, error)
	// Timeout bounds a call; 0 is a minute.
	Timeout time.Duration
}

// A Call is one use of a tool.
type Call struct {
	Args json.RawMessage
	// Shown is what a person was shown as being there; nil binds to nothing.
	Shown []Target
	// Changes are noted by the tool: the files that are different now.
	Changes []Change
	// Network is noted by a tool that starts a process: what that could reach,
	// see [proc.Reach].
	Network string
}

// A Change is a file before and after a call, as SHA-256 in hex; "" is no file.
type Change struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// An Observation is what the harness itself saw of a call.
type Observation struct {
	OK       bool
	Output   json.RawMessage
	Changes  []Change
	Network  string // what a process that was started could reach; see [proc.Reach]
	Duration time.Duration
	Problem  *Problem // set if not OK
}

// Limits of every call, in bytes of JSON.
const (
	maxArgs   = 4 << 20
	maxOutput = 1 << 20
)

const defaultTimeout = time.Minute
