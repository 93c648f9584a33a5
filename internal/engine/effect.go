package engine

import (
	"encoding/json"
	"fmt"
	"time"
)

// EffectKind says what an effect does. What holds for each kind is in one table.
type EffectKind string

const (
	Expand  EffectKind = "expand"  // find the items of a step for each file of a glob
	Prepare EffectKind = "prepare" // restore, look at the tree, baseline, make the prompt
	Work    EffectKind = "work"
	Verify  EffectKind = "verify"
	Merge   EffectKind = "merge"   // bring the step's worktree into the workspace: a publication, looked for before it is repeated
	Prove   EffectKind = "prove"   // ratchet: the proof again, on the final tree
	Draw    EffectKind = "draw"    // make a plan of a request, of the workspace; or a revision, of the run; or read a plan; never of a step
	Survey  EffectKind = "survey"  // ratchet: look at the tree before and after the proof
	Consult EffectKind = "consult" // ask the arbiter what follows an attempt
	Revert  EffectKind = "revert"  // take back what a strong step changed, in a copy, and ask the checks there
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
	Step        *Step               // nil where it is of no step
	Title       string              // of the plan
	Context     string              // of the plan: what whoever works has to know
	Constraints []string            // of the plan
	Tags        []string            // of the plan
	Permissions string              // of the plan: what follows when an agent asks whether it may do something
	Document    string              // of the plan, relative to the workspace: the owner marks it
	Baseline    bool                // Prepare: run the checks before the work
	Early       bool                // Prepare: nobody has worked in the run yet
	News        bool                // Prepare, Survey: the run waited for a person, who may have changed the workspace that its worktree was made from
	Cut         bool                // Prepare: work was begun and cut off; Tree is from before it
	Began       Start               // of the work, or of the newest start before this one; zero before the first; see [State.Beside]
	Feedback    []Feedback          // Prepare: what the last attempt failed
	Frames      []FramePushed       // Prepare: those that whoever works gets, oldest first
	Iteration   int                 // Prepare: of a loop, from 1
	Heard       []Verdict           // Prepare: of a loop, what each check said last; nothing before the first
	Last        string              // Prepare: of a loop, object with what its newest work put out
	Note        string              // Prepare: what a person, or the harness, has to say about the last attempt
	Restore     []Change            // Prepare: paths to put back
	Prompt      string              // Work: object with what the agent or shell is given
	Role        string              // Work: who does it
	Work        WorkKind            // Work, and Verify for checks that may run only once
	Tree        string              // object with the workspace as it was before the work; for Prepare that of the start before
	Since       time.Time           // the first work of the step began then, by the clock that files are stamped with; zero before it
	Before      []Opened            // Verify: by the checks of the baseline
	Seen        []Seen              // Prepare, Verify, Prove: what the checks said so far
	First       string              // Work, Verify, Revert: as Tree, before the first work of the step
	Parts       []PartTried         // Revert: what was tried already
	Guards      []string            // of the whole program, and what runs above protect
	Protects    []string            // what runs above protect: no step may change it, whatever its writes
	Base        string              // object with the protected files as they were
	Judges      []string            // objects with what judges, as checks of the run opened it
	Moved       map[string]string   // protected paths that finished steps were allowed to change
	Within      []string            // the runs in whose worktrees all happens, the outermost first
	Finished    []Finished          // Prepare, and Merge of the run's worktree: what is to be recorded before; of one commit for all at most [MaxFinished]
	Strays      []string            // Prepare, and Merge of the run's worktree: globs of what steps may write that were tried and do not count
	Kept        []string            // Merge of the run's worktree: the same of the steps whose work counts
	Worked      int                 // Merge of the run's worktree: steps whose work counts
	Begun       bool                // the worktree of the run is there: somebody has worked in it
	Loose       bool                // steps count whose work is not on the branch of the run
	Leave       bool                // Merge of the run's worktree: it is recorded, and stays where it is
	Landing     *Step               // of a run in a worktree of its own: the step that merges that; its setup prepares the worktree
	Worktree    bool                // all happens in the step's own worktree
	Renew       bool                // Prepare: the worktree begins with the workspace as it is now
	Round       int                 // Merge: how many conflicts there have been
	Conflicts   []Change            // Merge: those of the last time
	After       bool                // Survey: the round is over; Tree is from before it
	Watch       []string            // Prove: paths of which the answer says what the checks changed
	Unsealed    bool                // somebody allowed less isolation than the step asks for
	Held        bool                // what it runs is kept from the network and inside its scope; see [Step.Held]
	Shared      bool                // other steps are under way in the same tree
	Value       bool                // Work: the core looks at the output, so its end must have the value
	Edited      string              // Prepare: object with the arguments that a person gave in the place of the plan's
	Shown       []Target            // Work: what a call may find, as it was when the call was looked at
	Item        json.RawMessage     // what whoever works finds as [ItemVariable]; nothing where there is none
	Outputs     map[string]string   // object with the output of each step that the step reads or subscribes to; none of one that has none
	Answers     []WorkHeard         // Draw: that it heard already, in the dispatches before too
	Failures    []Failure           // Draw: what did not pass in the run; Note says why it is revised. Consult: the attempt
	Poll        Poll                // Verify: what a judge has answered already
	Choices     []Say               // Consult: what may follow, the choice of the rules first; Frames are the newest of what came of attempts
	Candidates  []Candidate         // Consult: who may do the next attempt; none where the plan says it
	Left        int                 // Consult: attempts that the plan still gives the step
	Steps       int                 // Consult: of the run, in all
	Met         int                 // Consult: of them satisfied
	Ahead       []*Step             // Consult: the first of those that are not
	Poor        bool                // Consult: the budget has no room for the question
	Asked       bool                // Draw: a person asks for it, and Note has their words
	Advised     bool                // Draw: so does an arbiter, though no step failed
	Only        string              // Draw: id of the only step that may change; "" for any
	Lists       map[string][]string // the same of steps for each item: the objects of their instances in order, "" of one that has none
}

