package run_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// said is what a person told a host, and what came of it.
type said struct {
	life   *life
	by     string // nobody else's name
	stream string
	in     engine.Input
	head   uint64 // of the stream for the owner, when the answer came
	err    error
}

func (s said) refused() bool {
	_, refused := errors.AsType[*engine.Refusal](s.err)
	return refused
}

// say submits an input and reports whether the host still listens.
func (l *life) say(by, stream string, in engine.Input, objects ...store.Object) bool {
	s := l.tell(by, stream, in, objects...)
	return s.err == nil || s.refused()
}

// tell submits an input and returns what came of it.
func (l *life) tell(by, stream string, in engine.Input, objects ...store.Object) said {
	l.breathe(by, stream)
	err := l.world.bug.submitOf(l)(l.line, stream, in, objects...)
	s := said{life: l, by: by, stream: stream, in: in, head: l.disk.head(stream), err: err}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	l.world.said = append(l.world.said, s)
	return s
}

// breathe is the moment between hearing one answer and saying the next thing.
// Without it, whether the loop turns in between would be left to chance.
func (l *life) breathe(purpose ...any) {
	select {
	case <-time.After(noisy(l.world.draw(append(purpose, "breathes", l.n)...), time.Microsecond, time.Second)):
	case <-l.ended:
	}
}

// begin opens the tasks that are not open yet and starts them all, as the one
// who called the process would.
func (l *life) begin() {
	defer l.host.Nudge()
	defer l.begun.Store(true)
	for _, j := range l.world.jobs {
		if l.world.newestRun(j.stream) == 0 {
			by := fmt.Sprintf("opener %d of %s", l.n, j.stream)
			in, program := l.world.opening(j, 1, by)
			if !l.say(by, j.stream, in, program) {
				return
			}
		}
		if l.fate.idle {
			continue
		}
		l.breathe("activate", j.stream)
		if err := l.host.Activate(l.line, j.stream); err != nil {
			return
		}
	}
}

// opening opens the n-th run of a job.
func (w *world) opening(j job, n int, by string) (engine.Open, store.Object) {
	given := j.plan
	if w.bug.plan != nil {
		given = w.bug.plan(j.plan)
	}
	program := w.write(text{stream: j.stream, plan: j.plan}, given)
	in := engine.Open{By: by, Run: engine.RunOpened{
		Run: fmt.Sprintf("%s-r%d", j.stream, n), Plan: j.plan.Plan, Title: j.plan.Title, Program: program.Hash(),
		Policy: j.policy, Workspace: "w", Isolation: "none", Compiled: program,
	}}
	if n == 1 {
		in.Task = &engine.TaskOpened{Task: j.stream, Intent: "i"}
	}
	return in, store.NewObject(program.Encode())
}

// newestRun is the number of the stream's newest run, 0 for none.
func (w *world) newestRun(stream string) int {
	heads, err := w.store.Heads(context.Background(), store.HeadFilter{Stream: stream})
	if err != nil || len(heads) == 0 {
		return 0
	}
	_, n, _ := strings.Cut(heads[0].Run, "-r")
	number, _ := strconv.Atoi(n)
	return number
}

// person acts at random times until the host stops listening.
func (l *life) person(p int) {
	r := l.world.draw("person", l.n, p)
	for n := 0; ; n++ {
		select {
		case <-time.After(noisy(r, time.Millisecond, pick(r, 5*time.Second, time.Minute, time.Minute, time.Hour, 6*time.Hour))):
		case <-l.ended:
			return
		}
		j := l.world.jobs[r.IntN(len(l.world.jobs))]
		by := fmt.Sprintf("person %d.%d.%d", l.n, p, n)
		if l.wantsChange(r, j) {
			if !l.edits(r, j, by) {
				return
			}
			continue
		}
		in, objects := l.wish(r, j, by)
		if in != nil && !l.say(by, j.stream, in, objects...) {
			return
		}
	}
}

