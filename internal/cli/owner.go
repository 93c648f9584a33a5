package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/agent"
	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/effect"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tool"
	"github.com/piton-dev/piton/internal/tree"
)

// unsealed is the isolation level of this version: agents and contracts see
// what the user sees.
const unsealed = "none"

// owner is this process as the only writer of its workspace.
type owner struct {
	*run.Host
	pool     *proc.Pool
	tree     *tree.Tree
	do       run.Do
	tools    *tool.Registry
	world    *effect.World // nil for a desk that only takes a command
	listener *api.Listener
	tell     func([]engine.Record) // what became durable; nothing where an attempt has said something
	ended    chan error            // of the loop
	stop     context.CancelFunc
	sweep    func() // removes worktrees that nobody needs any more
}

// own takes the workspace and starts its loop. leave says when the loop may
// end; show gets the records of every turn.
func (s *session) own(ctx context.Context, leave func(run.Traffic) bool, show func([]engine.Record)) (*owner, error) {
	o := &owner{ended: make(chan error, 1)}
	if err := s.begin(ctx, o, leave, show); err != nil {
		return nil, errors.Join(err, o.release())
	}
	return o, nil
}

func (s *session) begin(ctx context.Context, o *owner, leave func(run.Traffic) bool, show func([]engine.Record)) (err error) {
	machine, _ := os.Hostname()
	o.tell = func(records []engine.Record) {
		if o.listener != nil {
			o.listener.Changed()
		}
		if show != nil {
			show(records)
		}
	}
	host, pool := rigged(s.Place.State, run.Config{
		Store: s.store, Do: func(ctx context.Context, e engine.Effect) run.Answer { return o.do(ctx, e) }, Now: s.Now, Workspace: s.Place.ID,
		Machine: machine, Version: Version, Isolation: unsealed, Show: o.tell, Point: crashPoint, Known: s.known,
	}, proc.Config{Ready: s.parallel})
	s.known = nil
	if o.Host, err = run.Open(ctx, host); err != nil {
		return err
	}
	if show == nil {
		err = s.mendAlone(ctx)
	} else {
		collect(owning)
		if err = s.equip(o, pool); err == nil {
			s.app.showTorn(o.world.Mend(ctx))
			o.listener, err = api.Listen(s.Place, o.Host, Version, api.Descends, o.outputOf)
		}
	}
	if err != nil {
		return err
	}
	loop, stop := context.WithCancel(ctx)
	o.stop = stop
	go func() { o.ended <- o.Loop(loop, leave) }()
	return nil
}

// equip gives the owner what effects need. A desk that only takes one command
// needs none of it, and is gone before anybody could ask it for more.
func (s *session) equip(o *owner, c proc.Config) (err error) {
	if o.pool, err = proc.NewPool(c); err != nil {
		return fmt.Errorf("prepare to start processes: %w", err)
	}
	if o.tree, err = s.tree(o.pool); err != nil {
		return err
	}
	for _, w := range []io.Writer{s.app.printer(), s.app.err} {
		if f, ok := w.(*os.File); ok {
			o.prints(f.Stat())
		}
	}
	if o.tools, err = s.app.openTools(s.Place, s.Config, o.pool); err != nil {
		return err
	}
	o.world = s.world(o)
	if err := o.world.Sweep(); err != nil {
		s.app.notice("what an owner that was killed has left is not removed: %v", err)
	}
	o.world.Said = func() { o.tell(nil) }
	o.sweep = func() {
		if err := s.sweepAll(context.Background(), o.tree); err != nil {
			s.app.notice("a worktree is not removed, piton gc does it later: %v", err)
		}
	}
	o.do = doer(o.world)
	return nil
}

// outputOf keeps what another process of Piton prints from being taken for a change
// to the workspace, where the system says what that process prints to.
func (o *owner) outputOf(pid int) {
	for _, fd := range []int{1, 2} {
		o.prints(os.Stat(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)))
	}
}

