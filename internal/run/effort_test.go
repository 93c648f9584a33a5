package run_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// An effort is one effect that was really started.
type effort struct {
	life   *life
	effect engine.Effect
	ctx    context.Context
	head   uint64 // of its task's stream, for its owner, when it started
	token  string // in everything it answers
	takes  time.Duration
	dying  time.Duration // it needs this long to stop when it is told to
	late   bool          // told to stop, it answers all the same
	intent run.Answer    // what it answers if nobody stops it

	answered bool
	cut      bool // it was told to stop before it answered
	answer   run.Answer
}

// A moment is a start or an end of an effort, in the order they happened.
type moment struct {
	begins bool
	*effort
}

// do is what the host calls to carry out an effect.
func (l *life) do(ctx context.Context, e engine.Effect, r *run.Reporter) run.Answer {
	if l.isGone() {
		return run.Answer{}
	}
	x := l.launch(ctx, e)
	defer l.finish(x)
	select {
	case <-time.After(x.takes):
		return x.says(x.intent, false)
	case <-l.gone:
		return run.Answer{}
	case <-ctx.Done():
	}
	select {
	case <-time.After(x.dying):
	case <-l.gone:
		return run.Answer{}
	}
	switch {
	case x.late:
		return x.says(x.intent, true)
	case e.Work != "":
		return x.says(run.Answer{Input: engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{
			How: engine.Stopped, Reason: "told to stop", Log: x.token,
		}}}, true)
	}
	return run.Answer{}
}

func (x *effort) says(a run.Answer, cut bool) run.Answer {
	x.life.world.mu.Lock()
	defer x.life.world.mu.Unlock()
	x.answered, x.cut, x.answer = true, cut, a
	return a
}

func (l *life) launch(ctx context.Context, e engine.Effect) *effort {
	w := l.world
	w.mu.Lock()
	defer w.mu.Unlock()
	place := fmt.Sprintf("%d:%v", l.n, e.Key)
	w.times[place]++
	x := &effort{life: l, effect: e, ctx: ctx, head: l.disk.head(e.Key.Task), token: fmt.Sprintf("%s#%d", place, w.times[place])}
	x.script(w.draw("effort", x.token))
	for _, other := range l.under {
		if ctx.Err() == nil && other.ctx.Err() != nil && other.effect.Key.Task == e.Key.Task {
			w.found = append(w.found, finding{"ending", fmt.Sprintf("%s starts while %s is being stopped", x.token, other.token)})
		}
	}
	w.log = append(w.log, moment{true, x})
	l.under = append(l.under, x)
	return x
}

func (l *life) finish(x *effort) {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.world.log = append(l.world.log, moment{false, x})
	l.under = slices.DeleteFunc(l.under, func(other *effort) bool { return other == x })
}

// leftovers looks for efforts that go on after the loop has ended.
func (l *life) leftovers() {
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	for _, x := range l.under {
		if !l.isGone() {
			l.world.found = append(l.world.found, finding{"left", x.token + " goes on after its owner has stopped"})
		}
	}
}

// die ends the process from inside; the goroutine that calls it is the loop's.
func (l *life) die() {
	l.kill()
	runtime.Goexit()
}

// point is a boundary at which the process may be killed.
func (l *life) point(name string) {
	l.disk.hold()
	l.world.mu.Lock()
	l.points++
	struck := l.points == l.fate.point
	l.world.mu.Unlock()
	if struck {
		l.kill()
	}
	if ofLoop := !strings.HasPrefix(name, "effect after end"); ofLoop && l.isGone() {
		runtime.Goexit()
	}
}

// script decides, from r alone, how an effort goes.
func (x *effort) script(r *rand.Rand) {
	e := x.effect
	x.takes, x.dying, x.late = noisy(r, 50*time.Millisecond, 2*time.Minute), noisy(r, time.Millisecond, 20*time.Second), chance(r, 30)
	if x.life.fate.calm {
		x.late = false
	}
	if e.Work != "" {
		x.takes = noisy(r, time.Second, 40*time.Minute)
	}
	switch e.Key.Kind {
	case engine.Prepare:
		x.intent = x.prepared(r)
	case engine.Work:
		x.intent = x.ended(r)
	case engine.Survey:
		tree := store.NewObject([]byte("tree"))
		in := engine.Surveyed{Key: e.Key, Tree: tree.Hash}
		if chance(r, 10) {
			in.Touched = []string{"app"}
		}
		x.intent = run.Answer{Input: in, Objects: []store.Object{tree}}
	default:
		x.intent = run.Answer{Input: engine.Checked{Key: e.Key, Checks: x.checks(r)}}
	}
}

