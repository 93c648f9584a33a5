package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Target is a file that a call would change, as it is before.
type Target struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"` // SHA-256 in hex; "" is no file
}

// Preview is what the harness saw when it looked at a call before it is made.
type Preview struct {
	Args    string   `json:"args,omitempty"`   // object: the arguments, with what references mean in place of them
	Effect  string   `json:"effect,omitempty"` // what the call does to the world, in the registry's word
	Must    bool     `json:"must,omitempty"`   //  a person says yes to this very call, whatever they approved
	Low     bool     `json:"low,omitempty"`    // low risk; see [Risk]
	Reason  string   `json:"reason,omitempty"` // why it asks, or is not of low risk
	Targets []Target `json:"targets,omitempty"`
	Hash    string   `json:"hash,omitempty"`
	Context string   `json:"context,omitempty"` // for people: the arguments, and what would be lost
	Refused string   `json:"refused,omitempty"` // why the call cannot be made at all
}

// Risk says why a call is not of low risk, "" if it is. Of low risk is a call that only
// looks, that makes a new file inside an explicit scope, or that runs a held command: one
// without network that can change nothing outside of the scope. effect is the registry's
// word. loose says why the system does not hold a command so, "" if it does.
func Risk(effect string, writes []string, loose string) string {
	switch {
	case effect == "read", effect == "create" && len(writes) > 0:
		return ""
	case effect == "create":
		return "it makes a file, and has no `writes:`"
	case effect == "command":
		return loose
	}
	return fmt.Sprintf("it has the effect %s", effect)
}

// PreviewMade says what a call would do. The call is dispatched in the same
// transaction, or somebody is asked, or it is refused.
type PreviewMade struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Preview
	Asks string `json:"asks,omitempty"` // why a person must say yes; "" if nobody must
}

// goes reports whether the call may be made as things stand.
func (e PreviewMade) goes() bool { return e.Refused == "" && e.Asks == "" }

// validTool checks what only a step that calls a tool has.
func (s *Step) validTool() error {
	if s.Kind != Tool {
		if s.Tool != "" || len(s.Args) > 0 {
			return fmt.Errorf("a step for %s calls a tool", s.Kind)
		}
		return nil
	}
	if s.Tool == "" {
		return errors.New("names no tool")
	}
	if s.Worktree {
		return errors.New("calls a tool in a worktree, which no tool works in")
	}
	if s.Holds && len(s.Checks) == 0 {
		return errors.New("has nothing that could be proven again")
	}
	v, err := s.arguments()
	if _, object := v.(map[string]any); err == nil && !object {
		err = errors.New("they are no object")
	}
	if err != nil {
		return fmt.Errorf("has arguments that cannot be used: %w", err)
	}
	return nil
}

func (s *Step) arguments() (any, error) {
	if len(s.Args) == 0 {
		return map[string]any{}, nil
	}
	return DecodeValue(s.Args)
}

// refers lists the steps that a step's arguments refer to, by id.
func (s *Step) refers() []string {
	if s.Kind != Tool {
		return nil
	}
	v, err := s.arguments()
	if err != nil {
		return nil
	}
	var ids []string
	for _, r := range Refs(v) {
		if !slices.Contains(ids, r.Step) {
			ids = append(ids, r.Step)
		}
	}
	return ids
}

// refer notes what arguments refer to. It must be there, and be another step.
func (p *Program) refer() error {
	p.refers = make([][]string, len(p.def.Steps))
	for i := range p.def.Steps {
		s := &p.def.Steps[i]
		p.refers[i] = s.refers()
		for _, id := range p.refers[i] {
			if n, ok := p.by[id]; !ok || n == i {
				return fmt.Errorf("step %q refers to the output of %q, which is not another step", s.ID, id)
			}
		}
	}
	return nil
}

