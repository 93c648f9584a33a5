package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// drive is one run as this process follows it: as the owner of the workspace,
// or beside the owner.
type drive struct {
	*session
	flags  runFlags
	stay   bool                               // while only people can go on
	open   func(api.Desk) (api.Opened, error) // called until it succeeds once
	opened *api.Opened
	state  engine.State // as far as it was followed beside an owner
	below  *lineage     // the runs that carry out its steps, as far as they were read; nil before there is one
	owner  *owner       // nil beside another one

	ready   atomic.Bool // the run is active: the loop may end when there is nothing to do
	stream  atomic.Pointer[string]
	view    atomic.Pointer[view]
	mu      sync.Mutex             // of early, and of who passes records to a view that is new
	early   []engine.Record        // what became durable here before there was a view
	leaving atomic.Pointer[func()] // ends this process's part in the run
	stopped atomic.Int32           // the signal that stopped it
	asked   time.Time              // when; of the goroutine that gets the signals

	detached atomic.Bool // a person left the run to itself
}

// errOver ends following a run.
var errOver = errors.New("the run is over")

// errOwnerGone says that the owner ended before the run that was followed.
var errOwnerGone = errors.New("the process that carried the run out has ended")

// drive opens or resumes a run and stays with it to its end. Where the owner
// that it follows goes away, another one is followed, or this process is the
// next.
func (s *session) drive(ctx context.Context, f runFlags, open func(api.Desk) (api.Opened, error)) error {
	d := &drive{session: s, flags: f, open: open, stay: f.wait || !f.noWait && s.app.asks()}
	s.app.outlive(func() {})
	for {
		o, err := s.ownOrAsk(func() (*owner, error) { return s.own(ctx, d.leave, d.show) }, func() error { return d.beside(ctx) })
		switch {
		case o != nil:
			d.owner = o
			return d.asOwner(ctx)
		case !errors.Is(err, errOwnerGone):
			d.endView()
			return err
		}
		d.app.notice("%v; run %s goes on", err, d.opened.Run)
	}
}

// detachNow leaves the terminal. The owner of the run goes on without it, where it
// can and there is something to do; else this process's part in the run ends, and
// another one has it.
func (d *drive) detachNow() bool {
	if d.ready.Load() && d.app.front != nil {
		head, err := d.Find(context.Background(), d.opened.Run)
		if err == nil && head.Status != engine.Paused {
			err = d.goOn()
		}
		if err == nil && head.Status != engine.Paused {
			return true
		}
	}
	d.detached.Store(true)
	if leave := d.leaving.Load(); leave != nil {
		(*leave)()
	}
	return false
}

func (d *drive) leave(t run.Traffic) bool {
	return d.ready.Load() && t.Moving == 0 && (!d.stay || t.Waiting == 0)
}

// show passes the records of this run to its view, and keeps them until there is
// one. The loop calls it.
func (d *drive) show(records []engine.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, stream := d.view.Load(), d.stream.Load()
	switch {
	case v == nil:
		d.early = append(d.early, records...)
	case stream != nil:
		(*v).records(later(records, *stream, 0))
	}
}

// later are the records of a stream behind a sequence number, and those of the
// runs that carry out steps of it.
func later(records []engine.Record, stream string, seq uint64) []engine.Record {
	var mine []engine.Record
	for _, r := range records {
		if r.Stream == stream && r.Seq > seq || strings.HasPrefix(r.Stream, stream+"/") {
			mine = append(mine, r)
		}
	}
	return mine
}

// opens opens the run, unless that was done.
func (d *drive) opens(desk api.Desk) error {
	if d.opened != nil {
		return nil
	}
	o, err := d.open(desk)
	if err == nil {
		d.opened = &o
	}
	return err
}

func (d *drive) asOwner(ctx context.Context) error {
	stop := func() { d.owner.stop() }
	d.leaving.Store(&stop)
	defer d.signals()()
	if err := d.opens(d.owner); err != nil {
		d.endView()
		return errors.Join(err, d.release(ctx))
	}
	if d.flags.detach {
		return errors.Join(d.release(ctx), d.session.detach(*d.opened, d.flags))
	}
	if err := d.carry(ctx); err != nil {
		d.endView()
		return errors.Join(err, d.release(ctx))
	}
	loop := <-d.owner.ended
	d.owner.ended <- nil
	d.endView()
	err := d.release(ctx)
	if loop != nil && !errors.Is(loop, context.Canceled) {
		return errors.Join(loop, err)
	}
	if d.detached.Load() {
		return errors.Join(err, d.session.detach(*d.opened, d.flags))
	}
	return errors.Join(d.outcome(ctx), err)
}

