package owner

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
)

// carrying is a task whose run is carried on.
type carrying struct {
	turn    sync.Mutex    // of who begins to carry it, or lets go of it
	clients int           // that carry it
	kept    bool          // it goes on without any
	rests   bool          // but not once only people can move it
	over    chan struct{} // closed when nobody carries it any more
	env     []string      // of the client that came last
}

// carry starts what a task's run wants, for as long as a client carries it.
func (o *Owner) carry(ctx context.Context, caller api.Caller, stream string, end api.End) (func(), error) {
	c := o.join(stream)
	defer c.turn.Unlock()
	err := o.prepare(ctx, caller, stream)
	if err == nil {
		o.mu.Lock()
		if c.env == nil { // work that is under way keeps what it began with
			c.env = caller.Env
		}
		o.mu.Unlock()
		o.followStream(stream)
		o.rewrite(stream, false)
		err = o.host.Activate(ctx, stream)
	}
	if err != nil {
		o.leave(stream, c, api.Stop)
		return nil, err
	}
	return sync.OnceFunc(func() { o.leave(stream, c, end) }), nil
}

// prepare makes the owner ready for the effects of a task's run, unless what the run
// was approved with is not what is there now.
func (o *Owner) prepare(ctx context.Context, caller api.Caller, stream string) error {
	p, err := o.product(ctx, caller)
	if err != nil {
		return err
	}
	if stream == engine.WorkspaceStream {
		return o.rigUp(ctx, p, stream, 1)
	}
	var opened engine.RunOpened
	if err := o.host.Look(ctx, stream, func(s *engine.State) { opened = s.Run() }); err != nil {
		return err
	}
	if err := p.Pinned(opened); err != nil {
		return err
	}
	parallel := p.Config.Policy.MaxParallel
	if opened.Compiled != nil {
		parallel = min(parallel, opened.Compiled.Parallel())
	}
	return o.rigUp(ctx, p, stream, parallel)
}

// join is one client more that carries a task's run. It waits for the end of one that
// is being let go of, and has the turn then.
func (o *Owner) join(stream string) *carrying {
	for {
		o.mu.Lock()
		c := o.carried[stream]
		if c == nil {
			c = &carrying{over: make(chan struct{})}
			o.carried[stream] = c
		}
		c.clients++
		o.mu.Unlock()
		if o.takeTurn(stream, c) {
			return c
		}
	}
}

// takeTurn waits for the turn, and reports whether there is one: the run may be let go of
// meanwhile.
func (o *Owner) takeTurn(stream string, c *carrying) bool {
	c.turn.Lock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.carried[stream] == c {
		return true
	}
	c.turn.Unlock()
	return false
}

// environ is the environment of the work for a task, or for those above it: that of
// the client which started its run, or resumed it when nobody carried it on. The
// journal does not have it.
func (o *Owner) environ(task string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	top, _, _ := strings.Cut(task, "/")
	if c := o.carried[top]; c != nil && c.env != nil {
		return c.env
	}
	return o.cfg.Env
}

// leave is one client less. Where nobody is left, the run is let go of, unless it
// is to go on.
func (o *Owner) leave(stream string, c *carrying, end api.End) {
	o.mu.Lock()
	c.clients--
	c.kept, c.rests = c.kept || end == api.Leave, c.rests || end == api.Rest
	kept, rests := c.kept, c.rests
	o.mu.Unlock()
	switch {
	case kept:
	case rests:
		o.chore(func() { o.mayRest(stream) })
	default:
		o.chore(func() { o.abandon(stream, c) })
	}
}

// abandon lets go of a run that no client carries.
func (o *Owner) abandon(stream string, c *carrying) {
	if !o.takeTurn(stream, c) {
		return
	}
	defer c.turn.Unlock()
	o.mu.Lock()
	alone := c.clients == 0
	o.mu.Unlock()
	if alone {
		o.letGo(stream, c, o.host.Release(context.Background(), stream))
	}
}

// mayRest lets go of a run that only people can move, and for whose answers nobody
// waits.
func (o *Owner) mayRest(stream string) {
	o.mu.Lock()
	c := o.carried[stream]
	rests := c != nil && c.rests && !c.kept && c.clients == 0
	o.mu.Unlock()
	if !rests {
		return
	}
	if idle, err := o.waits(context.Background(), stream); err == nil && idle {
		o.abandon(stream, c)
	}
}

// waits reports whether only people can move a task's run. The runs that carry out its
// steps are read outside the host's loop.
func (o *Owner) waits(ctx context.Context, stream string) (idle bool, err error) {
	var below []engine.Delegation
	err = o.host.Look(ctx, stream, func(s *engine.State) { idle, below = s.Idle(), s.Delegations() })
	if err != nil || !idle {
		return false, err
	}
	return run.IdleBelow(ctx, o.store, below)
}

// release stops the effects of a task's run and tells everybody who follows it.
func (o *Owner) release(stream string) error {
	return o.releaseBy(stream, o.host.Release)
}

// releaseBy does not let go of a run that stop leaves as it is.
func (o *Owner) releaseBy(stream string, stop func(context.Context, string) error) error {
	o.mu.Lock()
	c := o.carried[stream]
	o.mu.Unlock()
	if c == nil || !o.takeTurn(stream, c) {
		return nil
	}
	defer c.turn.Unlock()
	err := stop(context.Background(), stream) // whoever asks may go: what was begun is stopped
	if !errors.Is(err, run.ErrLive) {
		o.letGo(stream, c, err)
	}
	return err
}

// letGo tells everybody who follows a task's run that nobody carries it any more. After
// an error something of it may still run: the rig goes with the owner then.
func (o *Owner) letGo(stream string, c *carrying, err error) {
	if err != nil && !errors.Is(err, run.ErrStopped) {
		o.say("run of task %s: %v", stream, err)
	}
	o.mu.Lock()
	delete(o.carried, stream)
	o.mu.Unlock()
	if err == nil {
		o.unrigIdle()
	}
	close(c.over)
}

// unrigIdle ends the rig when no run is carried, so that worktrees can be removed, and
// the next run begins with the configuration of then.
func (o *Owner) unrigIdle() {
	o.rigging.Lock()
	defer o.rigging.Unlock()
	if o.carries() > 0 {
		return
	}
	if err := o.drop(); err != nil {
		o.say("%v", err)
	}
}

// over is closed when nobody carries a task's run, or that which it is carried out
// for.
func (o *Owner) over(stream string) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	top, _, _ := strings.Cut(stream, "/")
	if c := o.carried[top]; c != nil {
		return c.over
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// resting are the runs that are let go of once only people can move them.
func (o *Owner) resting() (streams []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for stream, c := range o.carried {
		if c.rests {
			streams = append(streams, stream)
		}
	}
	return streams
}

// carriesOther reports whether anything but the task's run is carried.
func (o *Owner) carriesOther(stream string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for other := range o.carried {
		if other != stream {
			return true
		}
	}
	return false
}

// carries counts the runs that are carried.
func (o *Owner) carries() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.carried)
}
