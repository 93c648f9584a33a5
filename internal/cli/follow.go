package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/owner"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/view"
)

// follower shows one run. It reads the journal, and hears from the owner when there
// is more to read.
type follower struct {
	*session
	opened  api.Opened
	stay    bool      // while only people can go on
	after   uint64    // for programs: events before are known
	carries bool      // the run goes on because of this process
	joined  bool      // others carried it on already: what stops this process does not stop the run
	end     api.End   // what the end of this process means for the run then
	began   time.Time // when it was asked for
	state   engine.State
	feed    *api.Feed

	view     atomic.Pointer[viewer]
	leave    context.CancelFunc
	over     bool         // the run has ended
	stopped  atomic.Int32 // the signal that stopped it
	asking   sync.Mutex   // of asked
	asked    time.Time    // when it was stopped
	atOnce   atomic.Bool  // it is being stopped at once
	detached atomic.Bool  // a person left the run to itself
}

// errOver ends following a run.
var errOver = errors.New("the run is over")

// carry makes the owner carry a run on, and shows it to its end.
func (s *session) carry(ctx context.Context, f runFlags, opened api.Opened) error {
	s.app.outlive(func() {})
	point("client before carry")
	if opened.Over {
		return s.tooLate(ctx, opened)
	}
	d := &follower{session: s, opened: opened, stay: f.wait || !f.noWait && s.app.asks(), carries: true, end: api.Stop, began: s.Now()}
	if opened.Resumed {
		streams, err := s.client.Carried(ctx)
		d.joined = err == nil && slices.Contains(streams, opened.Stream)
	}
	if f.detach {
		d.end = api.Leave
		if f.noWait {
			d.end = api.Rest
		}
		return d.leaveAlone(ctx)
	}
	if s.app.live() && !s.app.json && isTerminal(s.app.in) {
		d.end = api.Leave
	}
	ctx, d.leave = context.WithCancel(ctx)
	defer d.leave()
	defer d.signals()()
	err := d.follow(ctx)
	d.endView()
	if d.detached.Load() {
		if sig := d.stopped.Load(); sig != 0 {
			return ended(128 + int(sig))
		}
		return nil
	}
	return cmp.Or(err, d.outcome(context.WithoutCancel(ctx), err))
}

// tooLate shows a run that has ended already.
func (s *session) tooLate(ctx context.Context, opened api.Opened) error {
	head, err := s.Find(ctx, opened.Run)
	if err != nil {
		return err
	}
	s.app.notice("run %s is %s; piton run PLAN opens a new run", head.Run, head.Status)
	return cmp.Or(s.app.showEnd(ctx, s, head), s.code(ctx, head))
}

// leaveAlone lets the owner carry the run on without this process.
func (d *follower) leaveAlone(ctx context.Context) error {
	text := behindText
	head, err := d.Find(ctx, d.opened.Run)
	if err == nil && head.Status == engine.Paused {
		text = pausedText
	} else if err == nil {
		err = d.client.HandOver(ctx, d.opened.Stream, d.end)
	}
	if err != nil {
		return err
	}
	if !d.app.json {
		fmt.Fprintf(d.app.out, text, d.opened.Run)
		return nil
	}
	if head, err = d.Find(ctx, d.opened.Run); err != nil {
		return err
	}
	return d.app.showStatus(ctx, d.session, head)
}

// behindText says that a run goes on without its terminal, the others that it does
// not.
const (
	behindText = "run %[1]s continues in the background; piton watch %[1]s follows it\n"
	pausedText = "run %[1]s stays paused; to continue: piton resume %[1]s\n"
	askingText = "run %[1]s waits for a person, and nothing works until then; piton inbox shows what it asks\n"
)

// maxDeaths is how often an owner may die before a run has come any further. An
// attempt that its owner died of is given to a person after three.
const maxDeaths = 4

