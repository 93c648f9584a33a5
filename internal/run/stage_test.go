package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// stage is a host whose effects end when the test says so. Everything on it
// happens inside a synctest bubble.
type stage struct {
	t     *testing.T
	store *counted
	over  store.Store // what the next host has of it
	host  *run.Host
	ended chan error // of the loop
	stop  context.CancelFunc

	mu    sync.Mutex
	plays map[string]*play // by step, attempt, kind and number
	shown []engine.Record

	slept atomic.Int64 // nanoseconds by which the clock is ahead of the timers
}

// play is an effect under way.
type play struct {
	effect engine.Effect
	report *run.Reporter
	ctx    context.Context
	answer chan run.Answer
}

// counted is a store that counts appends, can hold them up and can fail.
type counted struct {
	*storetest.Memory
	mu      sync.Mutex
	appends [][]store.Batch
	gate    chan struct{}
	fail    error
}

func (c *counted) Append(ctx context.Context, batches ...store.Batch) error {
	c.mu.Lock()
	gate, fail := c.gate, c.fail
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if fail != nil {
		return fail
	}
	c.mu.Lock()
	c.appends = append(c.appends, batches)
	c.mu.Unlock()
	return c.Memory.Append(ctx, batches...)
}

// hold makes the next appends wait until the returned function is called.
func (c *counted) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gate := make(chan struct{})
	c.gate = gate
	return func() {
		c.mu.Lock()
		c.gate = nil
		c.mu.Unlock()
		close(gate)
	}
}

func (c *counted) breakWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.appends)
}

// onStage runs f with an open host on an empty store.
func onStage(t *testing.T, f func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, store: &counted{Memory: storetest.NewMemory()}}
		s.over = s.store
		s.open()
		f(t, s)
		s.close()
	})
}

// open opens a host, as a new process would, and starts its loop. It leaves
// when nothing moves.
func (s *stage) open() {
	s.t.Helper()
	host, err := run.Open(s.t.Context(), run.Config{
		Store: s.over, Do: s.do, Now: s.now, Workspace: "w", Machine: "m", Version: "v", Show: s.show,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.host, s.plays = host, map[string]*play{}
}

func (s *stage) now() time.Time { return time.Now().Add(time.Duration(s.slept.Load())) }

func (s *stage) loop(leave func(run.Traffic) bool) {
	ctx, stop := context.WithCancel(s.t.Context())
	s.ended, s.stop = make(chan error, 1), stop
	go func() { s.ended <- s.host.Loop(ctx, leave) }()
}

// stay is for loops that the test stops.
func stay(run.Traffic) bool { return false }

// interrupt is Ctrl-C; it returns how the loop ended.
func (s *stage) interrupt() error {
	s.stop()
	return <-s.ended
}

func (s *stage) close() {
	s.t.Helper()
	if s.host == nil {
		return
	}
	if s.stop != nil {
		s.stop()
		synctest.Wait()
	}
	if err := s.host.Close(); err != nil {
		s.t.Error(err)
	}
	s.host = nil
}

func (s *stage) do(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
	p := &play{effect: e, report: r, ctx: ctx, answer: make(chan run.Answer, 1)}
	name := playName(e.Key)
	s.mu.Lock()
	s.plays[name] = p
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.plays, name)
	}()
	if e.Step != nil && e.Step.Task == "dies slowly" {
		return <-p.answer
	}
	select {
	case a := <-p.answer:
		return a
	case <-ctx.Done():
	}
	if e.Work != "" {
		return stopped(e.Key)
	}
	return run.Answer{}
}

func stopped(k engine.Key) run.Answer {
	return run.Answer{Input: engine.Ended{Key: k, WorkEnded: engine.WorkEnded{How: engine.Stopped, Reason: "told to stop"}}}
}

func playName(k engine.Key) string {
	return fmt.Sprintf("%s %s %d %s %d", k.Task, k.Step, k.Attempt, k.Kind, k.N)
}

func (s *stage) show(records []engine.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = append(s.shown, records...)
}

// wantRunning compares what is under way; "!" marks what was told to stop.
func (s *stage) wantRunning(want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for name, p := range s.plays {
		if p.ctx.Err() != nil {
			name += "!"
		}
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Fatalf("under way (-want +got):\n%s", diff)
	}
}

func (s *stage) play(name string) *play {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plays[name]
	if p == nil {
		s.t.Fatalf("%q is not under way", name)
	}
	return p
}

// pass lets an effect end well.
func (s *stage) pass(name string) {
	s.t.Helper()
	p := s.play(name)
	p.answer <- good(p.effect)
	synctest.Wait()
}

// fail lets the checks of an effect fail.
func (s *stage) fail(name string) {
	s.t.Helper()
	p := s.play(name)
	checks := passing(p.effect)
	checks[0].Verdict, checks[0].Exit = engine.Fail, 1
	p.answer <- run.Answer{Input: engine.Checked{Key: p.effect.Key, Checks: checks}}
	synctest.Wait()
}

