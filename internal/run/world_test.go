package run_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// patience is how long a world waits for a loop that should end. Its clock
// costs nothing.
const patience = 90 * 24 * time.Hour

// slack is what a host may take for what it should do at once: a few calls of a
// slow disk, and the end of what it stops.
const slack = 30 * time.Minute

// world is everything a host meets: one disk, processes, people and accidents,
// all from one seed. Each random thing has a source of its own, named after
// what it is for, so nothing hangs on which goroutine comes first.
type world struct {
	seed  uint64
	bug   planted
	store *storetest.Memory
	jobs  []job
	plans map[string]engine.Definition // by the hash of the program: what people approved
	texts map[string]text              // by their ids: the same

	mu      sync.Mutex
	lives   []*life
	log     []moment
	said    []said
	times   map[string]int             // starts of an effect by one life
	mirrors map[string]*engine.State   // what the journal says, for snapshots
	ends    map[string]map[uint64]bool // the last records of commits, by stream
	found   []finding

	journals map[string][]engine.Record // of the audit
	course   map[string][]openedAt      // of the audit: the texts of each stream
	counts   map[string]int             // of the audit
}

// A finding is a rule that was broken.
type finding struct{ rule, text string }

func newWorld(seed uint64, bug planted) *world {
	w := &world{
		seed: seed, bug: bug, store: storetest.NewMemory(), plans: map[string]engine.Definition{}, texts: map[string]text{},
		times: map[string]int{}, ends: map[string]map[uint64]bool{}, mirrors: map[string]*engine.State{}, journals: map[string][]engine.Record{}, course: map[string][]openedAt{}, counts: map[string]int{},
	}
	for i := range pick(w.draw("jobs"), 1, 1, 2) {
		name := fmt.Sprintf("t%d", i+1)
		w.jobs = append(w.jobs, randomJob(w.draw("job", name), name))
	}
	return w
}

// draw gives the random source for one purpose.
func (w *world) draw(purpose ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, purpose...)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

func (w *world) find(rule, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, finding{rule, fmt.Sprintf(format, args...)})
}

// mirror follows the journal with a state of its own and sometimes returns a
// snapshot of it.
func (w *world) mirror(b store.Batch) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.Stream == engine.WorkspaceStream || len(b.Records) == 0 {
		return nil
	}
	s := w.mirrors[b.Stream]
	if s == nil {
		s = &engine.State{}
		w.mirrors[b.Stream] = s
	}
	for _, r := range b.Records {
		if err := s.Apply(r); err != nil {
			w.found = append(w.found, finding{"replay", err.Error()})
			return nil
		}
		w.rebuilt(s)
	}
	if s.Program() == nil || !chance(w.draw("snapshot", b.Stream, b.Last()), 15) {
		return nil
	}
	body, err := s.Snapshot()
	if err != nil {
		w.found = append(w.found, finding{"replay", err.Error()})
	}
	return body
}

// rebuilt compares, in some worlds after every record, the indexes that a state
// keeps with those that are made anew of a look at all its steps.
func (w *world) rebuilt(s *engine.State) {
	if w.seed%20 != 0 || s.Program() == nil {
		return
	}
	again, err := s.Snapshot()
	if err != nil {
		w.found = append(w.found, finding{"indexes", err.Error()})
		return
	}
	other, err := engine.Restore(again, s.Program())
	if err != nil {
		w.found = append(w.found, finding{"indexes", err.Error()})
		return
	}
	if kept, made := picture(s), picture(other); kept != made {
		w.found = append(w.found, finding{"indexes", fmt.Sprintf("record %d:\n%s\n%s", s.Seq(), kept, made)})
	}
}

// A fate is what becomes of one life of the owner.
type fate struct {
	strike strike
	point  int           // it is killed at so manieth boundary; 0 = none
	lasts  time.Duration // until the end below, if it has not ended by itself
	end    ending
	back   time.Duration // after which a suspended process goes on
	slow   time.Duration // what one call of the disk may take
	leaves time.Duration // it leaves then, whatever is under way; 0 = never
	idle   bool          // a process that brings one command and starts nothing
	waits  bool          // it leaves only when no run is open
	calm   bool          // nothing fails any more
	people int
	kind   bool // a person answers whatever waits, so that runs can end
}

