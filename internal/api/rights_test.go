package api_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/users"
)

// doer carries out everything, and keeps for whom.
type doer struct {
	owner
	did []string
}

func (d *doer) done(what string) error { d.did = append(d.did, what); return nil }

func (d *doer) Run(context.Context, api.Saying) (a api.Said, err error) { return a, d.done("run") }

func (d *doer) Approve(context.Context, api.Saying) (a api.Said, err error) {
	return a, d.done("approve")
}

func (d *doer) Reject(context.Context, api.Saying) (a api.Said, err error) {
	return a, d.done("reject")
}

func (d *doer) Resume(context.Context, api.Resume) (a api.Opened, err error) {
	return a, d.done("resume")
}

func (d *doer) Plan(context.Context, api.Planning) (a api.Planned, err error) {
	return a, d.done("plan")
}

func (d *doer) Redraft(context.Context, api.Redrafting) (a api.Planned, err error) {
	return a, d.done("redraft")
}

func (d *doer) Contract(context.Context, api.Contracting) (a api.Planned, err error) {
	return a, d.done("contract")
}

func (d *doer) Review(context.Context, api.Reviewing) (a api.Planned, err error) {
	return a, d.done("review")
}

func (d *doer) Withdraw(context.Context, api.Withdrawal) (a api.Withdrawal, err error) {
	return a, d.done("withdraw")
}

func (d *doer) Order(context.Context, api.Order) (a api.Ordered, err error) {
	return a, d.done("order")
}

func (d *doer) Answer(context.Context, api.Answer) (a api.Ordered, err error) {
	return a, d.done("answer")
}

func (d *doer) Release(context.Context, api.Release) (a api.None, err error) {
	return a, d.done("release")
}

func (d *doer) Archive(context.Context, api.Archive) (a api.Archived, err error) {
	return a, d.done("archive")
}

func (d *doer) Collect(context.Context, api.Collect) (a api.Waste, err error) { return a, d.done("gc") }

func (d *doer) Edit(context.Context, api.Edit) (a api.Edited, err error) { return a, d.done("edit") }

func (d *doer) Restore(context.Context, api.Restore) (a api.Restored, err error) {
	return a, d.done("restore")
}