// good is the answer of an effect that goes well.
func good(e engine.Effect) run.Answer {
	switch e.Key.Kind {
	case engine.Prepare:
		in := engine.Prepared{Key: e.Key}
		if e.Baseline {
			in.Checks = passing(e)
			in.Checks[0].Verdict, in.Checks[0].Exit = engine.Fail, 1
		}
		return run.Answer{Input: in}
	case engine.Work:
		return run.Answer{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited}}}
	}
	return run.Answer{Input: engine.Checked{Key: e.Key, Checks: passing(e)}}
}

func passing(e engine.Effect) []engine.CheckEnded {
	checks := make([]engine.CheckEnded, len(e.Step.Checks))
	for i, c := range e.Step.Checks {
		checks[i] = engine.CheckEnded{Check: c.Name, Verdict: engine.Pass, Exit: c.Exit}
	}
	return checks
}

// script is a step that may run beside others.
func script(id string, needs ...int) engine.Step {
	return engine.Step{
		ID: id, Number: id, Title: id, Kind: engine.Script, Task: "do it", Needs: needs,
		Checks: []engine.Check{{Name: engine.Contract, Command: "true", Required: true}},
		Expect: engine.ExpectAny, OnFail: engine.OnFail{Then: engine.Escalate},
		Timeout: time.Hour, CheckTimeout: time.Minute, Rerunnable: true,
	}
}

// task opens a task of these steps and starts it.
func (s *stage) task(stream string, steps ...engine.Step) {
	s.t.Helper()
	if err := s.host.Submit(s.t.Context(), stream, opening(s.t, stream, steps), program(s.t, stream, steps)); err != nil {
		s.t.Fatal(err)
	}
	s.activate(stream)
}

func (s *stage) activate(stream string) {
	s.t.Helper()
	if err := s.host.Activate(s.t.Context(), stream); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
}

func compile(t testing.TB, stream string, steps []engine.Step) *engine.Program {
	t.Helper()
	p, err := engine.NewProgram(engine.Definition{Plan: "plan " + stream, Title: stream, Parallel: 2, Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func program(t testing.TB, stream string, steps []engine.Step) store.Object {
	return store.NewObject(compile(t, stream, steps).Encode())
}

func opening(t testing.TB, stream string, steps []engine.Step) engine.Open {
	p := compile(t, stream, steps)
	return engine.Open{By: "ann", Task: &engine.TaskOpened{Task: stream, Intent: "i"}, Run: engine.RunOpened{
		Run: stream + "-r1", Plan: p.Plan(), Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 4},
	}}
}

func order(v engine.Verb, step string) engine.Input {
	return engine.Order{Command: engine.Command{Verb: v, Step: step, Why: "because", By: "ann"}}
}

func (s *stage) submit(stream string, in engine.Input) error {
	return s.host.Submit(s.t.Context(), stream, in)
}

// submitLater submits while the loop is held up; the answer comes on the channel.
func (s *stage) submitLater(stream string, in engine.Input) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- s.submit(stream, in) }()
	synctest.Wait()
	return answer
}

// journal is the stream's records from a sequence on, a line each.
// journal is what a stream has behind its first records, without frames: those
// follow by themselves, and are neither counted nor told.
func (s *stage) journal(stream string, after uint64) []string {
	s.t.Helper()
	var lines []string
	for r, err := range s.store.Read(s.t.Context(), stream, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		if _, frame := r.Event.(engine.FramePushed); frame {
			continue
		}
		if after > 0 {
			after--
			continue
		}
		lines = append(lines, line(r.Event))
	}
	return lines
}

func (s *stage) wantJournal(stream string, after uint64, want ...string) {
	s.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, s.journal(stream, after)); diff != "" {
		s.t.Fatalf("journal of %s after %d (-want +got):\n%s", stream, after, diff)
	}
}

func (s *stage) head(stream string) uint64 { return uint64(len(s.journal(stream, 0))) }

// line is an event in short.
func line(e engine.Event) string {
	switch e := e.(type) {
	case engine.WorkDispatched:
		return fmt.Sprintf("%s %s %d.%d %s", e.Type(), e.Step, e.Attempt, e.N, e.Kind)
	case engine.WorkEnded:
		return strings.TrimSuffix(fmt.Sprintf("%s %s %d.%d %s: %s", e.Type(), e.Step, e.Attempt, e.N, e.How, e.Reason), ": ")
	case engine.CheckEnded:
		return fmt.Sprintf("%s %s %d %s %s", e.Type(), e.Step, e.Attempt, e.Phase, e.Verdict)
	case engine.StepSettled:
		return fmt.Sprintf("%s %s %d %s", e.Type(), e.Step, e.Attempt, e.Status)
	case engine.Command:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Type(), e.Verb, e.Step))
	case engine.RunEnded:
		return fmt.Sprintf("%s %s", e.Type(), e.Status)
	}
	return e.Type()
}

func wantRefusal(t *testing.T, err error, code engine.Code) {
	t.Helper()
	r, ok := errors.AsType[*engine.Refusal](err)
	if !ok || r.Code != code {
		t.Fatalf("got %v, want a refusal with code %s", err, code)
	}
}
