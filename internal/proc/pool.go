package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Pool runs children, any number at a time. It is safe for concurrent use.
// Close it.
type Pool struct {
	host    host
	buffers sync.Pool // of *[]byte, to read output into
	closing chan struct{}
	wards   [len(wards)]guardedHost // for children that are kept from more
	trial   trial
	cell    Cell
	kept    kept

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup // of children
}

// A host starts children at one level.
type host interface {
	level() Level
	// begin starts a child with these standard streams; a nil input is the null
	// device. The caller closes the files afterwards. A child that cannot be
	// started may be told by the tree's end instead.
	begin(o order, in, out, err *os.File) (tree, error)
	// guarding makes a host of the same level whose children are kept from more. It
	// is closed for itself.
	guarding(w ward) (host, error)
	// warm makes ready for so many children at once.
	warm(children int)
	close()
}

// An order is what a host needs to know of a Spec.
type order struct {
	path string // absolute
	argv []string
	dir  string // absolute
	env  []string
	door *os.File // where the holder sends the listener of a gate; nil: there is none
}

// A tree is a running child with all it started. Its methods are called by one
// goroutine.
type tree interface {
	terminate()             // ask the child's group to end
	kill()                  // end everything
	started() chan struct{} // closed when the child runs
	done() chan ending      // gets one ending, when nothing of it lives
}

type ending struct {
	err      error
	exit     int
	signal   string
	leftover int
}

// NewPool finds out what this machine can do, which starts one holder. Its error
// says that a forced level cannot be had, or why no child could be started at
// all.
func NewPool(c Config) (*Pool, error) {
	if c.Idle <= 0 {
		c.Idle = 8 * runtime.NumCPU()
	}
	if c.Patience <= 0 {
		c.Patience = 10 * time.Second
	}
	h, err := newHost(c)
	if err != nil {
		return nil, fmt.Errorf("start process pool: %w", err)
	}
	p := &Pool{host: h, closing: make(chan struct{})}
	p.buffers.New = func() any { b := make([]byte, 64<<10); return &b }
	return p, nil
}

// Furnish says how children are held that have a [Room], and how many of them may soon
// run at once. Call it before the first child of the pool that has one; until then a
// room holds nothing.
func (p *Pool) Furnish(c Cell, children int) {
	p.cell = c
	if children > 1 {
		if h, err := p.hostFor(ward{sealed: c.Level == LevelSealed}); err == nil { // else who needs it is told
			h.warm(children)
		}
	}
}

// Level is the level in force.
func (p *Pool) Level() Level { return p.host.level() }

// Offline says why children cannot be kept from the network, see [Spec.Offline];
// nil if they can. The first call finds out, which starts a holder. That they can
// holds for the life of the pool, and so does a refusal by the system; what may
// pass, such as a limit that is reached, is tried again by the next call.
func (p *Pool) Offline() error {
	if err := p.enter(context.Background()); err != nil {
		return err
	}
	defer p.busy.Done()
	_, err := p.hostFor(ward{offline: true, sealed: p.cell.Level == LevelSealed}) // what its rooms will need
	return err
}

// Bind keeps a child to its gate, or from every network if that is closed; a nil gate leaves
// it as it is. What cannot be kept so is not started, unless somebody allowed that. The
// answer says in a word what the child reaches, "" where nothing keeps it.
func (p *Pool) Bind(s *Spec, g Gate, allowed bool) (reach string) {
	if g == nil {
		return ""
	}
	if err := p.Offline(); err != nil && allowed {
		return Reach(err)
	}
	s.Offline = true
	if g.Closed() {
		return Reach(nil)
	}
	s.Gate = g
	return "list"
}

// Asked adds to what a child reaches the hosts that it asked for in vain.
func Asked(reach string, g Gate) string {
	if g == nil || len(g.Refused()) == 0 {
		return reach
	}
	return reach + "; not " + strings.Join(g.Refused(), ", ")
}

// ReachesLoopback is what a child reaches that is Offline: only itself and its own.
const ReachesLoopback = "loopback"

// Reach says in a word what a child can reach that is Offline where it can be;
// exposed is what [Pool.Offline] says.
func Reach(exposed error) string {
	if exposed == nil {
		return ReachesLoopback
	}
	return "host: " + strings.ReplaceAll(exposed.Error(), "\n", "; ")
}

// Close kills everything that runs and returns when nothing lives. Children
// that are cut short are Cancelled.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.closing)
	}
	p.mu.Unlock()
	p.busy.Wait()
	p.kept.drop()
	p.host.close()
	for i := range p.wards {
		p.wards[i].close() // none is made any more
	}
}

