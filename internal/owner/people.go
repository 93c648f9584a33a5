package owner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/tool"
)

// Resume makes a run ready to go on. The client carries it then.
func (u *uses) Resume(ctx context.Context, q api.Resume) (api.Opened, error) {
	p, err := u.Owner.product(ctx, u.caller)
	if err != nil {
		return api.Opened{}, err
	}
	find, verb := u.unfinished, engine.DoResume
	if q.Land {
		find, verb = u.unlanded, engine.DoLand
	}
	head, opened, err := find(ctx, p, q.Run)
	if err != nil || opened.Over {
		return opened, err
	}
	var missing error
	err = u.host.Look(ctx, head.Stream, func(s *engine.State) {
		if newest := s.Run(); newest.Run != head.Run {
			help := "piton resume " + newest.Run
			if q.Land {
				help = "git merge " + head.Branch.Name + " merges its branch"
			}
			missing = conflict(help, "run %s has ended, and run %s is the newest of this plan", head.Run, newest.Run)
			return
		}
		missing = equipped(ctx, p, s, s.Program())
	})
	if err = errors.Join(err, missing); err != nil {
		return opened, err
	}
	other, err := u.configured(ctx, p, head.Stream, q.Config, false)
	if err != nil || other.asks != nil {
		if err == nil {
			opened.Reconfigured = other.asks
		}
		return opened, err
	}
	if err := other.take(ctx); err != nil {
		return opened, err
	}
	err = u.host.Look(ctx, head.Stream, func(s *engine.State) { opened.After, missing = s.Seq(), p.Pinned(s.Run()) })
	if err = errors.Join(err, missing); err != nil {
		return opened, err
	}
	if head.Status == engine.Paused || head.Ended || q.Land && head.Branch.By == "" {
		if u.caller.Via == api.ForAgents {
			text := "run " + head.Run + " is " + string(head.Shown()) + ", and an agent cannot move it on"
			return opened, &api.Problem{Code: api.Denied, Message: text, Hint: "a person can: piton resume " + head.Run}
		}
		err = p.Order(ctx, u.host, head, engine.Command{Verb: verb})
	}
	if err == nil {
		err = u.mended(ctx, p, &opened)
	}
	return opened, err
}

// mended tries the steps again that wait for a person because of this machine, such as for a
// login or a key: a person who lets the run go on has seen to that.
func (u *uses) mended(ctx context.Context, p *api.Product, opened *api.Opened) error {
	if u.caller.Via == api.ForAgents {
		return nil
	}
	head, err := p.Find(ctx, opened.Run)
	if err != nil {
		return err
	}
	items, err := p.Waiting(ctx, head)
	for _, it := range items {
		if it.Kind != engine.Escalation || it.Cause != engine.Infra || !slices.Contains(it.Choices, engine.ChooseRetry) {
			continue
		}
		err := p.Reply(ctx, u.host, it, engine.ItemAnswered{Choice: engine.ChooseRetry})
		if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Code == api.Conflict {
			continue // somebody has just answered it
		}
		if err != nil {
			return err
		}
		opened.Retried = append(opened.Retried, it.Step)
	}
	return err
}

// maxDone is how many runs are looked through for one whose work waits on its branch.
const maxDone = 100

// unlanded finds the run that is to be landed: the one that is named, else the newest whose
// work waits on its branch, else the newest.
func (u *uses) unlanded(ctx context.Context, p *api.Product, prefix string) (engine.HeadRow, api.Opened, error) {
	head, err := p.Find(ctx, prefix)
	if err == nil && prefix == "" && head.Ended && !head.Branch.Waits {
		head, err = u.waiting(ctx, head)
	}
	return head, api.Opened{Stream: head.Stream, Run: head.Run, Resumed: true, Over: head.Landed}, err
}

// unfinished finds a run that can go on: the one that is named, else the newest, or if
// that cannot, the newest that has not ended. Of one that carries out a step it is that
// at the top.
func (u *uses) unfinished(ctx context.Context, p *api.Product, prefix string) (engine.HeadRow, api.Opened, error) {
	head, err := p.Find(ctx, prefix)
	if err != nil {
		return head, api.Opened{}, err
	}
	if over(head) && prefix == "" {
		open, err := p.Unended(ctx)
		if err != nil {
			return head, api.Opened{}, err
		}
		head = append(open, head)[0]
	}
	opened := api.Opened{Resumed: true}
	if head.Parent.Run != "" && !head.Ended {
		opened.For = head.Run
		if head, err = p.Top(ctx, head); err != nil {
			return head, opened, err
		}
	}
	opened.Stream, opened.Run, opened.Over = head.Stream, head.Run, over(head)
	return head, opened, nil
}

// over reports whether a run cannot go on.
func over(h engine.HeadRow) bool { return h.Ended && h.Status != engine.Failed }

