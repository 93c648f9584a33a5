package plan

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Caps on what [Parse] accepts. They come before any other work, so that no
// text costs more than its size.
const (
	MaxBytes         = 8 << 20  // of a plan's text; more is refused altogether
	MaxLine          = 64 << 10 // bytes of one line
	MaxFrontmatter   = 16 << 10 // bytes between the two --- lines
	MaxDepth         = 8        // nesting in the frontmatter
	MaxSteps         = 10_000   // further steps are not in the tree
	MaxItems         = 10_000   // of one list
	MaxContract      = 64 << 10 // bytes of one contract, check or setup script
	MaxProblems      = 1_000    // further problems are counted, not listed
	DefaultParallel  = 1
	DefaultReplans   = 3
	DefaultRetries   = 2
	DefaultLoops     = 10      // of an `iterations:` label without a number
	DefaultContext   = 150_000 // tokens of a loop without a `context limit:`
	DefaultTimeout   = 10 * time.Minute
	DefaultCheckTime = 60 * time.Second
)

// Pos is a place in the text that the author wrote. Line and Column count from
// 1; a column is a Unicode code point (a tab is one, a byte order mark is
// none). The zero Pos means "not in the text".
type Pos struct {
	Line, Column int
}

// IsValid reports whether p is a place in a text.
func (p Pos) IsValid() bool { return p.Line > 0 }

// Text is a piece of the plan's text. An absent one is the zero Text: a label
// whose value is empty counts as not written (and is a problem).
type Text struct {
	Value string // lines joined by \n, without the line end of the last one
	Lang  string // first word after the opening fence
	Pos   Pos    // of the first character of Value

	// start of each line of Value, zero for one that does not stand in the
	// source; nil when line i starts at {Pos.Line+i, 1}. A step has many texts,
	// and few of them have starts: a slice would make each longer than a line of
	// the processor's cache.
	starts *[]Pos

	Fenced bool // Value is the content of a fenced block, verbatim
}

// IsZero reports whether nothing was written.
func (t Text) IsZero() bool { return t.Value == "" }

// Code is the text without the back-ticks around it where it is one line of
// inline code, and the text itself otherwise: what a shell is given.
func (t Text) Code() Text {
	if t.Fenced || strings.Contains(t.Value, "\n") {
		return t
	}
	if bare := unquoted(t); !bare.IsZero() {
		return bare
	}
	return t
}

// At maps a byte offset in t.Value to the place in the file: what a checker of
// the contract's shell needs to point at the line the author wrote. An offset
// outside of the value is moved to its nearest end; a line that the author did
// not write (in prose of several parts) is where the text begins. The cost is linear in the offset.
func (t Text) At(offset int) Pos {
	if !t.Pos.IsValid() {
		return Pos{}
	}
	before := t.Value[:max(0, min(offset, len(t.Value)))]
	at := t.lineStart(strings.Count(before, "\n"))
	if !at.IsValid() {
		return t.Pos
	}
	return at.After(before[strings.LastIndexByte(before, '\n')+1:])
}

// Field is the value of a label. When the label is absent, or its value could
// not be read (which is a [Problem]), Set is false and Value is the format's default.
type Field[T any] struct {
	Value T
	Set   bool // the plan says so itself
	Pos   Pos  // of the value; zero unless Set by [Parse]
}

// Is returns a field as if the author had written v, for plans made by programs.
func Is[T any](v T) Field[T] { return Field[T]{Value: v, Set: true} }

// Severity says what a problem does to the plan.
type Severity string

const (
	Error   Severity = "error"   // the plan cannot run like this
	Warning Severity = "warning" // it can, but probably not as the author thinks
	Note    Severity = "note"    // worth knowing
)

// Problem is something in the text that the parser did not understand or that
// the format does not allow.
type Problem struct {
	Pos      Pos // always inside the text
	Severity Severity
	Code     string // short, stable, kebab-case: one of the constants below [TooLarge]
	Message  string // what is wrong, in words for the author
	Hint     string // what to write instead; may be empty
}