type ending string

const (
	left        ending = "left" // by itself
	interrupted ending = "interrupted"
	killed      ending = "killed"
	suspended   ending = "suspended"
)

func (w *world) fate(n int) fate {
	r := w.draw("fate", n)
	f := fate{
		lasts: pick(r, noisy(r, time.Second, time.Minute), noisy(r, time.Minute, 2*time.Hour), noisy(r, time.Minute, 8*time.Hour)), end: pick(r, interrupted, interrupted, killed, killed, suspended),
		back: noisy(r, time.Second, 3*time.Hour), idle: chance(r, 10), waits: chance(r, 50), people: r.IntN(5),
	}
	if chance(r, 70) {
		f.slow = pick(r, 10*time.Millisecond, 30*time.Second, 2*time.Minute, 2*time.Minute)
	}
	if chance(r, 15) {
		f.leaves = noisy(r, time.Second, 2*time.Hour)
	}
	if chance(r, 20) {
		f.point = 1 + r.IntN(100)
	}
	if chance(r, 50) {
		f.strike = strike{call: 1 + r.IntN(100), after: chance(r, 50), dies: chance(r, 60)}
	}
	return f
}

// unfold lives one life after the other, then two in which nothing goes wrong:
// one without people, and one with a person who answers whatever waits.
func (w *world) unfold() {
	r := w.draw("unfold")
	n := 1 + r.IntN(8)
	for i := range n {
		w.live(i, w.fate(i))
		time.Sleep(pick(r, noisy(r, time.Second, time.Hour), noisy(r, time.Second, time.Minute), noisy(r, 20*time.Hour, 30*time.Hour)))
	}
	w.live(n, fate{calm: true, lasts: patience, end: killed})
	w.live(n+1, fate{calm: true, waits: true, kind: true, lasts: patience, end: killed})
	for _, l := range w.lives {
		l.bury()
	}
}

// live runs one life of the owner to its end, or to where it is suspended.
func (w *world) live(n int, f fate) {
	ctx, stop := context.WithCancel(context.Background())
	line, hangUp := context.WithCancel(context.Background())
	l := &life{
		world: w, n: n, fate: f, ctx: ctx, stop: stop, line: line, hangUp: hangUp,
		gone: make(chan struct{}), ended: make(chan struct{}),
	}
	l.disk = &disk{Store: w.store, life: l, strike: f.strike, heads: map[string]uint64{}}
	w.mu.Lock()
	w.lives = append(w.lives, l)
	w.mu.Unlock()
	go l.run()
	select {
	case <-l.ended:
		l.how = left
	case <-time.After(f.lasts):
		l.how = f.end
	}
	if l.how == suspended && !l.disk.owns() {
		l.how = killed // it has nothing yet that it could lose
	}
	switch l.how {
	case interrupted:
		l.interrupt()
	case killed:
		if f.calm {
			w.find("stuck", "life %d, where nothing goes wrong, came to no end", n)
		}
		l.kill()
		<-l.ended
	case suspended:
		l.zombie.Store(true)
		if err := l.disk.suspend(); err != nil {
			w.find("stop", "life %d: %v", n, err)
		}
		go func() {
			select {
			case <-time.After(f.back):
			case <-l.ended:
			}
			l.disk.wake()
		}()
		return
	}
	l.close()
}

// life is one process that wants to own the workspace.
type life struct {
	world  *world
	n      int
	fate   fate
	how    ending
	ctx    context.Context
	stop   context.CancelFunc
	disk   *disk
	line   context.Context // people's: a dead process never answers
	hangUp context.CancelFunc
	host   *run.Host
	gone   chan struct{} // closed when the process is dead
	dead   atomic.Bool
	ended  chan struct{} // closed when its loop is over
	err    error
	told   time.Time // when it was interrupted
	clean  bool      // its loop came to a good end, or was interrupted

	begun  atomic.Bool // its tasks are open and active
	zombie atomic.Bool // it was suspended, and lost the workspace

	// Under the world's lock.
	under  []*effort // its efforts under way
	points int

	// Of the loop's goroutine.
	start time.Time
	last  time.Time
	same  int
}

