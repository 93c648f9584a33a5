package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// SubPlan is the plan that a step is delegated to: its document, and what was
// approved of it together with the plan that the step is of. Nothing was of a
// document that is made during the run: a person is asked about that.
type SubPlan struct {
	Path    string `json:"path"`              // of the document, relative to the workspace
	Title   string `json:"title,omitempty"`   // of the plan
	Hash    string `json:"hash,omitempty"`    // of its text and of all that it delegates to
	Own     string `json:"own,omitempty"`     // of its text alone
	Source  string `json:"source,omitempty"`  // object: the document's bytes
	Program string `json:"program,omitempty"` // object
	Budget  Amount `json:"budget,omitzero"`   // of its own
}

// Pinned reports whether the document was approved together with the plan.
func (c *SubPlan) Pinned() bool { return c.Program != "" }

// Parent says which step of which run a run carries out.
type Parent struct {
	Task string `json:"task"`
	Run  string `json:"run"`
	Step string `json:"step"`
	Item string `json:"item,omitempty"` // what the step was made for, for people: one short line
}

// Opening is the run of a sub-plan, ready to be opened with the dispatch of the
// step that is delegated to it.
type Opening struct {
	Run     string // its id, which no other run has
	Plan    SubPlan
	Program *Program
	Agents  map[string]string // configurations that it uses beside those of the run above
	Base    string            // object: the protected files as they are
}

// Ending is how the run of a sub-plan ended.
type Ending struct {
	Status    Status            `json:"status"`
	Proven    int               `json:"proven"`
	Unproven  int               `json:"unproven"`
	Waived    int               `json:"waived,omitempty"`
	Skipped   int               `json:"skipped,omitempty"`
	Spent     Amount            `json:"spent,omitzero"`      // of the grant
	Unmetered int               `json:"unmetered,omitempty"` // attempts that did not say what they used
	Moved     map[string]string `json:"moved,omitempty"`     // protected paths that its steps were allowed to change
}

// proves reports whether the run left nothing without a proof.
func (e *Ending) proves() bool {
	return e.Status == Done && e.Proven > 0 && e.Unproven == 0 && e.Waived == 0
}

// Recall says that a run is not wanted any more by the step that it carries out.
type Recall struct{ Why string }

// ChildTask is the task of a step that is delegated, by the task that the step is of.
func ChildTask(task, step string) string { return task + "/" + step }

// validChild checks what only a step that is delegated has.
func (s *Step) validChild() error {
	switch c := s.Child; {
	case s.Kind != Delegate && (c != nil || len(s.Protects) > 0):
		return fmt.Errorf("a step for %s is delegated", s.Kind)
	case s.Kind != Delegate:
		return nil
	case c == nil || c.Path == "":
		return errors.New("is delegated to nothing")
	case c.Pinned() && (c.Hash == "" || c.Own == "" || c.Source == ""):
		return errors.New("is delegated to a plan that is half pinned")
	case !c.Budget.valid():
		return errors.New("is delegated with a budget below nothing")
	case s.Worktree || len(s.Writes) > 0:
		return errors.New("is delegated, and has a scope or a worktree: those of its plan have theirs")
	case strings.Contains(s.ID, "/"):
		return errors.New("is delegated, and has a slash in its id")
	case s.Schema != "":
		return errors.New("is delegated, and has a schema: a run puts nothing out")
	case s.Holds && len(s.Checks) == 0:
		return errors.New("has nothing that could be proven again")
	}
	return nil
}

// shows reports whether what the step does is looked at before it is dispatched,
// and shown to a person who is asked for a yes.
func (s *Step) shows() bool { return s.Kind == Tool || s.Kind == Delegate }

// delegates fills in what a dispatch says of the run that it opens.
func (s *State) delegates(i int, in Prepared, d *WorkDispatched) error {
	if s.prog.Step(i).Kind != Delegate {
		return nil
	}
	o := in.Child
	if o == nil || o.Run == "" || o.Program == nil || o.Plan.Own == "" {
		return refuse(Invalid, in.Key.String()+" does not say which run it opens")
	}
	d.Child = o.Run
	return nil
}

