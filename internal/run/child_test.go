package run_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// delegated is a step that a plan of its own does.
func delegated(id string, needs ...int) engine.Step {
	s := script(id, needs...)
	s.Kind, s.Checks = engine.Delegate, nil
	s.Child = &engine.SubPlan{Path: id + ".md", Hash: "h", Own: "own", Source: "source", Program: "program"}
	return s
}

// items are what a step is for each of.
func items(names ...string) *engine.Each {
	e := &engine.Each{}
	for _, name := range names {
		e.Items = append(e.Items, json.RawMessage(strconv.Quote(name)))
	}
	return e
}

// ready lets the preparation of a delegated step end well: its run has these
// steps.
func (s *stage) ready(name, id string, steps ...engine.Step) {
	s.t.Helper()
	p := s.play(name)
	program := compile(s.t, id, steps)
	p.answer <- run.Answer{
		Input: engine.Prepared{
			Key: p.effect.Key, Preview: &engine.Preview{Args: "source", Low: true, Hash: "h"},
			Child: &engine.Opening{Run: id, Program: program, Base: "base", Plan: engine.SubPlan{Path: id + ".md", Own: "own", Hash: "h", Source: "source"}},
		},
		Objects: []store.Object{store.NewObject(program.Encode())},
	}
	synctest.Wait()
}

// together lists the streams of the newest append.
func (s *stage) together() []string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	var streams []string
	for _, b := range s.store.appends[len(s.store.appends)-1] {
		streams = append(streams, b.Stream)
	}
	return streams
}

func (s *stage) wantTogether(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.together()); diff != "" {
		s.t.Fatalf("the newest append (-want +got):\n%s", diff)
	}
}

// TestChild: a run of its own is opened with the dispatch of its step, and ends
// with the end of the step's work: each in one append.
func TestChild(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", delegated("sub"), script("after", 0))
		s.ready("t sub 1 prepare 1", "c1", script("a"))
		s.wantTogether("t", "t/sub", "workspace")
		s.wantRunning("t/sub a 1 prepare 1")
		for _, kind := range []string{"prepare", "work"} {
			s.pass("t/sub a 1 " + kind + " 1")
		}
		s.pass("t/sub a 1 verify 1")
		s.wantTogether("t", "t/sub")
		s.wantRunning("t after 1 prepare 1")
		s.wantJournal("t", 3, "preview.made", "work.dispatched sub 1.1 child", "work.ended sub 1.1 exit", "step.settled sub 1 done")
		s.wantJournal("t/sub", 0, "epoch.began", "task.opened", "run.opened", "work.dispatched a 1.1 script", "work.ended a 1.1 exit",
			"check.ended a 1 verifying pass", "step.settled a 1 done", "run.ended done")
	})
}

// TestChildHasEnded: who follows a run, and has read it up to where the run below
// has not ended, does not take the run for one that waits when that has ended since.
func TestChildHasEnded(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", delegated("sub"), script("after", 0))
		s.ready("t sub 1 prepare 1", "c1", script("a"))
		behind, err := run.Load(t.Context(), s.store, "t")
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{"prepare", "work", "verify"} {
			s.pass("t/sub a 1 " + kind + " 1")
		}
		if idle, err := run.Idle(t.Context(), s.store, behind); err != nil || idle {
			t.Errorf("idle %v, %v", idle, err)
		}
	})
}

// TestChildGoesOn: the next owner goes on with the run below, and does nothing of
// it again.
func TestChildGoesOn(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", delegated("sub"))
		s.ready("t sub 1 prepare 1", "c1", script("a"), script("b", 0))
		for _, what := range []string{"prepare 1", "work 1", "verify 1"} {
			s.pass("t/sub a 1 " + what)
		}
		s.pass("t/sub b 1 prepare 1")
		s.interrupt()
		s.close()
		s.open()
		s.loop(stay)
		s.activate("t")
		s.wantRunning("t/sub b 1 prepare 2")
		for _, what := range []string{"prepare 2", "work 2", "verify 2"} {
			s.pass("t/sub b 1 " + what)
		}
		if journal := s.journal("t", 0); journal[len(journal)-1] != "run.ended done" || strings.Contains(strings.Join(journal, "\n"), "lost") {
			t.Errorf("the journal says:\n%s", strings.Join(journal, "\n"))
		}
	})
}