// carry starts what the run wants, and shows it. The first work does not wait
// for a view: what the journal held before is read while it goes on.
func (d *drive) carry(ctx context.Context) error {
	if d.view.Load() != nil {
		return d.carryOn(ctx)
	}
	d.stream.Store(&d.opened.Stream)
	before, at := d.kept(0), d.app.now()
	slices.Reverse(before)
	if err := d.start(ctx); err != nil {
		return err
	}
	last := uint64(math.MaxUint64) // nothing came, and nothing will
	if n := slices.IndexFunc(before, d.own); n >= 0 {
		last = before[n].Seq
	} else if now := d.kept(0); slices.ContainsFunc(now, d.own) {
		last = now[slices.IndexFunc(now, d.own)].Seq - 1
	}
	return d.begin(ctx, last, at)
}

// own reports whether a record is of the run itself.
func (d *drive) own(r engine.Record) bool { return r.Stream == d.opened.Stream }

// carryOn goes on with a run that was followed here until its owner ended: the
// view gets what that one did last, and then what this one does.
func (d *drive) carryOn(ctx context.Context) error {
	fresh, err := d.fresh(ctx)
	if err != nil {
		return err
	}
	d.tell(fresh)
	d.stream.Store(&d.opened.Stream)
	return d.start(ctx)
}

func (d *drive) start(ctx context.Context) error {
	if err := d.owner.Activate(ctx, d.opened.Stream); err != nil {
		return err
	}
	d.ready.Store(true)
	d.owner.Nudge()
	return nil
}

// kept are the records of this run behind a sequence number that wait for a view.
func (d *drive) kept(seq uint64) []engine.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return later(d.early, d.opened.Stream, seq)
}

// begin begins the view with all records up to the one of this sequence number,
// which was the last at that time, and those after it.
func (d *drive) begin(ctx context.Context, last uint64, at time.Time) error {
	past, err := d.fresh(ctx)
	if err != nil {
		return err
	}
	v := d.app.newView(d.session, *d.opened, d.keys())
	began := map[string]uint64{} // by stream: the first record that is news
	for _, r := range d.kept(last) {
		began[r.Stream] = min(cmp.Or(began[r.Stream], r.Seq), r.Seq)
	}
	past = slices.DeleteFunc(past, func(r engine.Record) bool {
		return d.own(r) && r.Seq > last || began[r.Stream] > 0 && r.Seq >= began[r.Stream]
	})
	shown := d.shown(past)
	v.past(past[:shown], at)
	v.records(past[shown:])
	d.mu.Lock()
	defer d.mu.Unlock()
	v.records(later(d.early, d.opened.Stream, last))
	d.early = nil
	d.view.Store(&v)
	return nil
}

// shown is how many of the records some view has shown, or need not be: not what
// came of an answer, or of the opening of the run here, where no work has followed.
func (d *drive) shown(records []engine.Record) int {
	shown := len(records)
	for i, r := range records {
		if !d.own(r) {
			continue
		}
		switch r.Event.(type) {
		case engine.RunOpened:
			if !d.opened.Resumed {
				shown = i + 1
			}
		case engine.ItemAnswered:
			shown = min(shown, i)
		case engine.WorkDispatched, engine.WorkEnded, engine.CheckEnded:
			shown = len(records)
		}
	}
	return shown
}

// fresh reads what came after what was followed, of the runs that carry out its
// steps too, in the order in which it happened.
func (d *drive) fresh(ctx context.Context) ([]engine.Record, error) {
	var records []engine.Record
	for r, err := range run.Read(ctx, d.store, d.opened.Stream, d.state.Seq()) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
		if w, ok := r.Event.(engine.WorkDispatched); ok && w.Child != "" && d.below == nil {
			d.below = &lineage{session: d.session, stream: d.opened.Stream, read: map[string]uint64{}, over: map[string]bool{}}
		}
	}
	if d.below == nil {
		return records, nil
	}
	below, err := d.below.fresh(ctx)
	return merged(append(records, below...)), err
}

