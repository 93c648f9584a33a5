package run_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

func TestRunToItsEnd(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(func(t run.Traffic) bool { return t.Moving == 0 && slices.Contains(s.journal("t", 0), "run.ended done") })
		s.task("t", script("a"), script("b", 0))
		for _, name := range []string{"t a 1 prepare 1", "t a 1 work 1", "t a 1 verify 1", "t b 1 prepare 1", "t b 1 work 1", "t b 1 verify 1"} {
			s.wantRunning(name)
			s.pass(name)
		}
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		s.wantJournal("t", 0,
			"epoch.began", "task.opened", "run.opened",
			"work.dispatched a 1.1 script", "work.ended a 1.1 exit", "check.ended a 1 verifying pass", "step.settled a 1 done",
			"work.dispatched b 1.1 script", "work.ended b 1.1 exit", "check.ended b 1 verifying pass", "step.settled b 1 done",
			"run.ended done")
	})
}

func TestInterruptedWorkGoesOnInTheSameAttempt(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"), script("b"))
		s.pass("t a 1 prepare 1")
		s.pass("t a 1 work 1")
		s.pass("t b 1 prepare 1")
		s.wantRunning("t a 1 verify 1", "t b 1 work 1")
		before := s.head("t")
		if err := s.interrupt(); !errors.Is(err, context.Canceled) {
			t.Fatalf("the loop ended with %v", err)
		}
		s.wantRunning()
		s.wantJournal("t", before, "work.ended b 1.1 cancelled: told to stop")
		s.close()

		s.open()
		s.loop(stay)
		s.activate("t")
		s.wantRunning("t a 1 verify 1", "t b 1 prepare 2")
		s.pass("t b 1 prepare 2")
		s.wantRunning("t a 1 verify 1", "t b 1 work 2")
		s.wantJournal("t", before+1, "epoch.began", "work.dispatched b 1.2 script")
	})
}

func TestLostWorkIsSaidToBeLost(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.pass("t a 1 prepare 1")
		s.wantRunning("t a 1 work 1")
		before := s.head("t")
		s.store.breakWith(store.ErrFull) // nothing more gets to the disk
		s.stop()
		if err := <-s.ended; !errors.Is(err, store.ErrFull) {
			t.Fatalf("the loop ended with %v", err)
		}
		s.wantJournal("t", before)
		s.close()

		s.store.breakWith(nil)
		s.open()
		s.loop(stay)
		s.activate("t")
		s.wantJournal("t", before, "epoch.began", "work.ended a 1.1 lost: its owner stopped")
		s.wantRunning("t a 1 prepare 2")
	})
}

func TestStoreErrorStopsEverything(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"), script("b"))
		s.pass("t a 1 prepare 1")
		s.wantRunning("t a 1 work 1", "t b 1 prepare 1")
		before, shown := s.head("t"), len(s.shown)
		s.store.breakWith(store.ErrFull)
		if err := s.submit("t", order(engine.DoPause, "")); !errors.Is(err, store.ErrFull) {
			t.Fatalf("a command that is not durable was answered with %v", err)
		}
		if err := <-s.ended; !errors.Is(err, store.ErrFull) {
			t.Fatalf("the loop ended with %v", err)
		}
		s.wantRunning()
		s.wantJournal("t", before)
		if len(s.shown) != shown {
			t.Errorf("records were shown that are not durable: %v", s.shown[shown:])
		}
		if err := s.submit("t", order(engine.DoResume, "")); !errors.Is(err, run.ErrStopped) {
			t.Errorf("after the loop has ended a command is answered with %v", err)
		}
	})
}

func TestFencedOwnerStops(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.wantRunning("t a 1 prepare 1")
		first := s.host
		s.store.breakWith(store.ErrFenced)
		s.pass("t a 1 prepare 1")
		if err := <-s.ended; !errors.Is(err, store.ErrFenced) {
			t.Fatalf("the loop ended with %v", err)
		}
		s.wantRunning()
		s.store.breakWith(nil)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		s.open()
		if s.host.Epoch() <= first.Epoch() {
			t.Errorf("epoch %d follows %d", s.host.Epoch(), first.Epoch())
		}
	})
}

