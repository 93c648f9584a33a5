package run_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// A text is one revision of a plan as a person wrote it.
type text struct {
	stream string
	plan   engine.Definition
	hash   string   // of the program that carries it out
	base   string   // id of the text that the difference was shown against
	stale  []string // steps that were given other files than there are now
}

// write keeps a text, with the program that is made of it.
func (w *world) write(t text, given engine.Definition) *engine.Program {
	program, err := engine.NewProgram(given)
	if err != nil {
		panic(err)
	}
	t.hash = program.Hash()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plans[t.hash] = t.plan
	w.texts[t.plan.Plan] = t
	return program
}

func (w *world) text(id string) (text, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.texts[id]
	return t, ok
}

// newest is the newest run of a stream, and the text that it is carried out on.
func (w *world) newest(stream string) (engine.HeadRow, text, bool) {
	heads, err := w.store.Heads(context.Background(), store.HeadFilter{Stream: stream})
	if err != nil || len(heads) == 0 {
		return engine.HeadRow{}, text{}, false
	}
	t, ok := w.text(heads[0].Plan)
	return heads[0], t, ok
}

// edits is a person who changes the plan of a run that is not over, looks at
// what changed for a while, says yes or no, and after a yes lets the run go on
// with it. It reports whether the host still listens.
func (l *life) edits(r *rand.Rand, j job, by string) bool {
	w := l.world
	head, was, ok := w.newest(j.stream)
	if !ok {
		return true
	}
	next, waits := w.interrupted(r, head)
	if !waits {
		next = text{stream: j.stream, plan: reworked(r, was.plan, fmt.Sprintf("%s by %s", j.plan.Plan, by)), base: head.Plan}
		if chance(r, 15) {
			next.stale = []string{next.plan.Steps[r.IntN(len(next.plan.Steps))].ID}
		}
	}
	given := next.plan
	if w.bug.revise != nil {
		given = w.bug.revise(was.plan, given)
	}
	program := w.write(next, given)
	id, yes := next.plan.Plan, chance(r, 80)
	draft := engine.Draft{
		Intent:      &engine.IntentOpened{ID: by, Prompt: "i"},
		PlanDrafted: engine.PlanDrafted{Plan: id, Intent: by, Path: j.stream + ".md", Hash: program.Hash(), By: by},
		Verified:    engine.PlanVerified{OK: true},
	}
	if !waits && !l.say(by+" drafts", engine.WorkspaceStream, named(draft, by+" drafts")) {
		return false
	}
	l.pause(noisy(r, time.Millisecond, pick(r, time.Second, time.Minute, time.Hour)))
	judge := by + " judges"
	s := l.tell(judge, engine.WorkspaceStream, engine.Judgement{PlanAnswered: engine.PlanAnswered{Plan: id, Hash: program.Hash(), Yes: yes, By: judge}})
	if s.err != nil || !yes && !w.bug.headstrong {
		return s.err == nil || s.refused() // a draft that was lost cannot be answered
	}
	in := engine.Revise{By: by, Was: was.hash, Stale: next.stale, Run: engine.RunOpened{
		Run: head.Run, Plan: id, Version: head.Version + 1, Title: next.plan.Title, Program: program.Hash(),
		Policy: j.policy, Workspace: "w", Isolation: "none", Compiled: program,
	}}
	return l.say(by, j.stream, in, store.NewObject(program.Encode()))
}

// named is the draft by the one who says it.
func named(d engine.Draft, by string) engine.Draft {
	d.By = by
	return d
}

func (l *life) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.ended:
	}
}

// interrupted finds a text that somebody wrote for the run as it is now, and
// did not come to its end with, or that was thrown away.
func (w *world) interrupted(r *rand.Rand, head engine.HeadRow) (text, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []text
	for _, id := range slices.Sorted(maps.Keys(w.texts)) {
		if t := w.texts[id]; t.base == head.Plan && t.stream == head.Stream {
			all = append(all, t)
		}
	}
	if len(all) == 0 || chance(r, 50) {
		return text{}, false
	}
	return all[r.IntN(len(all))], true
}