// workItself is the check of a [Feedback] that speaks of the work.
const workItself = "work"

// Exited reports whether there is an exit code that says something of the end:
// not of work that ended no process, or was cut off.
func (f Feedback) Exited() bool {
	return f.Exit > 0 || f.Verdict == NoVerdict || f.Verdict == Fail && f.Check != workItself
}

// Feedback is what an agent is told of a check that did not pass, or of the work. Work
// that the checks decide about has no verdict.
type Feedback struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Exit    int     `json:"exit"`
	Want    int     `json:"want"`
	Reason  string  `json:"reason,omitempty"`
	Stdout  string  `json:"stdout,omitempty"`
	Stderr  string  `json:"stderr,omitempty"`
}

// trait is what holds for every effect of a kind.
type trait struct {
	// repeats: it may be carried out again after a crash, so it may begin before
	// what it rests on is durable. Any other always has an end.
	repeats bool
	apart   bool  // it happens in the step's own worktree, where the step is in one
	phase   Phase // whose checks it asks
	// answered reports the input that answers it.
	answered func(Input) bool
	// fails is the answer of one that was not carried out.
	fails func(e *Effect, how How, reason string) Input
}

// traits has every kind of effect that there is.
var traits = map[EffectKind]trait{
	Expand:  {repeats: true, answered: is[Expanded], fails: expandFails},
	Prepare: {repeats: true, apart: true, answered: is[Prepared], fails: prepareFails},
	Work:    {apart: true, answered: is[Ended], fails: workFails},
	Draw:    {answered: is[Ended], fails: workFails},
	Merge:   {answered: is[Ended], fails: workFails},
	Verify:  {repeats: true, apart: true, phase: Verifying, answered: either[Checked, Ended], fails: checksFail},
	Consult: {repeats: true, answered: is[Ruled], fails: rulingFails},
	Survey:  {repeats: true, answered: is[Surveyed], fails: surveyFails},
	Revert:  {repeats: true, apart: true, answered: is[Reverted], fails: revertFails},
	Prove:   {repeats: true, apart: true, phase: Ratchet, answered: is[Checked], fails: checksFail},
}

func is[T Input](in Input) bool {
	_, ok := in.(T)
	return ok
}

func either[T, U Input](in Input) bool { return is[T](in) || is[U](in) }

func expandFails(e *Effect, _ How, reason string) Input { return Expanded{Key: e.Key, Err: reason} }

func prepareFails(e *Effect, _ How, reason string) Input { return Prepared{Key: e.Key, Err: reason} }

func surveyFails(e *Effect, _ How, reason string) Input { return Surveyed{Key: e.Key, Err: reason} }

func revertFails(e *Effect, _ How, reason string) Input { return Reverted{Key: e.Key, Err: reason} }

func workFails(e *Effect, how How, reason string) Input {
	return Ended{Key: e.Key, WorkEnded: WorkEnded{How: how, Reason: reason}}
}

// checksFail answers every check with this machine's fault. Checks that may run
// only once, and were told to stop, are work that was stopped.
func checksFail(e *Effect, how How, reason string) Input {
	if e.Work != "" && how == Stopped {
		return workFails(e, how, reason)
	}
	in := Checked{Key: e.Key}
	phase := Verifying
	if e.Key.Kind == Prove {
		phase = Ratchet
	}
	for _, c := range e.Step.asked(phase) {
		in.Checks = append(in.Checks, CheckEnded{Check: c.Name, Verdict: Infra, Exit: -1, Reason: reason})
	}
	return in
}

// Phase is the phase whose checks the effect asks.
func (k EffectKind) Phase() Phase { return traits[k].phase }

// Known reports whether there is such a kind of effect.
func (k EffectKind) Known() bool { return traits[k].answered != nil }

// Repeats reports whether the effect may be carried out again after a crash. One
// that repeats need not answer when it is told to stop; any other has an end.
func (e *Effect) Repeats() bool { return e.Work == "" && traits[e.Key.Kind].repeats }

// Waits reports whether the effect begins only when what it rests on is durable:
// one that must not be repeated, and one that after a crash would be taken for
// somebody else's doing, because it puts files back, makes a worktree, or leaves
// files of its own outside a scope.
func (e *Effect) Waits() bool {
	return !e.Repeats() || e.Worktree || len(e.Within) > 0 || len(e.Restore) > 0 || len(e.Step.Writes) > 0
}

// Apart reports whether it all happens in the step's own worktree.
func (e *Effect) Apart() bool { return e.Worktree && traits[e.Key.Kind].apart }

// Takes reports whether in is an answer of the effect.
func (e *Effect) Takes(in Input) bool { return e.Key.Kind.Known() && traits[e.Key.Kind].answered(in) }

// Fails is the answer of an effect that was not carried out, or not to its end.
func (e *Effect) Fails(how How, reason string) Input {
	return traits[e.Key.Kind].fails(e, how, reason)
}