// Run runs a child and returns when neither it nor anything it started lives.
// When ctx ends, or after s.Timeout, the whole tree is killed, after s.Grace.
func (p *Pool) Run(ctx context.Context, s Spec) Result {
	c, err := p.launch(ctx, s, false)
	if err != nil {
		return Result{Exit: -1, Err: err, Cancelled: ctx.Err() != nil, Level: p.Level()}
	}
	c.finish(ctx)
	return c.result
}

// A Child is a running child that somebody talks to.
type Child struct {
	// Stdin is the child's input; close it to end it. A write fails once the
	// tree is dead. It is closed when the tree is dead.
	Stdin io.WriteCloser
	// Stdout is the child's output. It must be read or closed, else it blocks
	// the child; it ends when the tree is dead. The caller closes it.
	Stdout io.ReadCloser

	pool   *Pool
	spec   Spec
	tree   tree
	leave  func() // its room
	door   *doorway
	begun  time.Time
	out    *stream
	err    *stream
	over   chan struct{}
	result Result
}

// Start starts a child to talk to. What s says of Stdin is not used; Output and
// Tee get Stderr only, and Result.Stdout stays empty. The tree is killed when ctx
// ends, after s.Timeout, or by [Pool.Close]; call Wait in any case. The error
// matches [ErrNotStarted] or [ErrLost].
func (p *Pool) Start(ctx context.Context, s Spec) (*Child, error) {
	c, err := p.launch(ctx, s, true)
	if err != nil {
		return nil, err
	}
	go c.finish(ctx)
	select {
	case <-c.tree.started():
		return c, nil
	case <-c.over:
	}
	if c.result.Err != nil {
		c.Stdout.Close()
		return nil, c.result.Err
	}
	return c, nil
}

// Isolation is what keeps the child from the rest of the machine.
func (c *Child) Isolation() Isolation { return c.result.Isolation }

// Wait returns when nothing of the tree lives. It may be called more than once.
func (c *Child) Wait() Result {
	<-c.over
	return c.result
}

