package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// planted is a bug that a world is given on purpose. The zero value is none.
type planted struct {
	name  string
	rule  string // that the auditor must find broken
	first uint64 // a seed to begin with, where the others take long to find it
	store func(*life, store.Store) store.Store
	do    func(*life, run.Do) run.Do
	plan  func(engine.Definition) engine.Definition // what runs in place of what was approved
	say   func(*life, submit) submit

	revise     func(was, next engine.Definition) engine.Definition // what runs in place of an approved revision
	headstrong bool                                                // a no is taken for a yes
}

type submit func(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error

func (b planted) storeOf(l *life) store.Store {
	if b.store == nil {
		return l.disk
	}
	return b.store(l, l.disk)
}

func (b planted) doOf(l *life) run.Do {
	if b.do == nil {
		return l.do
	}
	return b.do(l, l.do)
}

func (b planted) submitOf(l *life) submit {
	if b.say == nil {
		return l.host.Submit
	}
	return b.say(l, l.host.Submit)
}

// TestPlantedBugs proves the simulation: each of these bugs must be found, by
// the rule that is there for it, within a few seeds.
func TestPlantedBugs(t *testing.T) {
	t.Parallel()
	const seeds = 200
	for _, bug := range slices.Concat(bugs, bugsOfRevisions) {
		t.Run(bug.name, func(t *testing.T) {
			t.Parallel()
			others := map[string]int{}
			for n := range uint64(seeds) {
				seed := (bug.first + n) % seeds
				w := simulate(t, seed, bug)
				if w.broke(bug.rule) {
					t.Logf("found by %q in seed %d", bug.rule, seed)
					return
				}
				for _, f := range w.found {
					others[f.rule]++
				}
			}
			t.Errorf("%d seeds never broke the rule %q; broken were %v", seeds, bug.rule, others)
		})
	}
}

var bugs = []planted{
	{name: "answers before it appends", rule: "acknowledged", store: func(_ *life, s store.Store) store.Store { return &writeBehind{Store: s} }},
	{name: "starts before it appends", rule: "dispatch", store: func(l *life, s store.Store) store.Store { return eager{s, l} }},
	{name: "loses a batch", rule: "acknowledged", store: func(_ *life, s store.Store) store.Store { return &lossy{lax: newLax(s)} }},
	{name: "forgets the last record", rule: "twice", store: func(_ *life, s store.Store) store.Store { return forgetful{newLax(s)} }},
	{name: "lets a fenced owner write", rule: "source", first: 50, store: func(l *life, s store.Store) store.Store { return &unfenced{lax: newLax(s), life: l} }},
	{name: "keeps no rows", rule: "rows", store: edit(func(b *store.Batch) { b.Rows.Steps = nil })},
	{name: "keeps no objects", rule: "objects", store: edit(dropObjects)},
	{name: "ends a run twice", rule: "ended", store: func(_ *life, s store.Store) store.Store { return &stutter{newLax(s)} }},
	{name: "calls done what waits", rule: "proof", store: rewrite(func(e engine.StepSettled) engine.Event {
		if e.Status == engine.Waiting {
			e.Status = engine.Done
		}
		return e
	})},
	{name: "says lost work has ended", rule: "epoch", store: rewrite(func(e engine.WorkEnded) engine.Event {
		if e.How == engine.Lost {
			e.How = engine.Exited
		}
		return e
	})},
	{name: "forgets who gave a command", rule: "acknowledged", store: edit(func(b *store.Batch) {
		for i, r := range b.Records {
			if _, ok := r.Event.(engine.Command); ok {
				b.Records[i].Actor = engine.Harness
			}
		}
	})},
	{name: "begins with a snapshot that misses a record", rule: "replay", store: func(l *life, s store.Store) store.Store { return hazy{s, l} }},
	{name: "takes the answer of an earlier life", rule: "source", do: takeOver},
	{name: "says pass where a check failed", rule: "truth", do: allGreen},
	{name: "starts an effect twice", rule: "twice", do: func(_ *life, do run.Do) run.Do { return twice(do) }},
	{name: "does not wait for what it stopped", rule: "ending", do: func(_ *life, do run.Do) run.Do { return hasty(do) }},
	{name: "hangs", rule: "stuck", do: hang},
	{name: "does not heed a stop", rule: "stuck", do: deaf},
	{name: "forgets what steps need", rule: "needs", plan: eachStep(func(_ int, s *engine.Step) { s.Needs = nil })},
	{name: "tries too often", rule: "retries", plan: eachStep(func(_ int, s *engine.Step) { s.OnFail.Retries = 9 })},
	{name: "tries too early", rule: "backoff", plan: eachStep(func(_ int, s *engine.Step) { s.Backoff /= 2 })},
	{name: "asks nobody", rule: "approval", plan: eachStep(func(_ int, s *engine.Step) { s.Approval = "" })},
	{name: "does not look first", rule: "baseline", plan: eachStep(func(_ int, s *engine.Step) { s.Expect = engine.ExpectAny })},
	{name: "does not keep scopes apart", rule: "scopes", plan: eachStep(func(i int, s *engine.Step) { s.Writes = []string{fmt.Sprint(i, "/**")} })},
	{name: "forgets a required check", rule: "proof", plan: eachStep(func(_ int, s *engine.Step) { s.Checks = s.Checks[:1] })},
	{name: "runs too much at once", rule: "parallel", plan: func(d engine.Definition) engine.Definition { d.Parallel = 4; return d }},
	{name: "acknowledges what it refused", rule: "acknowledged", say: func(_ *life, say submit) submit {
		return func(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error {
			err := say(ctx, stream, in, objects...)
			if _, refused := errors.AsType[*engine.Refusal](err); refused {
				return nil
			}
			return err
		}
	}},
	{name: "refuses what it has done", rule: "refused", say: func(_ *life, say submit) submit {
		return func(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error {
			if err := say(ctx, stream, in, objects...); err != nil {
				return err
			}
			return &engine.Refusal{Code: engine.Conflict, Message: "no"}
		}
	}},
}

// writeBehind answers at once and writes with the next append.
type writeBehind struct {
	store.Store
	held []store.Batch
}

func (s *writeBehind) Append(ctx context.Context, batches ...store.Batch) error {
	held := s.held
	s.held = slices.Clone(batches)
	if held == nil {
		return nil
	}
	return s.Store.Append(ctx, held...)
}

// eager starts work when it sees its dispatch.
type eager struct {
	store.Store
	life *life
}

func (s eager) Append(ctx context.Context, batches ...store.Batch) error {
	for _, b := range batches {
		for _, r := range b.Records {
			if d, ok := r.Event.(engine.WorkDispatched); ok {
				step := engine.Step{ID: d.Step}
				k := engine.Key{Task: b.Stream, Run: fmt.Sprintf("%s-r%d", b.Stream, s.life.world.newestRun(b.Stream)), Step: d.Step, Attempt: d.Attempt, Kind: engine.Work, N: d.N}
				s.life.finish(s.life.launch(ctx, engine.Effect{Key: k, Step: &step, Work: d.Kind}))
			}
		}
	}
	return s.Store.Append(ctx, batches...)
}

// lax writes at the head of a stream whatever sequence a batch names.
type lax struct {
	store.Store
	mu    *sync.Mutex
	heads map[string]uint64
}

func newLax(s store.Store) lax { return lax{s, &sync.Mutex{}, map[string]uint64{}} }

func (s lax) Append(ctx context.Context, batches ...store.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	batches = slices.Clone(batches)
	for i := range batches {
		b := &batches[i]
		b.After, b.Records = s.head(ctx, b.Stream), slices.Clone(b.Records)
		for n := range b.Records {
			b.Records[n].Seq = b.After + uint64(n) + 1
		}
	}
	return s.Store.Append(ctx, batches...)
}

func (s lax) head(ctx context.Context, stream string) uint64 {
	for r, err := range s.Store.Read(ctx, stream, s.heads[stream]) {
		if err != nil {
			break
		}
		s.heads[stream] = r.Seq
	}
	return s.heads[stream]
}

// lossy acknowledges every twelfth append without doing it.
type lossy struct {
	lax
	n int
}

func (s *lossy) Append(ctx context.Context, batches ...store.Batch) error {
	if s.n++; s.n%12 == 0 {
		return nil
	}
	return s.lax.Append(ctx, batches...)
}

// forgetful reads all but the last record.
type forgetful struct{ lax }

func (s forgetful) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		var held *engine.Record
		for r, err := range s.Store.Read(ctx, stream, after) {
			if err != nil {
				yield(r, err)
				return
			}
			if held != nil && !yield(*held, nil) {
				return
			}
			held = &r
		}
	}
}

func (forgetful) Snapshot(context.Context, string) (uint64, []byte, error) { return 0, nil, nil }

// unfenced writes for an owner that has lost the workspace, in the name of
// whoever has it now.
type unfenced struct {
	lax
	life *life
}

func (s *unfenced) Append(ctx context.Context, batches ...store.Batch) error {
	err := s.Store.Append(ctx, batches...)
	if !errors.Is(err, store.ErrFenced) {
		return err
	}
	batches = slices.Clone(batches)
	for i := range batches {
		b := &batches[i]
		b.Epoch, b.Records = uint64(len(s.life.world.lives)), slices.Clone(b.Records)
		for n := range b.Records {
			b.Records[n].Epoch = b.Epoch
		}
	}
	return s.lax.Append(ctx, batches...)
}

// edit changes every batch that is written.
func edit(change func(*store.Batch)) func(*life, store.Store) store.Store {
	return func(_ *life, s store.Store) store.Store { return edited{s, change} }
}

type edited struct {
	store.Store
	change func(*store.Batch)
}

func (s edited) Append(ctx context.Context, batches ...store.Batch) error {
	batches = slices.Clone(batches)
	for i := range batches {
		batches[i].Records = slices.Clone(batches[i].Records)
		s.change(&batches[i])
	}
	return s.Store.Append(ctx, batches...)
}

func dropObjects(b *store.Batch) {
	b.Objects = slices.DeleteFunc(slices.Clone(b.Objects), func(o store.Object) bool {
		return bytes.HasPrefix(o.Body, []byte("output of"))
	})
}

// rewrite changes what is written of one kind of event.
func rewrite[E engine.Event](change func(E) engine.Event) func(*life, store.Store) store.Store {
	return edit(func(b *store.Batch) {
		for i, r := range b.Records {
			if e, ok := r.Event.(E); ok {
				b.Records[i].Event = change(e)
			}
		}
	})
}

// stutter writes the end of a run twice.
type stutter struct{ lax }

func (s *stutter) Append(ctx context.Context, batches ...store.Batch) error {
	batches = slices.Clone(batches)
	for i := range batches {
		var records []engine.Record
		for _, r := range batches[i].Records {
			records = append(records, r)
			if _, ends := r.Event.(engine.RunEnded); ends {
				records = append(records, r)
			}
		}
		batches[i].Records = records
	}
	return s.lax.Append(ctx, batches...)
}

// hazy gives out snapshots in which the newest record has not happened.
type hazy struct {
	store.Store
	life *life
}

func (s hazy) Snapshot(ctx context.Context, stream string) (uint64, []byte, error) {
	var state engine.State
	var last engine.Record
	for r, err := range run.Read(ctx, s.life.world.store, stream, 0) {
		if err == nil && last.Event != nil {
			err = state.Apply(last)
		}
		if err != nil {
			return 0, nil, err
		}
		last = r
	}
	if state.Program() == nil {
		return 0, nil, nil
	}
	last.Event = engine.EpochBegan{}
	if err := state.Apply(last); err != nil {
		return 0, nil, err
	}
	body, err := state.Snapshot()
	return last.Seq, body, err
}

// takeOver answers for work with what an earlier life's effort would have said.
func takeOver(l *life, do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		a := do(ctx, e, r)
		l.world.mu.Lock()
		defer l.world.mu.Unlock()
		for _, m := range l.world.log {
			k := m.effect.Key
			in, ended := m.intent.Input.(engine.Ended)
			if m.life != l && ended && k.Run == e.Key.Run && k.Step == e.Key.Step && k.Attempt == e.Key.Attempt && a.Input != nil && e.Key.Kind == engine.Work {
				in.Key = e.Key
				return run.Answer{Input: in, Objects: m.intent.Objects}
			}
		}
		return a
	}
}

