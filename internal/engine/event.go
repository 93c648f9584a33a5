package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// An Event is a fact. Events are appended to a stream and never changed; their
// wire names and fields are kept for ever.
type Event interface {
	// Type is the event's name on the wire.
	Type() string
}

// A Record is an event with its place in the journal.
type Record struct {
	Stream string
	Seq    uint64 // 1 for a stream's first record
	At     time.Time
	Actor  string // "harness", or the person who acted
	Epoch  uint64 // ownership under which it was written
	Event  Event
}

// WorkspaceStream holds what exists without a task.
const WorkspaceStream = "workspace"

// Harness is the actor of every record that no person caused.
const Harness = "harness"

// EpochBegan says that a new owner took over a stream. Work of an older epoch
// that has not ended is lost.
type EpochBegan struct {
	Host    string `json:"host"`
	Version string `json:"version"`
}

// IntentOpened records a request that plans and a task belong to.
type IntentOpened struct {
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	Prompt string `json:"prompt"`
	Path   string `json:"path,omitempty"` // of the plan document, relative to the workspace
	Link   string `json:"link,omitempty"` // address of what asks for it, such as an issue
}

// PlanDrafted records a revision of a plan with its pinned bytes.
type PlanDrafted struct {
	Plan     string `json:"plan"` // id of the revision
	Version  int    `json:"version"`
	Previous string `json:"previous,omitempty"`
	Intent   string `json:"intent"`
	Path     string `json:"path"`
	Title    string `json:"title"`
	// Memories name the notes that informed it: those that the document says, and those
	// that the planner was given.
	Memories []string `json:"informed_by_memories,omitempty"`
	Source   string   `json:"source"` // object: the document's bytes
	Hash     string   `json:"hash"`   // what an approval covers: the bytes less the projected ones
	Program  string   `json:"program,omitempty"`
	Changes  string   `json:"changes,omitempty"`
	// Weakened says where it proves or guards less than the text before, for
	// people: whoever says yes must have seen it.
	Weakened []string `json:"weakened,omitempty"`
	// Children are the plans that its steps, and those of these, are delegated
	// to, by path: they are approved together with it.
	Children []Pin `json:"children,omitempty"`
	// Detected are the commands of checks that no text has: they were looked for in
	// the workspace, and are approved as they were found.
	Detected []string `json:"detected,omitempty"`
	// Parent is the revision whose approval covers this one, which is of a plan
	// that one of its steps is delegated to.
	Parent string `json:"parent,omitempty"`
	Reason string `json:"reasoning,omitempty"`
	Errand string `json:"errand,omitempty"` // that it came of
	By     string `json:"by"`
	// Run is the run for which a planner made the revision. People are asked about
	// it where they are asked about the run.
	Run string `json:"run,omitempty"`
}

// Pin is a document that is approved together with another one.
type Pin struct {
	Path   string `json:"path"`
	Hash   string `json:"hash"`   // its bytes less the projected ones
	Source string `json:"source"` // object: its bytes
}

// Covers is the hash that an approval is bound to: of the document, and of all
// that it delegates to.
func (e PlanDrafted) Covers() string {
	if len(e.Children)+len(e.Detected) == 0 {
		return e.Hash
	}
	var b strings.Builder
	b.WriteString(e.Hash)
	for _, c := range e.Children {
		b.WriteString("\n" + c.Hash + " " + c.Path)
	}
	for _, d := range e.Detected {
		b.WriteString("\n= " + d)
	}
	return digest([]byte(b.String()))
}

