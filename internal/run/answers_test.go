package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
)

// What Do and people say is outside data: this file holds the loop against
// what they must not say.

func TestWorkWithoutAnswerEndsAllTheSame(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.pass("t a 1 prepare 1")
		before := s.head("t")
		s.play("t a 1 work 1").answer <- run.Answer{}
		s.wantJournal("t", before, "work.ended a 1.1 infra: gave no answer", "step.settled a 1 running")
	})
}

func TestMalformedAnswersEndTheLoop(t *testing.T) {
	for name, answer := range map[string]func(engine.Effect) run.Answer{
		"no answer": func(engine.Effect) run.Answer { return run.Answer{} },
		"no checks": func(e engine.Effect) run.Answer { return run.Answer{Input: engine.Checked{Key: e.Key}} },
		"a check of another name": func(e engine.Effect) run.Answer {
			checks := passing(e)
			checks[0].Check = "other"
			return run.Answer{Input: engine.Checked{Key: e.Key, Checks: checks}}
		},
		"passed with the wrong exit code": func(e engine.Effect) run.Answer {
			checks := passing(e)
			checks[0].Exit = 9
			return run.Answer{Input: engine.Checked{Key: e.Key, Checks: checks}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(t *testing.T, s *stage) {
				s.loop(stay)
				s.task("t", script("a"), script("b"))
				s.pass("t a 1 prepare 1")
				s.pass("t a 1 work 1")
				before := s.head("t")
				p := s.play("t a 1 verify 1")
				p.answer <- answer(p.effect)
				if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "t/t-r1/a/1/verify/1") {
					t.Errorf("the loop ended with %v", err)
				}
				s.wantRunning()
				s.wantJournal("t", before)
			})
		})
	}
}

// The child of an inquiry that was told to stop may have been killed half way:
// whatever it says is no evidence.
func TestAnswersOfStoppedInquiriesAreThrownAway(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		slow := script("a")
		slow.Task = "dies slowly"
		s.loop(stay)
		s.task("t", slow)
		s.pass("t a 1 prepare 1")
		s.pass("t a 1 work 1")
		before := s.head("t")
		s.stop()
		s.wantRunning("t a 1 verify 1!")
		s.fail("t a 1 verify 1")
		if err := <-s.ended; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s.wantJournal("t", before)
		s.close()
		s.open()
		s.loop(stay)
		s.activate("t")
		s.wantRunning("t a 1 verify 1")
		s.pass("t a 1 verify 1")
	})
}

// Work that came to its end though it was told to stop has come to its end.
func TestWorkThatEndsWhileItIsStopped(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		slow := script("a")
		slow.Task = "dies slowly"
		slow.Rerunnable = false
		s.loop(stay)
		s.task("t", slow)
		s.pass("t a 1 prepare 1")
		before := s.head("t")
		s.stop()
		s.pass("t a 1 work 1")
		<-s.ended
		s.wantJournal("t", before, "work.ended a 1.1 exit") // and its checks, which may run once, are not dispatched
		s.close()
		s.open()
		s.loop(stay)
		s.activate("t")
		s.wantRunning("t a 1 verify 2")
		s.pass("t a 1 verify 2")
		s.wantJournal("t", before+1, "epoch.began", "work.dispatched a 1.2 contract",
			"check.ended a 1 verifying pass", "work.ended a 1.2 exit", "step.settled a 1 done", "run.ended done")
	})
}

// Checks that may run only once have run, and their step was skipped meanwhile.
func TestChecksThatAnswerWhenTheyAreNotWanted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		slow := script("a")
		slow.Task = "dies slowly"
		slow.Rerunnable = false
		s.loop(stay)
		s.task("t", slow)
		s.pass("t a 1 prepare 1")
		s.pass("t a 1 work 1")
		if err := s.submit("t", order(engine.DoSkip, "a")); err != nil {
			t.Fatal(err)
		}
		s.wantRunning("t a 1 verify 2!")
		s.pass("t a 1 verify 2")
		journal := s.journal("t", 0)
		if last := journal[len(journal)-1]; last != "run.ended done" {
			t.Errorf("the journal ends with %q", last)
		}
	})
}