// waiting finds the newest run whose work waits on its branch, and that no later run of its
// plan took the place of; else it is the one that is given.
func (u *uses) waiting(ctx context.Context, head engine.HeadRow) (engine.HeadRow, error) {
	done, err := u.store.Heads(ctx, store.HeadFilter{Top: true, Status: []engine.Status{engine.Done}, Limit: maxDone})
	for _, h := range done {
		if err != nil || !h.Branch.Waits {
			continue
		}
		var newest []engine.HeadRow
		newest, err = u.store.Heads(ctx, store.HeadFilter{Stream: h.Stream, Limit: 1})
		if err == nil && newest[0].Run == h.Run {
			return h, nil
		}
	}
	return head, err
}

// Order gives a command to a run or a step.
func (u *uses) Order(ctx context.Context, q api.Order) (api.Ordered, error) {
	p, err := u.looking(ctx)
	if err != nil {
		return api.Ordered{}, err
	}
	if q.Run == "" && q.Verb == engine.DoCancel {
		if q.Run, err = onlyOne(ctx, p); err != nil {
			return api.Ordered{}, err
		}
	}
	head, err := p.Find(ctx, q.Run)
	if err != nil {
		return api.Ordered{}, err
	}
	c := engine.Command{Verb: q.Verb, Role: q.Role, Why: q.Why, From: q.From}
	if q.Step != "" {
		if head, c.Step, err = p.Step(ctx, head, q.Step); err != nil {
			return api.Ordered{}, err
		}
		c.Only = c.Verb == engine.DoReplan
	}
	if !u.before(ctx, head.Stream, func(e engine.Event) bool { return sameOrder(e, c, u.caller.By) }) {
		if err := p.Order(ctx, u.host, head, c); err != nil {
			return api.Ordered{}, err
		}
	}
	return u.ordered(ctx, p, api.Ordered{Run: head.Run, Step: c.Step})
}

// onlyOne is the run that has not ended; "" is none. Of several it refuses to guess which one is
// meant by a command that cannot be taken back.
func onlyOne(ctx context.Context, p *api.Product) (string, error) {
	open, err := p.Unended(ctx)
	switch {
	case err != nil || len(open) == 0:
		return "", err
	case len(open) == 1:
		return open[0].Run, nil
	}
	var names, ways []string
	for _, h := range open {
		names = append(names, fmt.Sprintf("%s (%s)", h.Run, h.Title))
		ways = append(ways, "piton cancel "+h.Run)
	}
	return "", &api.Problem{Code: api.Invalid, Message: "several runs have not ended: " + strings.Join(names, ", "), Hint: "say which: " + strings.Join(ways, ", or ")}
}

func sameOrder(e engine.Event, c engine.Command, by string) bool {
	was, ok := e.(engine.Command)
	return ok && was.Verb == c.Verb && was.Step == c.Step && was.Role == c.Role && was.Why == c.Why && was.By == by
}

// before reports whether this request was carried out already, by an owner that
// ended before it could answer.
func (u *uses) before(ctx context.Context, stream string, same func(engine.Event) bool) bool {
	if u.caller.Again.IsZero() {
		return false
	}
	since := store.Micro(u.caller.Again)
	for r, err := range u.store.Read(ctx, stream, 0) {
		if err == nil && !r.At.Before(since) && same(r.Event) {
			return true
		}
	}
	return false
}

// ordered tells what is true now.
func (u *uses) ordered(ctx context.Context, p *api.Product, o api.Ordered) (api.Ordered, error) {
	head, err := p.Find(ctx, o.Run)
	if err == nil {
		o.Top, err = p.Top(ctx, head)
	}
	if o.Top.Ended {
		u.ended(o.Top.Stream)
	}
	o.Carried = slices.Contains(u.host.Carried(), o.Top.Stream)
	return o, err
}

// Answer answers an item.
func (u *uses) Answer(ctx context.Context, q api.Answer) (api.Ordered, error) {
	p, err := u.Owner.product(ctx, u.caller)
	if err != nil {
		return api.Ordered{}, err
	}
	it, err := p.Item(ctx, q.Item)
	if err != nil {
		if done, ok := u.answered(ctx, p, q); ok {
			return done, nil
		}
		return api.Ordered{}, err
	}
	if err := u.caller.May(q.Lets(it)...); err != nil {
		return api.Ordered{}, err
	}
	a := engine.ItemAnswered{Choice: q.Choice, Text: q.Text}
	if a.Args, err = u.checkedArgs(ctx, p, it, q); err != nil {
		return api.Ordered{}, err
	}
	other, err := u.goesBy(ctx, p, it, q)
	if err != nil {
		return api.Ordered{}, err
	}
	if other.asks != nil {
		return api.Ordered{Run: it.Run, Item: it.Item, Reconfigured: other.asks}, nil
	}
	revises := it.Kind == engine.Proposal || it.Kind == engine.Weakened
	if other.pending() && !revises { // a revision fits only once the configuration is taken
		if err := p.Reply(ctx, rehearsal{u.host, u.cfg.Now}, it, a); err != nil {
			return api.Ordered{}, err
		}
	}
	if err := other.take(ctx); err != nil {
		return api.Ordered{}, err
	}
	if revises {
		err = u.propose(ctx, p, it, a)
	} else {
		err = p.Reply(ctx, u.host, it, a)
	}
	if err != nil {
		return api.Ordered{}, err
	}
	if it.Kind == engine.Keep {
		u.keepAdopted(ctx)
	}
	return u.ordered(ctx, p, api.Ordered{Run: it.Run, Step: it.Step, Item: it.Item})
}

