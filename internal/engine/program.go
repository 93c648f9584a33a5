package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of a program. They keep outside data from asking for more than a
// machine can hold; a plan document has tighter ones.
const (
	MaxSteps    = 200_000
	MaxAttempts = 1_000
)

// Kind says who does the work of a step.
type Kind string

const (
	Agent  Kind = "agent"  // a coding agent gets a prompt
	Script Kind = "script" // the task itself is a shell script
	Ask    Kind = "ask"    // the task is a question to a person, and the answer the output
	Tool   Kind = "tool"   // a tool is called

	Delegate Kind = "plan" // the task is a plan of its own, which a run of its own carries out

	Landing Kind = "merge" // the worktree of the whole run is merged; no plan writes such a step
)

// Expect says what a contract must answer before the work, so that its answer
// after the work proves something.
type Expect string

const (
	ExpectAny   Expect = "any"   // recorded; the step counts as unproven if it passed before too
	ExpectRed   Expect = "red"   // must fail first
	ExpectGreen Expect = "green" // an invariant: holds before and after
)

// Then is what happens when no retry is left.
type Then string

const (
	Escalate Then = "escalate" // a person decides
	Abort    Then = "abort"    // the run fails at once
	Skip     Then = "skip"     // the step is skipped; what needs it is blocked
	Replan   Then = "replan"   // a new revision is asked for; escalates where there is no planner
)

// OnFail is a step's policy after an attempt that did not pass.
type OnFail struct {
	Retries int  `json:"retries"` // more attempts after the first
	Then    Then `json:"then"`
}

// Check is a command that the harness runs in a process of its own to decide
// whether a step is done. The contract of a step is the check named "contract".
type Check struct {
	Name    string `json:"name"`
	Command string `json:"command"` // a script for bash --noprofile --norc -c
	// Question is what a model is asked of the evidence, in the place of a command,
	// once all that is required has passed: of the last check.
	Question string `json:"question,omitempty"`
	Exit     int    `json:"exit"` // the wanted exit code, 0–255
	Required bool   `json:"required"`
}

// Contract is the name of the check that a step's contract becomes, and Judge that of
// the one in which a model reads the evidence.
const (
	Contract = "contract"
	Judge    = "judge"
)

// Subscription is context that an agent gets with its task.
type Subscription struct {
	Kind string `json:"kind"` // file, map, topic, step
	Ref  string `json:"ref"`
}

// Step is one compiled step of a program. It is immutable once the program is made.
type Step struct {
	ID            string         `json:"id"`
	Number        string         `json:"number"` // as the plan's author wrote it, for people
	Title         string         `json:"title"`
	Kind          Kind           `json:"kind"`
	Role          string         `json:"role,omitempty"`     // name of the agent's configuration; where the plan leaves it open, of the default one
	Target        string         `json:"target,omitempty"`   // what the plan asked for
	Fallback      string         `json:"fallback,omitempty"` // who does the next attempt, once the agent of one has failed
	Needs         []int          `json:"needs,omitempty"`    // indexes of earlier or later steps; the graph has no cycle
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Task          string         `json:"task"`
	Acceptance    []string       `json:"acceptance,omitempty"`
	Checks        []Check        `json:"checks,omitempty"` // the contract first, where there is one
	Expect        Expect         `json:"expect"`
	OnFail        OnFail         `json:"on_fail"`
	Backoff       time.Duration  `json:"backoff,omitempty"` // grows linearly: n-th retry waits n × Backoff
	Critical      bool           `json:"critical"`
	Approval      string         `json:"approval,omitempty"` // reason why a person must say yes; empty = none asked
	Timeout       time.Duration  `json:"timeout"`            // of one attempt
	CheckTimeout  time.Duration  `json:"check_timeout"`      // of one check
	Holds         bool           `json:"holds"`              // proved again at the end of the run
	Rerunnable    bool           `json:"rerunnable"`         // its checks may run more than once
	Hidden        bool           `json:"hidden,omitempty"`   // an agent is told of its checks only once they have failed
	Strong        time.Duration  `json:"strong,omitempty"`   // its checks must see what it changes; how long they are asked for the parts of that
	Mode          string         `json:"mode"`               // read, edit, full
	Network       string         `json:"network"`            // yes, no, contract, hosts
	Isolation     string         `json:"isolation,omitempty"`
	Env           []string       `json:"env,omitempty"`     // names the harness passes on
	Writes        []string       `json:"writes,omitempty"`  // explicit scope; empty = the whole workspace
	Guards        []string       `json:"guards,omitempty"`  // paths and globs whose content must not change; "#part" after a manifest's name counts only that part
	Choices       []string       `json:"choices,omitempty"` // of a question
	Schema        string         `json:"schema,omitempty"`  // of the output, or of the answer to a question; JSON Schema
	When          string         `json:"when,omitempty"`    // the step runs only if this holds; see [ParseCondition]
	Reads         []string       `json:"reads,omitempty"`   // ids of steps whose output its scripts and checks get in their environment
	Budget        Amount         `json:"budget,omitzero"`   // of all attempts of the step
	// Iterations makes the step a loop: that many attempts at most, one after the
	// other, each by a fresh agent, until the checks pass. It ends before that once
	// they used Context tokens together; 0 is without such a limit.
	Iterations int        `json:"iterations,omitempty"`
	Context    int64      `json:"context,omitempty"`
	Omitted    []Omission `json:"omitted,omitempty"`
	Worktree   bool       `json:"worktree,omitempty"` // works in a git worktree of its own, which the harness merges
	Setup      string     `json:"setup,omitempty"`    // a script that prepares the worktree before the first attempt
	Leave      bool       `json:"leave,omitempty"`    // of the merge of the run's worktree: the work stays on the branch of the run
	Commit     Commits    `json:"commit,omitempty"`   // of the merge of the run's worktree: what is recorded on the branch of the run
	// Tool is the name of the tool that the step calls, and Args an object with
	// its arguments, in which a string may be a [Ref].
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
	// Each makes the step the pattern of instances, which a run appends behind
	// the steps of the program. Item is what an instance was made for, as JSON.
	Each *Each           `json:"each,omitempty"`
	Item json.RawMessage `json:"item,omitempty"`
	// Named are the scopes of the pattern of an instance, as its plan says them.
	Named []string `json:"-"`
	// Child is the plan that the step is delegated to, and Protects the paths and
	// globs that no step of its run may change, whatever the writes of that.
	Child    *SubPlan `json:"child,omitempty"`
	Protects []string `json:"protects,omitempty"`
}

