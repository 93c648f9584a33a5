package run

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// Traffic is what the loop has to do for its active tasks.
type Traffic struct {
	Moving  int // runs with something under way, ready or due
	Waiting int // runs that can move only when a person acts
	Stopped int // runs whose effects are being stopped, after a Release
}

// Loop runs turns until leave says that it may end: leave is asked whenever
// nothing waits, with what there is to do; [Host.Nudge] makes the loop ask
// again. Before it returns nil, what still runs is stopped and its end recorded.
// A cancelled ctx does the same at once and returns ctx.Err(). Any other error
// is one after which the process must stop: what was acknowledged is safe, and
// nothing else is known.
func (h *Host) Loop(ctx context.Context, leave func(Traffic) bool) error {
	defer h.refuse()
	for {
		if t, quiet := h.traffic(); quiet && leave(t) {
			return h.quit()
		}
		if stopped := h.await(ctx); stopped {
			return errors.Join(h.quit(), ctx.Err())
		}
		if err := h.turn(); err != nil {
			h.abandon()
			return err
		}
	}
}

// await returns when there is something for a turn. It reports whether ctx has
// ended, whatever else there is: who was told to stop begins nothing more.
func (h *Host) await(ctx context.Context) (stopped bool) {
	alarm, stop := h.alarm()
	defer stop()
	select {
	case <-ctx.Done():
	case <-h.signal:
	case <-alarm:
	}
	return ctx.Err() != nil
}

// traffic counts what there is to do; quiet is false while inputs wait.
func (h *Host) traffic() (t Traffic, quiet bool) {
	quiet = !h.inboxed()
	if h.work.active && h.work.Live() {
		t.Moving++
	}
	for _, x := range h.tasks {
		switch {
		case !x.active && len(x.running) > 0:
			t.Stopped++
		case !x.active || !x.Live():
		case x.moves():
			t.Moving++
		default:
			t.Waiting++
		}
	}
	return t, quiet
}

// moves reports a run that goes on without a person's doing.
func (t *task) moves() bool { return t.state.Live() && (len(t.running) > 0 || !t.state.Idle()) }

// longest is how long the loop sleeps when a time is set. A timer stands still
// while the machine sleeps, and the clock does not.
const longest = time.Minute

// alarm rings when the earliest due time of an active task has come, and now
// and then before. A time that the last turn has seen rings no more: what that
// turn made nothing of, the clock alone will not change.
func (h *Host) alarm() (<-chan time.Time, func()) {
	var first time.Time
	for _, t := range h.tasks {
		at, ok := t.state.Wake()
		if at = turnAt(at); ok && t.active && at.After(h.seen) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if first.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(min(longest, max(0, first.Sub(h.cfg.Now()))))
	return timer.C, func() { timer.Stop() }
}

// turnAt is the first moment a turn can have that is not before at: a turn's
// time is cut to the microsecond.
func turnAt(at time.Time) time.Time {
	return at.Add(time.Microsecond - 1).Truncate(time.Microsecond)
}

// quit takes no more commands, stops what runs and records how it ended.
func (h *Host) quit() error {
	h.shut()
	h.stopping = true
	for _, stream := range append(slices.Sorted(maps.Keys(h.tasks)), engine.WorkspaceStream) {
		h.stream(stream).active = false
		h.reconcile(stream)
	}
	for h.anyRunning() {
		if !h.inboxed() {
			<-h.signal
		}
		if err := h.turn(); err != nil {
			h.abandon()
			return err
		}
	}
	return nil
}

func (h *Host) anyRunning() bool {
	for _, t := range h.tasks {
		if len(t.running) > 0 {
			return true
		}
	}
	return len(h.work.running) > 0
}

// abandon stops what runs without recording anything: the journal is not to be
// written any more.
func (h *Host) abandon() {
	for _, t := range append(slices.Collect(maps.Values(h.tasks)), h.work) {
		for _, r := range t.running {
			r.stop()
		}
	}
	close(h.over)
	h.effects.Wait()
}