// goesBy makes sure that what an answer lets go on goes by the configuration in force. An
// answer to a run that nobody carries lets nothing go on yet, and one to a run that is at
// work leaves it to its configuration.
func (u *uses) goesBy(ctx context.Context, p *api.Product, it engine.ItemRow, q api.Answer) (*configuring, error) {
	if it.Stream == engine.WorkspaceStream || q.Choice == engine.ChooseAbort || q.Choice == engine.ChooseDeny {
		return &configuring{}, nil
	}
	if it.Kind == engine.Proposal || it.Kind == engine.Weakened {
		return u.configured(ctx, p, it.Stream, q.Config, false)
	}
	head, err := p.Find(ctx, it.Run)
	if err == nil {
		head, err = p.Top(ctx, head)
	}
	if err != nil || !slices.Contains(u.host.Carried(), head.Stream) {
		return &configuring{}, err
	}
	if idle, err := u.waits(ctx, head.Stream); err != nil || !idle {
		return &configuring{}, err
	}
	return u.configured(ctx, p, head.Stream, q.Config, false)
}

// rehearsal is a desk that says what would be refused, and takes nothing.
type rehearsal struct {
	host *run.Host
	now  func() time.Time
}

func (r rehearsal) Submit(ctx context.Context, stream string, in engine.Input, _ ...store.Object) error {
	var refused error
	err := r.host.Look(ctx, stream, func(s *engine.State) { _, refused = s.Admit(in, r.now()) })
	return cmp.Or(err, refused)
}

// propose answers an item about a revision that was made for a run. A yes comes with
// the revision as it fits the workspace now.
func (u *uses) propose(ctx context.Context, p *api.Product, it engine.ItemRow, a engine.ItemAnswered) error {
	a.Item, a.By, a.Via = it.Item, p.By, p.Via
	if a.Choice != engine.ChooseApprove {
		r, err := p.Revision(ctx, it.Plan)
		if err != nil {
			return err
		}
		no := p.Judgement(r, false, a.By, a.Text)
		return u.host.Submit(ctx, it.Stream, engine.Reply{ItemAnswered: a, Judged: &no})
	}
	r, in, objects, err := p.Adopt(ctx, it.Stream, it.Plan, u.opening(p, consent{a.By, a.Text}, ""))
	if err != nil {
		return err
	}
	if err := equipped(ctx, p, nil, in.Run.Compiled); err != nil {
		return err
	}
	yes := p.Judgement(r, true, a.By, a.Text)
	return u.host.Submit(ctx, it.Stream, engine.Reply{ItemAnswered: a, Revise: &in, Judged: &yes}, objects...)
}

// answered finds an answer of this caller that was taken, and whose acknowledgement
// was lost.
func (u *uses) answered(ctx context.Context, p *api.Product, q api.Answer) (api.Ordered, bool) {
	run, _, _ := strings.Cut(q.Item, "/")
	head, err := p.Find(ctx, run)
	taken := err == nil && u.before(ctx, head.Stream, func(e engine.Event) bool {
		a, ok := e.(engine.ItemAnswered)
		return ok && a.Item == q.Item && a.Choice == q.Choice && a.Text == q.Text && a.By == u.caller.By
	})
	if !taken {
		return api.Ordered{}, false
	}
	done, err := u.ordered(ctx, p, api.Ordered{Run: head.Run, Item: q.Item})
	return done, err == nil
}

// checkedArgs are the arguments of an answer. Those for a call are checked, and
// returned as the tool would get them: a server is started to say whether they fit.
func (u *uses) checkedArgs(ctx context.Context, p *api.Product, it engine.ItemRow, q api.Answer) (json.RawMessage, error) {
	if it.Tool == "" || len(q.Args) == 0 {
		return q.Args, nil
	}
	tools, end, err := LookTools(u.cfg.Place, p.Config, p.Env)
	if err != nil {
		return nil, err
	}
	defer end()
	args, err := tools.Check(ctx, it.Tool, q.Args)
	if wrong, ok := errors.AsType[*tool.Problem](err); ok {
		err = &api.Problem{Code: api.Invalid, Message: wrong.Message, Hint: "piton tools show " + it.Tool + " shows what it takes"}
	}
	return args, err
}

// Release stops the effects of a task's run, for everybody who carries it.
func (u *uses) Release(ctx context.Context, q api.Release) (api.None, error) {
	if q.Now {
		u.mu.Lock() // nobody begins to carry anything meanwhile
		if u.carried[q.Stream] != nil && len(u.carried) == 1 {
			os.Exit(1) // everything that was started hangs on the life of this process
		}
		u.mu.Unlock()
	}
	err := u.release(q.Stream)
	if errors.Is(err, run.ErrStopped) {
		err = nil // the owner ends, and all effects with it
	}
	return api.None{}, err
}