// TestChildOfChild: a command goes all the way down, and the end all the way up.
func TestChildOfChild(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", delegated("sub"))
		s.ready("t sub 1 prepare 1", "c1", delegated("deep"))
		s.ready("t/sub deep 1 prepare 1", "c2", script("a"), script("b", 0))
		s.pass("t/sub/deep a 1 prepare 1")
		if err := s.submit("t", order(engine.DoPause, "")); err != nil {
			t.Fatal(err)
		}
		s.wantTogether("t", "t/sub", "t/sub/deep")
		s.pass("t/sub/deep a 1 work 1")
		s.pass("t/sub/deep a 1 verify 1")
		s.wantRunning()
		if err := s.submit("t", order(engine.DoResume, "")); err != nil {
			t.Fatal(err)
		}
		s.wantRunning("t/sub/deep b 1 prepare 1")
		s.pass("t/sub/deep b 1 prepare 1")
		if err := s.submit("t", order(engine.DoCancel, "")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s.wantRunning()
		s.wantTogether("t", "t/sub", "t/sub/deep")
		for _, stream := range []string{"t", "t/sub", "t/sub/deep"} {
			if journal := s.journal(stream, 0); journal[len(journal)-1] != "run.ended cancelled" {
				t.Errorf("the journal of %s ends with %s", stream, journal[len(journal)-1])
			}
		}
	})
}

// TestChildWaits: a run whose only work waits for a person is one that waits.
func TestChildWaits(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(func(tr run.Traffic) bool { return tr.Moving == 0 && tr.Waiting > 0 })
		s.task("t", delegated("sub"))
		asks := script("a")
		asks.Approval = "it deploys"
		s.ready("t sub 1 prepare 1", "c1", asks)
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		state, err := run.Load(t.Context(), s.store, "t")
		if err != nil {
			t.Fatal(err)
		}
		if idle, err := run.Idle(t.Context(), s.store, state); err != nil || !idle {
			t.Errorf("idle: %v %v", idle, err)
		}
		wantRefusal(t, s.host.Submit(t.Context(), "t/sub", engine.Recall{}), engine.Invalid)
	})
}

// TestChildOfEachItem: every item has a run, an intent and a plan of its own; two
// of them whose steps write the same queue, and what they run knows its item.
func TestChildOfEachItem(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		sub := delegated("sub")
		sub.Each, sub.Task, sub.Title = items("a", "b"), "Do {item}.", "Sub"
		in := opening(t, "t", []engine.Step{sub})
		if err := s.host.Submit(t.Context(), "t", in, program(t, "t", []engine.Step{sub})); err != nil {
			t.Fatal(err)
		}
		s.activate("t")
		w := script("w")
		w.Writes = []string{"src/"}
		s.ready("t sub.1 1 prepare 1", "c1", w, delegated("deep", 0))
		s.ready("t sub.2 1 prepare 1", "c2", w, delegated("deep", 0))
		s.wantRunning("t/sub.1 w 1 prepare 1")
		s.wantJournal("t/sub.2", 3, "lease.awaited")
		for _, what := range []string{"prepare 1", "work 1", "verify 1"} {
			s.wantItem("t/sub.1 w 1 "+what, `"a"`)
			s.pass("t/sub.1 w 1 " + what)
		}
		s.wantItem("t/sub.2 w 1 prepare 1", `"b"`)
		own := script("y")
		own.Each = items("z")
		s.ready("t/sub.1 deep 1 prepare 1", "c3", script("x"), own)
		s.wantItem("t/sub.1/deep x 1 prepare 1", `"a"`)
		s.wantItem("t/sub.1/deep y.1 1 prepare 1", `"z"`)
		want := map[string]string{"i-t/sub.1": "Sub: a\n\nDo a.", "i-t/sub.2": "Sub: b\n\nDo b.", "i-t/sub.1/deep": "deep\n\ndo it"}
		if diff := cmp.Diff(want, s.intents()); diff != "" {
			t.Errorf("intents (-want +got):\n%s", diff)
		}
	})
}

func (s *stage) wantItem(name, want string) {
	s.t.Helper()
	if got := string(s.play(name).effect.Item); got != want {
		s.t.Errorf("%s has the item %s, not %s", name, got, want)
	}
}

// intents are what the runs of sub-plans are for.
func (s *stage) intents() map[string]string {
	all := map[string]string{}
	for r, err := range run.Read(s.t.Context(), s.store, engine.WorkspaceStream, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e, ok := r.Event.(engine.IntentOpened); ok {
			all[e.ID] = e.Prompt
		}
	}
	return all
}

// TestChildThatCannotOpen: the step's work ends before it began.
func TestChildThatCannotOpen(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", delegated("sub"))
		s.ready("t sub 1 prepare 1", "c1", script("a"))
		if err := s.submit("t/sub", order(engine.DoCancel, "")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.submit("t", engine.Reply{ItemAnswered: engine.ItemAnswered{Item: "t-r1/1", Choice: "retry", By: "ann"}}); err != nil {
			t.Fatal(err)
		}
		s.ready("t sub 2 prepare 1", "c1", script("a")) // a run that there is
		s.wantJournal("t", s.head("t")-1, "step.settled sub 2 running")
		wantRefusal(t, s.submit("t/sub", order(engine.DoResume, "")), engine.Conflict)
	})
}