// Arguments returns the step's arguments with the outputs of steps in place of
// the references, always written alike. It fails where a reference leads nowhere.
func (s *Step) Arguments(output func(step string) (any, error)) (json.RawMessage, error) {
	v, err := s.arguments()
	if err != nil {
		return nil, err
	}
	if v, err = Resolve(v, output); err != nil {
		return nil, err
	}
	return EncodeValue(v)
}

// previewed takes the look at a call, and lets the call follow if it may.
func (s *State) previewed(i int, in Prepared, d WorkDispatched, now time.Time) ([]Event, error) {
	if in.Preview == nil {
		return nil, refuse(Invalid, in.Key.String()+" says nothing of the call")
	}
	e := PreviewMade{Step: d.Step, Attempt: d.Attempt, Preview: *in.Preview}
	e.Context, e.Refused, e.Reason = text(e.Context), text(e.Refused), text(e.Reason)
	for n := range e.Targets {
		e.Targets[n].Path = text(e.Targets[n].Path)
	}
	if e.Refused == "" {
		e.Asks = s.asksFor(i, e, now)
	}
	if !e.goes() {
		return []Event{e}, nil
	}
	if err := s.delegates(i, in, &d); err != nil {
		return nil, err
	}
	d.Prompt = e.Args
	return []Event{e, d}, nil
}

// asksFor says why a person must say yes to the call, "" if nobody must, or if
// somebody has.
func (s *State) asksFor(i int, e PreviewMade, now time.Time) string {
	why := s.needsYes(i, e)
	st := &s.steps[i]
	switch {
	case why == "":
		return ""
	case st.Granted.IsZero() && st.Cut && st.Kind == ToolWork:
		return "an earlier start of the call was cut off, and may have done it; " + why
	case st.Granted.IsZero():
		return why
	}
	if now.Sub(st.Granted) >= approvalLife {
		return "the yes is older than 24 hours; " + why
	}
	if drift := st.drift(e); drift != "" {
		if s.prog.Step(i).Kind == Delegate {
			drift = "since the yes, its text changed"
		}
		return drift + "; " + why
	}
	return ""
}

// needsYes says why the call needs a person.
func (s *State) needsYes(i int, e PreviewMade) string {
	p, lowRisk := s.prog.Step(i), s.run.Opened.Policy.Approve == LowRisk
	switch {
	case e.Must:
		return cmp.Or(e.Reason, "the call needs a yes")
	case s.prog.unseen(i) && !e.Low && slices.Contains([]string{"command", "move", "network"}, e.Effect):
		return strings.TrimSuffix("what it is called with was not known when the plan was approved; "+e.Reason, "; ")
	case e.Low && lowRisk:
		return ""
	}
	if lowRisk {
		return cmp.Or(p.Approval, "it is not of low risk: "+e.Reason)
	}
	return p.Approval
}

// unseen reports a call with values that nobody saw when the plan was approved:
// the output of a step, or an item that a step or a pattern of files gave.
func (p *Program) unseen(i int) bool {
	if len(p.refers[i]) > 0 {
		return true
	}
	pattern, ok := p.Pattern(i)
	if !ok {
		return false
	}
	s := p.Step(pattern)
	return len(s.Each.Items) == 0 && bytes.Contains(s.Args, []byte(ItemMark))
}

// LowRisk is the policy by which nobody is asked for calls of low risk.
const LowRisk = "low-risk"

// drift says what is not as the person saw it who said yes to the call, "" if
// all is. A person who gave other arguments said yes to what they do, unless it
// needs more than what was shown, or takes away more files than were shown: another
// file in the place of one is what these arguments are for.
func (st *step) drift(e PreviewMade) string {
	shown := st.Preview
	switch {
	case shown == nil:
		return "nothing was shown"
	case shown.Hash == e.Hash:
		return ""
	case e.Args != shown.Args && (st.Edited == "" || e.Args != st.Edited):
		return "since the yes, what it is called with changed"
	}
	spared := 0 // files that would have been lost, and are not in danger any more
	for _, t := range shown.Targets {
		if t.Before != "" && st.Edited == e.Args && !slices.ContainsFunc(e.Targets, func(n Target) bool { return n.Path == t.Path }) {
			spared++
		}
	}
	for _, t := range e.Targets {
		switch {
		case slices.Contains(shown.Targets, t), st.Edited == e.Args && t.Before == "":
		case spared > 0 && !slices.ContainsFunc(shown.Targets, func(was Target) bool { return was.Path == t.Path }):
			spared--
		default:
			return fmt.Sprintf("since the yes, %s is not what was shown", t.Path)
		}
	}
	switch {
	case e.Must && !shown.Must:
		return "it needs more than what was shown"
	case st.Edited != e.Args:
		return "since the yes, what it would do changed"
	}
	return ""
}

