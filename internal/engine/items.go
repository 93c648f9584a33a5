package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What a person may choose where an item waits.
const (
	ChooseApprove = "approve"
	ChooseDeny    = "deny"
	ChooseRetry   = "retry"
	ChooseSkip    = "skip"
	ChooseWaive   = "waive"
	ChooseVouch   = "vouch" // what the proof rests on is the step's work: the checks are asked again
	ChooseAbort   = "abort"
	// ChooseFallback is one more attempt, by the fallback of the step, and ChooseReplan
	// a revision of the plan, which the text of the answer asks for.
	ChooseFallback = "fallback"
	ChooseReplan   = "replan"
	// ChooseLeave ends the run with its work on its branch, in the place of its merge.
	ChooseLeave = "leave"
)

func (s *State) applyItem(e ItemOpened, r Record) error {
	if e.Kind.proposes() {
		return s.applyProposal(e, r)
	}
	if e.Kind == Limit {
		return s.applyLimit(e, r)
	}
	if e.Kind == Permission {
		return s.applyPermission(e, r)
	}
	i, err := s.at(e.Step)
	if err != nil {
		return err
	}
	st := &s.steps[i]
	_, twice := s.items[e.Item]
	switch {
	case twice || st.Item != "":
		return fmt.Errorf("item %s opens while %q waits for step %q", e.Item, st.Item, e.Step)
	case e.Shortage != nil && !s.lacks(i, e, r.At):
		return fmt.Errorf("item %s asks for more of the budget for step %q, which needs none", e.Item, e.Step)
	case e.Shortage != nil:
	case s.presents(i) && e.Kind == Approval:
	case st.Active || e.Kind.early() && !s.asks(i) || !e.Kind.early() && st.Status != Waiting || (e.Kind == Question) != (s.prog.Step(i).Kind == Ask && e.Kind != Escalation):
		return fmt.Errorf("item %s asks for %s of step %q, which is %s", e.Item, e.Kind, e.Step, st.Status)
	}
	s.run.Items++
	s.items[e.Item] = ItemRow{
		ItemOpened: e, Stream: r.Stream, Run: s.run.Opened.Run, Opened: r.At, Open: true, Parent: s.run.Opened.Parent, Behind: s.behind(i),
	}
	if e.Shortage != nil && e.Shortage.Of == OfRun {
		s.run.Asking = e.Item
	}
	s.dirty.item(s.items[e.Item])
	if s.presents(i) {
		s.release(i)
	}
	s.change(i, func(st *step) {
		st.become(Asking)
		st.Item, st.Status = e.Item, Waiting
		if e.Kind == Question {
			st.begin(r.At)
		}
	})
	return nil
}

// early: the item is opened before the step has begun.
func (k ItemKind) early() bool { return k == Approval || k == Question }

func (s *State) applyAnswer(e ItemAnswered, at time.Time) error {
	it, open := s.items[e.Item]
	if !open || !slices.Contains(it.Choices, e.Choice) || it.Tool != "" && len(e.Args) > 0 && !it.takesArgs(e.Choice) {
		return fmt.Errorf("item %q is answered with %q, which was not asked", e.Item, e.Choice)
	}
	if it.Kind == Limit {
		return s.applyBounds(it, e)
	}
	if it.Kind == Permission {
		return s.applyPermitted(it, e, at)
	}
	err := s.answered(it, e, at)
	if err == nil {
		s.recount()
	}
	return err
}