// Plan is a plan document as a tree. Parse and Format share nothing with the
// bytes they were given; a Plan is safe for concurrent reading.
type Plan struct {
	Name   string // as given to Parse, for messages
	Source []byte // the bytes as given to Parse, which nobody may change

	Front []Key  // the frontmatter in document order
	Title Text   // of the first # heading, without the issue
	Issue string // "423" of a title that ends in (#423)

	Context     Text
	Budget      Field[Budget]
	Priority    Field[string] // critical, high, normal (default), low, idle
	Constraints Field[[]Text]
	Tags        Field[[]Text]
	Complexity  Field[int] // 1 to 10; 0 if absent
	Memories    Field[[]Text]
	Estimate    Field[time.Duration]
	Parallel    Field[int]    // how many steps may run at once, at least 1
	Replans     Field[int]    // revisions that may be made after failures
	Protect     Field[[]Text] // globs that no step may change unless its Writes say so
	Isolation   Field[string] // sealed, fenced; "" asks for nothing
	Permissions Field[string] // as [ParsePermissions] reads them; "" says nothing
	Workspace   Field[string] // shared, worktree; empty: the run's own worktree where agents work and git can make one
	Commit      Field[string] // step, run, none; empty: what the configuration says
	Land        Field[bool]   // default yes; unless set: what the configuration says
	Setup       Text          // shell that prepares a fresh worktree

	Prose Text // of the header, that belongs to no label
	Steps []*Step
	Notes Text // what follows the steps and belongs to none

	Labels []Label // of the header, in document order, unknown ones included

	projected []span // the bytes of Source that Hash leaves out, in order
	marks     []span // where each step's mark is, or would be
	status    span   // value of status in the frontmatter; empty if there is none
}

// Key is one line of the frontmatter. Values are strings only: `status: no` is
// the text "no".
type Key struct {
	Name  string
	Value string // of a scalar; of anything else its YAML text
	Pos   Pos    // of the key
	// Raw is the entry as written, comments included. Format prefers it to
	// Name and Value: whoever changes those must clear it.
	Raw string
}

// Label is a label as the author wrote it.
type Label struct {
	Name  string // canonical name ("on_fail"), or the normalised key of an unknown label
	Meant string // of an unknown label, the one that was probably meant; else ""
	Read  bool   // its value is in the tree; false if unknown, misplaced, repeated or unreadable
	Pos   Pos    // of the label
	Raw   string // from the label to the end of its value, with \n line ends
}

// Budget limits what a run or a step may use. Zero means no limit of that kind.
type Budget struct {
	Tokens     int64
	CostMicros int64 // millionths of a US dollar
	Wall       time.Duration
}

// Mark is the sign in a step's heading that shows its state to the eye. It is
// written by the harness and never read as truth.
type Mark string

const (
	NoMark      Mark = ""
	MarkDone    Mark = "✅"
	MarkFailed  Mark = "❌"
	MarkSkipped Mark = "⏭"
	MarkWaiting Mark = "⏸"
)

// Step is one step of the plan. Every label has its field; see [Field] and
// [Text] for what absent looks like.
type Step struct {
	Pos    Pos // of the heading
	Start  int // the step's bytes in Source are those from Start to End
	End    int
	Number string // as written: "1", "3–7", "3–N", "N+1"
	Mark   Mark
	Title  Text

	ID            Field[string] // if not Set, a slug of the title that is unique in the plan
	Target        Field[string] // agent role; "any" (default) lets the arbiter choose
	Fallback      Field[string] // agent role of the next attempt, once the agent of one has failed; "" if absent
	Needs         Field[[]Text] // numbers or ids; Set and empty for `none`; not Set means the step before
	Subscriptions Field[[]Subscription]
	Task          Text
	Acceptance    Field[[]Text]
	Tool          Field[string]
	Args          Text // JSON or YAML, see Lang
	Plan          Text // path of a sub-plan, or a request in words
	Ask           Text
	Choices       []Text // of Ask
	When          Text
	ForEach       Field[ForEach]
	Batch         Field[int]  // items per instance, at least 1
	AllowEmpty    Field[bool] // of ForEach: no item at all is no question
	Contract      *Contract   // nil if absent
	Checks        Field[[]Check]
	Judge         Text
	Expect        Field[string] // any (default), red, green
	OnFail        Field[OnFail]
	Backoff       Field[time.Duration] // zero for `none`
	Iterations    Field[int]           // not Set means the step is no loop
	ContextLimit  Field[int]           // tokens that all iterations may use together
	Approval      Field[string]        // required, auto, or a reason; "" if absent
	Critical      Field[bool]          // default yes
	Timeout       Field[time.Duration] // of one attempt
	Writes        Field[[]Text]        // globs; Set and empty for `none`; not Set means the whole workspace
	Protect       Field[[]Text]
	Budget        Field[Budget]
	Mode          Field[string] // read, edit (default), full
	Network       Field[string] // yes (default), no, contract, hosts: see [ParseNetwork]
	Env           Field[[]Text] // names of variables
	Workspace     Field[string] // shared (default), worktree
	Setup         Text
	Isolation     Field[string]        // sealed, fenced; "" asks for nothing
	Holds         Field[string]        // run (default), step
	Reveal        Field[string]        // first (default), after-failure
	Rerunnable    Field[bool]          // default yes
	Strong        Field[bool]          // default no
	Schema        Text                 // JSON Schema
	CheckTimeout  Field[time.Duration] // `contract timeout`
	Status        Text                 // a projection, never read back as truth

	Prose  Text    // belongs to no label; no agent gets it
	Labels []Label // in document order, unknown ones included
}