// Opens is what opens the run of a sub-plan, once the dispatch d of its step has
// been applied: a revision for the workspace, and the run for the child's task.
func (s *State) Opens(d WorkDispatched, o Opening) (Draft, Open) {
	r := s.run.Opened
	i, _ := s.prog.Index(d.Step) // it was dispatched
	step := s.prog.Step(i)
	task := ChildTask(s.task, d.Step)
	intent := intentOf(task)
	draft := Draft{
		Intent: &IntentOpened{ID: intent, Parent: intentOf(s.task), Prompt: step.intent(), Path: o.Plan.Path},
		PlanDrafted: PlanDrafted{
			Plan: r.Plan + "/" + d.Step, Version: r.Version, Intent: intent, Path: o.Plan.Path, Title: o.Program.Title(),
			Source: o.Plan.Source, Hash: o.Plan.Own, Parent: r.Plan, By: Harness,
		},
		Verified: PlanVerified{OK: true},
	}
	run := RunOpened{
		Run: o.Run, Plan: draft.Plan, Version: r.Version, Title: o.Program.Title(), Path: o.Plan.Path, PlanHash: o.Plan.Own, Source: o.Plan.Source,
		Program: o.Program.Hash(), Compiled: o.Program, Config: r.Config, Agents: overlaid(r.Agents, o.Agents), Policy: r.Policy,
		Workspace: r.Workspace, Isolation: r.Isolation, Unsealed: r.Unsealed, Base: o.Base,
		Parent: Parent{Task: s.task, Run: r.Run, Step: d.Step, Item: step.itemLine()}, Item: s.item(i), Grant: d.Reserve,
		Protects: slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Protects, step.Protects)))),
		Within:   s.within(),
	}
	return draft, Open{Task: &TaskOpened{Task: task, Intent: intent, Parent: s.task, Origin: d.Step}, Run: run, By: Harness}
}

// intent is what the plan of a step that is delegated is to come to.
func (s *Step) intent() string {
	if strings.HasPrefix(s.Title, s.Task) {
		return s.Title
	}
	return s.Title + "\n\n" + s.Task
}

// item is what scripts, checks and agents of step i find as [ItemVariable]: the
// step's own item, else that of the run; nothing where there is none.
func (s *State) item(i int) json.RawMessage {
	if own := s.prog.Step(i).Item; len(own) > 0 {
		return own
	}
	return s.run.Opened.Item
}

// guards are those of all steps of the run, with what the runs above protect.
func (s *State) guards() []string {
	if len(s.run.Opened.Protects) == 0 {
		return s.prog.Guards()
	}
	return slices.Concat(s.prog.Guards(), s.run.Opened.Protects)
}