func allGreen(_ *life, do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		a := do(ctx, e, r)
		in, ok := a.Input.(engine.Checked)
		if !ok {
			return a
		}
		in.Checks = slices.Clone(in.Checks)
		for i := range in.Checks {
			c := &in.Checks[i]
			c.Verdict, c.Exit, c.Tampered = engine.Pass, e.Step.Checks[i].Exit, nil
		}
		a.Input = in
		return a
	}
}

func twice(do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		done := make(chan run.Answer, 1)
		go func() { done <- do(ctx, e, r) }()
		a := do(ctx, e, r)
		<-done
		return a
	}
}

// hasty answers as soon as it is told to stop; the effort takes its time.
func hasty(do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		done := make(chan run.Answer, 1)
		go func() { done <- do(ctx, e, r) }()
		select {
		case a := <-done:
			return a
		case <-ctx.Done():
			return run.Answer{}
		}
	}
}

// hang never ends some work by itself.
func hang(l *life, do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		if e.Work != "" && l.fate.calm {
			select {
			case <-ctx.Done():
			case <-l.gone:
			}
		}
		return do(ctx, e, r)
	}
}

// deaf takes hours to stop.
func deaf(l *life, do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		a := do(ctx, e, r)
		if ctx.Err() != nil {
			select {
			case <-time.After(2 * time.Hour):
			case <-l.gone:
			}
		}
		return a
	}
}

// eachStep gives a run another plan than the one that was approved.
func eachStep(change func(i int, s *engine.Step)) func(engine.Definition) engine.Definition {
	return func(d engine.Definition) engine.Definition {
		d.Steps = slices.Clone(d.Steps)
		for i := range d.Steps {
			change(i, &d.Steps[i])
		}
		return d
	}
}
