package engine

import (
	"slices"
	"strings"
	"unicode"
)

// An Input is a command or an outside result that asks to become facts.
type Input interface {
	// Actor is who the resulting records are by.
	Actor() string
}

// Begin tells a stream that a new owner took over.
type Begin struct{ EpochBegan }

// Open begins a task (first run) or the next run of a task.
type Open struct {
	Task *TaskOpened // nil for a later run
	Run  RunOpened
	By   string
}

// Prepared answers a Prepare effect.
type Prepared struct {
	Key      Key
	Checks   []CheckEnded // of the baseline; empty if it was not asked for
	Dispatch WorkDispatched
	Preview  *Preview // of a call, or of a plan that the step is delegated to
	Child    *Opening // of the run that does the step
	Strays   []Change // outside the step's writes, changed since a start that was cut off: a person decides
	Err      string   // what went wrong on this machine; nothing can be dispatched
	Absent   bool     // with Err: trying again changes nothing
}

// Ended answers a Work effect.
type Ended struct {
	Key Key
	WorkEnded
	// Of a Draw effect: the revision that was made. Of one for a run, where the policy
	// says yes, that and the run as it goes on with it.
	Memories []Memory // of the workspace: that are proposed to people
	Draft    *Draft
	Yes      *PlanAnswered
	Revise   *Revise
}

// Revise lets a run go on with the next revision of its plan, which a person
// has approved. The core says what is carried over.
type Revise struct {
	Run   RunOpened // with the id of the run, which is open or has failed
	Was   string    // hash of the program that the difference was shown against
	Stale []string  // steps that were given a file which has another content now
	By    string
}

// Configure lets a run go on under the configuration in force, to which a person
// has said yes.
type Configure struct{ RunConfigured }

// Checked answers Verify and Prove. It holds one result for every check
// of the step, in their order.
type Checked struct {
	Key    Key
	Checks []CheckEnded
}

// Order is a person's command on a run.
type Order struct {
	Command
	Run string // the one that is meant; "" is whichever is the newest
}

// Reply is a person's answer to an item.
type Reply struct {
	ItemAnswered
	Revise *Revise       // with a yes to a revision: the run as it goes on with it
	Judged *PlanAnswered // with a yes or no to a revision: what the workspace records of it
}

// Draft records a revision of a plan, with its intent where that is new, and
// what the verifier said of it.
type Draft struct {
	Intent *IntentOpened
	PlanDrafted
	Verified PlanVerified
}

// Informed adds the memories that the planner was given to those that the document names.
func (d *Draft) Informed(names []string) {
	all := slices.Concat(d.Memories, names)
	slices.Sort(all)
	d.Memories = slices.Compact(all)
}

// Judgement is a person's, or a policy's, word on a plan revision.
type Judgement struct{ PlanAnswered }

// Filed says that the file of a plan has the text of a revision.
type Filed struct{ PlanFiled }

// Trust is a person's yes to the configuration of the workspace.
type Trust struct{ SettingsApproved }

// Archive takes runs that are over out of the lists, or puts them back.
type Archive struct {
	Runs []string
	Back bool
	By   string
}

func (Begin) Actor() string       { return Harness }
func (i Open) Actor() string      { return i.By }
func (i Revise) Actor() string    { return i.By }
func (i Configure) Actor() string { return i.By }
func (Prepared) Actor() string    { return Harness }
func (Ended) Actor() string       { return Harness }
func (Checked) Actor() string     { return Harness }
func (i Order) Actor() string     { return i.By }
func (i Reply) Actor() string     { return i.By }
func (i Draft) Actor() string     { return i.By }
func (i Judgement) Actor() string { return i.By }
func (Lease) Actor() string       { return Harness }
func (Surveyed) Actor() string    { return Harness }
func (Reported) Actor() string    { return Harness }
func (Expanded) Actor() string    { return Harness }
func (Recall) Actor() string      { return Harness }
func (i Errand) Actor() string    { return i.By }
func (i Withdraw) Actor() string  { return i.By }
func (i Archive) Actor() string   { return i.By }
func (i Filed) Actor() string     { return i.By }
func (i Trust) Actor() string     { return i.By }
func (Written) Actor() string     { return Harness }
func (Heard) Actor() string       { return Harness }

// text is s as a journal can hold it. Bytes that are no UTF-8, such as a tail
// that begins in the middle of a letter, would be read back as others, and a
// replayed state would differ from the one that lived.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Refusal is why an input did not become a fact. The state is unchanged.
type Refusal struct {
	Code    Code
	Message string
	Remedy  string   // what helps, one of the words below, or nothing; a face says how
	With    []string // what the remedy needs: names, values
}

// Remedies, with what comes With them.
const (
	AnswerItem    = "answer_item"    // item
	ApprovePlan   = "approve_plan"   // path
	AtLeast       = "at_least"       // limits
	AwaitEnd      = "await_end"      // run
	AwaitNextRun  = "await_next_run" // which takes the text as it is then
	Choose        = "choose"         // choices
	EndRunFirst   = "end_run_first"
	ExplainAnswer = "explain_answer"
	FitSchema     = "fit_schema" // schema
	GiveReason    = "give_reason"
	GiveText      = "give_text"
	GiveValue     = "give_value" // schema
	LandRun       = "land_run"   // run
	LeaveWork     = "leave_work" // item
	ListItems     = "list_items"
	ListRuns      = "list_runs"
	ListSteps     = "list_steps"
	LookAgain     = "look_again"
	MendErrors    = "mend_errors"
	MergeBranch   = "merge_branch"
	NameOther     = "name_other"
	NameInstance  = "name_instance" // one, for example
	NamePlanner   = "name_planner"
	NameRun       = "name_run"
	NewLimit      = "new_limit" // limits
	NoArgs        = "no_args"
	OpenRun       = "open_run"
	ResumeRun     = "resume_run" // run
	RetryStep     = "retry_step" // step, run
	RetryFrom     = "retry_from" // step, run
	RunAnew       = "run_anew"
	WaitOrCancel  = "wait_or_cancel"
	WriteLimits   = "write_limits" // limits
)

// ShellWord is a text as one word of a command that a person pastes into a shell, which must do
// nothing of what a plan says.
func ShellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("-_./=:@%+,", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Code is the machine's word for a refusal, as command line and pages show it.
type Code string

const (
	Invalid  Code = "invalid"
	Conflict Code = "conflict"
	NotFound Code = "not_found"
	Denied   Code = "denied"
)

func (r *Refusal) Error() string { return r.Message }

// refuse takes a remedy behind the message, where there is one, and what it needs.
func refuse(c Code, message string, remedy ...string) error {
	r := &Refusal{Code: c, Message: message}
	if len(remedy) > 0 {
		r.Remedy, r.With = remedy[0], remedy[1:]
	}
	return r
}
