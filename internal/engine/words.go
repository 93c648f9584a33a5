package engine

// Status is a step's or a run's status. Blocked and ready are derived and
// never stored in an event.
type Status string

const (
	Pending    Status = "pending"
	Blocked    Status = "blocked"
	Ready      Status = "ready"
	Running    Status = "running"
	Waiting    Status = "waiting" // for a person
	Done       Status = "done"
	Failed     Status = "failed"
	Skipped    Status = "skipped"
	Waived     Status = "waived"
	Regressed  Status = "regressed"
	Paused     Status = "paused"     // run
	Cancelled  Status = "cancelled"  // run
	Superseded Status = "superseded" // run
	Replanning Status = "replanning" // run
)

// Phase says what a running or waiting step is about.
type Phase string

const (
	NoPhase   Phase = ""
	Baseline  Phase = "baseline"
	Working   Phase = "working"
	Verifying Phase = "verifying"
	Retrying  Phase = "retrying"
	Asking    Phase = "asking"
	Ratchet   Phase = "ratchet"
	Merging   Phase = "merging"
	Expanding Phase = "expanding"  // a step for each item: its items are looked up
	Revising  Phase = "replanning" // a step that failed: the plan is being revised for it
)

// first reports a phase before anything of the step has begun.
func (p Phase) first() bool { return p == Baseline || p == Expanding }

// Verdict is the harness's own judgement of an attempt or of one check. Only
// Pass makes a step done.
type Verdict string

const (
	NoVerdict    Verdict = ""
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Timeout      Verdict = "timeout"
	Infra        Verdict = "infra"        // could not be started, a signal from outside, disk full
	Tampered     Verdict = "tampered"     // a protected file changed
	OutOfScope   Verdict = "out_of_scope" // a change outside the step's writes
	Flaky        Verdict = "flaky"        // the same tree, different answers
	OverBudget   Verdict = "budget"       // the budget leaves no room for another attempt
	Clash        Verdict = "conflict"     // its worktree and the workspace changed the same place
	Inconclusive Verdict = "inconclusive" // the check could not say: command not found, no test collected
)

// How says how work ended, as the harness saw it.
type How string

const (
	Exited   How = "exit"
	Lost     How = "lost" // its owner died; nothing is known of it
	TimedOut How = "timeout"
	NoStart  How = "infra"
	Stopped  How = "cancelled"
)

// WorkKind says what was dispatched.
type WorkKind string

const (
	AgentWork    WorkKind = "agent"
	ScriptWork   WorkKind = "script"
	ToolWork     WorkKind = "tool"
	ContractWork WorkKind = "contract" // checks that may run only once
	ChildWork    WorkKind = "child"    // a run of its own
	MergeWork    WorkKind = "merge"    // brings the step's worktree into the workspace
	ExtractWork  WorkKind = "extract"  // says what of a run is worth keeping, for the workspace
	PlanWork     WorkKind = "plan"     // makes a plan, for the workspace, or a revision of it, for a run
	ReviewWork   WorkKind = "review"   // reads a plan and gives advice, for the workspace
)