// PlanVerified records what the verifier said of a revision.
type PlanVerified struct {
	Plan     string `json:"plan"`
	OK       bool   `json:"ok"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	Findings string `json:"findings,omitempty"` // object
}

// PlanAnswered records a person's, or a policy's, yes or no to a revision.
type PlanAnswered struct {
	Plan   string `json:"plan"`
	Hash   string `json:"hash"`   // what was shown, with all that it delegates to
	Config string `json:"config"` // hash of the configuration that was in force
	Yes    bool   `json:"yes"`
	By     string `json:"by"`
	Via    string `json:"via"`
	Why    string `json:"why,omitempty"`
}

// PlanFiled records that the file of a plan has the text of this revision now: Piton
// wrote it there, or read it there. Of a text that was drafted from its file that is
// known without it.
type PlanFiled struct {
	Plan string `json:"plan"`
	By   string `json:"by"` // who wrote it or had it read
}

// SettingsApproved records that a person said yes to the configuration of the
// workspace: to its agents and models being started for what is no run yet.
type SettingsApproved struct {
	Config string `json:"config"` // hash of the configuration in force
	By     string `json:"by"`
	Via    string `json:"via"`
}

// TaskOpened begins a task's stream.
type TaskOpened struct {
	Task   string `json:"task"`
	Intent string `json:"intent"`
	Parent string `json:"parent,omitempty"`
	Origin string `json:"origin,omitempty"`
}

// Policy is the part of the configuration that decides how a run goes on. It
// is pinned when the run opens.
type Policy struct {
	MaxParallel int    `json:"max_parallel"` // caps the plan's Parallel; at least 1
	Baseline    bool   `json:"baseline"`
	Ratchet     bool   `json:"ratchet"` // prove everything again at the end
	Unmetered   string `json:"unmetered,omitempty"`
	Unproven    string `json:"unproven,omitempty"` // what follows a proof that rests on what the step itself changed: [UnprovenAsk], [UnprovenRefuse]
	Extract     bool   `json:"extract,omitempty"`  // somebody is asked what of the run is worth keeping
	Approve     string `json:"approve,omitempty"`  // for whom nobody is asked: [LowRisk], [Auto] for plans, or nothing
	Planner     bool   `json:"planner,omitempty"`  // there is one: plans may be revised where steps fail
	Bounds      Bounds `json:"bounds,omitzero"`
	Arbiter     bool   `json:"arbiter,omitempty"` // a model says what follows a failed attempt
	// PermissionWait is how long an agent that asks waits for a person; 0 means 10 minutes.
	PermissionWait time.Duration `json:"permission_wait,omitempty"`
	Frames         int           `json:"frames,omitempty"` // visible in the pipeline beside those that are never evicted; 0 means [DefaultFrames]
}

// RunOpened begins one execution of one program, or lets an open run go on with
// the next revision of its plan.
type RunOpened struct {
	Run       string            `json:"run"`
	Plan      string            `json:"plan"`
	Version   int               `json:"version"`
	Title     string            `json:"title"`
	Path      string            `json:"path,omitempty"` // of the plan document, relative to the workspace
	PlanHash  string            `json:"plan_hash"`
	Source    string            `json:"source,omitempty"` // object: the plan document's bytes
	Program   string            `json:"program"`          // object
	Config    string            `json:"config"`           // object: the pinned configuration
	Agents    map[string]string `json:"agents,omitempty"`
	Policy    Policy            `json:"policy"`
	Workspace string            `json:"workspace"`
	Isolation string            `json:"isolation"`
	Unsealed  string            `json:"unsealed,omitempty"` // who allowed less than the asked minimum
	// ApprovedBy is who said yes to the plan: a name, or [ByPolicy]; "" of a plan that
	// was approved with another.
	ApprovedBy string `json:"approved_by,omitempty"`
	Base       string `json:"base,omitempty"` // object: the protected files as they were

	// Parent is the step that the run carries out, of a run of another task, and
	// Grant what that run's budget leaves to this one. Item is that of the step,
	// else of the run of the step, as JSON. Protects is what the step, and the run
	// of the step, protect from every step of this one.
	Parent   Parent          `json:"parent,omitzero"`
	Item     json.RawMessage `json:"item,omitempty"`
	Grant    Amount          `json:"grant,omitzero"`
	Protects []string        `json:"protects,omitempty"`
	// Within lists the runs in whose worktrees this one works, the outermost
	// first, less its own.
	Within []string `json:"within,omitempty"`

	// Revises is the plan revision that this one takes the place of in the
	// same run, which goes on; "" for the opening of a run. Carried lists the
	// steps that are taken over as they stand.
	Revises string   `json:"revises,omitempty"`
	Carried []string `json:"carried,omitempty"`
	// Weakened says where it proves or guards less than the text before.
	Weakened []string `json:"weakened,omitempty"`

	// Frames is the range of frames that was visible then; see [State.Window].
	Frames Window `json:"frames"`

	// Compiled is the decoded Program. Whoever reads a journal sets it from
	// the object before Apply; it is never on the wire.
	Compiled *Program `json:"-"`
}

// RunConfigured lets a run that is not done go on under another configuration, or with
// other protected files, than it was opened with: a person was shown the difference, and
// said yes to it.
type RunConfigured struct {
	Run     string            `json:"run"`
	Was     string            `json:"was"`    // object: the configuration until now
	Config  string            `json:"config"` // object: the one from now on
	Changes []string          `json:"changes,omitempty"`
	Agents  map[string]string `json:"agents,omitempty"`
	Policy  Policy            `json:"policy"` // how many frames are visible stays as it is
	Base    string            `json:"base,omitempty"`
	Files   []Change          `json:"files,omitempty"` // protected files that count as they are now
	// Unsealed is who allowed less isolation than it asks for, "" for nobody.
	Unsealed string `json:"unsealed,omitempty"`
	By       string `json:"by"`
	Via      string `json:"via"`
}

// RunArchived takes a run that is over out of the lists, or puts it back. It is a
// fact of the workspace: it says nothing of the run.
type RunArchived struct {
	Run  string `json:"run"`
	Back bool   `json:"back,omitempty"`
	By   string `json:"by"`
}

// RunEnded closes a run. A later resume or retry takes a failed one up again.
type RunEnded struct {
	Status   Status `json:"status"`
	Exit     int    `json:"exit"`
	Reason   string `json:"reason,omitempty"`
	Proven   int    `json:"proven"`
	Unproven int    `json:"unproven"`
	Left     int    `json:"left"`            // steps that are not satisfied
	Waits    bool   `json:"waits,omitempty"` // done, and its work waits on its branch for somebody to merge it
}

// Command is what a person told a run to do.
type Command struct {
	Verb Verb   `json:"verb"`
	Step string `json:"step,omitempty"`
	From bool   `json:"from,omitempty"` // retry: the step and all that need it
	Only bool   `json:"only,omitempty"` // replan: nothing but the step may change
	Role string `json:"role,omitempty"` // force-agent: who is to do the step
	Why  string `json:"why,omitempty"`
	By   string `json:"by"`
}

// Verb is the kind of a command.
type Verb string

const (
	DoPause  Verb = "pause"
	DoResume Verb = "resume"
	DoCancel Verb = "cancel"
	DoSkip   Verb = "skip"
	DoWaive  Verb = "waive"
	DoRetry  Verb = "retry"
	DoVouch  Verb = "vouch"       // that what keeps the step from its proof is its work
	DoForce  Verb = "force-agent" // from the next attempt on
	DoLand   Verb = "land"        // the merge of its worktree, of a run that ended without it
	DoReplan Verb = "replan"      // the harness may say this, because of a step that failed, or because an arbiter wants it
)

// Injected says what context a prompt held. A reference that could not be
// found has no hash.
type Injected struct {
	Ref  string `json:"ref"`
	Hash string `json:"hash,omitempty"`
}

// Undone says what was put back as before.
type Undone struct {
	Restored   []string `json:"restored,omitempty"`
	Quarantine string   `json:"quarantine,omitempty"` // the directory that keeps the version that was replaced, if anything did
}

// WorkDispatched says that work may start: it is durable before the work is.
type WorkDispatched struct {
	Step     string     `json:"step"`
	Attempt  int        `json:"attempt"`
	N        int        `json:"n"` // 1, and one more each time the work was lost
	Kind     WorkKind   `json:"kind"`
	Role     string     `json:"role,omitempty"`
	Why      string     `json:"why,omitempty"`    // the role was taken, where it is not the plan that says so
	Prompt   string     `json:"prompt,omitempty"` // object: what the agent or the shell was given, or the arguments of a tool
	Injected []Injected `json:"injected,omitempty"`
	Frames   []int      `json:"frames,omitempty"` // ids of those that the prompt held
	Tree     string     `json:"tree,omitempty"`   // object: the workspace as it was, where a scope is checked
	Since    time.Time  `json:"since,omitzero"`   // by the clock that files are stamped with: what is older is not the work's doing
	Undone              // before the work
	Reserve  Amount     `json:"reserve,omitzero"` // set aside of the budget until the work has ended
	Child    string     `json:"child,omitempty"`  // the run that does the work, which opens with it
	Leave    bool       `json:"leave,omitempty"`  // a merge of the run's worktree: the work is recorded on the branch, and not merged
	CaughtUp            // before the work
	Lacks    []string   `json:"lacks,omitempty"`   // of the workspace: what git ignores and the run's worktree did not begin with
	Commits  []Commit   `json:"commits,omitempty"` // of steps that were done: recorded before the work
}

// CaughtUp says that the worktree of a run has what a person changed in the workspace while
// the run waited for them.
type CaughtUp struct {
	News    bool     `json:"news,omitempty"`
	Brought []string `json:"brought,omitempty"` // what it got of that now
}

// Usage is what an attempt cost, as its agent claims. A nil field is unknown,
// which is not zero.
type Usage struct {
	In         *int64 `json:"tokens_in,omitempty"`
	Out        *int64 `json:"tokens_out,omitempty"`
	CostMicros *int64 `json:"cost_micros,omitempty"` // millionths of a dollar
}

// Tokens are all that were used, as far as they are known; nil where none is.
func (u Usage) Tokens() *int64 { return Usage{In: u.In}.Plus(Usage{In: u.Out}).In }

// Change is a path that differs from what it must be.
type Change struct {
	Path string `json:"path"`
	What string `json:"what"` // changed, removed, added, mode, type
	// Rule says by which rule the path judges, where it is protected because of that.
	Rule string `json:"rule,omitempty"`
}

// WorkEnded is the end of dispatched work as the harness saw it.
type WorkEnded struct {
	Step    string   `json:"step"`
	Attempt int      `json:"attempt"`
	N       int      `json:"n"`
	Kind    WorkKind `json:"kind"`
	How     How      `json:"how"`
	Exit    int      `json:"exit"`
	Signal  string   `json:"signal,omitempty"`
	Ms      int64    `json:"ms"`
	Reason  string   `json:"reason,omitempty"` // why it could not start, or was stopped
	Failed  bool     `json:"failed,omitempty"` // a call without an output, whatever its process exited with
	Absent  bool     `json:"absent,omitempty"` // waiting does not help: its program is not there, or it is not logged in
	Cause   *Cause   `json:"cause,omitempty"`  // of an agent: why it ended so, apart from its contract
	Usage   Usage    `json:"usage"`
	Output  string   `json:"output,omitempty"` // object: the step's output
	// Value is the output itself, where the core looks at it.
	Value json.RawMessage `json:"value,omitempty"`
	Words string          `json:"words,omitempty"` // the beginning of what an agent said last
	// Stdout and Stderr are the last lines of what the work printed, for who looks into
	// why it did not pass.
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Size   int64  `json:"size"`          // bytes the work printed
	Log    string `json:"log,omitempty"` // file under the state directory
	Claims
	Notes      []string `json:"notes,omitempty"` // what of its report or output could not be taken
	Changed    []string `json:"changed,omitempty"`
	Diff       string   `json:"diff,omitempty"`  // object: what the attempt changed, as git writes it
	Whole      string   `json:"whole,omitempty"` // object: as Diff, since before the step's first work, where that is more
	Tampered   []Change `json:"tampered,omitempty"`
	OutOfScope []Change `json:"out_of_scope,omitempty"`
	Undone              // as soon as the work had ended
	Idle       bool     `json:"idle,omitempty"`      // of a loop: nothing was changed, and the checks passed before too
	Unfit      string   `json:"unfit,omitempty"`     // why its output is not what the step's schema wants
	Conflicts  []Change `json:"conflicts,omitempty"` // a merge: both sides are in the worktree
	Commit     string   `json:"commit,omitempty"`    // a merge: what was merged
	Worktree   string   `json:"worktree,omitempty"`  // a merge: where its worktree is
	Commits    []Commit `json:"commits,omitempty"`   // a merge: what was recorded before it
	Behind     bool     `json:"behind,omitempty"`    // a merge of the run's worktree: it has to be proved first, with what it got from the workspace
	Tree       string   `json:"tree,omitempty"`
	Ending     *Ending  `json:"ending,omitempty"`   // of a run that did the work
	Drawn      *Drawn   `json:"drawn,omitempty"`    // the revision that was made
	Leftover   int      `json:"leftover,omitempty"` // processes that had to be killed
	Isolation  string   `json:"isolation,omitempty"`
	// Network is what the work could reach, where it was to reach nothing:
	// "loopback", or "host" and why.
	Network string `json:"network,omitempty"`
}

// Claims are what an agent said of its attempt. They move nothing.
type Claims struct {
	Blocked     string   `json:"blocked,omitempty"`   // what stopped it
	Questions   []string `json:"questions,omitempty"` // that it would have asked
	Discoveries []string `json:"discoveries,omitempty"`
	Remarks     []Remark `json:"remarks,omitempty"` // that become frames of their kind
}

// Remark is something else that an agent says, under a word of its own.
type Remark struct {
	Kind FrameKind `json:"kind"`
	Text string    `json:"text"`
}

// plain is what was said as a journal can hold it.
func (c Claims) plain() Claims {
	plain := Claims{Blocked: text(c.Blocked), Questions: texts(c.Questions), Discoveries: texts(c.Discoveries)}
	for _, r := range c.Remarks {
		if r.Kind.CanReport() {
			plain.Remarks = append(plain.Remarks, Remark{r.Kind, text(r.Text)})
		}
	}
	return plain
}

func texts(list []string) []string {
	var all []string
	for _, s := range list {
		all = append(all, text(s))
	}
	return all
}

// context is what of it helps a person who decides how to go on.
func (c Claims) context() string {
	var b strings.Builder
	if c.Blocked != "" {
		fmt.Fprintf(&b, "The agent says it was stopped by: %s\n", indented(c.Blocked))
	}
	for _, q := range c.Questions {
		fmt.Fprintf(&b, "The agent asks: %s\n", indented(q))
	}
	return b.String()
}

// indented keeps the lines of a text apart from those that it is put between.
func indented(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// CheckEnded is the answer of one check: evidence.
type CheckEnded struct {
	Step      string            `json:"step"`
	Attempt   int               `json:"attempt"`
	Phase     Phase             `json:"phase"` // baseline, verifying, ratchet
	Round     int               `json:"round,omitempty"`
	Check     string            `json:"check"`
	Required  bool              `json:"required"`
	Command   string            `json:"command_hash"`
	Env       string            `json:"env_hash"`
	Dir       string            `json:"dir,omitempty"`
	Verdict   Verdict           `json:"verdict"`
	Exit      int               `json:"exit"`
	Want      int               `json:"want"`
	Signal    string            `json:"signal,omitempty"`
	Ms        int64             `json:"ms"`
	Reason    string            `json:"reason,omitempty"`
	Output    string            `json:"output_hash"` // SHA-256 over all it printed
	Size      int64             `json:"size"`
	Stdout    string            `json:"stdout_tail,omitempty"` // only where it did not pass
	Stderr    string            `json:"stderr_tail,omitempty"`
	Tree      string            `json:"tree,omitempty"`   // hash of the workspace, where another answer may have to be compared with it
	Tests     int               `json:"tests,omitempty"`  // that ran, where what it printed says so
	Reruns    []Verdict         `json:"reruns,omitempty"` // when all were asked again at once, on the same tree
	Same      bool              `json:"same,omitempty"`   // the checks said otherwise before, of the same files
	Tampered  []Change          `json:"tampered,omitempty"`
	Undone                      // as soon as it had ended
	Moved     map[string]string `json:"moved,omitempty"`   // protected paths that the step's writes allowed to change
	Altered   []Alteration      `json:"altered,omitempty"` // in a proof at the end: what the checks changed of what was watched
	Isolation string            `json:"isolation,omitempty"`
	Network   string            `json:"network,omitempty"`  // as in [WorkEnded]
	Shared    bool              `json:"shared,omitempty"`   // ran with other steps at the same time in one tree
	Usage     Usage             `json:"usage,omitzero"`     // of a model that was asked
	Votes     []Vote            `json:"votes,omitempty"`    // of the judge, in their order
	Voteless  bool              `json:"voteless,omitempty"` // the judge was asked besides, and gave no vote
	Absent    bool              `json:"absent,omitempty"`   // it has no answer, and waiting does not help
	Opened    *Opened           `json:"opened,omitempty"`   // while it ran; nil where nothing was looked at
}

// Opened says which files of the workspace were opened while a check ran, whoever opened
// them. Each list has up to 1000 paths.
type Opened struct {
	Files int    `json:"files"`
	List  string `json:"list,omitempty"` // object: their paths, a line each; of a baseline of a step without writes
	// Changed existed when the run opened, and changed since the step's work began.
	Changed []string `json:"changed,omitempty"`
	Made    []string `json:"made,omitempty"` // did not, and changed since then
	// Beyond lists files outside the step's writes: all of Changed, and of Made those that judge.
	Beyond []string `json:"beyond,omitempty"`
	// Gone were opened by the same check of the baseline, and are no more, or were not
	// opened now and a made file of such a name was.
	Gone   []string `json:"gone,omitempty"`
	Wrote  []string `json:"wrote,omitempty"`  // existed when the run opened, and changed while the check ran
	Unseen string   `json:"unseen,omitempty"` // why it is not known, or not all
	Dark   bool     `json:"dark,omitempty"`   // because this system observes nothing, whatever the tree is
	// Judges is an object with those of the files that judge and no check of the run
	// opened before, as keys of its base, a line each.
	Judges string `json:"judges,omitempty"`
	// Shared is set of a baseline when it is looked back at: others were at work in the
	// tree, and may have opened what the check did not.
	Shared bool `json:"shared,omitempty"`
}

// StepSettled is the only event that gives a step a status.
type StepSettled struct {
	Step    string  `json:"step"`
	Attempt int     `json:"attempt"`
	Status  Status  `json:"status"`
	Verdict Verdict `json:"verdict,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	Proven  bool    `json:"proven,omitempty"`
	By      string  `json:"by,omitempty"`
	// Satisfies says that a skipped step counts for what needs it: a person
	// skipped it, while a denial or a policy did not.
	Satisfies bool `json:"satisfies,omitempty"`
	// Ask says that a person is asked where the plan would be revised, as an arbiter chose.
	Ask     bool       `json:"ask,omitempty"`
	RetryAt *time.Time `json:"retry_at,omitempty"`
	// Exit is how a loop ended with the attempt; a retry with it begins the loop anew.
	Exit LoopExit `json:"exit_reason,omitempty"`
	// Produced are the ids of the frames that follow from the attempt and from how
	// the step stands now.
	Produced Window `json:"produced"`
}

