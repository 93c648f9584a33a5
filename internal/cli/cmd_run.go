package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/project"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/verify"
)

// runFlags are what run and resume share.
type runFlags struct {
	yes      bool
	noWait   bool
	wait     bool
	detach   bool
	dryRun   bool
	unsealed bool
}

func (a *app) runCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run PLAN",
		Short: "Verify a plan, ask for your yes, and run it to the end",
		Long: `Verifies the plan, asks for your approval unless these very bytes were approved
already, and runs it. An unfinished run of the same bytes is taken up again.

Ctrl-C stops gently, twice at once; what was proved is kept: piton resume goes on.`,
		Example: "  piton run plans/fix.md\n  piton run plans/fix.md --yes --no-wait   # in a script",
		Args:    exactly("a plan", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], f) },
	}
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "approve the plan, as you; its steps still ask where they say so")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "verify, show what would run, and start nothing")
	c.Flags().BoolVar(&f.detach, "detach", false, "go on in the background, in a session of its own")
	c.Flags().BoolVar(&f.unsealed, "allow-unsealed", false, "run below the isolation that plan or policy ask for; recorded with your name")
	a.waitFlags(c, &f)
	return c
}

func (a *app) waitFlags(c *cobra.Command, f *runFlags) {
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "end with exit code 3 when only people can go on (default without a terminal)")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for people even without a terminal")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if f.wait && f.noWait {
			return usage(c, errors.New("--wait and --no-wait contradict each other"))
		}
		return nil
	}
}

func (a *app) resumeCmd() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:     "resume [RUN]",
		Short:   "Go on from the last proof, also after a crash",
		Long:    "Goes on with a run that was interrupted, paused or failed. Steps whose proof is in the\njournal do not run again.",
		Example: "  piton resume\n  piton resume 7f3a21",
		Args:    atMost("a run", 1),
		RunE:    func(c *cobra.Command, args []string) error { return a.resume(c.Context(), first(args), f) },
	}
	c.Flags().BoolVar(&f.detach, "detach", false, "go on in the background, in a session of its own")
	a.waitFlags(c, &f)
	return c
}

func (a *app) run(ctx context.Context, path string, f runFlags) error {
	return a.with(ctx, func(s *session) error {
		if err := a.byPerson(); err != nil {
			return err
		}
		doc, err := s.Read(ctx, path)
		if err != nil {
			return err
		}
		a.showFindings(a.err, serious(doc.Findings))
		if !doc.OK() {
			return ended(exitPlan)
		}
		program, err := s.Compile(doc, "dry-run")
		if err := a.runnable(err); err != nil {
			return err
		}
		if f.dryRun {
			return a.showPlan(doc)
		}
		if err := s.equipped(ctx, roles(program, nil)); err != nil {
			return err
		}
		if f.unsealed {
			s.unsealed = s.By
		}
		if err := s.isolated(doc); err != nil {
			return err
		}
		return s.drive(ctx, f, func(d api.Desk) (api.Opened, error) { return s.openRun(ctx, d, doc, f) })
	})
}

// serious leaves out notes, which verify shows.
func serious(all []verify.Finding) []verify.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f verify.Finding) bool { return f.Severity == verify.Note })
}

// runnable shows why a sound plan cannot be run by this version.
func (a *app) runnable(err error) error {
	refusal, ok := errors.AsType[*verify.Refusal](err)
	if !ok {
		return err
	}
	a.notice("this version cannot run the plan:")
	a.showFindings(a.err, refusal.Findings)
	return ended(exitPlan)
}

// openRun brings a plan from its bytes to an open run.
func (s *session) openRun(ctx context.Context, d api.Desk, doc *api.Document, f runFlags) (api.Opened, error) {
	r, err := s.Draft(ctx, d, doc)
	if err != nil {
		return api.Opened{}, err
	}
	if err := s.approval(ctx, d, doc, r, f); err != nil {
		return api.Opened{}, err
	}
	opened, err := s.Open(ctx, d, doc, r, api.Opening{Isolation: unsealed, Unsealed: s.unsealed, Protect: s.protect})
	if err == nil && opened.Resumed {
		s.app.notice("taking up unfinished run %s", opened.Run)
	}
	return opened, err
}

// approval makes sure that somebody said yes to these bytes.
func (s *session) approval(ctx context.Context, d api.Desk, doc *api.Document, r *engine.Revision, f runFlags) error {
	switch {
	case s.Approved(r):
		return nil
	case f.yes:
		return s.Judge(ctx, d, r, true, s.By, "")
	case s.Config.Policy.Approve == "auto":
		return s.Judge(ctx, d, r, true, "policy", "policy: approve is auto")
	case !s.app.asks():
		return errors.Join(ended(exitWaiting), s.app.waits(doc.Path))
	}
	if err := s.app.showPlan(doc); err != nil {
		return err
	}
	yes, err := s.app.confirm("Run this plan?")
	if err != nil {
		return err
	}
	if !yes {
		s.app.notice("not approved; nothing was started")
		return ended(exitWaiting)
	}
	return s.Judge(ctx, d, r, true, s.By, "")
}