// Subscription is context that a step's agent gets.
type Subscription struct {
	Kind string // file, map, topic, step
	Ref  string
	Pos  Pos
}

// ForEach makes one instance of a step for each item.
type ForEach struct {
	Items []Text
}

// Kind says what the items are: "step" for one $reference to a step's output,
// "glob" for one pattern, else "list".
func (f ForEach) Kind() string {
	switch {
	case len(f.Items) != 1:
		return "list"
	case strings.HasPrefix(f.Items[0].Value, "$") && !strings.HasPrefix(f.Items[0].Value, "$$"):
		return "step"
	case strings.ContainsAny(f.Items[0].Value, "*?[{"):
		return "glob"
	}
	return "list"
}

// Instances is how often the step is done, as far as the plan says: once where
// its items are not listed.
func (s *Step) Instances() int {
	if !s.ForEach.Set || s.ForEach.Value.Kind() != "list" {
		return 1
	}
	items, batch := len(s.ForEach.Value.Items), max(1, s.Batch.Value)
	return max(1, (items+batch-1)/batch)
}

// Contract is the check that decides a step.
type Contract struct {
	Command  Text       // a shell script; Command.At maps places inside it
	ExitCode Field[int] // the wanted exit code, 0 to 255; 0 if absent
}

// Check is one line of the checklist.
type Check struct {
	Name     Text
	Optional bool // need not pass
	Command  Text // absent where it is to be found in the workspace; see [Found]
}

// Found reports a check that may be written without its command: what builds, lints
// and tests a project is found in its files.
func Found(name string) bool { return name == "build" || name == "lint" || name == "test" }

// Failing is what happens after an attempt that did not pass. A loop tries again by
// itself: where its plan says nothing, it is not begun anew.
func (s *Step) Failing() OnFail {
	f := s.OnFail.Value
	if s.Iterations.Set && !s.OnFail.Set {
		f.Retries = 0
	}
	return f
}

// OnFail is what happens after an attempt that did not pass.
type OnFail struct {
	Retries int    // more attempts after the first
	Then    string // escalate, abort, skip, replan
}

// Words of [OnFail].Then.
const (
	Escalate = "escalate"
	Abort    = "abort"
	Skip     = "skip"
	Replan   = "replan"
)

// New returns a plan with the format's defaults and no steps.
func New(title string) *Plan {
	p := withDefaults()
	p.Title = Text{Value: title}
	p.Front = []Key{{Name: "type", Value: "plan"}, {Name: "status", Value: "draft"}, {Name: "owner", Value: "orchestrator"}}
	return p
}

func withDefaults() *Plan {
	return &Plan{
		Priority: Field[string]{Value: "normal"},
		Parallel: Field[int]{Value: DefaultParallel}, Land: Field[bool]{Value: true},
		Replans: Field[int]{Value: DefaultReplans},
	}
}

// NewStep returns a step with the format's defaults. Its ID is empty until
// [Plan.AssignIDs].
func NewStep(number, title string) *Step {
	s := new(Step) // large: filled in place, for its copy would cost as much as reading a step
	s.Number, s.Title.Value = number, title
	s.Target.Value = "any"
	s.Batch.Value = 1
	s.Expect.Value = "any"
	s.OnFail.Value = OnFail{DefaultRetries, Escalate}
	s.Critical.Value = true
	s.Timeout.Value = DefaultTimeout
	s.Mode.Value = "edit"
	s.Network.Value = "yes"
	s.Workspace.Value = "shared"
	s.Holds.Value = "run"
	s.Reveal.Value = "first"
	s.Rerunnable.Value = true
	s.CheckTimeout.Value = DefaultCheckTime
	return s
}

// Key returns the first frontmatter entry of that name.
func (p *Plan) Key(name string) (Key, bool) {
	for _, k := range p.Front {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// Status is the status that the frontmatter shows: a projection, never truth.
func (p *Plan) Status() string {
	k, _ := p.Key("status")
	return k.Value
}

// Owner is the agent role that the frontmatter names.
func (p *Plan) Owner() string {
	k, _ := p.Key("owner")
	return k.Value
}

// DocumentName reports whether a path or name ends as that of a plan document does.
func DocumentName(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".yaml", ".yml", ".json"}, path.Ext(name))
}