// answered folds the answer to an open item.
func (s *State) answered(it ItemRow, e ItemAnswered, at time.Time) error {
	if it.Kind.proposes() {
		return s.applyProposed(e)
	}
	i, err := s.at(it.Step)
	if err != nil {
		return err
	}
	if err := s.raise(i, it, e); err != nil {
		return err
	}
	if e.Choice == ChooseReplan && it.Kind == Escalation {
		s.change(i, func(*step) { s.closeItem(i) }) // the command is the next record
		return nil
	}
	s.expectNews()
	s.change(i, func(st *step) {
		st.Answer = &e
		switch {
		case e.Choice == ChooseLeave:
			s.run.Leave = true
		case e.Choice == ChooseFallback && it.Kind == Escalation:
			st.Forced = &forced{Role: s.prog.Step(i).Fallback, By: e.By, Why: e.Text}
		case it.Kind == Question:
			st.Output = digest(e.Output())
			if s.prog.inline[i] {
				st.Value = e.value()
			}
		case e.Choice == ChooseApprove && it.Shortage == nil:
			st.Granted = at
			if it.Tool != "" && len(e.Args) > 0 {
				st.Edited = digest(e.Args)
			}
		}
	})
	return nil
}

// takesArgs reports whether an answer to the item may give a call other arguments: with the
// yes to it, or where it failed and is tried again.
func (it ItemRow) takesArgs(choice string) bool {
	return it.Tool != "" && (choice == ChooseApprove || choice == ChooseRetry)
}

// closeItem takes a question back that nobody need answer any more.
func (s *State) closeItem(i int) {
	st := &s.steps[i]
	row, open := s.items[st.Item]
	if !open {
		return
	}
	row.Open = false
	s.dirty.item(row)
	delete(s.items, st.Item)
	st.Item = ""
	if s.run.Asking == row.Item {
		s.run.Asking = ""
	}
	if row.Kind.early() {
		st.become(NoPhase)
		st.Status = Pending
	}
}

// asked is the item by which the step is put to people before it begins.
func (s *State) asked(i int) ItemOpened {
	if s.prog.Step(i).Kind == Ask {
		return s.question(i)
	}
	return s.approval(i)
}

// maxTitled is how much of a step's title stands in a sentence, in letters.
const maxTitled = 60

// named is the step in a sentence.
func (p *Step) named() string { return fmt.Sprintf("%s %q", p.Number, short(p.Title, maxTitled)) }

// approval asks whether a step may run.
func (s *State) approval(i int) ItemOpened {
	p := s.prog.Step(i)
	return ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: s.steps[i].Attempt, Kind: Approval,
		Question: fmt.Sprintf("May step %s run? %s", p.named(), p.Approval),
		Context:  p.Task, Hash: p.digest(), Choices: []string{ChooseApprove, ChooseDeny},
	}
}

// remedy is what a person may do besides: about a step that changed what judges it, for the
// file may be the work; about checks that are green too early; about a key, for a run keeps the
// environment that it was started in; and about an agent that cannot work, for another one may.
func (s *State) remedy(i int) string {
	st, p := &s.steps[i], s.prog.Step(i)
	judges := slices.ContainsFunc(slices.Concat(st.Restore, restore(st)), func(c Change) bool { return c.Rule != "" })
	switch other := s.other(i); {
	case st.Verdict == Tampered && judges && p.Kind != Landing:
		return fmt.Sprintf(" If such a file is the step's work, name it in its `writes:` (a glob with ** does not open it), then piton approve %s.", ShellWord(s.run.Opened.Path))
	case st.Verdict == Inconclusive && st.Baseline == Pass && p.Expect == ExpectRed && st.Ended == nil:
		return fmt.Sprintf(" If the work is there already, answer skip. Else let the contract fail until it is done, then piton approve %s.", ShellWord(s.run.Opened.Path))
	case s.starved(i):
		return " The run has the environment of the piton that started it: end that one, set the variable, then piton resume. An answer does not help."
	case st.Verdict == Infra && st.Cause != nil && st.Cause.Kind == NoLogin && other == "":
		return " After you log in, answer retry. To set a key instead: end this piton, set the variable, then piton resume."
	case st.Verdict == Infra && other != "":
		return fmt.Sprintf(" To give it to agent %s: piton force-agent %s %[1]s, then answer retry.", ShellWord(other), p.ID)
	}
	return ""
}

// starved reports a step whose agent lacks a variable. Only a new process can have it, so no answer
// helps.
func (s *State) starved(i int) bool {
	st := &s.steps[i]
	return st.Verdict == Infra && st.Cause != nil && slices.Contains([]CauseKind{NoKey, KeyRefused}, st.Cause.Kind) && s.other(i) == ""
}

