package run_test

import (
	"context"
	"reflect"
	"slices"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// bugsOfRevisions are those that a run shows only when it goes on with another
// text of its plan.
var bugsOfRevisions = []planted{
	{name: "carries a changed step over", rule: "carried", revise: sameAsBefore},
	{name: "carries a failed step over", rule: "carried", first: 34, store: func(l *life, s store.Store) store.Store { return merciful{s, l} }},
	{name: "does what is proved again", rule: "carried", say: onRevise(func(_ *life, _ string, in engine.Revise) engine.Revise {
		in.Stale = nil
		for i := range in.Run.Compiled.Len() {
			in.Stale = append(in.Stale, in.Run.Compiled.Step(i).ID)
		}
		return in
	})},
	{name: "counts attempts from one again", rule: "sequence", store: func(_ *life, s store.Store) store.Store {
		return &recounting{Store: s, by: map[string]int{}}
	}},
	{name: "keeps the work of a removed step running", rule: "leaving", do: heedless},
	{name: "starts beside work that it leaves", rule: "leaving", store: func(_ *life, s store.Store) store.Store { return &impatient{lax: newLax(s)} }},
	{name: "takes a late answer of the text before", rule: "source", do: stale},
	{name: "goes on with a text that was refused", rule: "yes", headstrong: true},
	{name: "goes on from another text than was shown", rule: "shown", first: 83, say: onRevise(func(l *life, stream string, in engine.Revise) engine.Revise {
		if _, now, ok := l.world.newest(stream); ok {
			in.Was = now.hash
		}
		return in
	})},
	{name: "forgets what was spent", rule: "spent", store: func(_ *life, s store.Store) store.Store {
		return &spendthrift{Store: s, before: map[string]int64{}}
	}},
}

// sameAsBefore runs the steps of the text before wherever they are still there.
func sameAsBefore(was, next engine.Definition) engine.Definition {
	next.Steps = slices.Clone(next.Steps)
	for i := range next.Steps {
		for _, s := range was.Steps {
			if s.ID == next.Steps[i].ID {
				s.Needs = next.Steps[i].Needs
				next.Steps[i] = s
			}
		}
	}
	return next
}

// onRevise changes what is submitted to let a run go on.
func onRevise(change func(*life, string, engine.Revise) engine.Revise) func(*life, submit) submit {
	return func(l *life, say submit) submit {
		return func(ctx context.Context, stream string, in engine.Input, objects ...store.Object) error {
			if revise, ok := in.(engine.Revise); ok {
				in = change(l, stream, revise)
			}
			return say(ctx, stream, in, objects...)
		}
	}
}

// revision is the one that a batch brings.
func revision(b store.Batch) (at int, e engine.RunOpened, ok bool) {
	for i, r := range b.Records {
		if e, opens := r.Event.(engine.RunOpened); opens && e.Revises != "" {
			return i, e, true
		}
	}
	return 0, engine.RunOpened{}, false
}

// merciful writes that a revision carries over what had failed, too.
type merciful struct {
	store.Store
	life *life
}

func (s merciful) Append(ctx context.Context, batches ...store.Batch) error {
	batches = slices.Clone(batches)
	for i, b := range batches {
		at, e, ok := revision(b)
		state, err := run.Load(ctx, s.life.world.store, b.Stream)
		if !ok || err != nil || state.Program() == nil {
			continue
		}
		e.Carried = slices.Clone(e.Carried)
		for n := range state.Program().Len() {
			row := state.StepRow(n)
			if _, stays := e.Compiled.Index(row.ID); stays && row.Status == engine.Failed && !slices.Contains(e.Carried, row.ID) {
				e.Carried = append(e.Carried, row.ID)
			}
		}
		batches[i].Records = slices.Clone(b.Records)
		batches[i].Records[at].Event = e
	}
	return s.Store.Append(ctx, batches...)
}

// recounting writes the first attempt of what a revision begins anew as attempt 1.
type recounting struct {
	store.Store
	by map[string]int // attempts that are left out, by stream and step; -1 until they are known
}

func (s *recounting) Append(ctx context.Context, batches ...store.Batch) error {
	batches = slices.Clone(batches)
	for i := range batches {
		batches[i].Records = slices.Clone(batches[i].Records)
		for n, r := range batches[i].Records {
			batches[i].Records[n].Event = s.rewrite(r)
		}
	}
	return s.Store.Append(ctx, batches...)
}

func (s *recounting) rewrite(r engine.Record) engine.Event {
	switch e := r.Event.(type) {
	case engine.RunOpened:
		for i := range e.Compiled.Len() {
			if id := e.Compiled.Step(i).ID; e.Revises != "" && !slices.Contains(e.Carried, id) {
				s.by[r.Stream+id] = -1
			}
		}
	case engine.WorkDispatched:
		if s.by[r.Stream+e.Step] < 0 {
			s.by[r.Stream+e.Step] = e.Attempt - 1
		}
		e.Attempt -= s.by[r.Stream+e.Step]
		return e
	}
	return r.Event
}

// heedless says at once that the work of a step has stopped that is not in the
// plan any more; in truth it goes on.
func heedless(l *life, do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		done := make(chan run.Answer, 1)
		go func() { done <- do(context.WithoutCancel(ctx), e, r) }()
		select {
		case a := <-done:
			return a
		case <-ctx.Done():
		}
		_, now, ok := l.world.newest(e.Key.Task)
		if gone := !slices.ContainsFunc(now.plan.Steps, func(s engine.Step) bool { return s.ID == e.Key.Step }); !ok || !gone {
			return <-done
		}
		if e.Work == "" {
			return run.Answer{}
		}
		return run.Answer{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Stopped}}}
	}
}

