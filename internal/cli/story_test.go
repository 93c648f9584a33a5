package cli

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/view"
)

// dawn is when every story begins.
var dawn = time.Date(2026, 11, 21, 14, 2, 0, 0, time.UTC)

// story is a journal that the core itself wrote, with scripted answers from
// outside.
type story struct {
	t       *testing.T
	state   engine.State
	journal []engine.Record
	now     time.Time
	answers map[string][]engine.Verdict // by step: of its attempts, the last one goes on
	proofs  map[string][]engine.Verdict // by step: of its ratchet rounds
	lasts   time.Duration
}

func (s *story) apply(actor string, e engine.Event) {
	s.t.Helper()
	r := engine.Record{Stream: "t-1", Seq: s.state.Seq() + 1, At: s.now, Actor: actor, Epoch: 1, Event: e}
	if err := s.state.Apply(r); err != nil {
		s.t.Fatalf("the story does not hold: %v", err)
	}
	s.journal = append(s.journal, r)
}

// tell hands an input to the core and writes down all that follows.
func (s *story) tell(in engine.Input) {
	s.t.Helper()
	events, err := s.state.Admit(in, s.now)
	if err != nil {
		s.t.Fatalf("the core refuses %T: %v", in, err)
	}
	for _, e := range events {
		s.apply(in.Actor(), e)
	}
	s.decide()
}

func (s *story) decide() {
	for {
		events := s.state.Decide(s.now)
		if len(events) == 0 {
			events = s.granted()
		}
		if len(events) == 0 {
			return
		}
		for _, e := range events {
			s.apply(engine.Harness, e)
		}
	}
}

// granted gives the first step that wants its scope the use of it.
func (s *story) granted() []engine.Event {
	for _, c := range s.state.Claims() {
		if events, err := s.state.Admit(engine.Lease{Step: c.Step.ID, Attempt: c.Attempt}, s.now); err == nil {
			return events
		}
	}
	return nil
}

// run lets effects end, the first wanted first, until none is wanted or n did.
func (s *story) run(n int) {
	for range n {
		if at, ok := s.state.Wake(); ok && len(s.state.Pending()) == 0 {
			s.now = at
			s.decide()
		}
		pending := s.state.Pending()
		if len(pending) == 0 {
			return
		}
		s.now = s.now.Add(s.lasts)
		s.tell(s.answer(s.state.Effect(pending[0])))
	}
}

func (s *story) answer(e engine.Effect) engine.Input {
	switch e.Key.Kind {
	case engine.Prepare:
		in := engine.Prepared{Key: e.Key}
		if e.Baseline {
			in.Checks = s.checks(e, engine.Fail)
		}
		return in
	case engine.Work:
		in, out, micros := int64(40_000), int64(2_000), int64(190_000)
		return engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{
			How: engine.Exited, Ms: 9_000, Size: 1234, Usage: engine.Usage{In: &in, Out: &out, CostMicros: &micros}, Changed: []string{"a.go"},
		}}
	case engine.Survey:
		return engine.Surveyed{Key: e.Key, Tree: "tree"}
	case engine.Prove:
		return engine.Checked{Key: e.Key, Checks: s.checks(e, s.next(s.proofs, e))}
	}
	return engine.Checked{Key: e.Key, Checks: s.checks(e, s.next(s.answers, e))}
}

func (s *story) next(script map[string][]engine.Verdict, e engine.Effect) engine.Verdict {
	list := script[e.Key.Step]
	if len(list) == 0 {
		return engine.Pass
	}
	if len(list) > 1 {
		script[e.Key.Step] = list[1:]
	}
	return list[0]
}

// hostile is what no terminal may get to see raw.
const hostile = "\x1b[31mred\x1b[2J\x1b]0;owned\a \u202egnirts\u202c\r\x00\x9b31m tab\there \u200bzero"

func (s *story) checks(e engine.Effect, v engine.Verdict) []engine.CheckEnded {
	var list []engine.CheckEnded
	for _, c := range e.Step.Checks {
		a := engine.CheckEnded{
			Check: c.Name, Required: c.Required, Verdict: v, Exit: c.Exit, Want: c.Exit, Ms: 420, Isolation: "none", Shared: e.Shared,
			Command: "c0ffee", Env: "beef", Output: "f00d",
		}
		switch v {
		case engine.Pass:
		case engine.Timeout:
			a.Exit, a.Signal = -1, "killed"
		default:
			a.Exit = c.Exit + 1
			a.Stdout = "--- FAIL: TestDoubleCapture\n    capture_test.go:41: undefined: ErrReplayed\n"
			a.Stderr = hostile + "\n" + strings.Repeat("a very long line ", 30) + "\nФАЙЛ 日本語"
		}
		list = append(list, a)
	}
	return list
}

type stepOption func(*engine.Step)

func step(id, title string, options ...stepOption) engine.Step {
	s := engine.Step{
		ID: id, Title: title, Kind: engine.Agent, Role: "coder", Task: "do " + id, Expect: engine.ExpectAny,
		OnFail: engine.OnFail{Retries: 2, Then: engine.Escalate}, Critical: true, Holds: true, Rerunnable: true,
		Timeout: 10 * time.Minute, CheckTimeout: time.Minute, Mode: "edit", Network: "yes", Writes: []string{id + "/**"},
		Checks: []engine.Check{{Name: engine.Contract, Command: "go test ./" + id + "/...", Required: true}},
	}
	for _, o := range options {
		o(&s)
	}
	return s
}

func onFail(retries int, then engine.Then) stepOption {
	return func(s *engine.Step) { s.OnFail, s.Critical = engine.OnFail{Retries: retries, Then: then}, false }
}

