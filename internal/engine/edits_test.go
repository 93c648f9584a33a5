package engine_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/piton-dev/piton/internal/engine"
)

// revise lets the run go on with another text.
func (w *world) revise(o op) {
	if w.state.Program() == nil {
		return
	}
	in, err := revision(w.state.Run(), o)
	if err != nil {
		w.fail("%w", err)
		return
	}
	w.send(in)
}

// draw is a revision that was made for the run, or how making one may end.
func (w *world) draw(e engine.Effect, o op) engine.Input {
	if o.Which%4 == 1 { // it is answered, and asks again
		round := len(e.Answers) + 1 + int(o.More)%16/15
		_ = w.send(engine.Heard{Key: e.Key, Round: round, Answer: "answer", Usage: engine.Usage{In: new(int64(o.More))}}) // another round than the next is refused
	}
	in := engine.Ended{Key: e.Key, WorkEnded: engine.WorkEnded{How: engine.Exited, Reason: "no plan \xff"}}
	in.Usage.In, in.Usage.Out, in.Ms = new(int64(o.More)), new(int64(1)), int64(o.Which)
	switch o.How % 16 {
	case 9:
		in.How = engine.TimedOut
	case 10:
		in.How = engine.NoStart
	case 11:
		in.How = engine.Stopped
	case 12:
		in.How = engine.Lost
	case 13, 14:
		return in
	}
	next, err := revision(w.state.Run(), o)
	if err != nil {
		w.fail("%w", err)
		return in
	}
	in.Drawn = &engine.Drawn{Plan: next.Run.Plan, Version: next.Run.Version, Changes: "some", Reason: "so \xc3"}
	if o.How%3 == 0 {
		in.Drawn.Weakened = []string{"asks less \xff"}
	}
	if o.More%16 == 15 {
		in.Drawn = &engine.Drawn{Abort: "no \xff"}
	}
	w.drawn = next
	if o.How%2 == 0 {
		next.By, next.Run.ApprovedBy = engine.ByPolicy, engine.ByPolicy
		in.Revise = &next
	}
	return in
}

// revision is the next text of a run: some steps changed, some gone, some new,
// in another order.
func revision(now engine.RunOpened, o op) (engine.Revise, error) {
	def := engine.Definition{Plan: now.Plan + "+", Title: "Any plan", Parallel: 1 + int(o.More)%5, Replans: now.Compiled.Replans(), Agents: now.Compiled.Agents()}
	if def.Budget = now.Compiled.Budget(); o.How%5 == 0 {
		def.Budget.Tokens += int64(o.More)
	}
	place := map[string]int{}
	for _, i := range turned(now.Compiled.Len(), int(o.Which)) {
		p := *now.Compiled.Step(i)
		if p.Kind == engine.Landing {
			continue
		}
		switch (int(o.Which) + int(o.More) + 5*i) % 11 {
		case 0, 1:
			p.Task += "."
		case 2:
			continue
		case 3:
			p.Number += "a"
		case 4:
			p = weaker(p)
		}
		place[p.ID] = len(def.Steps)
		def.Steps = append(def.Steps, p)
	}
	for i := range def.Steps {
		if each := def.Steps[i].Each; each != nil && each.Ref != "" {
			if _, ok := place[each.Ref[1:]]; !ok {
				def.Steps[i].Each = nil
			}
		}
		var needs []int
		for _, n := range def.Steps[i].Needs {
			if at, ok := place[now.Compiled.Step(n).ID]; ok {
				needs = append(needs, at)
			}
		}
		def.Steps[i].Needs = needs
	}
	for n := range 2 { // one that may have been there before
		id := "s" + strconv.Itoa(int(o.More)%7+n)
		if _, there := place[id]; !there {
			p := plain(id)
			p.Kind = engine.Script
			def.Steps = append(def.Steps, p)
		}
	}
	if _, whole := now.Compiled.Landing(); whole {
		def.Steps = append(def.Steps, landing(len(def.Steps)))
	}
	p, err := engine.NewProgram(def)
	if err != nil {
		return engine.Revise{}, err
	}
	in := engine.Revise{Run: now, Was: now.Program, By: "ann"}
	in.Run.Plan, in.Run.Version, in.Run.Program, in.Run.Compiled = def.Plan, now.Version+1, p.Hash(), p
	if o.How%3 == 0 {
		in.Stale = []string{def.Steps[int(o.Which)%len(def.Steps)].ID}
	}
	return in, nil
}

// weaker asks less of a step before it counts as done.
func weaker(p engine.Step) engine.Step {
	if len(p.Checks) > 0 {
		p.Checks = slices.Clone(p.Checks[:1])
		p.Checks[0].Exit, p.Checks[0].Required = (p.Checks[0].Exit+1)%256, true
	}
	return p
}

// turned is 0 to n-1, beginning elsewhere.
func turned(n, by int) []int {
	is := numbers(n)
	return append(is[by%n:], is[:by%n]...)
}

// late are the answers of what was wanted, or at work, before something came
// between: good ones, and those of work that was told to stop.
func (d *desk) late() []engine.Input {
	var all []engine.Input
	for _, e := range d.state.Effects() {
		all = append(all, success(e))
	}
	keys := slices.SortedFunc(maps.Keys(d.live), func(a, b engine.Key) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		all = append(all, engine.Ended{Key: k, WorkEnded: engine.WorkEnded{How: engine.Stopped}})
	}
	return all
}