// follow carries the run on with one owner after the other, until it has ended, can
// move only when a person acts, or is left to itself.
func (d *follower) follow(ctx context.Context) error {
	for deaths := 0; ; {
		was := d.progress()
		err := d.client.Carry(ctx, d.opened.Stream, d.end, func() error { return d.step(ctx) })
		switch {
		case d.atOnce.Load():
			select {} // stopNow ends the process
		case d.over, d.detached.Load(), errors.Is(err, errOver), err == nil:
			return nil
		case d.stopped.Load() != 0 && (ctx.Err() != nil || api.ErrGone(err)):
			return nil // an owner that has ended has stopped the run
		case !api.ErrGone(err):
			return err
		}
		if deaths++; d.progress() != was {
			deaths = 0
		}
		if deaths >= maxDeaths {
			return err
		}
		d.app.notice("the owner of this workspace has ended; run %s goes on", d.opened.Run)
	}
}

// progress tells apart how far the run has come.
func (d *follower) progress() int {
	if d.state.Program() == nil {
		return 0
	}
	head := d.state.Head()
	return head.Settled + head.Open
}

// step shows what is new, and fails with errOver when there is nothing to wait for.
// After the end of a run the owner says when all is done that belongs to it.
func (d *follower) step(ctx context.Context) error {
	point("client before read")
	if d.feed == nil {
		d.feed = d.Feed(d.opened.Stream)
	}
	fresh, err := d.feed.Fresh(ctx)
	if err != nil {
		return err
	}
	for _, r := range fresh {
		if d.own(r) {
			if err := d.state.Apply(r); err != nil {
				return err
			}
		}
	}
	point("client before show")
	d.tell(fresh)
	switch {
	case !d.state.Live() && d.carries && !d.over:
		d.over = true
		time.AfterFunc(afterEnd, d.leave)
	case !d.state.Live() && !d.carries:
		return errOver
	case d.stay || !d.state.Live():
	default:
		idle, err := run.Idle(ctx, d.store, &d.state)
		if err != nil || idle {
			return cmp.Or(err, errOver)
		}
	}
	return nil
}

// point is passed by crash tests.
func point(name string) {
	if owner.Point != nil {
		owner.Point(name)
	}
}

// afterEnd is how long an owner may take for what belongs to the end of a run.
const afterEnd = 10 * time.Second

// own reports whether a record is of the run itself.
func (d *follower) own(r engine.Record) bool { return r.Stream == d.opened.Stream }

// tell shows records; the first call begins the view.
func (d *follower) tell(records []engine.Record) {
	if v := d.view.Load(); v != nil {
		(*v).records(records)
		d.ring(*v, records)
		return
	}
	past, news := records, []engine.Record(nil)
	if d.carries {
		past, news = view.News(records, d.opened, d.began)
	}
	v := d.app.newView(d)
	v.past(past, d.app.now(), news)
	v.records(news)
	d.ring(v, news)
	d.view.Store(&v)
}

// ring rings the bell for news that a person wants to hear of, if they want it to ring.
func (d *follower) ring(v viewer, news []engine.Record) {
	if d.Config.Notify.Bell == "on" && slices.ContainsFunc(news, view.Notable) {
		v.ring()
	}
}

// outcome shows how the run stands and turns it into an exit code. failed is what
// ended following it.
func (d *follower) outcome(ctx context.Context, failed error) error {
	head, err := d.Find(ctx, d.opened.Run)
	if err != nil || failed != nil && !head.Ended {
		return err
	}
	if err := d.app.showEnd(ctx, d.session, head); err != nil {
		return err
	}
	if sig := syscall.Signal(d.stopped.Load()); sig != 0 && !head.Ended {
		d.app.notice("stopped; nothing is lost. To continue: piton resume %s", head.Run)
		return ended(128 + int(sig))
	}
	return d.code(ctx, head)
}

