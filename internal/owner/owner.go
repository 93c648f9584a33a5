package owner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/telemetry"
)

// Config is what an owner needs.
type Config struct {
	Place   api.Place
	Env     []string
	Version string
	Program string // the path of piton, which agents report with
	Now     func() time.Time
	Log     io.Writer // for what it has to say to nobody in particular
}

// Owner owns one workspace. Its methods are safe for concurrent use.
type Owner struct {
	cfg      Config
	store    *sqlite.Store
	host     *run.Host
	listener *api.Listener
	proc     proc.Config
	best     func() (proc.Isolation, error) // the best level there is, and why it is no better one
	tried    atomic.Pointer[proc.Pool]      // which found that out, until a rig takes it
	early    []string                       // what it had to say before it listened
	base     *api.Product                   // what requests are carried out with, but for who and the configuration

	mu      sync.Mutex
	carried map[string]*carrying     // by stream
	chores  int                      // what is done behind the loop
	ending  map[string]chan struct{} // by stream: closed when a run that ended is finished

	shower shower
	herald herald

	watched watched

	rigging sync.Mutex
	rig     *rig     // nil while nothing is carried
	prints  []string // the files that clients print to
}

// Serve owns the workspace until there is nothing left to do. It calls ready when
// requests can come. It fails with [store.ErrOwned] where somebody else owns it.
func Serve(ctx context.Context, c Config, ready func()) error {
	o := newOwner(c)
	err := o.open(ctx)
	if err == nil {
		ready()
		err = o.loop(ctx)
	}
	return errors.Join(err, o.close())
}

func newOwner(c Config) *Owner {
	return &Owner{cfg: c, carried: map[string]*carrying{}, ending: map[string]chan struct{}{}, shower: newShower()}
}

func (o *Owner) open(ctx context.Context) (err error) {
	var warning string
	o.store, warning, err = sqlite.Open(ctx, sqlite.Config{Dir: o.cfg.Place.State, Workspace: o.cfg.Place.ID, Guard: o.cfg.Place.Dir, Point: Point})
	if err != nil {
		return err
	}
	o.say("%s", warning)
	o.watched.out = telemetry.Exporter{Store: o.store, State: o.cfg.Place.State, Now: o.cfg.Now}
	o.base = &api.Product{Place: o.cfg.Place, Store: o.store, Env: o.cfg.Env, Version: o.cfg.Version, Now: o.cfg.Now}
	machine, _ := os.Hostname()
	var host run.Config
	host, o.proc = rigged(o.cfg.Place.State, run.Config{
		Store: o.store, Do: o.act, Now: o.cfg.Now, Workspace: o.cfg.Place.ID,
		Machine: machine, Version: o.cfg.Version, Show: o.show, Point: Point,
	}, proc.Config{})
	o.best = sync.OnceValues(o.probe)
	if o.host, err = run.Open(ctx, host); err != nil {
		return err
	}
	if err := o.mendAlone(ctx); err != nil {
		return err
	}
	o.listener, err = api.Listen(o.cfg.Place, api.Serving{
		Version: o.cfg.Version, Uses: o.uses, Carry: o.carry, Over: o.over, Carried: o.host.Carried,
		Foreign: api.Foreign, Met: o.met, Nudge: o.host.Nudge,
	})
	for _, note := range o.early {
		if err == nil {
			o.listener.Say(note)
		}
	}
	return err
}

func (o *Owner) loop(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer close(o.shower.leave)
	go o.lookout(ctx, stop)
	o.showNewest(ctx)
	o.chore(func() {
		o.watchPending()
		o.keepAdopted(ctx)
		o.lookBack(o.cfg.Env)
	})
	err := o.host.Loop(ctx, o.idle)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// idle reports whether nothing is left to do.
func (o *Owner) idle(t run.Traffic) bool {
	if t != (run.Traffic{}) || o.listener.Held() {
		return false
	}
	o.mu.Lock()
	chores := o.chores
	o.mu.Unlock()
	if chores == 1 {
		o.shower.wake() // a rest alone is no reason to stay
	}
	return chores == 0
}

// lookout ends the owner whose state directory is gone: nobody can reach it.
func (o *Owner) lookout(ctx context.Context, stop func()) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if _, err := os.Stat(o.cfg.Place.Socket()); errors.Is(err, os.ErrNotExist) {
				stop()
			}
		}
	}
}

// close ends what open began, in the opposite order.
func (o *Owner) close() error {
	var errs []error
	if o.listener != nil {
		errs = append(errs, o.listener.Close())
	}
	if o.host != nil {
		errs = append(errs, o.unrig(), o.host.Close())
	}
	if pool := o.tried.Swap(nil); pool != nil {
		pool.Close()
	}
	if o.store != nil {
		o.watched.out.Close()
		errs = append(errs, o.store.Close())
	}
	return errors.Join(errs...)
}

// show gets the records of every turn when they are durable. The loop calls it.
func (o *Owner) show(records []engine.Record) {
	o.follow(records)
	o.announce(records)
	o.watch(records)
	for _, r := range records {
		switch e := r.Event.(type) {
		case engine.RunEnded:
			o.ends(r.Stream)
		case engine.WorkEnded, engine.ErrandDropped:
			if r.Stream == engine.WorkspaceStream {
				o.chore(o.unerrand)
			}
		case engine.RunOpened:
			if e.Revises != "" {
				o.chore(func() { o.rewrite(r.Stream, true) })
			}
		}
	}
	for _, stream := range o.resting() {
		o.chore(func() { o.mayRest(stream) })
	}
	if o.listener != nil {
		o.listener.Changed()
	}
}

// ends finishes a run that has ended, behind the loop.
func (o *Owner) ends(stream string) {
	done := make(chan struct{})
	o.mu.Lock()
	o.ending[stream] = done
	o.mu.Unlock()
	o.chore(func() {
		o.finish(stream)
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.ending[stream] == done {
			delete(o.ending, stream)
		}
		close(done)
	})
}

// ended waits until a run that has ended is finished: its plan is marked then.
func (o *Owner) ended(stream string) {
	o.mu.Lock()
	done := o.ending[stream]
	o.mu.Unlock()
	if done != nil {
		<-done
	}
}

// chore does something behind the loop, which does not end before it is done.
func (o *Owner) chore(do func()) {
	o.mu.Lock()
	o.chores++
	o.mu.Unlock()
	go func() {
		do()
		o.mu.Lock()
		o.chores--
		o.mu.Unlock()
		o.host.Nudge()
	}()
}

// say tells who carries a run something, and the owner's log.
func (o *Owner) say(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	if note == "" {
		return
	}
	fmt.Fprintf(o.cfg.Log, "%s %s\n", o.cfg.Now().UTC().Format(time.RFC3339), note)
	if o.listener != nil {
		o.listener.Say(note)
	} else {
		o.early = append(o.early, note)
	}
}
