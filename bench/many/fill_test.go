//go:build bench

package many_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// What the journal holds: plans that were run this often each, with a new text
// every few runs. Some runs fail, some of the newest wait for a person, and
// some plans wait for a yes.
const (
	runsOfAPlan = 20
	runsOfAText = 5
	steps       = 3
	failsEvery  = 10
	waiting     = 10
	proposals   = 5
)

// fill makes the journal of a workspace with so many runs.
func fill(b *testing.B, place api.Place, runs int) {
	b.Helper()
	st, _, err := sqlite.Open(b.Context(), sqlite.Config{Dir: place.State})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	f := &filling{b: b, plans: max(1, runs/runsOfAPlan), over: make(chan string, runs)}
	f.choose()
	host, err := run.Open(b.Context(), run.Config{Store: st, Do: f.do, Now: time.Now, Workspace: place.ID, Show: f.show})
	if err != nil {
		b.Fatal(err)
	}
	f.host = host
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- host.Loop(ctx, func(run.Traffic) bool { return false }) }()
	for n := range runsOfAPlan {
		f.round(n)
	}
	for n := range proposals {
		f.draft(f.plans+n, 0)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
	if err := host.Close(); err != nil {
		b.Fatal(err)
	}
}

type filling struct {
	b     *testing.B
	host  *run.Host
	plans int
	over  chan string // of each run that can do no more, its task

	failing map[string]bool // runs whose second step does not pass
}

// choose says which runs fail.
func (f *filling) choose() {
	f.failing = map[string]bool{}
	for plan := range f.plans {
		for n := range runsOfAPlan {
			f.failing[runID(plan, n)] = waits(plan, n) || (plan+n)%failsEvery == 0
		}
	}
}

// round runs every plan once, all at the same time.
func (f *filling) round(n int) {
	var all sync.WaitGroup
	for plan := range f.plans {
		all.Go(func() {
			if n%runsOfAText == 0 {
				f.draft(plan, n/runsOfAText)
			}
			f.open(plan, n)
		})
	}
	all.Wait()
	for range f.plans {
		<-f.over
	}
}

func planID(plan, text int) string { return fmt.Sprintf("plan-%d-v%d", plan, text+1) }

func (f *filling) draft(plan, text int) {
	source, findings := store.NewObject(document(plan, text)), store.NewObject([]byte("[]"))
	in := engine.Draft{
		PlanDrafted: engine.PlanDrafted{
			Plan: planID(plan, text), Version: text + 1, Intent: fmt.Sprintf("i-%d", plan), Path: fmt.Sprintf("plans/%d.md", plan),
			Title: title(plan), Source: source.Hash, Hash: hash(plan, text), By: "anna",
		},
		Verified: engine.PlanVerified{OK: true, Findings: findings.Hash},
	}
	if text == 0 {
		in.Intent = &engine.IntentOpened{ID: in.PlanDrafted.Intent, Prompt: title(plan), Path: in.PlanDrafted.Path}
	}
	f.submit(engine.WorkspaceStream, in, source, findings)
}

// document is a text of a plan.
func document(plan, text int) []byte {
	b := fmt.Appendf(nil, "---\ntype: plan\nstatus: draft\nowner: anna\n---\n\n# %s\n\nText %d.\n\n## Steps\n", title(plan), text+1)
	for n := range steps {
		b = fmt.Appendf(b, "\n### %d. What step %d is about\n\n**target:** script\n**task:** `make step`\n**contract:** `make check`\n", n+1, n+1)
	}
	return b
}

// open approves the plan, opens its n-th run and starts it.
func (f *filling) open(plan, n int) {
	text := n / runsOfAText
	f.submit(engine.WorkspaceStream, engine.Judgement{PlanAnswered: engine.PlanAnswered{
		Plan: planID(plan, text), Hash: hash(plan, text), Config: hash(0, 0), Yes: true, By: "anna", Via: "cli",
	}})
	then := engine.Abort
	if waits(plan, n) {
		then = engine.Escalate
	}
	program, err := engine.NewProgram(engine.Definition{Plan: planID(plan, text), Parallel: 2, Steps: chain(then)})
	if err != nil {
		f.b.Error(err)
		return
	}
	stream := fmt.Sprintf("t-%d", plan)
	in := engine.Open{By: "anna", Run: engine.RunOpened{
		Run: runID(plan, n), Plan: planID(plan, text), Version: text + 1, Title: title(plan), PlanHash: hash(plan, text),
		Program: program.Hash(), Compiled: program, Policy: engine.Policy{MaxParallel: 2}, Isolation: "none",
	}}
	if n == 0 {
		in.Task = &engine.TaskOpened{Task: stream, Intent: fmt.Sprintf("i-%d", plan)}
	}
	f.submit(stream, in, store.NewObject(program.Encode()))
	if err := f.host.Activate(f.b.Context(), stream); err != nil {
		f.b.Error(err)
	}
}

func (f *filling) submit(stream string, in engine.Input, objects ...store.Object) {
	if err := f.host.Submit(f.b.Context(), stream, in, objects...); err != nil {
		f.b.Error(err)
	}
}

// show notes the runs that ended, or can go on only with a person.
func (f *filling) show(records []engine.Record) {
	for _, r := range records {
		switch r.Event.(type) {
		case engine.RunEnded, engine.ItemOpened:
			f.over <- r.Stream
		}
	}
}

// do answers at once: the second step of some runs does not pass.
func (f *filling) do(_ context.Context, e engine.Effect, _ *run.Reporter) run.Answer {
	switch e.Key.Kind {
	case engine.Prepare:
		return run.Answer{Input: engine.Prepared{Key: e.Key}}
	case engine.Work:
		return run.Answer{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited}}}
	}
	check := engine.CheckEnded{Check: engine.Contract, Verdict: engine.Pass}
	if e.Key.Step == "s2" && f.failing[e.Key.Run] {
		check.Verdict, check.Exit = engine.Fail, 1
	}
	return run.Answer{Input: engine.Checked{Key: e.Key, Checks: []engine.CheckEnded{check}}}
}

func chain(then engine.Then) []engine.Step {
	all := make([]engine.Step, steps)
	for i := range all {
		all[i] = engine.Step{
			ID: fmt.Sprintf("s%d", i+1), Number: fmt.Sprint(i + 1), Title: fmt.Sprintf("What step %d is about", i+1), Kind: engine.Script,
			Task:   "make step",
			Checks: []engine.Check{{Name: engine.Contract, Command: "make check", Required: true}},
			Expect: engine.ExpectAny, OnFail: engine.OnFail{Then: then}, Critical: true, Rerunnable: true,
			Timeout: time.Hour, CheckTimeout: time.Minute, Mode: "edit", Network: "no",
		}
		if i > 0 {
			all[i].Needs = []int{i - 1}
		}
	}
	return all
}

func title(plan int) string { return fmt.Sprintf("Make part %d of the payment idempotent", plan) }

func hash(plan, text int) string {
	return store.NewObject(fmt.Append(nil, plan, "/", text)).Hash
}

// spread is odd, so that ids of all runs differ, and look drawn by lot.
const spread = 0x9e3779

func runID(plan, n int) string {
	return fmt.Sprintf("%06x", (plan*runsOfAPlan+n)*spread&0xffffff)
}

func waits(plan, n int) bool { return n == runsOfAPlan-1 && plan < waiting }