// code is the exit code of a run as it stands.
func (s *session) code(ctx context.Context, head engine.HeadRow) error {
	switch {
	case head.Ended && head.Status == engine.Done:
		return nil
	case head.Ended:
		return ended(max(exitFailed, head.Exit))
	}
	items, err := s.Waiting(ctx, head)
	if err != nil {
		return err
	}
	code := exitWaiting
	for _, it := range items {
		switch {
		case it.Cause == engine.Infra:
			return ended(exitMachine)
		case it.Shortage != nil:
			code = exitBudget
		}
	}
	return ended(code)
}

// signals makes the first Ctrl-C stop gently and the second at once. The end of the
// terminal stops gently where it does not leave the run alone.
func (d *follower) signals() (done func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		signal.Notify(c, syscall.SIGHUP)
	}
	quit := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-c:
				if sig == syscall.SIGHUP && d.end == api.Leave {
					d.hangup()
				} else {
					d.interrupt(sig.(syscall.Signal))
				}
			case <-quit:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(quit) }
}

// hangup leaves the run alone, as a person does that leaves the terminal.
func (d *follower) hangup() {
	d.detached.Store(true)
	d.leave()
}

func (d *follower) interrupt(sig syscall.Signal) {
	d.asking.Lock()
	first := d.stopped.CompareAndSwap(0, int32(sig))
	if first {
		d.asked = time.Now()
	}
	again := time.Since(d.asked) > doubled
	d.asking.Unlock()
	switch {
	case again:
		d.stopNow(sig)
	case first && d.joined:
		d.app.notice("detached: run %[1]s goes on where it was started. piton cancel %[1]s ends it", d.opened.Run)
		d.hangup()
	case first:
		d.app.notice("stopping; press again to stop at once")
		go d.release()
	}
}

// release has the owner stop the run gently. The end of that ends following it.
func (d *follower) release() {
	if _, err := d.client.Release(context.Background(), api.Release{Stream: d.opened.Stream}); err != nil {
		d.app.notice("%v", err)
		d.leave()
	}
}

// doubled is how soon after the first a signal is the same wish: timeout(1), and
// others that pass signals on, tell the process and then its group. It is less
// than anybody needs to press a key twice.
const doubled = 50 * time.Millisecond

// stopNow has the owner stop the run at once, and ends this process.
func (d *follower) stopNow(sig syscall.Signal) {
	d.atOnce.Store(true)
	d.restore()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := d.client.Release(ctx, api.Release{Stream: d.opened.Stream, Now: true}); err != nil && !api.ErrGone(err) {
		d.app.notice("the owner of this workspace does not answer, and run %s may still be at work; piton status shows it", d.opened.Run)
	} else {
		d.app.notice("stopped at once; nothing is lost. To continue: piton resume %s", d.opened.Run)
	}
	os.Exit(128 + int(sig))
}

// keys are what the person at the view of the run can do to it.
func (d *follower) keys() keys {
	if !d.carries {
		return keys{detach: d.hangup}
	}
	return keys{detach: d.detach, stop: func() { d.interrupt(syscall.SIGINT) }, stopNow: func() { d.stopNow(syscall.SIGINT) }}
}

// detach leaves the terminal. The run goes on without it, unless it is paused or
// waits for a person.
func (d *follower) detach() {
	ctx, text := context.Background(), behindText
	if state, err := run.Load(ctx, d.store, d.opened.Stream); err == nil && state.Live() {
		idle, _ := run.Idle(ctx, d.store, state) //nolint:errcheck // then it goes on, as far as is known
		switch {
		case state.Head().Status == engine.Paused:
			text = pausedText
			d.release()
		case idle:
			text = askingText
		}
	}
	d.hangup()
	fmt.Fprintf(d.app.out, text, d.opened.Run)
}

// endView returns when all that the view got is shown.
func (d *follower) endView() {
	if v := d.view.Load(); v != nil {
		(*v).close()
	}
}

// restoring is how long the terminal may take to be as it was.
const restoring = 300 * time.Millisecond

// restore gives the terminal back before the process ends at once.
func (d *follower) restore() {
	done := make(chan struct{})
	go func() { d.endView(); close(done) }()
	select {
	case <-done:
	case <-time.After(restoring):
	}
}