func (l *life) isGone() bool { return l.dead.Load() }

// kill is SIGKILL: nothing of the process goes on, and it writes nothing more.
func (l *life) kill() {
	if !l.dead.Swap(true) {
		close(l.gone)
	}
	l.stop()
}

// interrupt is Ctrl-C: the loop has to end soon.
func (l *life) interrupt() {
	l.told = time.Now()
	l.stop()
	select {
	case <-l.ended:
	case <-time.After(time.Hour):
		l.world.find("stuck", "life %d goes on an hour after it was interrupted", l.n)
		l.kill()
		<-l.ended
	}
}

func (l *life) run() {
	defer close(l.ended)
	defer l.hangUp()
	host, err := run.Open(l.ctx, run.Config{
		Store: l.world.bug.storeOf(l), Do: l.world.bug.doOf(l), Now: l.now, Workspace: "w", Machine: "m", Version: "v",
		Show: l.show, Point: l.point,
	})
	if err != nil {
		l.judge(err)
		return
	}
	l.host, l.start = host, time.Now()
	if l.ctx.Err() == nil {
		go l.begin()
	}
	if l.fate.leaves > 0 {
		defer time.AfterFunc(l.fate.leaves, host.Nudge).Stop()
	}
	for p := range l.fate.people {
		go l.person(p)
	}
	if l.fate.kind {
		go l.help()
	}
	err = host.Loop(l.ctx, l.leave)
	l.judge(err)
	l.leftovers()
}

func (l *life) leave(t run.Traffic) bool {
	switch {
	case l.fate.leaves > 0 && time.Since(l.start) >= l.fate.leaves:
		return true
	case l.fate.idle || !l.begun.Load():
		return false
	case l.fate.waits:
		return t.Moving == 0 && t.Waiting == 0
	}
	return t.Moving == 0
}

// judge takes how the loop ended.
func (l *life) judge(err error) {
	l.err = err
	allowed := err == nil || l.isGone()
	for cause, allow := range map[error]bool{
		context.Canceled: l.ctx.Err() != nil, errDisk: l.fate.strike.call > 0, store.ErrFenced: l.zombie.Load(),
	} {
		allowed = allowed || allow && isErr(err, cause)
	}
	l.clean = !l.isGone() && (err == nil || isErr(err, context.Canceled) && !isErr(err, errDisk) && !isErr(err, store.ErrFenced))
	if !allowed {
		l.world.find("stop", "life %d ended with: %v", l.n, err)
	}
	if since := l.disk.since; !since.IsZero() && !l.isGone() && !l.zombie.Load() && time.Since(since) > slack {
		l.world.find("late", "life %d ended %v after it could not write any more", l.n, time.Since(l.disk.since))
	}
}

// close does what is left to do when the loop is over: the process gives the
// workspace back, or the system does.
func (l *life) close() {
	l.stop()
	if l.isGone() || l.host == nil {
		if err := l.disk.giveBack(); err != nil {
			l.world.find("stop", "life %d: %v", l.n, err)
		}
		return
	}
	if err := l.host.Close(); err != nil {
		l.world.find("stop", "life %d: close: %v", l.n, err)
	}
}

// bury ends a life that was suspended.
func (l *life) bury() {
	if !l.zombie.Load() {
		return
	}
	l.disk.wake()
	l.interrupt()
	l.close()
}

// now is the life's clock. A loop that asks again and again while nothing can
// have changed would never end.
func (l *life) now() time.Time {
	now := time.Now()
	if l.same++; !now.Equal(l.last) {
		l.last, l.same = now, 0
	}
	if l.same > 5_000 {
		if !l.isGone() {
			l.world.find("spin", "life %d turns without end at %v", l.n, now)
		}
		l.die()
	}
	return now
}

func (l *life) show(records []engine.Record) {
	for _, r := range records {
		if head := l.disk.head(r.Stream); r.Seq > head && !l.zombie.Load() {
			l.world.find("shown", "%s %d was shown while %d is the newest", r.Stream, r.Seq, head)
		}
	}
}