// impatient writes the end of work that a revision left behind what came next.
type impatient struct {
	lax
	held *engine.Record
	left []engine.WorkDispatched
	live []engine.WorkDispatched
}

func (s *impatient) Append(ctx context.Context, batches ...store.Batch) error {
	batches = slices.Clone(batches)
	for i := range batches {
		var records []engine.Record
		for _, r := range batches[i].Records {
			if s.holds(r) {
				s.held = &r
				continue
			}
			records = append(records, r)
			if _, starts := r.Event.(engine.WorkDispatched); starts && s.held != nil && s.held.Stream == r.Stream {
				records = append(records, *s.held)
				s.held = nil
			}
		}
		batches[i].Records = records
	}
	return s.lax.Append(ctx, batches...)
}

// holds keeps the books of what is under way and reports whether r is the end
// of work that was left.
func (s *impatient) holds(r engine.Record) bool {
	switch e := r.Event.(type) {
	case engine.WorkDispatched:
		s.live = append(s.live, e)
	case engine.RunOpened:
		for _, d := range s.live {
			if e.Revises != "" && !slices.Contains(e.Carried, d.Step) {
				s.left = append(s.left, d)
			}
		}
	case engine.WorkEnded:
		is := func(d engine.WorkDispatched) bool { return d.Step == e.Step && d.Attempt == e.Attempt && d.N == e.N }
		s.live = slices.DeleteFunc(s.live, is)
		return s.held == nil && slices.ContainsFunc(s.left, is)
	}
	return false
}

// stale answers for work with what the attempt before said, which worked on
// another text of the step.
func stale(l *life, do run.Do) run.Do {
	return func(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
		a := do(ctx, e, r)
		_, ended := a.Input.(engine.Ended)
		l.world.mu.Lock()
		defer l.world.mu.Unlock()
		for _, m := range l.world.log {
			k, old := m.effect.Key, m.effect.Step
			before, ok := m.intent.Input.(engine.Ended)
			if ended && ok && m.life == l && k.Run == e.Key.Run && k.Step == e.Key.Step && k.Attempt < e.Key.Attempt && !reflect.DeepEqual(*old, *e.Step) {
				before.Key = e.Key
				return run.Answer{Input: before, Objects: m.intent.Objects}
			}
		}
		return a
	}
}

// spendthrift counts anew, for people, what a run uses after a revision.
type spendthrift struct {
	store.Store
	before map[string]int64
}

func (s *spendthrift) Append(ctx context.Context, batches ...store.Batch) error {
	batches = slices.Clone(batches)
	for i, b := range batches {
		if b.Rows.Head == nil {
			continue
		}
		head := *b.Rows.Head
		if _, _, ok := revision(b); ok {
			s.before[head.Run] = head.TokensIn
		}
		head.TokensIn -= s.before[head.Run]
		batches[i].Rows.Head = &head
	}
	return s.Store.Append(ctx, batches...)
}
