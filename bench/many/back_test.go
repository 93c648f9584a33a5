//go:build bench

package many_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/api"
	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// BenchmarkBack times the verbs that look back at one run of many steps, as whole
// processes.
func BenchmarkBack(b *testing.B) {
	piton := build(b)
	for _, steps := range []int{100, 10_000} {
		w := workspace(b, piton)
		long(b, w.place, steps, steps)
		for _, args := range [][]string{{"version"}, {"status", "--json"}, {"why", "s50"}, {"prime"}, {"show", "--retro", "--json"}} {
			b.Run(fmt.Sprintf("%d/%s", steps, strings.Join(args, "_")), func(b *testing.B) { w.time(b, args) })
		}
	}
}

// BenchmarkAhead times the verbs that look at steps which have not come to their end: one
// that is under way, the next one, and the last.
func BenchmarkAhead(b *testing.B) {
	piton := build(b)
	for _, steps := range []int{100, 10_000} {
		w := workspace(b, piton)
		long(b, w.place, steps, steps/2)
		for _, step := range []int{steps / 2, steps/2 + 1, steps - 1} {
			args := []string{"why", fmt.Sprint("s", step)}
			b.Run(fmt.Sprintf("%d/%s", steps, strings.Join(args, "_")), func(b *testing.B) { w.time(b, args) })
		}
	}
}

// long makes the journal of a workspace with one run of so many steps that follow
// each other, each of which found something. It stops when so many are done.
func long(b *testing.B, place api.Place, n, done int) {
	b.Helper()
	st, _, err := sqlite.Open(b.Context(), sqlite.Config{Dir: place.State})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	epoch, release, err := st.Own(b.Context(), place.ID)
	if err != nil {
		b.Fatal(err)
	}
	defer release() //nolint:errcheck // closing gives it back
	def := engine.Definition{Plan: "plan-1", Title: "Long", Parallel: 1}
	for i := range n {
		s := engine.Step{
			ID: fmt.Sprint("s", i), Number: fmt.Sprint(i + 1), Title: fmt.Sprint("Step ", i), Kind: engine.Agent, Role: "coder", Task: "Do it.", Writes: []string{fmt.Sprintf("dir%d/", i)},
			Checks: []engine.Check{{Name: engine.Contract, Command: "true", Required: true}}, Expect: engine.ExpectAny, OnFail: engine.OnFail{Then: engine.Escalate},
			Critical: true, Timeout: time.Minute, CheckTimeout: time.Minute, Holds: true, Rerunnable: true, Mode: "edit", Network: "yes",
		}
		if i > 0 {
			s.Needs = []int{i - 1}
		}
		def.Steps = append(def.Steps, s)
	}
	p, err := engine.NewProgram(def)
	if err != nil {
		b.Fatal(err)
	}
	l := &line{b: b, st: st, epoch: epoch, now: time.Now().UTC().Truncate(time.Microsecond)}
	l.objects = []store.Object{store.NewObject(p.Encode())}
	l.put(engine.Begin{EpochBegan: engine.EpochBegan{Host: "h", Version: "1"}})
	l.put(engine.Open{By: "anna", Task: &engine.TaskOpened{Task: "t-1", Intent: "i-1"}, Run: engine.RunOpened{
		Run: "abcdef", Plan: "plan-1", Version: 1, Title: "Long", Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 1}, Isolation: "none",
	}})
	for l.state.Live() && l.state.Head().Settled < done {
		for _, c := range l.state.Claims() {
			if !c.Held {
				l.put(engine.Lease{Step: c.Step.ID, Attempt: c.Attempt})
			}
		}
		for _, k := range l.state.Pending() {
			l.put(well(l.state.Effect(k)))
		}
	}
	l.flush()
}

// line writes the journal of one task.
type line struct {
	b       *testing.B
	st      store.Store
	epoch   uint64
	now     time.Time
	state   engine.State
	after   uint64
	records []engine.Record
	objects []store.Object
}

func (l *line) put(in engine.Input) {
	events, err := l.state.Admit(in, l.now)
	if err != nil {
		l.b.Fatal(err)
	}
	for ; len(events) > 0; events = l.state.Decide(l.now) {
		for _, e := range events {
			r := engine.Record{Stream: "t-1", Seq: l.state.Seq() + 1, At: l.now, Actor: in.Actor(), Epoch: l.epoch, Event: e}
			if err := l.state.Apply(r); err != nil {
				l.b.Fatal(err)
			}
			l.records = append(l.records, r)
			l.now = l.now.Add(time.Millisecond)
		}
	}
	if len(l.records) > 5000 {
		l.flush()
	}
}

func (l *line) flush() {
	body, err := l.state.Snapshot()
	if err == nil {
		err = l.st.Append(l.b.Context(), store.Batch{
			Stream: "t-1", After: l.after, Epoch: l.epoch, Records: l.records, Objects: l.objects, Rows: l.state.Rows(), Snapshot: body,
		})
	}
	if err != nil {
		l.b.Fatal(err)
	}
	l.after, l.records, l.objects = l.state.Seq(), nil, nil
}

// well is the answer of an effect that goes well.
func well(e engine.Effect) engine.Input {
	switch e.Key.Kind {
	case engine.Prepare:
		return engine.Prepared{Key: e.Key, Dispatch: engine.WorkDispatched{Frames: engine.FrameIDs(e.Frames)}}
	case engine.Work:
		end := engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited, Words: "I did it.", Changed: []string{"a.go"}}}
		end.Discoveries = []string{"it is slow"}
		return end
	case engine.Survey:
		return engine.Surveyed{Key: e.Key, Tree: "tree"}
	}
	in := engine.Checked{Key: e.Key}
	for _, c := range e.Step.Checks {
		in.Checks = append(in.Checks, engine.CheckEnded{Check: c.Name, Verdict: engine.Pass})
	}
	return in
}