// ItemKind says what a person is asked.
type ItemKind string

const (
	Approval   ItemKind = "approval"
	Escalation ItemKind = "escalation"
	Question   ItemKind = "question"   // of a step that asks
	Proposal   ItemKind = "proposal"   // a revision that was made for the run
	Weakened   ItemKind = "weakened"   // one that proves or guards less
	Limit      ItemKind = "limit"      // of the run, which gets nowhere
	Keep       ItemKind = "memory"     // what was extracted from a run
	Permission ItemKind = "permission" // of an agent, in the middle of its work
)

// ItemOpened puts a question to people. It stays open until it is answered or
// its step moves on without it.
type ItemOpened struct {
	Item     string   `json:"item"`
	Step     string   `json:"step"`
	Attempt  int      `json:"attempt"`
	Kind     ItemKind `json:"kind"`
	Cause    Verdict  `json:"cause,omitempty"`
	Question string   `json:"question"`
	Context  string   `json:"context,omitempty"`
	Hash     string   `json:"hash"` // of what was shown
	Choices  []string `json:"choices"`
	Schema   string   `json:"schema,omitempty"` // of the value that a question asks for
	// Shortage says what an approval asks for that would raise a budget.
	Shortage *Shortage `json:"shortage,omitempty"`
	Limit    string    `json:"limit,omitempty"`   // which one is met: attempts or failures
	Starved  bool      `json:"starved,omitempty"` // the run lacks a variable: it has to be resumed with it

	// Of a conflict: the files that have both sides, and the worktree that they lie in.
	Dir   string   `json:"dir,omitempty"`
	Files []string `json:"files,omitempty"`

	Memory *Memory `json:"memory,omitempty"` // that is proposed

	Wanted  *Wanted   `json:"wanted,omitempty"` // what an agent asks for
	Expires time.Time `json:"expires,omitzero"` // when the answer is [ChooseDeny]

	// Of a call that is to be approved.
	Tool   string `json:"tool,omitempty"`
	Effect string `json:"effect,omitempty"` // of the call, in the registry's word
	Args   string `json:"args,omitempty"`   // object
	Plan   string `json:"plan,omitempty"`   // path of a plan that was made during the run, or id of a revision, that is to be approved
}