// Exclusive reports whether the step takes the whole workspace: an agent with
// no explicit scope, which never works beside another agent in a shared tree.
func (s *Step) Exclusive() bool { return s.Kind == Agent && len(s.Writes) == 0 }

// Opens lists the scopes that let the step change protected files: those that
// its plan names. One of wildcards alone, as `**`, names nothing and says no more
// than no scope at all; one that an item was put into is what nobody has approved.
func (s *Step) Opens() []string {
	from := s.Writes
	if len(s.Item) > 0 {
		from = s.Named
	}
	return slices.DeleteFunc(slices.Clone(from), func(w string) bool {
		return strings.Contains(w, ItemMark) || strings.Trim(w, "*./") == ""
	})
}

// Checkable reports whether anything the harness runs decides the step.
func (s *Step) Checkable() bool { return len(s.Checks) > 0 }

// Definition is the content of a program: what [NewProgram] checks and pins.
type Definition struct {
	Plan  string `json:"plan"` // id of the revision
	Title string `json:"title"`
	// Context is what whoever works has to know, in words; agents are told.
	Context string `json:"context,omitempty"`
	// Constraints hold for every step, in words; agents are told.
	Constraints []string `json:"constraints,omitempty"`
	// Permissions say what follows when an agent asks whether it may do something.
	Permissions string `json:"permissions,omitempty"`
	// Tags are the plan's own words for what it is about.
	Tags []string `json:"tags,omitempty"`
	// Agents are those that do what leaves it open who does it, by name.
	Agents   []Candidate `json:"agents,omitempty"`
	Parallel int         `json:"parallel"`          // how many steps may run at once, at least 1
	Replans  int         `json:"replans,omitempty"` // how many revisions may be made because steps fail
	Priority Priority    `json:"priority,omitzero"`
	Budget   Amount      `json:"budget,omitzero"` // of the run
	Steps    []Step      `json:"steps"`
}

// Program is a plan that has been verified and compiled: the only form the
// machine runs. Its fields cannot be changed; a Program is safe for concurrent use.
type Program struct {
	def     Definition
	body    []byte
	by      map[string]int
	deps    [][]int    // dependents by index
	names   [][]string // ids of needs by index
	classes classes
	when    map[int]*Condition
	inline  map[int]bool // steps whose outputs are kept with the records
	hash    string
	guards  []string      // of all steps, each once
	refers  [][]string    // by index: ids of the steps that arguments refer to
	landing int           // 1 + the index of the step that merges the run's worktree
	suits   map[int][]int // by step that leaves it open who does it: how well it suits each of the agents

	base  *Program      // what a run let grow into this one, nil for a program as it was compiled
	of    []int         // patterns of the instances behind the steps of base
	parts map[int][]int // instances by their pattern
}

