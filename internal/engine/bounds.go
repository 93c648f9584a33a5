package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Bounds say when a run that gets nowhere waits for a person. Each counts since a
// person last said something to the run; 0 is no bound.
type Bounds struct {
	// Attempts of steps that did not make them done. Iterations of a loop, which has
	// bounds of its own, are not counted, nor faults of this machine that are tried
	// again.
	Attempts int `json:"attempts,omitempty"`
	// Failures are steps, one after the other, that came to no good end: each of them
	// failed with its last attempt. A step that is done, and a revision of the plan,
	// begin the count anew.
	Failures int `json:"failures,omitempty"`
}

// What may be too much of, as an item of the kind [Limit] names it.
const (
	OfAttempts = "attempts"
	OfFailures = "failures"
	OfComplete = "complete" // an arbiter says that nothing else is needed
)

// maxBound is more than any run comes to.
const maxBound = 1_000_000

// futile is what a run did in vain since a person last said something to it.
type futile struct {
	Attempts int      `json:",omitzero"`
	Failures int      `json:",omitzero"`
	Steps    []string `json:",omitempty"` // of the failures, the newest few
	Raised   Bounds   `json:",omitzero"`  // by a person, in the place of the policy's
	Complete string   `json:",omitzero"`  // why an arbiter says that nothing else is needed
	Item     string   `json:",omitzero"`  // by which one is asked
	Over     string   `json:",omitzero"`  // a person ended the run for it
}

// bounds are those in force.
func (r *run) bounds() Bounds {
	b, by := r.Opened.Policy.Bounds, r.Futile.Raised
	if by.Attempts > 0 {
		b.Attempts = by.Attempts
	}
	if by.Failures > 0 {
		b.Failures = by.Failures
	}
	return b
}

// exceeded names the bound that is met, "" for none. A run of which all is done but
// the merge of its worktree has nothing left to try in vain, and a round of proofs that
// is under way comes to its end.
func (s *State) exceeded() string {
	b, f := s.run.bounds(), &s.run.Futile
	switch {
	case s.run.Unsat == 0 || s.undone() == 0 || s.run.Proof.Stage != noRound:
		return ""
	case f.Complete != "":
		return OfComplete
	case b.Failures > 0 && f.Failures >= b.Failures:
		return OfFailures
	case b.Attempts > 0 && f.Attempts >= b.Attempts:
		return OfAttempts
	}
	return ""
}

// reckons counts the end of an attempt that settles step i, before that changes the
// step.
func (s *State) reckons(i int, e StepSettled) {
	f, again := &s.run.Futile, e.RetryAt != nil
	switch {
	case e.Status == Done:
		f.Failures, f.Steps = 0, nil
		switch r := s.steps[i].Ruling; {
		case r.completes():
			f.Complete = fmt.Sprintf("after step %s: %s", e.Step, r.Why)
		case r.rethinks() && s.advisable() && !s.broke(s.last):
			s.run.Replans.Advised = &advice{Step: e.Step, Why: r.Why}
		}
		return
	case s.steps[i].Phase == Ratchet, e.Verdict == Clash, again && e.Verdict == Infra, again && s.prog.Step(i).loops() && e.Exit == "":
		return
	}
	f.Attempts = min(f.Attempts+1, maxBound)
	if again {
		return
	}
	const named = 5
	f.Failures = min(f.Failures+1, maxBound)
	f.Steps = append(slices.Clone(f.Steps[max(0, len(f.Steps)-named+1):]), e.Step)
}

// recount begins all counts anew: a person said something to the run.
func (s *State) recount() {
	s.closeLimit()
	s.run.Futile = futile{Raised: s.run.Futile.Raised}
}

// closeLimit takes the question back; it is asked again where it still holds.
func (s *State) closeLimit() {
	f := &s.run.Futile
	if row, open := s.items[f.Item]; open {
		row.Open = false
		s.dirty.item(row)
		delete(s.items, f.Item)
	}
	f.Item = ""
}

// turned begins the counts anew that a revision of the plan answers: all of them,
// where it is a person's.
func (s *State) turned(actor string) {
	if actor != Harness && actor != ByPolicy {
		s.recount()
		return
	}
	s.closeLimit()
	s.run.Futile.Failures, s.run.Futile.Steps, s.run.Futile.Complete = 0, nil, ""
}