// An owner that lost its workspace and did not notice may read what its
// successor wrote. It must take that for what it is.
func TestOwnerReadsTheJournalOfItsSuccessor(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		if err := s.interrupt(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s.close()
		late := aheadOfTime{s.store}
		host, err := run.Open(t.Context(), run.Config{Store: late, Do: s.do, Now: time.Now, Workspace: "w"})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- host.Loop(t.Context(), stay) }()
		err = host.Activate(t.Context(), "t")
		if !errors.Is(err, store.ErrFenced) || !errors.Is(<-ended, store.ErrFenced) {
			t.Errorf("got %v", err)
		}
		s.wantRunning()
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The same holds for what its successor wrote of plans.
func TestOwnerReadsThePlansOfItsSuccessor(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		plan := func(id string) engine.Input {
			return engine.Draft{Intent: &engine.IntentOpened{ID: id}, PlanDrafted: engine.PlanDrafted{Plan: id, Intent: id, By: "ann"}}
		}
		if err := s.submit(engine.WorkspaceStream, plan("p1")); err != nil {
			t.Fatal(err)
		}
		if err := s.interrupt(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s.close()
		host, err := run.Open(t.Context(), run.Config{Store: aheadOfTime{s.store}, Do: s.do, Now: time.Now, Workspace: "w"})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- host.Loop(t.Context(), stay) }()
		err = host.Submit(t.Context(), engine.WorkspaceStream, plan("p2"))
		if !errors.Is(err, store.ErrFenced) || !errors.Is(<-ended, store.ErrFenced) {
			t.Errorf("got %v", err)
		}
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
}

// aheadOfTime gives out an epoch that is over already.
type aheadOfTime struct{ store.Store }

func (a aheadOfTime) Own(ctx context.Context, workspace string) (uint64, func() error, error) {
	_, release, err := a.Store.Own(ctx, workspace)
	return 0, release, err
}

func TestSubmitAfterTheEnd(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		slow := script("a")
		slow.Task = "dies slowly"
		s.task("t", slow)
		s.wantRunning("t a 1 prepare 1")
		s.stop()
		synctest.Wait()
		s.wantRunning("t a 1 prepare 1!")
		if err := s.submit("t", order(engine.DoPause, "")); !errors.Is(err, run.ErrStopped) {
			t.Errorf("while it stops the host answers with %v", err)
		}
		if err := s.host.Activate(t.Context(), "t"); !errors.Is(err, run.ErrStopped) {
			t.Errorf("while it stops the host answers with %v", err)
		}
		s.pass("t a 1 prepare 1")
		if err := <-s.ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("the loop ended with %v", err)
		}
		s.wantRunning()
		s.wantJournal("t", 3)
	})
}

// Commands that came before the interrupt are heard; they start nothing.
func TestCommandsBeforeTheInterrupt(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.pass("t a 1 prepare 1")
		release := s.store.hold()
		first := s.submitLater("t", order(engine.DoPause, ""))
		second := s.submitLater("t", order(engine.DoResume, ""))
		opened := s.submitLater("u", opening(t, "u", []engine.Step{script("a")}))
		active := make(chan error, 1)
		go func() { active <- s.host.Activate(t.Context(), "u") }()
		synctest.Wait()
		s.stop()
		release()
		for _, answer := range []<-chan error{first, second, opened, active} {
			if err := <-answer; err != nil && !errors.Is(err, run.ErrStopped) {
				t.Error(err)
			}
		}
		<-s.ended
		s.wantRunning()
		s.wantJournal("t", 4, "command pause", "command resume", "work.ended a 1.1 cancelled: told to stop")
	})
}

func TestTasksShareOneAppend(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.task("u", script("a"))
		s.wantRunning("t a 1 prepare 1", "u a 1 prepare 1")
		release := s.store.hold()
		busy := s.submitLater("t", order(engine.DoPause, ""))
		s.pass("u a 1 prepare 1")
		again := s.submitLater("t", order(engine.DoResume, ""))
		before := s.store.count()
		release()
		if err := errors.Join(<-busy, <-again); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := s.store.count() - before; got != 2 {
			t.Errorf("%d appends; what came during one is to share the next", got)
		}
		last := s.store.appends[len(s.store.appends)-1]
		if len(last) != 2 || last[0].Stream != "t" || last[1].Stream != "u" {
			t.Errorf("the last append has %d batches", len(last))
		}
		s.wantRunning("t a 1 prepare 1", "u a 1 work 1")
	})
}