// wantsChange: people change plans now and then, and more often where they failed.
func (l *life) wantsChange(r *rand.Rand, j job) bool {
	head, _, ok := l.world.newest(j.stream)
	if ok && head.Status == engine.Failed {
		return chance(r, 40)
	}
	return chance(r, 12)
}

// wish is what a person who wants something now would say.
func (l *life) wish(r *rand.Rand, j job, by string) (engine.Input, []store.Object) {
	step := l.someStep(r, j)
	order := func(v engine.Verb, from bool) engine.Input {
		return engine.Order{Command: engine.Command{Verb: v, Step: step, From: from, Why: "because", By: by}}
	}
	switch n := r.IntN(100); {
	case n < 40:
		return l.reply(r, j, by), nil
	case n < 47:
		return order(engine.DoPause, false), nil
	case n < 60:
		return order(engine.DoResume, false), nil
	case n < 62:
		return order(engine.DoCancel, false), nil
	case n < 69:
		return order(engine.DoSkip, false), nil
	case n < 73:
		return order(engine.DoWaive, false), nil
	case n < 78:
		return order(engine.DoRetry, false), nil
	case n < 84:
		return order(engine.DoRetry, true), nil
	case n < 95:
		in, program := l.world.opening(j, l.world.newestRun(j.stream)+1, by)
		return in, []store.Object{program}
	case n < 97:
		return engine.Reply{ItemAnswered: engine.ItemAnswered{Item: "none", Choice: "retry", By: by}}, nil
	case n < 98:
		return engine.Order{Command: engine.Command{Verb: engine.DoSkip, Step: step, By: by}}, nil // without a reason
	}
	return engine.Order{Command: engine.Command{Verb: engine.DoRetry, Step: "none", By: by}}, nil
}

// someStep is the one that people look at: most often one that is under way.
func (l *life) someStep(r *rand.Rand, j job) string {
	plan := j.plan
	if _, now, ok := l.world.newest(j.stream); ok {
		plan = now.plan
	}
	l.world.mu.Lock()
	defer l.world.mu.Unlock()
	var steps []string
	for _, x := range l.under {
		if x.effect.Key.Task == j.stream {
			steps = append(steps, x.effect.Key.Step)
		}
	}
	if len(steps) == 0 || chance(r, 15) {
		return plan.Steps[r.IntN(len(plan.Steps))].ID
	}
	slices.Sort(steps)
	return steps[r.IntN(len(steps))]
}

func (l *life) reply(r *rand.Rand, j job, by string) engine.Input {
	items, err := l.world.store.Items(context.Background(), store.ItemFilter{Open: true, Stream: j.stream})
	if err != nil || len(items) == 0 {
		return nil
	}
	it := items[r.IntN(len(items))]
	return answer(it, it.Choices[r.IntN(len(it.Choices))], by)
}

func answer(it engine.ItemRow, choice, by string) engine.Input {
	return engine.Reply{ItemAnswered: engine.ItemAnswered{Item: it.Item, Choice: choice, Text: "so be it", By: by, Via: "test"}}
}

// help lets every run come to an end: it resumes, approves and grants another try.
func (l *life) help() {
	for n := 0; ; n++ {
		select {
		case <-time.After(noisy(l.world.draw("help", n), time.Minute, 2*time.Minute)):
		case <-l.ended:
			return
		}
		for _, j := range l.world.jobs {
			by := fmt.Sprintf("helper %d.%s", n, j.stream)
			if in := l.help1(j, by); in != nil && !l.say(by, j.stream, in) {
				return
			}
		}
	}
}

func (l *life) help1(j job, by string) engine.Input {
	heads, err := l.world.store.Heads(context.Background(), store.HeadFilter{Stream: j.stream})
	if err == nil && len(heads) > 0 && heads[0].Status == engine.Paused {
		return engine.Order{Command: engine.Command{Verb: engine.DoResume, By: by}}
	}
	items, err := l.world.store.Items(context.Background(), store.ItemFilter{Open: true, Stream: j.stream})
	if err != nil || len(items) == 0 {
		return nil
	}
	return answer(items[0], items[0].Choices[0], by)
}