// NewProgram checks the invariants every run rests on: at least one step,
// unique ids, needs inside the program and free of cycles, known words, sane
// numbers. Only the verifier calls it, and [DecodeProgram] for what it once made.
func NewProgram(d Definition) (*Program, error) {
	body, err := json.Marshal(d)
	if err == nil && bytes.Contains(body, []byte(`\ufffd`)) {
		// A text that is no UTF-8 reads back as another: hash that one.
		if d, err = decodeDefinition(body); err == nil {
			body, err = json.Marshal(d)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("encode program: %w", err)
	}
	return newProgram(d, body)
}

func newProgram(d Definition, body []byte) (*Program, error) {
	p := &Program{def: d, body: body, by: make(map[string]int, len(d.Steps)), deps: make([][]int, len(d.Steps))}
	if err := p.index(); err != nil {
		return nil, err
	}
	if d.Priority.rank() < 0 {
		return nil, fmt.Errorf("there is no priority %q", d.Priority)
	}
	p.hash = digest(body)
	p.classes = classify(d.Steps)
	p.weigh()
	p.names = make([][]string, len(d.Steps))
	for i := range d.Steps {
		for _, n := range d.Steps[i].Needs {
			p.names[i] = append(p.names[i], d.Steps[n].ID)
		}
	}
	return p, nil
}

func decodeDefinition(body []byte) (d Definition, err error) {
	err = json.Unmarshal(body, &d)
	return d, err
}

func (p *Program) index() error {
	d := &p.def
	switch {
	case len(d.Steps) == 0:
		return errors.New("program has no steps")
	case len(d.Steps) > MaxSteps:
		return fmt.Errorf("program has %d steps; at most %d are allowed", len(d.Steps), MaxSteps)
	case !d.Budget.valid():
		return errors.New("program has a budget below nothing")
	case d.Replans < 0:
		return errors.New("program allows less than no replans")
	case d.Parallel < 1:
		return fmt.Errorf("program allows %d steps at once; at least 1 is needed", d.Parallel)
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		if err := s.valid(); err != nil {
			return fmt.Errorf("step %q: %w", s.ID, err)
		}
		if len(s.Item) > 0 {
			return fmt.Errorf("step %q has an item, which only a run gives", s.ID)
		}
		if _, twice := p.by[s.ID]; twice {
			return fmt.Errorf("step %q occurs twice", s.ID)
		}
		p.by[s.ID] = i
		for _, n := range s.Needs {
			if n < 0 || n >= len(d.Steps) || n == i {
				return fmt.Errorf("step %q needs step index %d, which is not another step", s.ID, n)
			}
			p.deps[n] = append(p.deps[n], i)
		}
	}
	p.guards = d.guards()
	if err := errors.Join(p.readable(), p.refer(), p.eaches(), p.lands()); err != nil {
		return err
	}
	if err := p.conditions(); err != nil {
		return err
	}
	return p.acyclic()
}

func (d *Definition) guards() []string {
	seen := map[string]bool{}
	var all []string
	for i := range d.Steps {
		for _, g := range d.Steps[i].Guards {
			if !seen[g] {
				seen[g] = true
				all = append(all, g)
			}
		}
	}
	return all
}

func (p *Program) acyclic() error {
	if len(p.order()) != len(p.def.Steps) {
		return errors.New("the steps' needs form a cycle")
	}
	return nil
}

// order lists the steps so that each stands behind what it needs. Those on a
// cycle, and behind one, are left out.
func (p *Program) order() []int {
	open := make([]int, len(p.def.Steps))
	var free []int
	for i := range p.def.Steps {
		if open[i] = len(p.def.Steps[i].Needs); open[i] == 0 {
			free = append(free, i)
		}
	}
	all := make([]int, 0, len(open))
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		all = append(all, i)
		for _, d := range p.deps[i] {
			if open[d]--; open[d] == 0 {
				free = append(free, d)
			}
		}
	}
	return all
}

