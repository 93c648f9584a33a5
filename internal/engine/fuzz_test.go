package engine_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/tier"
)

// FuzzDecode: no bytes make the decoder panic, and what it reads it writes so
// that it reads the same again.
func FuzzDecode(f *testing.F) {
	for _, journal := range journals(f) {
		for _, r := range journal {
			body, err := engine.Encode(r.Event)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(r.Event.Type(), body)
		}
	}
	f.Fuzz(func(t *testing.T, typ string, body []byte) {
		e, err := engine.Decode(typ, body)
		if err != nil {
			if e != nil {
				t.Fatalf("an event beside the error %v", err)
			}
			return
		}
		once, err := engine.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		again, err := engine.Decode(typ, once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice, err := engine.Encode(again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
	})
}

// FuzzAdmit hands any input to any state that a story passes through, and after
// a revision all answers of what was under way before it, and more revisions.
// Admit never panics; it refuses, or returns events that Apply takes, that lead to a
// state whose indexes are true, and to a journal that stands up to the auditor.
func FuzzAdmit(f *testing.F) {
	journals := journals(f)
	for j := range journals {
		for at := 3; at < len(journals[j]); at += tier.Draws(49, 7) {
			for kind, body := range inputsAt(f, journals[j][:at]) {
				f.Add(uint8(j), uint16(at), kind, body)
			}
			f.Add(uint8(j), uint16(at), uint8(10), []byte{uint8(at), uint8(2 * at), uint8(3 * at), 4, uint8(at), 6})
		}
	}
	f.Fuzz(func(t *testing.T, j uint8, at uint16, kind uint8, body []byte) {
		journal := journals[int(j)%len(journals)]
		journal = journal[:int(at)%len(journal)]
		d, err := resume(journal)
		if err != nil {
			t.Fatal(err)
		}
		for in := range d.inputs(kind, body, journals[0]) {
			d.must(t, in)
		}
		if err := audit(d.journal); err != nil {
			t.Fatalf("%v\n%s", err, lines(d.journal))
		}
	})
}

// resume is a desk at the end of a journal.
func resume(journal []engine.Record) (*desk, error) {
	s, err := replay(journal)
	if err != nil {
		return nil, err
	}
	d := newDesk()
	d.state, d.epoch = s, 0
	for _, r := range journal {
		d.journal = append(d.journal, r)
		d.epoch, d.now = r.Epoch, r.At
		d.note(r.Event)
	}
	d.active = len(s.Active())
	d.rows.take(s.Rows())
	d.decide()
	return d, nil
}

// must admits an input, which may be refused, and finds nothing broken after it.
func (d *desk) must(t *testing.T, in engine.Input) {
	t.Helper()
	if _, begins := in.(engine.Begin); begins {
		d.epoch++
	}
	if _, err := d.admit(in); err != nil {
		if _, ok := errors.AsType[*engine.Refusal](err); !ok {
			t.Fatalf("%T: %v", in, err)
		}
	}
	if d.broken != nil {
		t.Fatalf("%#v: %v\n%s", in, d.broken, lines(d.journal))
	}
}

// inputs are what a kind and some bytes stand for, in order: one input, and
// around a revision whatever comes too late.
func (d *desk) inputs(kind uint8, body []byte, journal []engine.Record) iter.Seq[engine.Input] {
	return func(yield func(engine.Input) bool) {
		if kind%11 != 10 {
			if in := inputFrom(kind, body, journal); in != nil {
				yield(in)
			}
			return
		}
		for body = body[:min(len(body), 18)]; len(body) >= 3 && d.state.Program() != nil; body = body[3:] {
			answers := d.late()
			in, err := revision(d.state.Run(), op{Which: body[0], How: body[1], More: body[2]})
			if err != nil || !yield(in) {
				return
			}
			for i := range answers {
				if !yield(answers[(i+int(body[0]))%len(answers)]) {
					return
				}
			}
			for _, now := range d.late() {
				if body[1]%2 == 0 && !yield(now) {
					return
				}
			}
		}
	}
}

// inputsAt is an input of each kind that fits where the journal ends.
func inputsAt(t testing.TB, journal []engine.Record) map[uint8][]byte {
	s, err := replay(journal)
	if err != nil {
		t.Fatal(err)
	}
	inputs := []engine.Input{
		engine.Order{Command: engine.Command{Verb: engine.DoRetry, Step: "a", From: true, By: "ann"}},
		engine.Reply{ItemAnswered: engine.ItemAnswered{Item: s.Run().Run + "/1", Choice: "retry", By: "ann"}},
		begun,
		engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{Run: "r9"}},
	}
	revise := engine.Revise{Run: s.Run(), Was: s.Run().Program, By: "ann"}
	revise.Run.Plan += "+"
	inputs = append(inputs, revise)
	for _, e := range s.Effects() {
		inputs = append(inputs, success(e))
	}
	bodies := map[uint8][]byte{}
	for _, in := range inputs {
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		bodies[kindOf(in)] = body
	}
	return bodies
}

func kindOf(in engine.Input) uint8 {
	switch in.(type) {
	case engine.Begin:
		return 0
	case engine.Open:
		return 1
	case engine.Prepared:
		return 2
	case engine.Ended:
		return 3
	case engine.Checked:
		return 4
	case engine.Order:
		return 5
	case engine.Reply:
		return 6
	case engine.Revise:
		return 9
	case engine.Expanded:
		return 11
	case engine.Surveyed:
		return 8
	}
	return 7
}

// inputFrom reads an input of the kind, nil if the bytes are none.
func inputFrom(kind uint8, body []byte, journal []engine.Record) engine.Input {
	switch kind % 12 {
	case 0:
		return read[engine.Begin](body)
	case 1:
		in, ok := read[engine.Open](body).(engine.Open)
		if !ok {
			return nil
		}
		for _, r := range journal {
			if open, ok := r.Event.(engine.RunOpened); ok {
				in.Run.Compiled, in.Run.Program = open.Compiled, open.Program
			}
		}
		return in
	case 2:
		return read[engine.Prepared](body)
	case 3:
		return read[engine.Ended](body)
	case 4:
		return read[engine.Checked](body)
	case 5:
		return read[engine.Order](body)
	case 6:
		return read[engine.Reply](body)
	case 7:
		return read[engine.Draft](body)
	case 11:
		return read[engine.Expanded](body)
	case 8:
		return read[engine.Surveyed](body)
	case 9:
		in, ok := read[engine.Revise](body).(engine.Revise)
		if !ok {
			return nil
		}
		in.Run.Compiled, in.Run.Program = nil, ""
		for _, r := range journal {
			if open, ok := r.Event.(engine.RunOpened); ok && (in.Run.Compiled == nil || len(in.Stale) == 0) {
				in.Run.Compiled, in.Run.Program = open.Compiled, open.Program
			}
		}
		return in
	}
	return read[engine.Judgement](body)
}

func read[I engine.Input](body []byte) engine.Input {
	var in I
	if err := json.Unmarshal(body, &in); err != nil {
		return nil
	}
	return in
}

// FuzzReplay changes a sound journal as a broken disk, or an enemy, might.
// Apply takes a record or says what is wrong; it never panics, its indexes stay
// true, and no step is done without the checks that say so.
func FuzzReplay(f *testing.F) {
	journals := journals(f)
	for j := range journals {
		f.Add(uint8(j), []byte{})
		f.Add(uint8(j), []byte{2, 9, 1, 10, 3, 0, 5, 6, 7})
	}
	f.Fuzz(func(t *testing.T, j uint8, how []byte) {
		journal := mutate(slices.Clone(journals[int(j)%len(journals)]), journals, how)
		s := &engine.State{}
		for n, r := range journal {
			if err := s.Apply(r); err != nil {
				journal = journal[:n]
				break
			}
			if err := s.Scan(); err != nil {
				t.Fatalf("record %d, %s %+v: %v\n%s", r.Seq, r.Event.Type(), r.Event, err, lines(journal[:n+1]))
			}
		}
		if err := proofs(journal); err != nil {
			t.Fatalf("%v\n%s", err, lines(journal))
		}
		use(t, s, journal)
	})
}

// use asks a state everything there is to ask; only the answer that it is
// corrupt ends a journal, and this one was not.
func use(t *testing.T, s *engine.State, journal []engine.Record) {
	again, err := replay(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := agree(s, again); err != nil {
		t.Fatal(err)
	}
	s.Rows()
	s.Idle()
	s.Wake()
	if s.Program() == nil {
		return
	}
	body, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := engine.Restore(body, s.Program())
	if err != nil {
		t.Fatal(err)
	}
	if err := agree(s, restored); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		for _, e := range s.Decide(dawn.Add(time.Duration(n) * time.Hour)) {
			if e == nil {
				t.Fatal("Decide returns nothing as an event")
			}
		}
	}
}

// mutate changes a journal, three bytes a change, and numbers it anew.
func mutate(journal []engine.Record, others [][]engine.Record, how []byte) []engine.Record {
	for ; len(how) >= 3; how = how[3:] {
		if len(journal) == 0 {
			return nil
		}
		i := int(how[1]) % len(journal)
		j := int(how[2]) % len(journal)
		switch how[0] % 8 {
		case 0:
			journal[i], journal[j] = journal[j], journal[i]
		case 1:
			journal = slices.Delete(journal, i, i+1)
		case 2:
			journal = slices.Insert(journal, i, journal[j])
		case 3:
			other := others[int(how[2])%len(others)]
			journal = slices.Insert(journal, i, other[i%len(other)])
		case 4:
			journal[i].Epoch = uint64(how[2] % 4)
		case 5:
			journal[i].At = journal[i].At.Add(time.Duration(how[2]) * time.Minute)
		default:
			journal[i].Event = twist(journal[i].Event, how[2])
		}
	}
	return renumber(journal)
}

// twist changes one field of an event to another word of its kind.
func twist(e engine.Event, how uint8) engine.Event {
	steps := []string{"a", "b", "c", "nowhere"}
	verdicts := []engine.Verdict{engine.Pass, engine.Fail, engine.Infra, engine.Inconclusive, engine.Tampered, "odd", ""}
	statuses := []engine.Status{engine.Done, engine.Failed, engine.Skipped, engine.Waived, engine.Running, engine.Waiting, engine.Pending, engine.Regressed, engine.Cancelled, "odd"}
	phases := []engine.Phase{engine.Baseline, engine.Verifying, engine.Ratchet, "odd"}
	n := int(how / 8)
	switch x := e.(type) {
	case engine.StepSettled:
		switch how % 8 {
		case 0:
			x.Step = steps[n%4]
		case 1, 2, 3:
			x.Status = statuses[n%len(statuses)]
		case 4:
			x.By = []string{"", "ann", "harness"}[n%3]
		case 5:
			x.Attempt = n
		case 6:
			x.RetryAt = nil
		default:
			x.Proven, x.Satisfies = n%2 == 0, n%4 < 2
		}
		return x
	case engine.CheckEnded:
		switch how % 4 {
		case 0:
			x.Step = steps[n%4]
		case 1:
			x.Verdict, x.Exit = verdicts[n%len(verdicts)], n%3
		case 2:
			x.Phase = phases[n%len(phases)]
		default:
			x.Required, x.Attempt = n%2 == 0, n/2
		}
		return x
	case engine.WorkEnded:
		x.How = []engine.How{engine.Exited, engine.Lost, engine.Stopped, engine.TimedOut, engine.NoStart, "odd"}[n%6]
		if how%2 == 0 {
			x.Tampered = change("x")
		}
		return x
	case engine.WorkDispatched:
		x.Kind = []engine.WorkKind{engine.AgentWork, engine.ScriptWork, engine.ContractWork, "odd"}[n%4]
		x.N += int(how % 3)
		return x
	case engine.Command:
		x.Verb = []engine.Verb{engine.DoPause, engine.DoResume, engine.DoCancel, engine.DoSkip, engine.DoWaive, engine.DoRetry, engine.DoLand, engine.DoVouch, "odd"}[n%9]
		x.Step, x.From = steps[how%4], n%2 == 0
		return x
	case engine.ItemAnswered:
		x.Choice = []string{"approve", "deny", "retry", "skip", "waive", "abort", "leave", "odd"}[n%8]
		return x
	case engine.ItemOpened:
		x.Step, x.Kind = steps[how%4], []engine.ItemKind{engine.Approval, engine.Escalation, "odd"}[n%3]
		return x
	case engine.JudgeVoted:
		x.Pass, x.Round, x.Step = n%2 == 0, int(how%4), steps[how%4]
		return x
	case engine.PartTried:
		x.Part, x.Verdict, x.Step = int(how%4)-1, []engine.Verdict{engine.Pass, engine.Fail, "odd"}[n%3], steps[how%4]
		return x
	case engine.ChangeReverted:
		x.Parts, x.Verdict, x.Step = int(how%3), []engine.Verdict{engine.Pass, engine.Fail, engine.Infra, "odd"}[n%4], steps[how%4]
		return x
	case engine.ArbiterRuled:
		x.Say, x.Step = []engine.Say{engine.SayRetry, engine.SayReplan, engine.SayEscalate, "done"}[n%4], steps[how%4]
		return x
	case engine.RunEnded:
		x.Status = statuses[n%len(statuses)]
		return x
	}
	return e
}

// proofs reads the records that decide about being done, and nothing else: the
// law that even a journal of lies cannot make the fold break.
func proofs(journal []engine.Record) error {
	a := &auditor{}
	for _, r := range journal {
		switch e := r.Event.(type) {
		case engine.RunOpened:
			if e.Revises != "" {
				if err := a.takeOver(e); err != nil {
					return err
				}
				continue
			}
			if err := a.opened(e); err != nil {
				return err
			}
		case engine.WorkDispatched:
			if e.Kind == engine.PlanWork {
				continue // it proves no step
			}
			if f := a.steps[e.Step]; e.Kind == engine.MergeWork {
				f.n, f.attempt, f.complete, f.answers = e.N, e.Attempt, nil, nil
			} else if e.Kind != engine.ContractWork {
				f.merged, f.doubted = false, doubted{}
				f.n = e.N
				f.attempt, f.end, f.complete, f.answers = e.Attempt, nil, nil, nil
			}
		case engine.WorkEnded:
			f := a.steps[e.Step]
			if f == nil || f.n < 0 {
				continue // a revision left it
			}
			if f.def.Kind == engine.Landing {
				f.end, f.merged = &e, e.How == engine.Exited && len(e.Conflicts)+len(e.Tampered) == 0 && !e.Behind
				continue
			}
			if e.Kind == engine.MergeWork {
				f.merged = e.How == engine.Exited && len(e.Conflicts) == 0
				continue
			}
			if e.Kind != engine.ContractWork || e.How != engine.Exited {
				f.end, f.complete, f.answers = &e, nil, nil
			}
		case engine.CheckEnded:
			f := a.steps[e.Step]
			if e.Check == f.def.Checks[0].Name {
				f.answers = nil
			}
			if f.answers = append(f.answers, e); len(f.answers) == len(f.def.Checks) {
				a.completed(f, e.Phase)
			}
		case engine.PartTried:
			f := a.steps[e.Step]
			if e.Part == engine.AllParts {
				f.doubted = doubted{}
			}
			f.doubted.parts = append(f.doubted.parts, e)
		case engine.ChangeReverted:
			f := a.steps[e.Step]
			f.doubted.passed = e.Verdict == engine.Pass && f.doubted.red()
		case engine.StepExpanded:
			a.divide(a.steps[e.Step], e.Items)
		case engine.StepSettled:
			f := a.steps[e.Step]
			if e.Status == engine.Done && f.status != engine.Done && f.def.Kind != engine.Ask {
				if err := a.proof(f, e); err != nil {
					return err
				}
			}
			f.status = e.Status
			if f.each != nil && e.Status == engine.Pending && e.By != engine.Harness {
				a.collapsed(f)
			}
		case engine.RunEnded:
			a.open = false
		}
	}
	return nil
}