// trial is how a person finds out whether an agent can work again that could not.
func (s *State) trial(i int) string {
	st := &s.steps[i]
	if s.prog.Step(i).Kind != Agent || st.Verdict != Infra || !st.Cause.Outside() || !st.Cause.Lasts {
		return ""
	}
	return fmt.Sprintf(" piton agents test %s says whether it can work.", ShellWord(st.Role))
}

// other is an agent in the place of that of step i, which cannot be run; "" where it can, or
// where no other one is there.
func (s *State) other(i int) string {
	p := s.prog.Step(i)
	if p.Kind != Agent || !s.faulted(s.steps[i].Role) {
		return ""
	}
	other := ""
	for _, c := range s.prog.def.Agents {
		if !s.faulted(c.Role) && (other == "" || c.Role == p.Role) {
			other = c.Role
		}
	}
	return other
}

// escalation asks what to do with a step that did not pass.
func (s *State) escalation(i int) ItemOpened {
	st, p := &s.steps[i], s.prog.Step(i)
	e := ItemOpened{
		Item: s.itemName(), Step: p.ID, Attempt: st.Attempt, Kind: Escalation, Cause: st.Verdict, Starved: s.starved(i),
		Question: fmt.Sprintf("Step %s did not pass in attempt %d: %s.%s%s What now?", p.named(), st.Attempt, st.Reason, s.remedy(i), s.trial(i)),
		Choices:  s.recoveries(i),
	}
	var context strings.Builder
	if r := s.run.Replans; r.Failure != "" && r.For == p.ID {
		fmt.Fprintf(&context, "The plan was not revised: %s\n", indented(r.Failure))
	}
	context.WriteString(st.Claims.context())
	for _, f := range st.Feedback {
		fmt.Fprintf(&context, "%s: %s", f.Check, cmp.Or(string(f.Verdict), "ended"))
		if f.Exited() {
			fmt.Fprintf(&context, ", exit %d", f.Exit)
		}
		context.WriteString("\n" + f.Stdout + f.Stderr)
	}
	if st.Preview != nil {
		context.WriteString(st.Preview.Context)
	}
	if p.Kind == Tool && st.Preview != nil {
		e.Tool, e.Effect, e.Args = p.Tool, st.Preview.Effect, st.Preview.Args
	}
	e.Context = context.String()
	e.Hash = digest([]byte(e.Question + "\x00" + e.Context))
	if st.Verdict == Clash {
		e.Dir = st.Site
		for _, c := range st.Clashes[:min(len(st.Clashes), maxFiles)] {
			e.Files = append(e.Files, c.Path)
		}
	}
	return e
}

// maxFiles is how many files of a conflict an item names.
const maxFiles = 20

// recoveries are the ways in which a person can go on from a step that did not pass.
func (s *State) recoveries(i int) []string {
	st, p := &s.steps[i], s.prog.Step(i)
	ways := []string{ChooseRetry}
	switch {
	case s.lands(i) && s.run.Opened.Parent == Parent{} && s.commits() != CommitNone:
		return append(ways, ChooseLeave, ChooseAbort)
	case s.lands(i): // there is no branch, or the run above wants the work in its tree
		return append(ways, ChooseAbort)
	}
	if p.Fallback != "" && st.Role != p.Fallback {
		ways = append(ways, ChooseFallback)
	}
	if s.revisable(i) {
		ways = append(ways, ChooseReplan)
	}
	if s.vouchable(i) {
		ways = append(ways, ChooseVouch)
	}
	return append(ways, ChooseSkip, ChooseWaive, ChooseAbort)
}

func (s *State) itemName() string {
	return fmt.Sprintf("%s/%d", s.run.Opened.Run, s.run.Items+1)
}

// digest identifies the step by its definition.
func (p *Step) digest() string {
	body, _ := json.Marshal(p) // plain data: it always marshals
	return digest(body)
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