// merged puts records of several streams in the order in which they happened, as
// far as times tell: a clock may have been set back. Records of one stream keep
// their order, and no stream begins before the dispatch that opened it.
func merged(records []engine.Record) []engine.Record {
	lanes, unopened := map[string][]engine.Record{}, map[string]bool{}
	for _, r := range records {
		lanes[r.Stream] = append(lanes[r.Stream], r)
		if w, ok := r.Event.(engine.WorkDispatched); ok && w.Child != "" {
			unopened[engine.ChildTask(r.Stream, w.Step)] = true
		}
	}
	for name, lane := range lanes {
		unopened[name] = unopened[name] && lane[0].Seq == 1
	}
	names := slices.Sorted(maps.Keys(lanes))
	var all []engine.Record
	for len(all) < len(records) {
		next := ""
		for _, name := range names {
			if !unopened[name] && (next == "" || lanes[name][0].At.Before(lanes[next][0].At)) {
				next = name
			}
		}
		r := lanes[next][0]
		all = append(all, r)
		if lanes[next] = lanes[next][1:]; len(lanes[next]) == 0 {
			names = slices.DeleteFunc(names, func(name string) bool { return name == next })
		}
		if w, ok := r.Event.(engine.WorkDispatched); ok && w.Child != "" {
			unopened[engine.ChildTask(r.Stream, w.Step)] = false
		}
	}
	return all
}

// lineage are the runs that carry out steps of a task's newest run, and of those,
// as far as they were read.
type lineage struct {
	*session
	stream string
	read   map[string]uint64 // by stream: the last sequence number
	over   map[string]bool   // by run: it had ended when it was read last
}

// fresh reads what came after what was read.
func (l *lineage) fresh(ctx context.Context) ([]engine.Record, error) {
	heads, err := l.store.Heads(ctx, store.HeadFilter{Stream: l.stream, Limit: 1})
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	under, err := l.Under(ctx, heads[0])
	from, grown := map[string]uint64{}, map[string]bool{} // by stream: the first record of the first run that counts
	for _, h := range under {
		first := max(h.First, 1)
		from[h.Stream] = min(cmp.Or(from[h.Stream], first), first)
		grown[h.Stream] = grown[h.Stream] || !h.Ended || !l.over[h.Run]
		l.over[h.Run] = h.Ended
	}
	maps.DeleteFunc(from, func(stream string, _ uint64) bool { return !grown[stream] })
	var records []engine.Record
	for _, stream := range slices.Sorted(maps.Keys(from)) {
		for r, err := range run.Read(ctx, l.store, stream, max(l.read[stream], from[stream]-1)) {
			if err != nil {
				return nil, err
			}
			l.read[stream] = r.Seq
			records = append(records, r)
		}
	}
	return records, err
}

// tell shows records; the first call begins the view.
func (d *drive) tell(records []engine.Record) {
	if v := d.view.Load(); v != nil {
		(*v).records(records)
		return
	}
	v := d.app.newView(d.session, *d.opened, d.keys())
	v.past(records, d.app.now())
	d.view.Store(&v)
}

// endView returns when all that the view got is shown.
func (d *drive) endView() {
	if v := d.view.Load(); v != nil {
		(*v).close()
	}
}

// release gives the workspace back. Runs of others that were under way in this
// process go on in one of their own.
func (d *drive) release(ctx context.Context) error {
	err := d.owner.release()
	for _, stream := range d.owner.Left() {
		if d.opened == nil || stream != d.opened.Stream {
			err = errors.Join(err, d.handOn(ctx, stream))
		}
	}
	return err
}

func (s *session) handOn(ctx context.Context, stream string) error {
	heads, err := s.store.Heads(ctx, store.HeadFilter{Stream: stream, Limit: 1})
	if err != nil || len(heads) == 0 {
		return err
	}
	id := heads[0].Run
	if err := s.background(heads[0], "--wait"); err != nil {
		s.app.notice("run %s, which was under way here too, is stopped: %v; go on with: piton resume %s", id, err, id)
		return nil
	}
	s.app.notice("run %s, which was under way here too, goes on in the background", id)
	return nil
}

// beside follows a run that the workspace's owner, another process, carries out.
func (d *drive) beside(ctx context.Context) error {
	client := api.Dial(d.Place, Version)
	if err := d.opens(client); err != nil {
		return err
	}
	if err := client.Activate(ctx, d.opened.Stream); err != nil {
		return err
	}
	if d.flags.detach {
		return d.session.detach(*d.opened, d.flags)
	}
	if d.view.Load() == nil {
		d.app.notice("run %s goes on in the process that owns this workspace", d.opened.Run)
	}
	changes := func(ctx context.Context, each func() error) error { return untilGone(ctx, client, each) }
	if err := d.follow(ctx, changes); err != nil {
		return err
	}
	if d.endView(); d.detached.Load() {
		return nil
	}
	return d.outcome(ctx)
}