// ItemAnswered is a person's answer to an item.
type ItemAnswered struct {
	Item   string `json:"item"`
	Choice string `json:"choice"`
	Text   string `json:"text,omitempty"`
	By     string `json:"by"`
	Via    string `json:"via"`
	// Args goes with an answer to a question that asks for a value, and with an
	// approval: what is approved in place of what was shown.
	Args json.RawMessage `json:"args,omitempty"`
}

func (EpochBegan) Type() string       { return "epoch.began" }
func (IntentOpened) Type() string     { return "intent.opened" }
func (PlanDrafted) Type() string      { return "plan.drafted" }
func (PlanVerified) Type() string     { return "plan.verified" }
func (PlanAnswered) Type() string     { return "plan.answered" }
func (RunArchived) Type() string      { return "run.archived" }
func (TaskOpened) Type() string       { return "task.opened" }
func (RunOpened) Type() string        { return "run.opened" }
func (RunConfigured) Type() string    { return "run.configured" }
func (RunEnded) Type() string         { return "run.ended" }
func (Command) Type() string          { return "command" }
func (WorkDispatched) Type() string   { return "work.dispatched" }
func (WorkEnded) Type() string        { return "work.ended" }
func (CheckEnded) Type() string       { return "check.ended" }
func (StepSettled) Type() string      { return "step.settled" }
func (ItemOpened) Type() string       { return "item.opened" }
func (ItemAnswered) Type() string     { return "item.answered" }
func (LeaseGranted) Type() string     { return "lease.granted" }
func (LeaseAwaited) Type() string     { return "lease.awaited" }
func (TreeSurveyed) Type() string     { return "tree.surveyed" }
func (PreviewMade) Type() string      { return "preview.made" }
func (WorkReported) Type() string     { return "work.reported" }
func (StepExpanded) Type() string     { return "step.expanded" }
func (ErrandAsked) Type() string      { return "errand.asked" }
func (ErrandDropped) Type() string    { return "errand.dropped" }
func (MemoryWritten) Type() string    { return "memory.written" }
func (WorkHeard) Type() string        { return "work.heard" }
func (PlanFiled) Type() string        { return "plan.filed" }
func (SettingsApproved) Type() string { return "settings.approved" }
func (FramePushed) Type() string      { return "frame.pushed" }