// waits says that the plan waits for a person who is not here.
func (a *app) waits(path string) error {
	a.notice("the plan waits for a person's yes: piton approve %s, or piton run --yes", path)
	return nil
}

func (a *app) confirm(question string) (bool, error) {
	fmt.Fprintf(a.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		return false, nil // the terminal went away: no answer is no yes
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// isolated refuses a plan or policy whose minimum this machine cannot give.
func (s *session) isolated(doc *api.Document) error {
	least := s.Config.Policy.Isolation
	wants := []string{doc.Plan.Isolation.Value}
	for _, st := range doc.Plan.Steps {
		wants = append(wants, st.Isolation.Value)
	}
	for _, w := range append(wants, least) {
		if (w == "sealed" || w == "fenced") && s.unsealed == "" {
			return &fault{
				text: "isolation " + w + " is asked for, and this version of piton can only run unsealed",
				hint: "--allow-unsealed runs it all the same, and records that you said so",
			}
		}
	}
	return nil
}

func (a *app) resume(ctx context.Context, prefix string, f runFlags) error {
	return a.with(ctx, func(s *session) error {
		head, err := s.Find(ctx, prefix)
		if err != nil {
			return err
		}
		if head.Ended && head.Status != engine.Failed {
			return &api.Problem{Code: api.Conflict, Message: fmt.Sprintf("run %s is %s", head.Run, head.Status), Hint: "piton run PLAN opens a new run"}
		}
		state, err := run.Load(ctx, s.store, head.Stream)
		if err != nil {
			return err
		}
		if err := s.Pinned(state.Run()); err != nil {
			return err
		}
		if err := s.equipped(ctx, roles(state.Program(), state)); err != nil {
			return err
		}
		return s.drive(ctx, f, func(d api.Desk) (api.Opened, error) {
			if head.Status == engine.Paused || head.Ended {
				if err := s.Order(ctx, d, head, engine.Command{Verb: engine.DoResume}); err != nil {
					return api.Opened{}, err
				}
			}
			return api.Opened{Stream: head.Stream, Run: head.Run, Resumed: true}, nil
		})
	})
}

// drive opens or resumes a run and stays with it to its end: as the owner of
// the workspace, or beside the owner.
func (s *session) drive(ctx context.Context, f runFlags, open func(api.Desk) (api.Opened, error)) error {
	stay := f.wait || !f.noWait && s.app.asks()
	d := &drive{session: s, stay: stay}
	o, err := s.ownOrAsk(func() (*owner, error) { return s.own(ctx, d.leave, d.show) }, func() error { return d.beside(ctx, f, open) })
	if o == nil {
		return err
	}
	d.owner = o
	defer d.signals()()
	return d.asOwner(ctx, f, open)
}

// drive is one run as this process follows it.
type drive struct {
	*session
	stay    bool
	ready   atomic.Bool // the run is open: the loop may end when there is nothing to do
	owner   *owner
	stream  atomic.Pointer[string]
	view    atomic.Pointer[view]
	stopped atomic.Int32 // the signal that stopped it
	asked   time.Time    // when; of the goroutine that gets the signals

	detached atomic.Bool // a person left the run to itself
}

// detachNow stops this process's part in the run; another goes on with it.
func (d *drive) detachNow() {
	d.detached.Store(true)
	d.owner.stop()
}

func (d *drive) leave(t run.Traffic) bool {
	return d.ready.Load() && t.Moving == 0 && (!d.stay || t.Waiting == 0)
}

// show passes the records of this run to its view. The loop calls it.
func (d *drive) show(records []engine.Record) {
	v, stream := d.view.Load(), d.stream.Load()
	if v == nil || stream == nil {
		return
	}
	var mine []engine.Record
	for _, r := range records {
		if r.Stream == *stream {
			mine = append(mine, r)
		}
	}
	(*v).records(mine)
}

func (d *drive) asOwner(ctx context.Context, f runFlags, open func(api.Desk) (api.Opened, error)) error {
	opened, err := open(d.owner)
	if err != nil {
		return errors.Join(err, d.owner.release())
	}
	if f.detach {
		return errors.Join(d.owner.release(), d.session.detach(opened, f))
	}
	v, err := d.begin(ctx, opened)
	if err != nil {
		return errors.Join(err, d.owner.release())
	}
	if err := d.owner.Activate(ctx, opened.Stream); err != nil {
		return errors.Join(err, d.owner.release())
	}
	d.ready.Store(true)
	d.owner.Nudge()
	loop := <-d.owner.ended
	d.owner.ended <- nil
	v.close()
	err = d.owner.release()
	if loop != nil && !errors.Is(loop, context.Canceled) {
		return errors.Join(loop, err)
	}
	if d.detached.Load() {
		return errors.Join(err, d.session.detach(opened, f))
	}
	return errors.Join(d.outcome(ctx, opened), err)
}

// begin makes the view and shows it what the journal holds of the run.
func (d *drive) begin(ctx context.Context, opened api.Opened) (view, error) {
	v := d.app.newView(d.session, opened, d.detachNow)
	var past []engine.Record
	for r, err := range run.Read(ctx, d.store, opened.Stream, 0) {
		if err != nil {
			return nil, err
		}
		past = append(past, r)
	}
	v.past(past)
	d.stream.Store(&opened.Stream)
	d.view.Store(&v)
	return v, nil
}

// beside follows a run that the workspace's owner, another process, carries out.
func (d *drive) beside(ctx context.Context, f runFlags, open func(api.Desk) (api.Opened, error)) error {
	client := api.Dial(d.Place, Version)
	opened, err := open(client)
	if err != nil {
		return err
	}
	if err := client.Activate(ctx, opened.Stream); err != nil {
		return err
	}
	d.app.notice("run %s goes on in the process that owns this workspace", opened.Run)
	if f.detach {
		return nil
	}
	if err := d.session.follow(ctx, client, opened, d.stay); err != nil {
		return err
	}
	return d.outcome(ctx, opened)
}

// errOver ends following a run.
var errOver = errors.New("the run is over")

// follow shows a run from the journal until it ends, or can move only when a
// person acts.
func (s *session) follow(ctx context.Context, client *api.Client, opened api.Opened, stay bool) error {
	ctx, detach := context.WithCancel(ctx)
	defer detach()
	var left atomic.Bool
	v := s.app.newView(s, opened, func() { left.Store(true); detach() })
	defer v.close()
	var seq uint64
	var state engine.State
	first := true
	err := client.Changes(ctx, func() error {
		var fresh []engine.Record
		for r, err := range run.Read(ctx, s.store, opened.Stream, seq) {
			if err != nil {
				return err
			}
			if err := state.Apply(r); err != nil {
				return err
			}
			fresh, seq = append(fresh, r), r.Seq
		}
		if first {
			v.past(fresh)
		} else {
			v.records(fresh)
		}
		first = false
		if !state.Live() || !stay && state.Idle() {
			return errOver
		}
		return nil
	})
	if errors.Is(err, errOver) || left.Load() {
		return nil
	}
	return err
}

// outcome shows how the run stands and turns it into an exit code.
func (d *drive) outcome(ctx context.Context, opened api.Opened) error {
	head, err := d.Find(ctx, opened.Run)
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
	steps, err := s.store.Steps(ctx, head.Stream)
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
	items, err := s.store.Items(ctx, store.ItemFilter{Open: true, Run: head.Run})
	if err != nil {
		return err
	}
	for _, it := range items {
		if it.Cause == engine.Infra {
			return ended(exitMachine)
		}
	}
	return ended(exitWaiting)
}

// signals makes the first Ctrl-C stop gently and the second at once.
func (d *drive) signals() (done func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	quit := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-c:
				d.interrupt(sig.(syscall.Signal))
			case <-quit:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(quit) }
}

func (d *drive) interrupt(sig syscall.Signal) {
	if !d.ready.Load() || d.stopped.Load() != 0 && time.Since(d.asked) > secondSignal {
		d.restore()
		os.Exit(128 + int(sig)) // everything started hangs on this process's life
	}
	if !d.stopped.CompareAndSwap(0, int32(sig)) {
		return // the same wish twice: some senders tell the process and its group
	}
	d.asked = time.Now()
	d.app.notice("stopping; again to stop at once")
	d.owner.stop()
}

// secondSignal is how soon after the first a signal is still the same wish.
const secondSignal = 300 * time.Millisecond

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
	case <-time.After(secondSignal):
	}
}

func (s *session) protect(ctx context.Context, guards []string) (store.Object, error) {
	t, err := s.tree(nil)
	if err != nil {
		return store.Object{}, err
	}
	defer t.Close()
	base, err := t.Protect(ctx, guards)
	if err != nil {
		return store.Object{}, err
	}
	return store.NewObject(base.Encode()), nil
}