func (s *State) applyPreview(e PreviewMade, at time.Time) error {
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st, p := &s.steps[i], s.prog.Step(i)
	switch {
	case !p.shows() || !st.Active || st.Live || st.Phase != Baseline || st.Ended != nil || s.waits(i) || e.Attempt != st.Attempt:
		return fmt.Errorf("a call of %q is looked at (attempt %d), which is %s (%s)", e.Step, e.Attempt, st.Status, st.Phase)
	case e.Must && e.goes() && (st.Granted.IsZero() || at.Sub(st.Granted) >= approvalLife || st.drift(e) != ""):
		return fmt.Errorf("a call of %q needs a yes, and has none", e.Step)
	}
	s.change(i, func(st *step) {
		if !e.goes() || st.drift(e) != "" {
			st.Granted = time.Time{} // whatever it was for, it is not this
		}
		st.Preview, st.Looked = &e, true
	})
	return nil
}

// refused says why the step's call is never made, "" if it may be.
func (st *step) refused() string {
	if !st.Looked || st.Preview == nil {
		return ""
	}
	return st.Preview.Refused
}

// presents reports whether a person must be asked about the call that was
// looked at.
func (s *State) presents(i int) bool {
	st := &s.steps[i]
	return st.Active && st.Phase == Baseline && st.Looked && st.Preview.Asks != "" && st.refused() == ""
}

// callable reports whether the dispatch is of the call that was looked at. One
// without arguments is of a call that could not be looked at, and ends at once.
func (st *step) callable(e WorkDispatched) bool {
	return e.Prompt == "" || st.Looked && st.Preview.goes() && st.Preview.Args == e.Prompt
}

// called takes the yes away: it was for one call. A yes to a plan is for that
// plan, as long as its text stays.
func (st *step) called(e WorkDispatched) {
	if e.Prompt != "" && e.Kind == ToolWork {
		st.Granted = time.Time{}
	}
}

// presentation asks whether a call may be made.
func (s *State) presentation(i int) ItemOpened {
	st, p := &s.steps[i], s.prog.Step(i)
	e := st.Preview
	if p.Kind == Delegate {
		return ItemOpened{
			Item: s.itemName(), Step: p.ID, Attempt: st.Attempt, Kind: Approval,
			Question: fmt.Sprintf("May step %s run the plan %s? %s", p.named(), p.Child.Path, e.Asks),
			Context:  e.Context, Hash: e.Hash, Choices: []string{ChooseApprove, ChooseDeny}, Plan: p.Child.Path,
		}
	}
	return ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: st.Attempt, Kind: Approval,
		Question: fmt.Sprintf("May step %s call %s? %s", p.named(), p.Tool, e.Asks),
		Context:  e.Context, Hash: e.Hash, Choices: []string{ChooseApprove, ChooseDeny},
		Tool: p.Tool, Effect: e.Effect, Args: e.Args,
	}
}

// otherArguments are what a person approves in the place of what was shown.
// Whether they fit is seen when the call is looked at again.
func otherArguments(a ItemAnswered) (json.RawMessage, error) {
	args, err := Canonical(a.Args)
	if err != nil {
		return nil, refuse(Invalid, fmt.Sprintf("the arguments for item %s are no JSON: %v", a.Item, err))
	}
	return args, nil
}
