package owner

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// owning owns a new workspace until the test ends.
func owning(t *testing.T) *Owner {
	t.Helper()
	place, err := api.Locate(t.TempDir(), map[string]string{"PITON_STATE": t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	o := newOwner(Config{Place: place, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}, Now: func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }, Log: t.Output()})
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	if err := o.open(ctx); err != nil {
		t.Fatal(err)
	}
	go func() { over <- o.host.Loop(ctx, func(run.Traffic) bool { return false }) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := o.close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

// asks has the workspace ask a model something, for which nobody has said yes.
func asks(t *testing.T, o *Owner, name string) {
	t.Helper()
	text := store.NewObject([]byte("what of " + name + "?"))
	in := engine.Errand{ErrandAsked: engine.ErrandAsked{Errand: "e-" + name, Kind: engine.PlanWork, Request: text.Hash, By: "me"}}
	if err := o.host.Submit(t.Context(), engine.WorkspaceStream, in, text); err != nil {
		t.Fatal(err)
	}
}

// An owner that looks whether it may end does not wait for who notes that something is to
// be shown, while that waits for it.
func TestIdleWhileRunsAreShown(t *testing.T) {
	o := owning(t)
	stop := make(chan struct{})
	o.chore(func() { <-stop }) // the only chore while nothing is written
	var looks sync.WaitGroup
	looks.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				o.idle(run.Traffic{})
			}
		}
	})
	for range 200 {
		for o.shower.works() { // what was noted last is written
			runtime.Gosched()
		}
		o.shower.writing.Lock()
		o.shower.rest = time.Time{}
		o.shower.writing.Unlock()
		o.followStream("t-none")
	}
	close(stop)
	looks.Wait()
}

func (s *shower) works() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working
}

// Who begins to carry a stream does so wholly before somebody lets go of it, or wholly
// after: effects never start for what nobody carries.
func TestReleaseWhileSomebodyBegins(t *testing.T) {
	o := owning(t)
	for i := range 5 {
		asks(t, o, string(rune('a'+i)))
		var both sync.WaitGroup
		both.Go(func() {
			for o.carries() == 0 {
			}
			if err := o.release(engine.WorkspaceStream); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			done, err := o.carry(t.Context(), api.Caller{By: "me"}, engine.WorkspaceStream, api.Stop)
			if err != nil {
				t.Error(err)
				return
			}
			<-o.over(engine.WorkspaceStream)
			done()
		})
		both.Wait()
	}
}

// Work that is under way keeps what it began with: a configuration that has changed since
// waits for its end.
func TestRigOfWorkUnderWay(t *testing.T) {
	o := owning(t)
	carry := func(env ...string) error {
		done, err := o.carry(t.Context(), api.Caller{By: "me", Env: append(o.cfg.Env[:2:2], env...)}, engine.WorkspaceStream, api.Stop)
		if err == nil {
			t.Cleanup(done)
		}
		return err
	}
	if err := carry(); err != nil {
		t.Fatal(err)
	}
	o.use(1)
	was := o.world()
	if err := carry("PITON_POLICY_MAX_PARALLEL=7"); err == nil || o.world() != was {
		t.Errorf("%v; the rig was replaced: %v", err, o.world() != was)
	}
	o.use(-1)
	if err := carry("PITON_POLICY_MAX_PARALLEL=7"); err != nil || o.world() == was {
		t.Errorf("nothing is under way any more: %v; the rig was replaced: %v", err, o.world() != was)
	}
}

// The owner lets go of the workspace's own work where nothing of it is to be done, and
// looks at that in the same turn.
func TestUnerrand(t *testing.T) {
	o := owning(t)
	asks(t, o, "a")
	c := o.join(engine.WorkspaceStream)
	c.turn.Unlock()
	if o.unerrand(); o.carries() != 1 {
		t.Fatal("it is let go of while something is asked for")
	}
	drop := engine.Withdraw{ErrandDropped: engine.ErrandDropped{Errand: "e-a", By: "me"}}
	if err := o.host.Submit(t.Context(), engine.WorkspaceStream, drop); err != nil {
		t.Fatal(err)
	}
	if o.unerrand(); o.carries() != 0 {
		t.Error("nothing is asked for, and it is carried on")
	}
}