// overlaid has what is in both, and of the same name what is in the second.
func overlaid(a, b map[string]string) map[string]string {
	if a == nil {
		return maps.Clone(b)
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// intentOf is the intent of a task.
func intentOf(task string) string { return "i-" + strings.TrimPrefix(task, "t-") }

// Delegated reports whether a run of its own carries out the work of this key.
func (s *State) Delegated(k Key) bool {
	i, ok := s.prog.Index(k.Step)
	return ok && k.Kind == Work && s.steps[i].Live && s.steps[i].Kind == ChildWork
}

// Delegation is the work of a step that a run of its own carries out.
type Delegation struct {
	Key    Key
	Task   string // of that run
	Run    string
	Wanted bool // else that run is to end
}

// Delegations lists the runs that carry out steps of this one and whose end is
// not in its journal. The cost is that of the steps under way.
func (s *State) Delegations() []Delegation {
	var all []Delegation
	for _, i := range s.active {
		st := &s.steps[i]
		if !st.Live || st.Kind != ChildWork {
			continue
		}
		_, wanted := s.wants(i)
		all = append(all, s.delegation(s.prog.Step(i).ID, st.Attempt, st.N, st.Child, wanted))
	}
	for _, l := range s.run.Leaving {
		if l.Kind == ChildWork {
			all = append(all, s.delegation(l.Step, l.Attempt, l.N, l.Child, false))
		}
	}
	return all
}

func (s *State) delegation(step string, attempt, n int, run string, wanted bool) Delegation {
	k := Key{Task: s.task, Run: s.run.Opened.Run, Step: step, Attempt: attempt, Kind: Work, N: n}
	return Delegation{Key: k, Task: ChildTask(s.task, step), Run: run, Wanted: wanted}
}

// foreign reports whether the work was started by an owner that is gone. A run
// of its own goes on under the next one.
func (s *State) foreign(st *step) bool { return st.Live && st.Epoch != s.epoch && st.Kind != ChildWork }

// Ended is the end of the work that this run, which has ended, carried out for a
// step of another one. The caller gives it its key, and the output.
func (s *State) Ended() WorkEnded {
	r := &s.run
	e := WorkEnded{
		Kind: ChildWork, How: Exited, Exit: r.Exit, Ms: r.Used.Work.Ran.Milliseconds(),
		Usage: Usage{In: new(r.TokensIn), Out: new(r.TokensOut), CostMicros: new(r.CostMicros)},
		Ending: &Ending{
			Status: r.Status, Proven: r.Proven, Unproven: r.Unproven, Waived: r.Waived, Skipped: r.Skipped,
			Spent: r.Used.Spent, Unmetered: max(0, r.Unmetered-r.Excused), Moved: r.Moved,
		},
	}
	if r.Status != Done {
		e.Reason = strings.TrimSuffix(fmt.Sprintf("run %s of %s is %s: %s", r.Opened.Run, r.Opened.Path, r.Status, r.Reason), ": ")
		e.Exit = max(1, e.Exit)
	}
	return e
}

// Summary is what a run puts out for the step that it carries out: how it ended,
// and what its steps put out. output returns an object; what it does not have, or
// what would make the summary longer than 1 MiB, is named in left_out.
func (s *State) Summary(output func(hash string) ([]byte, bool)) []byte {
	r := &s.run
	sum := summary{
		Run: r.Opened.Run, Plan: r.Opened.Path, Status: r.Status, Steps: len(s.steps),
		Proven: r.Proven, Unproven: r.Unproven, Waived: r.Waived, Skipped: r.Skipped, Outputs: map[string]json.RawMessage{},
	}
	room := MaxOutput - 64<<10
	for i := range s.steps {
		st, p := &s.steps[i], s.prog.Step(i)
		switch st.Status {
		case Done:
			sum.Done++
		case Failed:
			sum.Failed++
		}
		if st.Output == "" || !st.satisfied() {
			continue
		}
		value, ok := outputValue(output, st.Output)
		if room -= len(value) + len(p.ID) + 8; !ok || room < 0 {
			sum.LeftOut = append(sum.LeftOut, p.ID)
			room += len(value)
			continue
		}
		sum.Outputs[p.ID] = value
	}
	if len(sum.LeftOut) > maxLeftOut {
		sum.LeftOut = append(sum.LeftOut[:maxLeftOut], "…")
	}
	body, _ := json.Marshal(sum) // plain data: it always marshals
	return body
}

// maxLeftOut is how many steps are named whose output has no room.
const maxLeftOut = 100

func outputValue(output func(string) ([]byte, bool), hash string) (json.RawMessage, bool) {
	body, ok := output(hash)
	if !ok {
		return nil, false
	}
	v, err := ValueOf(body)
	if err != nil {
		return nil, false
	}
	value, err := EncodeValue(v)
	return value, err == nil
}

type summary struct {
	Run      string                     `json:"run"`
	Plan     string                     `json:"plan"`
	Status   Status                     `json:"status"`
	Steps    int                        `json:"steps"`
	Done     int                        `json:"done"`
	Failed   int                        `json:"failed"`
	Proven   int                        `json:"proven"`
	Unproven int                        `json:"unproven"`
	Waived   int                        `json:"waived"`
	Skipped  int                        `json:"skipped"`
	Outputs  map[string]json.RawMessage `json:"outputs"`
	LeftOut  []string                   `json:"left_out,omitempty"`
}

// admitRecall cancels the run on the word of the one above it.
func (s *State) admitRecall(in Recall) ([]Event, error) {
	switch {
	case s.run.Opened.Parent == (Parent{}):
		return nil, refuse(Denied, "only the run of a sub-plan can be recalled")
	case !s.run.Live || s.run.Cancelled:
		return nil, refuse(Conflict, "run "+s.run.Opened.Run+" is over, or ends")
	}
	return []Event{Command{Verb: DoCancel, Why: text(in.Why), By: Harness}}, nil
}

// refuseChild refuses to take a run up again whose end the run above has, and to
// let it go on with another text than was approved there.
func (s *State) refuseChild() error {
	p := s.run.Opened.Parent
	if p == (Parent{}) || s.run.Live {
		return nil
	}
	return refuse(Conflict, fmt.Sprintf("run %s is over: it was carried out for step %q of run %s", s.run.Opened.Run, p.Step, p.Run),
		RetryStep, p.Step, p.Run)
}

// grant is what a step that is delegated sets aside of each kind that the run
// limits, where it has no budget of its own: what its plan asks for, else all
// that is left.
func (s *State) grant(i int, now time.Time) Amount {
	left, own := s.Budget().Left(now), s.prog.Step(i).Child.Budget
	return Amount{
		Tokens: cmp.Or(own.Tokens, left.Tokens), CostMicros: cmp.Or(own.CostMicros, left.CostMicros), Wall: cmp.Or(own.Wall, left.Wall),
	}
}

// narrower takes the smaller limit of each kind; none is the larger.
func narrower(a, b Amount) Amount {
	return Amount{Tokens: lesser(a.Tokens, b.Tokens), CostMicros: lesser(a.CostMicros, b.CostMicros), Wall: lesser(a.Wall, b.Wall)}
}

func lesser[T int64 | time.Duration](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