// follow shows a run from the journal until it ends, can move only when a
// person acts, or is left to itself. It fails as changes does, which says when
// there is something new, where that ends before.
func (d *drive) follow(ctx context.Context, changes func(context.Context, func() error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := func() { cancel() }
	d.leaving.Store(&stop)
	err := changes(ctx, func() error { return d.step(ctx) })
	if errors.Is(err, errOver) || d.detached.Load() {
		return nil
	}
	return err
}

// step shows what is new, and fails with errOver when there is nothing to wait for.
func (d *drive) step(ctx context.Context) error {
	fresh, err := d.fresh(ctx)
	if err != nil {
		return err
	}
	for _, r := range fresh {
		if !d.own(r) {
			continue
		}
		if err := d.state.Apply(r); err != nil {
			return err
		}
	}
	d.tell(fresh)
	over := !d.state.Live()
	if !over && !d.stay {
		if over, err = run.Idle(ctx, d.store, &d.state); err != nil {
			return err
		}
	}
	if over {
		return errOver
	}
	return nil
}

// outcome shows how the run stands and turns it into an exit code.
func (d *drive) outcome(ctx context.Context) error {
	head, err := d.Find(ctx, d.opened.Run)
	if err != nil {
		return err
	}
	if d.owner != nil {
		d.mark(ctx, head)
	}
	if err := d.app.showEnd(ctx, d.session, head); err != nil {
		return err
	}
	if sig := syscall.Signal(d.stopped.Load()); sig != 0 && !head.Ended {
		d.app.notice("stopped; the state is safe. Go on with: piton resume %s", head.Run)
		return ended(128 + int(sig))
	}
	return d.code(ctx, head)
}

// mark shows the outcome in the plan document, if the policy says so and the
// document is the one that was run.
func (s *session) mark(ctx context.Context, head engine.HeadRow) {
	if s.Config.Policy.Mark != "end" || !head.Ended {
		return
	}
	path, err := s.Document(ctx, head.Plan)
	if err != nil {
		return
	}
	steps, err := s.store.Steps(ctx, head.Stream, head.Run)
	if err == nil {
		err = project.Mark(path, head.PlanHash, head.Status, steps)
	}
	if err != nil {
		s.app.notice("%s keeps its marks as they are: %v", path, err)
	}
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
func (d *drive) signals() (done func()) {
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
				if sig != syscall.SIGHUP || !d.hangup() {
					d.interrupt(sig.(syscall.Signal))
				}
			case <-quit:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(quit) }
}

// hangup leaves the run alone, as a person does that leaves the terminal, where
// another process is in front of this one. It reports whether that was done.
func (d *drive) hangup() bool {
	v := d.view.Load()
	if v == nil || d.app.front == nil || !d.ready.Load() {
		return false
	}
	if live, ok := (*v).(*liveView); ok {
		live.hangup()
	}
	return d.app.front.gone() || d.detached.Load()
}

func (d *drive) interrupt(sig syscall.Signal) {
	switch {
	case !d.ready.Load(), d.stopped.Load() != 0 && time.Since(d.asked) > doubled:
		d.stopNow(sig)
	case d.stopped.CompareAndSwap(0, int32(sig)):
		d.asked = time.Now()
		d.app.notice("stopping; again to stop at once")
		d.owner.stop()
	}
}

// doubled is how soon after the first a signal is the same wish: timeout(1), and
// others that pass signals on, tell the process and then its group. It is less
// than anybody needs to press a key twice.
const doubled = 50 * time.Millisecond

// stopNow ends the process: everything started hangs on its life.
func (d *drive) stopNow(sig syscall.Signal) {
	d.restore()
	if d.ready.Load() {
		d.app.notice("stopped at once; the state is safe. Go on with: piton resume %s", d.opened.Run)
	}
	os.Exit(128 + int(sig))
}

// keys are what the person at the view of the run can do to this process's part in it.
func (d *drive) keys() keys {
	return keys{detach: d.detachNow, stops: d.ready.Load, stopNow: func() { d.stopNow(syscall.SIGINT) }}
}

// restoring is how long the terminal may take to be as it was.
const restoring = 300 * time.Millisecond

// restore gives the terminal back before the process ends at once.
func (d *drive) restore() {
	v := d.view.Load()
	if v == nil {
		return
	}
	done := make(chan struct{})
	go func() { (*v).close(); close(done) }()
	select {
	case <-done:
	case <-time.After(restoring):
	}
}
