package engine

import (
	"encoding/json"
	"fmt"
)

// EffectKind says what an effect does. Expand, Prepare, Verify, Again and Prove are
// inquiries, which may be repeated after a crash; Work may not, and starts
// only after its dispatch is durable.
type EffectKind string

const (
	Expand  EffectKind = "expand"  // find the items of a step for each file of a glob
	Prepare EffectKind = "prepare" // restore, look at the tree, baseline, make the prompt
	Work    EffectKind = "work"
	Verify  EffectKind = "verify"
	Again   EffectKind = "again" // a check gave another answer on the same tree
	Merge   EffectKind = "merge" // bring the step's worktree into the workspace: a publication, looked for before it is repeated
	Prove   EffectKind = "prove" // ratchet: the proof again, on the final tree
)

// Key identifies an effect for ever.
type Key struct {
	Task    string
	Run     string
	Step    string
	Attempt int
	Kind    EffectKind
	N       int
}

// String returns task/run/step/attempt/kind/n.
func (k Key) String() string {
	return fmt.Sprintf("%s/%s/%s/%d/%s/%d", k.Task, k.Run, k.Step, k.Attempt, k.Kind, k.N)
}

// An Effect is a wish: what should be running now. It is never in the journal,
// and the same state always wishes for the same effects.
type Effect struct {
	Key         Key
	Step        *Step
	Title       string              // of the plan
	Context     string              // of the plan: what whoever works has to know
	Constraints []string            // of the plan
	Document    string              // of the plan, relative to the workspace: who changes it proposes a plan, and no more
	Baseline    bool                // Prepare: run the checks before the work
	Cut         bool                // Prepare: work was begun and cut off; Tree is from before it
	Began       Start               // Prepare after a cut: the start that was cut off
	Beside      [][]string          // Prepare after a cut: the scopes of the steps that were at work meanwhile, of the run alone; an empty one is the whole workspace; see [State.Beside]
	Feedback    []Feedback          // Prepare: what the last attempt failed
	Note        string              // Prepare: what a person, or the harness, has to say about the last attempt
	Restore     []Change            // Prepare: paths to put back
	Prompt      string              // Work: object with what the agent or shell is given
	Work        WorkKind            // Work, and Verify for checks that may run only once
	Tree        string              // object with the workspace as it was before the work; for Prepare that of the start before
	Guards      []string            // of the whole program, and what runs above protect
	Protects    []string            // what runs above protect: no step may change it, whatever its writes
	Base        string              // object with the protected files as they were
	Moved       map[string]string   // protected paths that finished steps were allowed to change
	Executables map[string]string   // commands of checks as they were approved, or first found
	Within      []string            // the runs in whose worktrees all happens, the outermost first
	Landing     *Step               // of a run in a worktree of its own: the step that merges that; its setup prepares the worktree
	Worktree    bool                // all happens in the step's own worktree
	Renew       bool                // Prepare: the worktree begins with the workspace as it is now
	Round       int                 // Merge: how many conflicts there have been
	Conflicts   []Change            // Merge: those of the last time
	Unsealed    bool                // somebody allowed less isolation than the step asks for
	Shared      bool                // other steps are under way in the same tree
	Value       bool                // Work: the core looks at the output, so its end must have the value
	Edited      string              // Prepare: object with the arguments that a person gave in the place of the plan's
	Shown       []Target            // Work: what a call may find, as it was when the call was looked at
	Item        json.RawMessage     // what whoever works finds as [ItemVariable]; nothing where there is none
	Outputs     map[string]string   // object with the output of each step that the step reads or subscribes to; none of one that has none
	Lists       map[string][]string // the same of steps for each item: the objects of their instances in order, "" of one that has none
}

// workItself is the check of a [Feedback] that speaks of the work.
const workItself = "work"

// Exited reports whether there is an exit code that says something of the end:
// not of work that ended no process, or was cut off.
func (f Feedback) Exited() bool { return f.Exit > 0 || f.Verdict == Fail && f.Check != workItself }

// Feedback is what an agent is told of a check that did not pass.
type Feedback struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Exit    int     `json:"exit"`
	Want    int     `json:"want"`
	Reason  string  `json:"reason,omitempty"`
	Stdout  string  `json:"stdout,omitempty"`
	Stderr  string  `json:"stderr,omitempty"`
}
