package owner

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/proc"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/view"
)

// notifyTime is how long the program may take that tells a person of one event.
const notifyTime = 10 * time.Second

// herald tells a person what waits for them and which runs have ended, behind the loop: by
// the program that the configuration names, one event after the other.
type herald struct {
	mu      sync.Mutex
	news    []announcement
	working bool
}

// announcement is an event that a person is told of.
type announcement struct {
	record  engine.Record
	environ []string // of the person
}

// announce takes note of what a person is told of. Each record comes here once, when it is
// durable.
func (o *Owner) announce(records []engine.Record) {
	o.herald.mu.Lock()
	defer o.herald.mu.Unlock()
	for _, r := range records {
		if view.Notable(r) {
			o.herald.news = append(o.herald.news, announcement{r, o.environ(r.Stream)})
		}
	}
	if len(o.herald.news) > 0 && !o.herald.working {
		o.herald.working = true
		o.chore(o.announceAll)
	}
}

// announceAll tells until nothing is new. A program that fails is one line of the log.
func (o *Owner) announceAll() {
	for {
		o.herald.mu.Lock()
		if o.herald.working = len(o.herald.news) > 0; !o.herald.working {
			o.herald.mu.Unlock()
			return
		}
		next := o.herald.news[0]
		o.herald.news = o.herald.news[1:]
		o.herald.mu.Unlock()
		if err := o.announceOne(context.Background(), next); err != nil {
			o.say("nobody was notified of %s: %v", next.record.Event.Type(), err)
		}
	}
}

// announceOne starts the program of a configuration that a person has approved.
func (o *Owner) announceOne(ctx context.Context, a announcement) error {
	p, err := o.product(ctx, api.Caller{Env: a.environ})
	if err != nil || len(p.Config.Notify.Command) == 0 {
		return err
	}
	if err := trusts(ctx, p); err != nil {
		return err
	}
	command, place := p.Config.Notify.Command, o.cfg.Place
	program, err := proc.Outside(command[0], a.environ, place.Dir)
	if err != nil {
		return err
	}
	if proc.Within(place.Dir, program) {
		return fmt.Errorf("notify.command %s is in the workspace, where agents can change it: put it elsewhere", program)
	}
	event, err := o.announced(ctx, a.record)
	if err != nil {
		return err
	}
	pool, err := proc.NewPool(proc.Config{Idle: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	return notified(pool.Run(ctx, proc.Spec{
		Argv: append([]string{program}, command[1:]...), Env: a.environ, Stdin: event, Timeout: notifyTime,
		Dir: cmp.Or(proc.Variable(a.environ, "HOME"), proc.Variable(a.environ, "USERPROFILE"), place.State),
	}))
}

// announced is a record as piton watch --json shows it, with the workspace and the title of
// the plan.
func (o *Owner) announced(ctx context.Context, r engine.Record) ([]byte, error) {
	run, title := "", ""
	if r.Stream != engine.WorkspaceStream {
		heads, err := o.store.Heads(ctx, store.HeadFilter{Stream: r.Stream, Limit: 1})
		if err != nil || len(heads) == 0 {
			return nil, cmp.Or(err, fmt.Errorf("the journal has no run of task %s", r.Stream))
		}
		run, title = heads[0].Run, heads[0].Title
	}
	fields := view.EventOf(run, r, nil)
	fields["workspace"], fields["title"] = o.cfg.Place.Dir, title
	var event bytes.Buffer
	view.Write(&event, "event", fields)
	return event.Bytes(), nil
}

// notified says why nobody was.
func notified(r proc.Result) error {
	exit, exited := r.Exited()
	switch {
	case r.Err != nil:
		return r.Err
	case r.TimedOut:
		return fmt.Errorf("notify.command takes longer than %s", notifyTime)
	case !exited:
		return fmt.Errorf("notify.command was ended: %s", cmp.Or(r.Signal, "stopped"))
	case exit != 0:
		said := strings.Join(strings.Fields(r.Stderr.LastLines(3, 500)), " ")
		return fmt.Errorf("notify.command ends with exit code %d: %s", exit, cmp.Or(said, "it says nothing"))
	}
	return nil
}