func needs(steps ...int) stepOption { return func(s *engine.Step) { s.Needs = steps } }

func begin(t *testing.T, title string, steps ...engine.Step) *story {
	t.Helper()
	for i := range steps {
		steps[i].Number = string(rune('1' + i))
	}
	p, err := engine.NewProgram(engine.Definition{Plan: "plan-1", Title: title, Parallel: 3, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	s := &story{t: t, now: dawn, answers: map[string][]engine.Verdict{}, proofs: map[string][]engine.Verdict{}, lasts: 13 * time.Second}
	s.tell(engine.Begin{EpochBegan: engine.EpochBegan{Host: "h", Version: "1"}})
	s.tell(engine.Open{Task: &engine.TaskOpened{Task: "t-1", Intent: "i"}, By: "anna", Run: engine.RunOpened{
		Run: "7f3a21", Plan: "plan-1", Version: 3, Title: title, PlanHash: "abcd", Program: p.Hash(), Compiled: p,
		Policy: engine.Policy{MaxParallel: 3, Baseline: true, Ratchet: true}, Workspace: "/home/anna/ledger", Isolation: unsealed, Base: "base",
	}})
	return s
}

// mixed is a run in which about everything has happened, and two people are needed.
func mixed(t *testing.T) *story {
	s := begin(t, "Make payment capture idempotent "+hostile,
		step("callers", "Map every caller of Capture()"),
		step("tests", "Write failing tests for double capture"),
		step("backfill", "日本語のタイトル: 既存のキャプチャを埋め戻す", onFail(0, engine.Escalate)),
		step("queries", hostile, onFail(0, engine.Abort)),
		step("docs", "Write the docs", onFail(1, engine.Skip)),
		step("refund", "Port the refund command"),
		step("webhook", strings.Repeat("A very long title ", 12), needs(3)),
		step("deploy", "Deploy", func(s *engine.Step) { s.Approval = "it touches production" }, needs(0)),
	)
	s.answers["tests"] = []engine.Verdict{engine.Fail, engine.Pass}
	s.answers["backfill"] = []engine.Verdict{engine.Fail}
	s.answers["queries"] = []engine.Verdict{engine.Timeout}
	s.answers["docs"] = []engine.Verdict{engine.Fail}
	s.run(2)
	s.tell(engine.Order{Command: engine.Command{Verb: engine.DoWaive, Step: "refund", Why: "looked at it " + hostile, By: "anna"}})
	s.run(1000)
	return s
}

// again is a run that is paused, whose first step does not hold at the end, and
// that is done after all.
func again(t *testing.T) *story {
	s := begin(t, "Two steps", step("one", "The first"), step("two", "The second", needs(0)))
	s.proofs["one"] = []engine.Verdict{engine.Fail, engine.Pass}
	s.run(3)
	s.tell(engine.Order{Command: engine.Command{Verb: engine.DoPause, By: "anna"}})
	s.now = s.now.Add(time.Hour)
	s.tell(engine.Order{Command: engine.Command{Verb: engine.DoResume, By: "anna"}})
	s.run(1000)
	return s
}

// given is a run that a person gives up, after an answer.
func given(t *testing.T) *story {
	s := begin(t, "Given up", step("one", "The first", onFail(0, engine.Escalate)), step("two", "The second", needs(0)))
	s.answers["one"] = []engine.Verdict{engine.Fail}
	s.run(1000)
	s.tell(engine.Reply{ItemAnswered: engine.ItemAnswered{Item: "7f3a21/1", Choice: engine.ChooseRetry, Text: "try harder", By: "anna", Via: "cli"}})
	s.run(1)
	s.tell(engine.Order{Command: engine.Command{Verb: engine.DoCancel, By: "anna"}})
	for range 10 {
		s.cut()
	}
	return s
}

// cut ends live work as the harness does when it is not wanted any more.
func (s *story) cut() {
	for i := range s.state.Program().Len() {
		st := s.state.StepRow(i)
		if s.state.Live() && st.Status == engine.Running && st.Phase == engine.Working {
			k := engine.Key{Task: "t-1", Run: "7f3a21", Step: st.ID, Attempt: st.Attempts, Kind: engine.Work, N: 1}
			s.tell(engine.Ended{Key: k, WorkEnded: engine.WorkEnded{How: engine.Stopped, Reason: "stopped by Piton"}})
		}
	}
}

// failedRun is a run that ends because a critical step failed.
func failedRun(t *testing.T) *story {
	s := begin(t, "Failed", step("one", "The first"), step("two", "The second", needs(0), onFail(0, engine.Abort), func(s *engine.Step) { s.Critical = true }), step("three", "The third", needs(1)))
	s.answers["two"] = []engine.Verdict{engine.Fail}
	s.run(1000)
	return s
}

// standing is how the story stands, as status shows it.
func (s *story) standing() view.Standing {
	st := view.Standing{Head: s.state.Head(), Now: s.now.Add(90 * time.Second), Carried: true, By: view.Stands{Carried: view.Carried{All: true}}, Newest: true}
	for i := range s.state.Program().Len() {
		st.Steps = append(st.Steps, s.state.StepRow(i))
	}
	items := map[string]engine.ItemRow{}
	for _, it := range s.state.Rows().Items {
		if it.Open {
			items[it.Item] = it
		}
	}
	for _, it := range items {
		st.Items = append(st.Items, it)
	}
	slices.SortFunc(st.Items, func(a, b engine.ItemRow) int { return cmp.Compare(a.Item, b.Item) })
	return st
}

var stories = map[string]func(*testing.T) *story{"mixed": mixed, "again": again, "given": given, "failed": failedRun}