// halts is the item by which a person is asked whether a run that gets nowhere goes
// on: once nothing is under way, and something would begin.
func (s *State) halts() (ItemOpened, bool) {
	of := s.exceeded()
	if of == "" || s.run.Futile.Item != "" || !s.unhindered() || len(s.active) > 0 || s.run.Proof.Stage != noRound {
		return ItemOpened{}, false
	}
	_, begins := s.ready.first()
	if _, asks := s.ask.first(); !begins && !asks {
		return ItemOpened{}, false
	}
	b, f := s.run.bounds(), &s.run.Futile
	e := ItemOpened{Item: s.itemName(), Kind: Limit, Limit: of, Choices: []string{ChooseApprove, ChooseAbort}}
	var context strings.Builder
	switch of {
	case OfComplete:
		e.Choices = []string{ChooseApprove, ChooseSkip, ChooseAbort}
		e.Question = fmt.Sprintf("The arbiter says that nothing else is needed. May the run go on? Steps that are left: %d.", s.undone())
		fmt.Fprintf(&context, "It says so %s", indented(f.Complete))
	case OfFailures:
		e.Question = fmt.Sprintf("The limit of %d failures in a row is met: so many steps came to no good end, and none was done between. May the run go on?", b.Failures)
		for _, id := range f.Steps {
			if i, ok := s.prog.Index(id); ok {
				fmt.Fprintf(&context, "%s: %s\n", id, indented(s.steps[i].Reason))
			}
		}
	default:
		e.Question = fmt.Sprintf("The limit of %d attempts without a person is met: so many made no step done. May the run go on?", b.Attempts)
	}
	if of != OfComplete {
		fmt.Fprintf(&context, "A yes begins the count anew. It may give another limit: %s", b.args(of))
	}
	e.Context = context.String()
	e.Hash = digest([]byte(e.Question + "\x00" + e.Context))
	return e, true
}

// args are the bound of one kind, doubled, as they are given with an answer.
func (b Bounds) args(of string) string {
	n := b.Attempts
	if of == OfFailures {
		n = b.Failures
	}
	return fmt.Sprintf(`{"%s": %d}`, of, min(2*n, maxBound))
}

func (s *State) applyLimit(e ItemOpened, r Record) error {
	if want, due := s.halts(); !due || want.Item != e.Item || want.Limit != e.Limit || e.Step != "" {
		return fmt.Errorf("item %s says that a limit of %s is met, and none is", e.Item, e.Limit)
	}
	s.run.Items++
	s.items[e.Item] = ItemRow{ItemOpened: e, Stream: r.Stream, Run: s.run.Opened.Run, Opened: r.At, Open: true, Parent: s.run.Opened.Parent}
	s.dirty.item(s.items[e.Item])
	s.run.Futile.Item = e.Item
	return nil
}

// admitBounds checks the limit that an answer gives.
func (s *State) admitBounds(it ItemRow, a ItemAnswered) ([]Event, error) {
	switch {
	case a.Choice == ChooseSkip && strings.TrimSpace(a.Text) == "":
		return nil, refuse(Invalid, "a skip needs a reason", ExplainAnswer)
	case len(a.Args) == 0:
	case it.Limit == OfComplete || a.Choice != ChooseApprove:
		return nil, refuse(Invalid, fmt.Sprintf("%q of item %s takes no arguments", a.Choice, a.Item), NoArgs)
	default:
		b, err := readBounds(it.Limit, a.Args)
		if err != nil {
			return nil, refuse(Invalid, "the new limit cannot be read: "+err.Error(), WriteLimits, s.run.bounds().args(it.Limit))
		}
		a.Args, _ = json.Marshal(b) // plain data: it always marshals
	}
	return []Event{a}, nil
}

// readBounds reads a bound of one kind, as people write it.
func readBounds(of string, body json.RawMessage) (b Bounds, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if d.Decode(&b) != nil || !json.Valid(body) {
		return Bounds{}, fmt.Errorf("an object with %s is wanted", of)
	}
	n, other := b.Attempts, b.Failures
	if of == OfFailures {
		n, other = other, n
	}
	if n < 1 || n > maxBound || other != 0 {
		return Bounds{}, fmt.Errorf("%s from 1 to %d are wanted, and nothing else", of, maxBound)
	}
	return b, nil
}

func (s *State) applyBounds(it ItemRow, a ItemAnswered) error {
	var b Bounds
	if len(a.Args) > 0 {
		var err error
		if b, err = readBounds(it.Limit, a.Args); err != nil {
			return fmt.Errorf("item %s is answered with a limit that cannot be read: %w", a.Item, err)
		}
	}
	s.recount()
	r := &s.run.Futile.Raised
	if b.Attempts > 0 {
		r.Attempts = b.Attempts
	}
	if b.Failures > 0 {
		r.Failures = b.Failures
	}
	if a.Choice == ChooseSkip {
		s.leaveOut(Command{Verb: DoSkip, Why: a.Text, By: a.By})
	}
	if a.Choice == ChooseAbort {
		s.run.Futile.Over = worded(fmt.Sprintf("the limit of %s is met, and the run was ended by", it.Limit), a.By, a.Text)
	}
	return nil
}

// leaveOut skips all that is left, in the name of a person; a worktree of the run is
// merged all the same. It looks at all steps.
func (s *State) leaveOut(c Command) {
	for i := range s.steps {
		if !s.steps[i].satisfied() && !s.lands(i) {
			s.order(i, c)
		}
	}
}

// held takes a step back that was prepared when a limit was met.
func (s *State) held(i int) StepSettled {
	return StepSettled{
		Step: s.prog.Step(i).ID, Attempt: s.steps[i].Attempt, Status: Pending, Verdict: OverBudget,
		Reason: "a limit of the run is met", By: Harness,
	}
}