func (x *effort) prepared(r *rand.Rand) run.Answer {
	e := x.effect
	prompt := store.NewObject([]byte("prompt of " + x.token))
	in := engine.Prepared{Key: e.Key, Dispatch: engine.WorkDispatched{Prompt: prompt.Hash, Frames: engine.FrameIDs(e.Frames)}}
	if e.Step.Kind == engine.Tool {
		in.Preview = &engine.Preview{Args: prompt.Hash, Must: chance(r, 25), Hash: e.Step.ID}
		if !x.life.fate.calm && chance(r, 10) {
			in.Preview.Hash, in.Preview.Must = x.token, true
		}
	}
	if e.Baseline {
		in.Checks = x.checks(r)
	}
	switch {
	case x.life.fate.calm:
	case chance(r, 4):
		in.Err = "no room for " + x.token
	case e.Key.N > 1 && chance(r, 20):
		in.Strays = []engine.Change{{Path: "stray.txt", What: "added"}}
	}
	return run.Answer{Input: in, Objects: []store.Object{prompt}}
}

func (x *effort) ended(r *rand.Rand) run.Answer {
	output := store.NewObject([]byte("output of " + x.token))
	tokens, exit := r.Int64N(1000), r.IntN(2)
	if x.effect.Step.Kind == engine.Tool && (x.life.fate.calm || chance(r, 80)) {
		exit = 0 // else the call failed
	}
	in := engine.WorkEnded{How: engine.Exited, Exit: exit, Output: output.Hash, Size: 10, Log: x.token, Usage: engine.Usage{In: &tokens}}
	if x.effect.Step.Iterations > 0 {
		in.Changed = []string{x.token}
	}
	change := []engine.Change{{Path: "Makefile", What: "changed"}}
	if !x.life.fate.calm {
		switch n := r.IntN(100); {
		case n < 5:
			in.How = engine.TimedOut
		case n < 10:
			in.How = engine.NoStart
		case n < 14:
			in.Tampered = change
		case n < 18:
			in.OutOfScope = change
		}
	}
	return run.Answer{Input: engine.Ended{Key: x.effect.Key, WorkEnded: in}, Objects: []store.Object{output}}
}

// checks are the answers of all the step's checks on one tree.
func (x *effort) checks(r *rand.Rand) []engine.CheckEnded {
	s, tree := x.effect.Step, ""
	if chance(r, 30) && !x.life.fate.calm {
		tree = fmt.Sprintf("tree of %s, %d", s.ID, r.IntN(2))
	}
	pass := x.passes(r)
	answers := make([]engine.CheckEnded, len(s.Checks))
	for i, c := range s.Checks {
		a := engine.CheckEnded{Check: c.Name, Verdict: engine.Pass, Exit: c.Exit, Output: x.token + " " + c.Name, Tree: tree}
		if !pass && (i == 0 || chance(r, 50)) {
			a.Verdict, a.Exit = x.failure(r), c.Exit+1
			if a.Verdict == engine.Tampered {
				a.Tampered = []engine.Change{{Path: "go.mod", What: "changed"}}
			}
		}
		answers[i] = a
	}
	if chance(r, 10) && s.Rerunnable && !x.life.fate.calm {
		first := &answers[0]
		first.Same = len(x.effect.Seen) > 0 && chance(r, 50)
		first.Reruns = []engine.Verdict{pick(r, first.Verdict, engine.Pass, engine.Fail, engine.Timeout)}
		if first.Reruns[0] == engine.Infra {
			first.Reruns = nil
		}
	}
	return answers
}

func (x *effort) passes(r *rand.Rand) bool {
	s, baseline := x.effect.Step, x.effect.Key.Kind == engine.Prepare
	switch {
	case baseline && (x.life.fate.calm || chance(r, 85)):
		return s.Expect == engine.ExpectGreen || s.Expect == engine.ExpectAny && chance(r, 30)
	case x.life.fate.calm:
		return true
	}
	return !chance(r, x.life.world.tenderness(x.effect.Key))
}

func (x *effort) failure(r *rand.Rand) engine.Verdict {
	if x.life.fate.calm {
		return engine.Fail
	}
	return pick(r, engine.Fail, engine.Fail, engine.Fail, engine.Fail, engine.Timeout, engine.Infra, engine.Inconclusive, engine.Tampered)
}

// tenderness is how often a step's checks fail, in percent.
func (w *world) tenderness(k engine.Key) int {
	for _, j := range w.jobs {
		if j.stream == k.Task {
			return j.tender[k.Step]
		}
	}
	return 0
}