// launch starts the child and the goroutines that read its output.
func (p *Pool) launch(ctx context.Context, s Spec, talk bool) (*Child, error) {
	level, done, err := p.confine(&s)
	if err != nil {
		done()
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	c, err := p.launchIn(ctx, s, talk)
	if err != nil {
		done()
		return nil, err
	}
	c.result.Isolation, c.leave = level, done
	return c, nil
}

func (p *Pool) launchIn(ctx context.Context, s Spec, talk bool) (*Child, error) {
	o, err := resolve(s)
	if err == nil && (s.Seal != nil || s.Writable != nil) {
		o, err = stage(o, s)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	if err := p.enter(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	if s.Gate != nil {
		s.Offline = true
		for _, set := range s.Gate.Environ() {
			o.env = with(o.env, set)
		}
	}
	h, err := p.hostFor(ward{s.Offline, s.Seal != nil})
	if err != nil {
		p.busy.Done()
		return nil, fmt.Errorf("%w: it cannot be kept apart: %w", ErrNotStarted, err)
	}
	w, err := plumb(s.Stdin, talk)
	if err != nil {
		p.busy.Done()
		return nil, fmt.Errorf("%w: make pipes: %w", ErrNotStarted, err)
	}
	c := &Child{pool: p, spec: s, over: make(chan struct{})}
	if s.Gate != nil {
		if c.door, err = newDoorway(&o); err != nil {
			w.closeChildEnds()
			w.closeOwnEnds()
			p.busy.Done()
			return nil, fmt.Errorf("%w: make its way out: %w", ErrNotStarted, err)
		}
		defer o.door.Close()
		go c.door.serve(s.Gate)
	}
	c.tree, err = h.begin(o, w.childIn, w.childOut, w.childErr)
	w.closeChildEnds()
	if err != nil {
		c.shut()
		w.closeOwnEnds()
		p.busy.Done()
		return nil, err
	}
	c.begun = time.Now()
	t := &tee{to: s.Tee}
	c.err = p.read(w.err, s.Output, t)
	if talk {
		c.Stdin, c.Stdout = w.in, w.out
		return c, nil
	}
	c.out = p.read(w.out, s.Output, t)
	feed(w.in, s.Stdin)
	return c, nil
}

// A ward is what children are kept from beyond what their level keeps them from.
type ward struct {
	offline bool // the network
	sealed  bool // the rest of the machine
}

var wards = [...]ward{{offline: true}, {sealed: true}, {offline: true, sealed: true}}

func (p *Pool) hostFor(w ward) (host, error) {
	if i := slices.Index(wards[:], w); i >= 0 {
		return p.wards[i].from(p.host, w)
	}
	return p.host, nil
}

// A guardedHost is the host of a ward, made when it is first asked for.
type guardedHost struct {
	mu    sync.Mutex
	host  host
	never error // why there will be none
}

// from makes the host of the same level as h, unless it is there or cannot be had.
func (o *guardedHost) from(h host, w ward) (host, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.host != nil || o.never != nil {
		return o.host, o.never
	}
	made, err := h.guarding(w)
	if err == nil {
		o.host = made
	} else if refusedForGood(err) {
		o.never = err
	}
	return made, err
}

// refusedForGood reports that the system does not do it, or not for this user. Other
// errors may pass.
func refusedForGood(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}

func (o *guardedHost) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.host != nil {
		o.host.close()
	}
}

// enter counts a child in, unless none may start any more.
func (p *Pool) enter(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.busy.Add(1)
	return nil
}

// finish sees the child to its end and collects the result.
func (c *Child) finish(ctx context.Context) {
	defer c.pool.busy.Done()
	defer close(c.over)
	r := &c.result
	e := c.watch(ctx)
	c.shut()
	r.Duration = time.Since(c.begun)
	r.Level = c.pool.Level()
	r.Err, r.Exit, r.Signal = e.err, e.exit, e.signal
	r.Leftover = e.leftover
	if c.spec.Seal != nil && r.Err == nil {
		r.Fixed = c.spec.Seal.fixed()
		if r.Exit == unable {
			r.Err = c.spec.Seal.refused()
		}
	}
	if r.TimedOut {
		r.Cold = c.spec.cold()
	}
	if _, exited := r.Exited(); (exited || r.TimedOut) && c.spec.keeps() {
		c.pool.kept.add(c.spec)
	}
	for _, l := range c.spec.loans {
		_ = l.giveBack() // who finds it as it was logs in again
	}
	c.pool.busy.Go(c.leave) // nobody has to wait for that
	if c.Stdin != nil {
		c.Stdin.Close()
	}
	c.drain(r)
}

// shut closes the child's way out, and what went through it.
func (c *Child) shut() {
	if c.door != nil {
		c.door.close()
	}
}

// drain takes what is still in the pipes.
func (c *Child) drain(r *Result) {
	wait := drainWait
	if c.spec.Tee != nil {
		wait += teeTime
	}
	limit, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if c.out != nil {
		r.Stdout = c.out.finish(limit)
	}
	r.Stderr = c.err.finish(limit)
}

// watch waits for the end and brings it about where it is due. A child that has
// ended by itself did so, whatever else is due.
func (c *Child) watch(ctx context.Context) ending {
	var timeout <-chan time.Time
	if c.spec.Timeout > 0 {
		t := time.NewTimer(c.spec.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case e := <-c.tree.done():
		return e
	case <-timeout:
		c.result.TimedOut = true
	case <-ctx.Done():
		c.result.Cancelled = true
	case <-c.pool.closing:
		c.result.Cancelled = true
	}
	if e, ended := c.within(c.behind()); ended {
		c.result.TimedOut, c.result.Cancelled = false, false
		return e
	}
	if grace := c.spec.Grace; grace > 0 && !c.pool.isClosing() {
		c.tree.terminate()
		if e, ended := c.within(grace); ended {
			return e
		}
	}
	c.tree.kill()
	return <-c.tree.done()
}

// lag is how late a timer may be in a process that runs, and catchUp how long one
// that was stopped takes to hear what happened meanwhile.
const (
	lag     = 100 * time.Millisecond
	catchUp = time.Second
)

// behind is how long news of the child may still be on their way: this process may
// have been stopped while the child ended.
func (c *Child) behind() time.Duration {
	if c.result.TimedOut && time.Since(c.begun) > c.spec.Timeout+lag {
		return catchUp
	}
	return 0
}

// within waits for the end, at most for d, and not while the pool closes.
func (c *Child) within(d time.Duration) (ending, bool) {
	select {
	case e := <-c.tree.done():
		return e, true
	default:
	}
	if d <= 0 {
		return ending{}, false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case e := <-c.tree.done():
		return e, true
	case <-t.C:
	case <-c.pool.closing:
	}
	return ending{}, false
}

func (p *Pool) isClosing() bool {
	select {
	case <-p.closing:
		return true
	default:
		return false
	}
}

// errNoArgv and the like are refusals of a Spec.
var (
	errNoArgv = errors.New("no program is named")
	errNUL    = errors.New("a NUL byte in an argument, the directory or the environment")
)