// A user from elsewhere does what they have the right to, under their own name; whoever lacks
// one right of these is refused, and the owner hears nothing of the request.
func TestRights(t *testing.T) {
	d := &doer{owner: owner{left: make(chan api.End, 8), over: make(chan struct{}), freed: make(chan struct{}, 1)}}
	s := d.serving()
	var callers []api.Caller
	s.Uses = func(c api.Caller) api.Uses { callers = append(callers, c); return d }
	p := api.Place{State: t.TempDir()}
	l, err := api.Listen(p, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	as := func(name string) *api.Client {
		c := api.Dial(p, "1.0", nil, nil)
		c.Face, c.User = api.ForHTTP, name
		return c
	}
	yes := api.Consent{Yes: true}
	type rights = []users.Right
	runs, answers, approves, runsYes, answersYes := rights{users.Run}, rights{users.Answer}, rights{users.Approve}, rights{users.Run, users.Approve}, rights{users.Answer, users.Approve}
	asks := map[string]struct {
		needs rights
		ask   func(context.Context, *api.Client) error
	}{
		"run":                {runs, one((*api.Client).Run, api.Saying{Word: "p.md"})},
		"run with a yes":     {runsYes, one((*api.Client).Run, api.Saying{Word: "p.md", Yes: true})},
		"run with a hash":    {runsYes, one((*api.Client).Run, api.Saying{Word: "p.md", Hash: "0123456789ab"})},
		"run weaker":         {runsYes, one((*api.Client).Run, api.Saying{Word: "p.md", Weaker: true})},
		"run unsealed":       {runsYes, one((*api.Client).Run, api.Saying{Word: "p.md", Unsealed: true})},
		"run reconfigured":   {runsYes, one((*api.Client).Run, api.Saying{Word: "p.md", Config: "c"})},
		"approve":            {approves, one((*api.Client).Approve, api.Saying{Word: "p.md", Yes: true})},
		"reject":             {answers, one((*api.Client).Reject, api.Saying{Word: "p.md"})},
		"resume":             {runs, one((*api.Client).Resume, api.Resume{})},
		"land":               {runsYes, one((*api.Client).Resume, api.Resume{Land: true})},
		"resume with config": {runsYes, one((*api.Client).Resume, api.Resume{Config: "c"})},
		"plan":               {runs, one((*api.Client).Plan, api.Planning{})},
		"plan with a yes":    {runsYes, one((*api.Client).Plan, api.Planning{Consent: yes})},
		"redraft":            {runs, one((*api.Client).Redraft, api.Redrafting{})},
		"redraft, yes":       {runsYes, one((*api.Client).Redraft, api.Redrafting{Consent: yes})},
		"contract":           {runs, one((*api.Client).Contract, api.Contracting{})},
		"contract, yes":      {runsYes, one((*api.Client).Contract, api.Contracting{Consent: yes})},
		"review":             {runs, one((*api.Client).Review, api.Reviewing{})},
		"review, yes":        {runsYes, one((*api.Client).Review, api.Reviewing{Consent: yes})},
		"withdraw":           {runs, one((*api.Client).Withdraw, api.Withdrawal{})},
		"order":              {runs, one((*api.Client).Order, api.Order{Verb: engine.DoCancel})},
		"waive":              {runsYes, one((*api.Client).Order, api.Order{Verb: engine.DoWaive})},
		"land by an order":   {runsYes, one((*api.Client).Order, api.Order{Verb: engine.DoLand})},
		"answer":             {answers, one((*api.Client).Answer, api.Answer{Item: "1"})},
		"answer waive":       {answersYes, one((*api.Client).Answer, api.Answer{Item: "1", Choice: engine.ChooseWaive})},
		"answer with config": {answersYes, one((*api.Client).Answer, api.Answer{Item: "1", Config: "c"})},
		"release":            {runs, one((*api.Client).Release, api.Release{})},
		"archive":            {approves, one((*api.Client).Archive, api.Archive{})},
		"gc":                 {approves, one((*api.Client).Collect, api.Collect{})},
		"restore":            {runs, one((*api.Client).Restore, api.Restore{})},
		"edit":               {runs, one((*api.Client).Edit, api.Edit{})},
		"carry": {runs, func(ctx context.Context, c *api.Client) error {
			return c.Carry(ctx, "t-1", api.Leave, func() error { return errDone })
		}},
	}
	dir, did := users.In(p.State), map[string]bool{}
	for name, a := range asks {
		let := func(user string, may rights) {
			if _, err := dir.Add(user, may, "", noon()); err != nil {
				t.Fatal(err)
			}
		}
		callers, d.did = nil, nil
		for _, lacks := range a.needs {
			let("without", slices.DeleteFunc(slices.Clone(users.Rights), func(r users.Right) bool { return r == lacks }))
			if err := a.ask(t.Context(), as("without")); err == nil || api.Explain(err).Code != api.Denied || !strings.Contains(err.Error(), string(lacks)) || len(callers) > 0 {
				t.Errorf("%s, by who lacks %s: %v; the owner heard %v", name, lacks, err, callers)
			}
		}
		let("with", a.needs)
		if err := a.ask(t.Context(), as("with")); err != nil && !errors.Is(err, errDone) {
			t.Errorf("%s, by who may: %v", name, err)
		}
		if name != "carry" && (len(callers) != 1 || callers[0].By != "with" || callers[0].Via != api.ForHTTP) {
			t.Errorf("%s: the owner heard %+v", name, callers)
		}
		for _, what := range d.did {
			did[what] = true
		}
	}
	if n := reflect.TypeFor[api.Uses]().NumMethod(); len(did) != n {
		t.Errorf("%d of %d use cases were asked for", len(did), n)
	}
	if err := dir.Remove("with"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"with", "nobody", "../with"} {
		if _, err := as(name).Order(t.Context(), api.Order{}); err == nil || api.Explain(err).Code != api.Denied || !strings.Contains(err.Error(), "no more") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var errDone = errors.New("done")

func one[Q, A any](do func(*api.Client, context.Context, Q) (A, error), q Q) func(context.Context, *api.Client) error {
	return func(ctx context.Context, c *api.Client) error { _, err := do(c, ctx, q); return err }
}

// What lets something happen that nobody approved needs more than an answer does.
func TestAnswersThatApprove(t *testing.T) {
	no, yes := []users.Right{users.Answer}, []users.Right{users.Answer, users.Approve}
	for _, kind := range []engine.ItemKind{engine.Approval, engine.Permission, engine.Proposal, engine.Weakened, engine.Limit} {
		it := engine.ItemRow{ItemOpened: engine.ItemOpened{Kind: kind}}
		for choice, needs := range map[string][]users.Right{engine.ChooseApprove: yes, "": yes, "anything": yes, engine.ChooseDeny: no, engine.ChooseAbort: no} {
			if is := (api.Answer{Choice: choice}).Lets(it); !slices.Equal(is, needs) {
				t.Errorf("%s, %q: %s", kind, choice, is)
			}
		}
	}
	for _, kind := range []engine.ItemKind{engine.Question, engine.Escalation, engine.Keep} {
		if is := (api.Answer{Choice: engine.ChooseRetry}).Lets(engine.ItemRow{ItemOpened: engine.ItemOpened{Kind: kind}}); !slices.Equal(is, no) {
			t.Errorf("%s: %s", kind, is)
		}
	}
}