// reworked is what a person makes of a plan: steps are changed, taken out, put in
// and moved, or nothing at all is.
func reworked(r *rand.Rand, was engine.Definition, id string) engine.Definition {
	next := engine.Definition{Plan: id, Title: was.Title, Parallel: was.Parallel, Steps: slices.Clone(was.Steps)}
	if chance(r, 15) {
		return next
	}
	if chance(r, 20) {
		next.Parallel = 1 + r.IntN(4)
	}
	needs := map[string][]string{}
	for _, s := range was.Steps {
		for _, n := range s.Needs {
			needs[s.ID] = append(needs[s.ID], was.Steps[n].ID)
		}
	}
	next.Steps = slices.DeleteFunc(next.Steps, func(engine.Step) bool { return chance(r, 12) })
	for i := range next.Steps {
		if chance(r, 20) {
			next.Steps[i] = changed(r, next.Steps[i])
		}
	}
	for range pick(r, 0, 0, 1, 2) {
		next.Steps = added(r, next.Steps, needs)
	}
	if len(next.Steps) == 0 {
		next.Steps = append(next.Steps, was.Steps[r.IntN(len(was.Steps))])
	}
	if chance(r, 30) {
		r.Shuffle(len(next.Steps), func(i, j int) { next.Steps[i], next.Steps[j] = next.Steps[j], next.Steps[i] })
	}
	if chance(r, 30) {
		s := next.Steps[r.IntN(len(next.Steps))].ID
		needs[s] = pick(r, nil, append(slices.Clone(needs[s]), next.Steps[r.IntN(len(next.Steps))].ID))
	}
	return tied(next, needs)
}

// changed is a step that is defined otherwise: in what it does, in what proves
// it, or only in its number.
func changed(r *rand.Rand, s engine.Step) engine.Step {
	s.Checks = slices.Clone(s.Checks)
	switch r.IntN(7) {
	case 0:
		s.Task += ", and well"
	case 1: // a weaker contract
		s.Checks = s.Checks[:1]
		s.Checks[0].Exit = 1 + r.IntN(3)
	case 2:
		s.Checks[0].Command += " test"
	case 3:
		s.Writes = pick(r, nil, []string{"a/**"}, []string{"b/**"}, []string{"c.txt"})
	case 4:
		s.Approval = pick(r, "", "it costs money")
	case 5:
		s.OnFail.Retries = r.IntN(3)
	default:
		s.Number += "a"
	}
	return s
}

// added puts a step in whose id is free: a new one, or one that was there before.
func added(r *rand.Rand, steps []engine.Step, needs map[string][]string) []engine.Step {
	s := randomStep(r, r.IntN(ids))
	if slices.ContainsFunc(steps, func(o engine.Step) bool { return o.ID == s.ID }) {
		return steps
	}
	needs[s.ID] = nil
	for _, o := range steps {
		if chance(r, 20) && !slices.Contains(needs[o.ID], s.ID) {
			needs[s.ID] = append(needs[s.ID], o.ID)
		}
	}
	return append(steps, s)
}

// tied gives the steps their needs. One that would close a circle is left out.
func tied(d engine.Definition, needs map[string][]string) engine.Definition {
	place := map[string]int{}
	for i := range d.Steps {
		place[d.Steps[i].ID] = i
		d.Steps[i].Needs = nil
	}
	for i := range d.Steps {
		for _, id := range needs[d.Steps[i].ID] {
			n, there := place[id]
			if !there || n == i || slices.Contains(d.Steps[i].Needs, n) {
				continue
			}
			before := d.Steps[i].Needs
			d.Steps[i].Needs = append(slices.Clone(before), n)
			if _, err := engine.NewProgram(d); err != nil {
				d.Steps[i].Needs = before
			}
		}
	}
	return d
}