func TestResultsBeforeCommands(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"), script("b"))
		s.pass("t a 1 prepare 1")
		before := s.head("t")
		release := s.store.hold()
		first := s.submitLater("t", order(engine.DoPause, ""))
		second := s.submitLater("t", order(engine.DoResume, ""))
		s.pass("t a 1 work 1")
		release()
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		s.wantJournal("t", before, "command pause", "work.ended a 1.1 exit", "command resume")
	})
}

func TestSkipStopsBeforeAnythingStarts(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		slow := script("a")
		slow.Task = "dies slowly"
		s.task("t", slow, script("b"), script("c"))
		s.pass("t a 1 prepare 1")
		s.pass("t b 1 prepare 1")
		if err := s.submit("t", order(engine.DoSkip, "a")); err != nil {
			t.Fatal(err)
		}
		s.wantRunning("t a 1 work 1!", "t b 1 work 1")
		s.pass("t b 1 work 1")
		s.wantRunning("t a 1 work 1!") // the checks of b must wait
		before := s.head("t")
		s.play("t a 1 work 1").answer <- stopped(s.play("t a 1 work 1").effect.Key)
		s.wantJournal("t", before, "work.ended a 1.1 cancelled: told to stop", "step.settled a 1 skipped")
		s.wantRunning("t b 1 verify 1", "t c 1 prepare 1")
	})
}

// A command comes in the very turn that dispatches the work it forbids: the
// work never starts, and its end is recorded all the same.
func TestWorkThatIsForbiddenBeforeItStarts(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		s.task("u", script("a"))
		before := s.head("t")
		release := s.store.hold()
		first := s.submitLater("u", order(engine.DoPause, ""))
		s.pass("t a 1 prepare 1")
		second := s.submitLater("t", order(engine.DoSkip, "a"))
		release()
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		s.wantJournal("t", before, "work.dispatched a 1.1 script", "command skip a",
			"work.ended a 1.1 cancelled: was not started", "step.settled a 1 skipped", "run.ended done")
		s.wantRunning()
	})
}

func TestTimersWake(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		a := script("a")
		a.OnFail.Retries, a.Backoff = 1, time.Minute+7*time.Nanosecond // the journal keeps microseconds
		s.loop(stay)
		s.task("t", a)
		s.pass("t a 1 prepare 1")
		s.pass("t a 1 work 1")
		failed := time.Now()
		s.fail("t a 1 verify 1")
		s.wantRunning()
		time.Sleep(time.Minute)
		s.wantRunning()
		time.Sleep(time.Microsecond)
		s.wantRunning("t a 2 prepare 1")
		if waited := time.Since(failed); waited != time.Minute+time.Microsecond {
			t.Errorf("it waited %v", waited)
		}
	})
}

// The machine sleeps while a step waits: its timers stand still, its clock does
// not.
func TestTimersOfAMachineThatSlept(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		a := script("a")
		a.OnFail.Retries, a.Backoff = 1, 10*time.Hour
		s.loop(stay)
		s.task("t", a)
		s.pass("t a 1 prepare 1")
		s.pass("t a 1 work 1")
		s.fail("t a 1 verify 1")
		s.wantRunning()
		s.slept.Store(int64(12 * time.Hour))
		time.Sleep(2 * time.Minute)
		s.wantRunning("t a 2 prepare 1")
	})
}

func TestTimerOfAStoppingRun(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		slow, b := script("a"), script("b")
		slow.Task = "dies slowly"
		b.OnFail.Retries, b.Backoff = 1, time.Minute
		s.loop(stay)
		s.task("t", slow, b)
		s.pass("t a 1 prepare 1")
		s.pass("t b 1 prepare 1")
		s.pass("t b 1 work 1")
		s.fail("t b 1 verify 1")
		if err := s.submit("t", order(engine.DoCancel, "")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // b's time comes while a is being stopped
		s.wantRunning("t a 1 work 1!")
		s.play("t a 1 work 1").answer <- stopped(s.play("t a 1 work 1").effect.Key)
		s.wantRunning()
		if journal := s.journal("t", 0); journal[len(journal)-1] != "run.ended cancelled" {
			t.Errorf("the journal ends with %q", journal[len(journal)-1])
		}
	})
}