// Encode returns an event's body on the wire.
func Encode(e Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.Type(), err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode reads an event from its wire name and body. Unknown names and broken
// bodies are errors; unknown fields are left out, so that an older program can
// still read what a newer one added.
func Decode(typ string, body []byte) (Event, error) {
	decode := decoders[typ]
	if decode == nil {
		return nil, fmt.Errorf("unknown event type %q", typ)
	}
	e, err := decode(body)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", typ, err)
	}
	return e, nil
}

// decoders has every event there is by its name on the wire.
var decoders = map[string]func([]byte) (Event, error){
	EpochBegan{}.Type():       decodeAs[EpochBegan],
	IntentOpened{}.Type():     decodeAs[IntentOpened],
	PlanDrafted{}.Type():      decodeAs[PlanDrafted],
	PlanVerified{}.Type():     decodeAs[PlanVerified],
	PlanAnswered{}.Type():     decodeAs[PlanAnswered],
	RunArchived{}.Type():      decodeAs[RunArchived],
	ErrandAsked{}.Type():      decodeAs[ErrandAsked],
	ErrandDropped{}.Type():    decodeAs[ErrandDropped],
	MemoryWritten{}.Type():    decodeAs[MemoryWritten],
	WorkHeard{}.Type():        decodeAs[WorkHeard],
	PlanFiled{}.Type():        decodeAs[PlanFiled],
	SettingsApproved{}.Type(): decodeAs[SettingsApproved],
	TaskOpened{}.Type():       decodeAs[TaskOpened],
	RunOpened{}.Type():        decodeAs[RunOpened],
	RunConfigured{}.Type():    decodeAs[RunConfigured],
	RunEnded{}.Type():         decodeAs[RunEnded],
	Command{}.Type():          decodeAs[Command],
	StepExpanded{}.Type():     decodeAs[StepExpanded],
	WorkDispatched{}.Type():   decodeAs[WorkDispatched],
	WorkReported{}.Type():     decodeAs[WorkReported],
	WorkEnded{}.Type():        decodeAs[WorkEnded],
	CheckEnded{}.Type():       decodeAs[CheckEnded],
	TreeSurveyed{}.Type():     decodeAs[TreeSurveyed],
	StepSettled{}.Type():      decodeAs[StepSettled],
	LeaseGranted{}.Type():     decodeAs[LeaseGranted],
	LeaseAwaited{}.Type():     decodeAs[LeaseAwaited],
	PreviewMade{}.Type():      decodeAs[PreviewMade],
	ItemOpened{}.Type():       decodeAs[ItemOpened],
	ItemAnswered{}.Type():     decodeAs[ItemAnswered],
	JudgeVoted{}.Type():       decodeAs[JudgeVoted],
	PartTried{}.Type():        decodeAs[PartTried],
	ChangeReverted{}.Type():   decodeAs[ChangeReverted],
	ArbiterRuled{}.Type():     decodeAs[ArbiterRuled],
	FramePushed{}.Type():      decodeAs[FramePushed],
}

func decodeAs[E Event](body []byte) (Event, error) {
	var e E
	err := json.Unmarshal(body, &e)
	return e, err
}
