package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store/storetest"
)

func errand(id string) engine.Errand {
	return engine.Errand{ErrandAsked: engine.ErrandAsked{Errand: id, Kind: engine.PlanWork, Request: "request " + id, By: "ann"}}
}

// asked submits an errand to an owner that carries the workspace's own work out.
func (s *stage) asked(id string) {
	s.t.Helper()
	if err := s.submit(engine.WorkspaceStream, errand(id)); err != nil {
		s.t.Fatal(err)
	}
	s.activate(engine.WorkspaceStream)
}

// TestErrand: work of the workspace is dispatched, done and told like that of a
// step, and keeps the owner; nobody may answer it but whoever does it.
func TestErrand(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(func(tr run.Traffic) bool { return s.head(engine.WorkspaceStream) == 4 && tr.Moving == 0 })
		wantRefusal(t, s.submit(engine.WorkspaceStream, engine.Errand{}), engine.Invalid)
		release := s.store.hold()
		asked := s.submitLater(engine.WorkspaceStream, errand("p"))
		s.wantRunning() // nothing begins before it is durable
		release()
		if err := <-asked; err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, s.submit(engine.WorkspaceStream, errand("p")), engine.Conflict)
		s.activate(engine.WorkspaceStream)
		s.wantRunning("workspace p 1 draw 1")
		p := s.play("workspace p 1 draw 1")
		if p.effect.Prompt != "request p" || p.effect.Step != nil {
			t.Errorf("%+v", p.effect)
		}
		end := engine.Ended{Key: p.effect.Key, WorkEnded: engine.WorkEnded{How: engine.Exited, Output: "plan"}}
		wantRefusal(t, s.submit(engine.WorkspaceStream, end), engine.Invalid)
		p.answer <- run.Answer{Input: end}
		if err := <-s.ended; err != nil {
			t.Fatal(err)
		}
		s.wantJournal(engine.WorkspaceStream, 0, "epoch.began", "errand.asked", "work.dispatched p 1.1 plan", "work.ended p 1.1 exit")
		wantRefusal(t, s.reopened().submit(engine.WorkspaceStream, errand("p")), engine.Conflict)
	})
}

// reopened is the stage with the next owner at work.
func (s *stage) reopened() *stage {
	s.t.Helper()
	s.close()
	s.open()
	s.loop(stay)
	return s
}

// TestErrandAfterAnEnd: an errand whose work was stopped, or lost with its owner, is
// dispatched anew by the next owner that carries such work out, and by no other;
// but not for ever.
func TestErrandAfterAnEnd(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.asked("p")
		s.interrupt()
		s.reopened()
		s.wantRunning()
		if err := s.submit(engine.WorkspaceStream, engine.Draft{
			Intent:      &engine.IntentOpened{ID: "i", Prompt: "make it so"},
			PlanDrafted: engine.PlanDrafted{Plan: "x", Intent: "i", Path: "plan.md", Hash: "h", By: "ann"},
		}); err != nil {
			t.Fatal(err)
		}
		s.wantRunning()
		for n := 2; n <= 4; n++ {
			s.activate(engine.WorkspaceStream)
			s.wantRunning(fmt.Sprintf("workspace p 1 draw %d", n))
			s.dies()
		}
		s.activate(engine.WorkspaceStream)
		s.wantRunning()
		ends := slices.DeleteFunc(s.journal(engine.WorkspaceStream, 0), func(line string) bool { return !strings.HasPrefix(line, "work.ended") })
		if got, want := strings.Join(ends, "; "), "work.ended p 1.1 cancelled: told to stop; work.ended p 1.2 lost: its owner stopped; "+
			"work.ended p 1.3 lost: its owner stopped; work.ended p 1.4 lost: its owner stopped"; got != want {
			t.Errorf("ends: %s", got)
		}
	})
}

// TestErrandWithdrawn: what is taken back is stopped, is not asked again by anybody, and
// its late end is nothing.
func TestErrandWithdrawn(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.asked("p")
		s.wantRunning("workspace p 1 draw 1")
		back := engine.Withdraw{ErrandDropped: engine.ErrandDropped{Errand: "p", By: "ann"}}
		wantRefusal(t, s.submit(engine.WorkspaceStream, engine.Withdraw{ErrandDropped: engine.ErrandDropped{Errand: "p"}}), engine.Invalid)
		if err := s.submit(engine.WorkspaceStream, back); err != nil {
			t.Fatal(err)
		}
		s.wantRunning()
		wantRefusal(t, s.submit(engine.WorkspaceStream, back), engine.Conflict)
		wantRefusal(t, s.submit(engine.WorkspaceStream, errand("p")), engine.Conflict)
		s.reopened()
		s.asked("q")
		s.wantRunning("workspace q 1 draw 1")
	})
}