// prints keeps a file from being taken for a change to the workspace.
func (o *owner) prints(file os.FileInfo, err error) {
	if err == nil && file.Mode().IsRegular() {
		o.tree.Output(file)
	}
}

// release ends what own began, in the opposite order. The loop must have ended
// or is stopped now.
func (o *owner) release() error {
	var errs []error
	if o.stop != nil {
		o.stop()
		if err := <-o.ended; err != nil && !errors.Is(err, context.Canceled) {
			errs = append(errs, err)
		}
	}
	if o.listener != nil {
		errs = append(errs, o.listener.Close())
	}
	if o.Host != nil {
		errs = append(errs, o.Host.Close())
	}
	if o.world != nil {
		errs = append(errs, o.world.Close())
	}
	if o.sweep != nil {
		o.sweep()
	}
	if o.tools != nil {
		o.tools.Close()
	}
	if o.tree != nil {
		errs = append(errs, o.tree.Close())
	}
	if o.pool != nil {
		o.pool.Close()
	}
	return errors.Join(errs...)
}

// tree opens the workspace's files. Without a pool it asks git nothing.
func (s *session) tree(pool *proc.Pool) (*tree.Tree, error) {
	git, err := proc.Outside("git", s.Env, s.Place.Dir)
	if err != nil {
		git = "" // then every file counts, ignored ones too
	}
	return tree.Open(s.Place.Dir, tree.Config{
		Keep: filepath.Join(s.Place.State, "kept"), Quarantine: filepath.Join(s.Place.State, "quarantine"), Git: git, Pool: pool,
	})
}

// world wires effects to the packages that carry them out.
func (s *session) world(o *owner) *effect.World {
	return &effect.World{
		Dir: s.Place.Dir, State: s.Place.State, Environ: s.Env, Pool: o.pool, Tree: o.tree, Tools: o.tools,
		Agents:    agent.New(agentConfigs(s.Config), o.pool),
		Worktrees: s.worktrees(),
		OpenTools: func(dir string) (*tool.Registry, error) {
			return s.app.openTools(api.Place{Dir: dir}, s.Config, o.pool)
		},
		Object: func(hash string) ([]byte, error) { return s.store.Object(context.Background(), hash) },
		NewRun: s.NewRun, Made: s.made, Executables: s.executables,
	}
}

// made looks at a plan that was made during a run, as a plan is looked at before
// anybody is asked for a yes.
func (s *session) made(ctx context.Context, dir string, e engine.Effect) (effect.Made, error) {
	m, err := s.In(dir).Made(ctx, e.Key.Task, e.Step.Child.Path)
	if err != nil || m.Refused != "" {
		return effect.Made{Refused: m.Refused}, err
	}
	made := effect.Made{Plan: m.Plan, Program: m.Compiled.Program, Agents: m.Agents, Text: string(m.Doc.Source)}
	for _, o := range m.Objects {
		made.Bodies = append(made.Bodies, o.Body)
	}
	if err := s.isolated(m.Doc); err != nil {
		made.Refused = err.Error()
	}
	return made, nil
}

func doer(w *effect.World) run.Do {
	return func(ctx context.Context, e engine.Effect) run.Answer {
		r := w.Do(ctx, e)
		a := run.Answer{Input: r.Input}
		for _, body := range r.Bodies {
			a.Objects = append(a.Objects, store.NewObject(body))
		}
		return a
	}
}

// desk runs do with a desk: the owner's, where another process owns the
// workspace, else this process's own for as long as do takes.
func (s *session) desk(ctx context.Context, do func(api.Desk) error) error {
	if err := s.app.byPerson(); err != nil {
		return err
	}
	alone := func(run.Traffic) bool { return false }
	o, err := s.ownOrAsk(func() (*owner, error) { return s.own(ctx, alone, nil) }, func() error { return do(api.Dial(s.Place, Version)) })
	if o == nil {
		return err
	}
	return errors.Join(do(o), o.release())
}

// ownerPause and ownerPatience: an owner that does not answer may be about to
// begin or to end, so it is asked again for a while.
const (
	ownerPause    = 20 * time.Millisecond
	ownerPatience = 5 * time.Second
)