func TestShowGetsDurableRecords(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"))
		shown := len(s.shown)
		release := s.store.hold()
		s.pass("t a 1 prepare 1")
		if len(s.shown) != shown {
			t.Errorf("shown before it was durable: %v", s.shown[shown:])
		}
		s.wantRunning() // nor was it started
		release()
		s.wantRunning("t a 1 work 1")
		var lines []string
		for _, r := range s.shown {
			if _, frame := r.Event.(engine.FramePushed); !frame {
				lines = append(lines, line(r.Event))
			}
		}
		if !slices.Equal(lines, s.journal("t", 0)) {
			t.Errorf("shown were %v", lines)
		}
	})
}

func TestLeaveStopsWhatRuns(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		enough := false
		s.loop(func(run.Traffic) bool { return enough })
		s.task("t", script("a"))
		s.pass("t a 1 prepare 1")
		s.wantRunning("t a 1 work 1")
		before := s.head("t")
		enough = true
		s.host.Nudge()
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		s.wantRunning()
		s.wantJournal("t", before, "work.ended a 1.1 cancelled: told to stop")
	})
}

// While a command waits the loop does not leave: it may give it something to do.
func TestLeaveIsAskedWhenNothingWaits(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		active := false
		s.loop(func(t run.Traffic) bool { return active && t.Moving == 0 })
		s.task("t", script("a"))
		s.wantRunning("t a 1 prepare 1")
		active = true
		release := s.store.hold()
		first := s.submitLater("t", order(engine.DoPause, ""))
		second := s.submitLater("t", order(engine.DoResume, ""))
		release()
		if err := errors.Join(<-first, <-second); err != nil {
			t.Fatal(err)
		}
		s.wantRunning("t a 1 prepare 1")
	})
}

func TestTrafficTellsWhoMayAct(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		var seen run.Traffic
		s.loop(func(t run.Traffic) bool { seen = t; return false })
		a := script("a")
		a.Approval = "it costs money"
		s.task("t", a)
		if want := (run.Traffic{Waiting: 1}); seen != want {
			t.Errorf("a run that waits for an approval is %+v", seen)
		}
		if err := s.submit("t", engine.Reply{ItemAnswered: engine.ItemAnswered{Item: "t-r1/1", Choice: "approve", By: "ann"}}); err != nil {
			t.Fatal(err)
		}
		s.wantRunning("t a 1 prepare 1")
		if want := (run.Traffic{Moving: 1}); seen != want {
			t.Errorf("a run with work under way is %+v", seen)
		}
		if err := s.submit("t", order(engine.DoPause, "")); err != nil {
			t.Fatal(err)
		}
		s.wantRunning()
		if want := (run.Traffic{Waiting: 1}); seen != want {
			t.Errorf("a paused run is %+v", seen)
		}
	})
}

// An inquiry need not wait for the disk: it may be repeated. Work waits.
func TestInquiriesBeginWhileTheDiskSyncs(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"), script("b", 0))
		release := s.store.hold()
		s.pass("t a 1 prepare 1")
		s.wantRunning()
		release()
		s.wantRunning("t a 1 work 1")
		release = s.store.hold()
		s.pass("t a 1 work 1")
		s.wantRunning("t a 1 verify 1")
		release()
		release = s.store.hold()
		s.pass("t a 1 verify 1")
		s.wantRunning("t b 1 prepare 1")
		release()
		s.wantRunning("t b 1 prepare 1")
	})
}

// Nothing rests on a person's word before that is durable.
func TestInquiriesWaitForAPersonsWord(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("a"), script("b", 0), script("c", 1))
		release := s.store.hold()
		skipped := s.submitLater("t", order(engine.DoSkip, "b"))
		s.wantRunning("t a 1 prepare 1")
		release()
		if err := <-skipped; err != nil {
			t.Fatal(err)
		}
		s.wantRunning("t a 1 prepare 1", "t c 1 prepare 1")
	})
}

// What an inquiry leaves behind could be taken for the doing of a step that has
// a scope, if nobody knew that its work had ended.
func TestInquiriesOfScopesWait(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		a := script("a")
		a.Writes = []string{"out/**"}
		s.task("t", a)
		s.pass("t a 1 prepare 1")
		release := s.store.hold()
		s.pass("t a 1 work 1")
		s.wantRunning()
		release()
		s.wantRunning("t a 1 verify 1")
	})
}