// TestErrandReleased: nothing of the workspace's own work runs once nobody carries it,
// and it goes on with whoever carries it next.
func TestErrandReleased(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.asked("p")
		s.wantRunning("workspace p 1 draw 1")
		if err := s.host.Release(t.Context(), engine.WorkspaceStream); err != nil {
			t.Fatal(err)
		}
		s.wantRunning()
		s.activate(engine.WorkspaceStream)
		s.wantRunning("workspace p 1 draw 2")
	})
}

// TestErrandNobodyDoes: a kind of effect that nobody carries out ends the errand,
// and not the owner.
func TestErrandNobodyDoes(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.asked("p")
		s.play("workspace p 1 draw 1").answer <- run.Answer{Err: errors.New("nobody draws")}
		synctest.Wait()
		s.wantJournal(engine.WorkspaceStream, 2, "work.dispatched p 1.1 plan", "work.ended p 1.1 infra: nobody draws")
		s.asked("q")
		s.wantRunning("workspace q 1 draw 1")
	})
}

// TestErrandCrash kills the owner at every boundary of three errands: no work starts
// whose dispatch is not durable, and in the end each has one end that tells. One is
// withdrawn while it is under way: nothing is dispatched for it from then on.
func TestErrandCrash(t *testing.T) {
	for at, more := 1, true; more; at++ {
		synctest.Test(t, func(t *testing.T) {
			memory := storetest.NewMemory()
			more = errands(t, memory, at)
			for errands(t, memory, 0) {
				t.Error("an owner that lives left something to do")
			}
			told, dropped := map[string]int{}, 0
			for r, err := range memory.Read(t.Context(), engine.WorkspaceStream, 0) {
				if err != nil {
					t.Fatal(err)
				}
				switch e := r.Event.(type) {
				case engine.WorkEnded:
					if e.How == engine.Exited {
						told[e.Step]++
					}
				case engine.ErrandDropped:
					dropped++
				case engine.WorkDispatched:
					if e.Step == "c" && dropped > 0 {
						t.Errorf("killed at %d: c is dispatched after it was withdrawn", at)
					}
				}
			}
			if told["a"] != 1 || told["b"] != 1 || told["c"]+dropped != 1 {
				t.Errorf("killed at %d: ends %v, %d withdrawn", at, told, dropped)
			}
		})
	}
}

// errands is one life of an owner that is asked for two errands, and dies at a
// boundary. It reports whether it did.
func errands(t *testing.T, memory *storetest.Memory, point int) bool {
	var dead atomic.Bool
	var points atomic.Int64
	host, err := run.Open(t.Context(), run.Config{
		Store: mortal{memory, &dead}, Now: time.Now, Workspace: "w",
		Do: func(ctx context.Context, e engine.Effect, _ *run.Reporter) run.Answer {
			if !dispatched(t, memory, e.Key) {
				t.Errorf("%v began before its dispatch was durable", e.Key)
			}
			time.Sleep(time.Second)
			return run.Answer{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited}}}
		},
		Point: func(string) {
			if points.Add(1) == int64(point) {
				dead.Store(true)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var begun atomic.Bool
	ended := make(chan error, 1)
	go func() {
		ended <- host.Loop(t.Context(), func(tr run.Traffic) bool { return begun.Load() && tr.Moving == 0 })
	}()
	for _, id := range []string{"a", "b", "c"} {
		_ = host.Submit(t.Context(), engine.WorkspaceStream, errand(id)) // it may be known, or the owner dead by now
	}
	_ = host.Activate(t.Context(), engine.WorkspaceStream)
	_ = host.Submit(t.Context(), engine.WorkspaceStream, engine.Withdraw{ErrandDropped: engine.ErrandDropped{Errand: "c", By: "ann"}})
	begun.Store(true)
	host.Nudge()
	if err := <-ended; err != nil && !dead.Load() {
		t.Errorf("point %d: the loop of a process that lives ended with %v", point, err)
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	return dead.Load()
}

// dispatched reports whether the journal has the dispatch of a key.
func dispatched(t *testing.T, memory *storetest.Memory, k engine.Key) bool {
	for r, err := range memory.Read(t.Context(), engine.WorkspaceStream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := r.Event.(engine.WorkDispatched); ok && e.Step == k.Step && e.N == k.N {
			return true
		}
	}
	return false
}