func (s *Step) valid() error {
	switch {
	case s.ID == "":
		return errors.New("has no id")
	case s.Kind != Agent && s.Kind != Script && s.Kind != Ask && s.Kind != Tool && s.Kind != Delegate && s.Kind != Landing:
		return fmt.Errorf("unknown kind %q", s.Kind)
	case s.Expect != ExpectAny && s.Expect != ExpectRed && s.Expect != ExpectGreen:
		return fmt.Errorf("unknown expect %q", s.Expect)
	case s.OnFail.Then != Escalate && s.OnFail.Then != Abort && s.OnFail.Then != Skip && s.OnFail.Then != Replan:
		return fmt.Errorf("unknown on_fail %q", s.OnFail.Then)
	case s.OnFail.Retries < 0 || s.OnFail.Retries >= MaxAttempts:
		return fmt.Errorf("%d retries; 0 to %d are allowed", s.OnFail.Retries, MaxAttempts-1)
	case s.Timeout <= 0 || s.CheckTimeout <= 0:
		return errors.New("has no timeout")
	case !s.Budget.valid():
		return errors.New("has a budget below nothing")
	case s.Backoff < 0:
		return errors.New("has a negative backoff")
	case s.Fallback != "" && s.Kind != Agent:
		return errors.New("has a fallback, and no agent does it")
	}
	if err := errors.Join(s.validTool(), s.validChild(), s.validSchema(), s.validLoop()); err != nil {
		return err
	}
	if s.Each != nil {
		if err := s.validEach(); err != nil {
			return err
		}
	}
	switch s.Kind {
	case Ask:
		return s.validAsk()
	case Landing:
		return s.validLanding()
	}
	return s.validChecks()
}

func (s *Step) validChecks() error {
	required := false
	_, judged := s.Judge()
	names := map[string]bool{}
	for n, c := range s.Checks {
		switch {
		case (c.Name == Judge) != (c.Question != ""), c.Name == Judge && (c.Command != "" || !c.Required || c.Exit != 0 || n != len(s.Checks)-1):
			return errors.New("has a judge that is not its last check, or another check with a question")
		case c.Name == Judge:
			continue // which proves nothing alone
		case c.Name == "" || c.Command == "":
			return errors.New("has a check without name or command")
		case names[c.Name]:
			return fmt.Errorf("has two checks named %q", c.Name)
		case c.Exit < 0 || c.Exit > 255:
			return fmt.Errorf("check %q wants exit code %d; 0 to 255 exist", c.Name, c.Exit)
		}
		names[c.Name] = true
		required = required || c.Required
	}
	if !required && judged {
		return errors.New("has no required check but a judge, which proves nothing alone")
	}
	if !required && !s.shows() {
		return errors.New("has no contract and no required check, so nothing could prove it")
	}
	if s.Strong != 0 && (s.Strong < 0 || s.Kind != Agent && s.Kind != Script || !s.Rerunnable || s.Expect == ExpectGreen) {
		return errors.New("is strong, and what it changes cannot be taken back, or its checks not be asked then")
	}
	return nil
}

// DecodeProgram reads what [Program.Encode] wrote and checks it again. The
// program keeps body, which the caller must not change.
func DecodeProgram(body []byte) (*Program, error) {
	d, err := decodeDefinition(body)
	if err != nil {
		return nil, fmt.Errorf("decode program: %w", err)
	}
	return newProgram(d, body)
}

// Encode returns the program's bytes, whose SHA-256 is [Program.Hash]. The
// caller must not change them.
func (p *Program) Encode() []byte { return p.body }

// Hash identifies the program by its content.
func (p *Program) Hash() string { return p.hash }

// Plan is the id of the plan revision the program was compiled from.
func (p *Program) Plan() string { return p.def.Plan }

// Title is the plan's title.
func (p *Program) Title() string { return p.def.Title }

// Parallel is how many steps the plan allows at once.
func (p *Program) Parallel() int { return p.def.Parallel }

// Priority is the place of the run among those that want the same part of the workspace.
func (p *Program) Priority() Priority { return p.def.Priority }

// Replans is how many revisions of the plan may be made because steps fail.
func (p *Program) Replans() int { return p.def.Replans }

// Budget limits the run.
func (p *Program) Budget() Amount { return p.def.Budget }

// Len is the number of steps.
func (p *Program) Len() int { return len(p.def.Steps) }

// Offline reports a step of which nothing is to reach a network.
func (s *Step) Offline() bool { return s.Network == "no" }

// Hosts are those that a step may ask, where it may not ask all.
func (s *Step) Hosts() []string {
	switch hosts := strings.TrimPrefix(s.Network, "contract, "); hosts {
	case "", "yes", "no", "contract", "*":
		return nil
	default:
		return strings.Split(hosts, ", ")
	}
}

// ChecksReach reports a step whose contract and checks may use the network too.
func (s *Step) ChecksReach() bool {
	return s.Network == "contract" || strings.HasPrefix(s.Network, "contract, ")
}

// Step returns the i-th step, which the caller must not change.
func (p *Program) Step(i int) *Step { return &p.def.Steps[i] }

// Index finds a step by id.
func (p *Program) Index(id string) (int, bool) {
	i, ok := p.by[id]
	return i, ok
}

// Guards returns what any step protects, each once. The caller must not change it.
func (p *Program) Guards() []string { return p.guards }

// Dependents returns the indexes of the steps that need step i.
func (p *Program) Dependents(i int) []int { return p.deps[i] }