// ownOrAsk asks the owner there is, or makes this process the owner. Without an
// owner of its own the error is what the other one said. To ask comes first: in
// a namespace of its own a process cannot see that the owner lives.
func (s *session) ownOrAsk(own func() (*owner, error), ask func() error) (*owner, error) {
	for began := time.Now(); ; time.Sleep(ownerPause) {
		said := ask()
		if !unavailable(said) {
			return nil, said
		}
		o, err := own()
		if !errors.Is(err, store.ErrOwned) {
			return o, err
		}
		if time.Since(began) > ownerPatience {
			return nil, said
		}
	}
}

// carried is which runs a process carries on now.
type carried struct {
	streams []string
	all     bool // as far as one can know
}

// carried asks the owner of the workspace, if there is one. Of one that does not
// answer in time, or cannot say, all is believed.
func (s *session) carried(ctx context.Context) carried {
	return carriedBy(ctx, api.Dial(s.Place, Version))
}

func carriedBy(ctx context.Context, client *api.Client) carried {
	ctx, cancel := context.WithTimeout(ctx, ownerPatience)
	defer cancel()
	streams, err := client.Carried(ctx)
	return carried{streams: streams, all: ctx.Err() != nil || err != nil && !unavailable(err)}
}

// on reports whether a process carries the run on.
func (c carried) on(h engine.HeadRow) bool { return !h.Ended && c.stream(h.Stream) }

func (c carried) stream(name string) bool { return c.all || slices.Contains(c.streams, name) }

// stands is what the rows of runs do not say of how these stand: which of them a
// process carries on, and for which people are asked something.
type stands struct {
	carried
	asks map[string][]engine.ItemRow // by run: open items of its own, and of the runs that carry out its steps
}

func (s *session) stands(ctx context.Context) (stands, error) {
	asks, err := s.Asks(ctx)
	return stands{s.carried(ctx), asks}, err
}

// of is how people see a run.
func (s stands) of(h engine.HeadRow) engine.Status {
	switch is := h.Shown(); {
	case is != engine.Running:
		return is
	case len(s.asks[h.Run]) > 0:
		return engine.Waiting
	case s.on(h):
		return is
	}
	return interrupted
}

// told is how a run stands, for programs: those are told apart whether a process
// carries it on.
func (s stands) told(h engine.HeadRow) engine.Status {
	if is := s.of(h); is != interrupted {
		return is
	}
	return engine.Running
}

// open is how many items a run waits for.
func (s stands) open(h engine.HeadRow) int { return max(h.Open, len(s.asks[h.Run])) }

// changes calls each, and again whenever the journal has grown, while a process
// carries the stream's run on. One that takes the run over soon after another has
// ended is followed too. It fails with errOwnerGone where nobody carries it on.
func (s *session) changes(ctx context.Context, stream string, each func() error) error {
	client := api.Dial(s.Place, Version)
	for until := time.Now(); ctx.Err() == nil; time.Sleep(ownerPause) {
		taken := carriedBy(ctx, client).stream(stream)
		if err := each(); err != nil { // an owner may have come and gone since
			return err
		}
		if !taken && time.Now().After(until) {
			return errOwnerGone
		}
		if !taken {
			continue
		}
		err := untilGone(ctx, client, each)
		if !errors.Is(err, errOwnerGone) && !unavailable(err) {
			return err
		}
		until = time.Now().Add(ownerPatience)
	}
	return ctx.Err()
}

// untilGone calls each whenever the journal has grown, and fails with errOwnerGone
// when the owner has ended, after what that one did last.
func untilGone(ctx context.Context, client *api.Client, each func() error) error {
	err := client.Changes(ctx, each)
	if err == nil && ctx.Err() == nil {
		if err = each(); err == nil {
			err = errOwnerGone
		}
	}
	return err
}

// unavailable reports whether err is that the owner did not take a request.
func unavailable(err error) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Code == api.Unavailable
}