func TestRefusalsWriteNothing(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		wantRefusal(t, s.host.Activate(t.Context(), "t"), engine.NotFound)
		wantRefusal(t, s.submit("t", order(engine.DoPause, "")), engine.NotFound)
		wantRefusal(t, s.submit("t", engine.Open{By: "ann"}), engine.NotFound)
		wantRefusal(t, s.host.Activate(t.Context(), "t"), engine.NotFound)
		s.wantJournal("t", 0)
		s.task("t", script("a"))
		s.pass("t a 1 prepare 1")
		s.pass("t a 1 work 1")
		s.pass("t a 1 verify 1")
		done := s.head("t")
		wantRefusal(t, s.submit("t", order(engine.DoPause, "")), engine.Conflict)
		s.interrupt()
		s.close()
		s.open()
		s.loop(stay)
		s.activate("t")
		wantRefusal(t, s.submit("t", order(engine.DoPause, "")), engine.Conflict)
		s.wantJournal("t", done)
	})
}

// Nobody but an effect may say how an effect ended: a verdict is the harness's
// own.
func TestResultsCannotBeSubmitted(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.pass("t a 1 prepare 1")
		s.pass("t a 1 work 1")
		before := s.head("t")
		e := s.play("t a 1 verify 1").effect
		for _, in := range []engine.Input{nil, good(e).Input, stopped(e.Key).Input, engine.Prepared{Key: e.Key}, engine.Begin{}} {
			wantRefusal(t, s.submit("t", in), engine.Invalid)
		}
		s.wantJournal("t", before)
		s.wantRunning("t a 1 verify 1")
	})
}

func TestSubmitGivesUpWaiting(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		before := s.head("t")
		release := s.store.hold()
		ctx, cancel := context.WithCancel(t.Context())
		answer := make(chan error, 1)
		go func() { answer <- s.host.Submit(ctx, "t", order(engine.DoPause, "")) }()
		s.wantRunning("t a 1 prepare 1")
		cancel()
		if err := <-answer; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		release()
		s.wantJournal("t", before, "command pause")
	})
}

// A process that only brings a command starts nothing, and says of nothing
// that it started.
func TestOwnerOfOneCommand(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		once := script("a")
		once.Rerunnable = false
		s.loop(stay)
		s.task("t", once, script("b"))
		s.pass("t a 1 prepare 1")
		s.pass("t b 1 prepare 1")
		s.interrupt()
		s.close()
		before := s.head("t")

		s.open()
		s.loop(func(run.Traffic) bool { return s.head("t") > before })
		if err := s.submit("t", order(engine.DoWaive, "b")); err != nil {
			t.Fatal(err)
		}
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		s.wantRunning()
		s.wantJournal("t", before, "epoch.began", "command waive b", "step.settled b 1 waived")
	})
}

func TestWorkspaceStream(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		draft := engine.Draft{
			Intent:      &engine.IntentOpened{ID: "i", Prompt: "make it so"},
			PlanDrafted: engine.PlanDrafted{Plan: "p", Intent: "i", Path: "plan.md", Hash: "h", By: "ann"},
			Verified:    engine.PlanVerified{OK: true},
		}
		if err := s.submit(engine.WorkspaceStream, draft); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, s.submit(engine.WorkspaceStream, draft), engine.Conflict)
		wantRefusal(t, s.submit(engine.WorkspaceStream, order(engine.DoPause, "")), engine.Invalid)
		s.interrupt()
		s.close()

		s.open()
		s.loop(stay)
		yes := engine.Judgement{PlanAnswered: engine.PlanAnswered{Plan: "p", Hash: "h", Yes: true, By: "bob"}}
		if err := s.submit(engine.WorkspaceStream, yes); err != nil {
			t.Fatal(err)
		}
		s.wantJournal(engine.WorkspaceStream, 0, "epoch.began", "intent.opened", "plan.drafted", "plan.verified", "epoch.began", "plan.answered")
	})
}
