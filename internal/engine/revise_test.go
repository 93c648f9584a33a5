package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
)

// revisable is a run with a done step a, b done after it, c failed and not
// critical, and d not begun.
func revisable(t *testing.T) *desk {
	t.Helper()
	c := plain("c")
	c.OnFail, c.Critical = engine.OnFail{Then: engine.Skip}, false
	d := newDesk()
	d.begin()
	p, err := engine.NewProgram(engine.Definition{Plan: "p", Parallel: 1, Steps: []engine.Step{plain("a"), after(plain("b"), 0), c, after(plain("d"), 1)}})
	if err != nil {
		t.Fatal(err)
	}
	d.admit(engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{
		Run: "r1", Plan: "p", Version: 1, Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 1, Baseline: true, Ratchet: true},
	}})
	for range 9 {
		e := d.state.Effects()[0]
		in := success(e)
		if e.Key.Step == "c" && e.Key.Kind == engine.Verify {
			in = engine.Checked{Key: e.Key, Checks: answers(e.Step, "", engine.Fail)}
		}
		d.admit(in)
	}
	if err := d.settled(); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestForgedRevision: a journal cannot carry over what changed, what failed,
// what rests on either, or what is not there; nor revise another run or text.
func TestForgedRevision(t *testing.T) {
	changed := plain("a")
	changed.Task = "other"
	weak := plain("a")
	weak.Checks[0].Exit = 1
	c := plain("c")
	c.OnFail, c.Critical = engine.OnFail{Then: engine.Skip}, false
	sound := []engine.Step{plain("a"), after(plain("b"), 0), c, after(plain("d"), 1)}
	with := func(change func(steps []engine.Step)) []engine.Step {
		steps := slices.Clone(sound)
		change(steps)
		return steps
	}
	for name, x := range map[string]struct {
		steps   []engine.Step
		carried []string
		change  func(e *engine.RunOpened)
		want    string // "" if it is lawful
	}{
		"all that stands":     {sound, []string{"a", "b", "d"}, nil, ""},
		"less than there is":  {sound, []string{"a"}, nil, ""},
		"nothing":             {sound, nil, nil, ""},
		"a changed task":      {with(func(s []engine.Step) { s[0] = changed }), []string{"a"}, nil, "can carry over"},
		"a changed contract":  {with(func(s []engine.Step) { s[0] = weak }), []string{"a"}, nil, "can carry over"},
		"a changed need":      {with(func(s []engine.Step) { s[1] = plain("b") }), []string{"a", "b"}, nil, "can carry over"},
		"on a changed step":   {with(func(s []engine.Step) { s[0] = changed }), []string{"b"}, nil, "can carry over"},
		"on what is not":      {sound, []string{"b"}, nil, "can carry over"},
		"a failed step":       {sound, []string{"c"}, nil, "can carry over"},
		"one that is gone":    {sound[:1], []string{"a", "b"}, nil, "can carry over"},
		"one twice":           {sound, []string{"a", "a"}, nil, "can carry over"},
		"of another run":      {sound, nil, func(e *engine.RunOpened) { e.Run = "r2" }, "not the newest"},
		"of another text":     {sound, nil, func(e *engine.RunOpened) { e.Revises = "q" }, "has gone on to"},
		"by itself":           {sound, nil, func(e *engine.RunOpened) { e.Plan = "p" }, "no id of its own"},
		"without its program": {sound, nil, func(e *engine.RunOpened) { e.Program = "x" }, "no program"},
		"of nothing":          {sound, []string{"a"}, func(e *engine.RunOpened) { e.Revises, e.Run = "", "r2" }, "carries nothing|has not ended"},
	} {
		d := revisable(t)
		p, err := engine.NewProgram(engine.Definition{Plan: "p2", Parallel: 1, Steps: x.steps})
		if err != nil {
			t.Fatal(err)
		}
		e := d.state.Run()
		e.Plan, e.Revises, e.Program, e.Compiled, e.Carried = "p2", "p", p.Hash(), p, x.carried
		e.Frames = d.state.Window()
		if x.change != nil {
			x.change(&e)
		}
		r := engine.Record{Stream: "task", Seq: d.state.Seq() + 1, At: d.now, Actor: "ann", Epoch: d.epoch, Event: e}
		err = d.state.Apply(r)
		if x.want == "" {
			if err != nil || audit(append(d.journal, r)) != nil || d.state.Scan() != nil {
				t.Errorf("%s: %v, %v, %v", name, err, audit(append(d.journal, r)), d.state.Scan())
			}
			continue
		}
		if err == nil || !slices.ContainsFunc(strings.Split(x.want, "|"), func(w string) bool { return strings.Contains(err.Error(), w) }) {
			t.Errorf("%s: %v, want %q in it", name, err, x.want)
		}
		if audits := x.want == "can carry over"; audits && name != "one twice" && name != "one that is gone" && audit(append(d.journal, r)) == nil {
			t.Errorf("%s: the auditor lets it through", name)
		}
	}
}

// TestRevisionCarriesAllThatStands: whatever has happened, a revision with the
// same definitions takes over every proof, and each counts as it did.
func TestRevisionCarriesAllThatStands(t *testing.T) {
	d := revisable(t)
	was := d.state.Head()
	def := engine.Definition{Plan: "p2", Parallel: 1}
	for i := range d.state.Program().Len() {
		def.Steps = append(def.Steps, *d.state.Program().Step(i))
	}
	p, err := engine.NewProgram(def)
	if err != nil {
		t.Fatal(err)
	}
	in := engine.Revise{Run: d.state.Run(), Was: d.state.Run().Program, By: "ann"}
	in.Run.Plan, in.Run.Program, in.Run.Compiled = "p2", p.Hash(), p
	records, err := d.admit(in)
	if err != nil || d.settled() != nil {
		t.Fatal(err, d.settled())
	}
	if e := records[0].Event.(engine.RunOpened); !slices.Equal(e.Carried, []string{"a", "b", "d"}) {
		t.Errorf("it carries %v", e.Carried)
	}
	if is := d.state.Head(); is.Proven != was.Proven || is.Settled != was.Settled || !is.Started.Equal(was.Started) {
		t.Errorf("before %+v, and now %+v", was, is)
	}
	for d.state.Live() && d.broken == nil {
		fx := d.state.Effects()
		if len(fx) == 0 {
			break
		}
		d.admit(success(fx[0]))
	}
	if err := d.settled(); err != nil || d.state.Head().Status != engine.Done {
		t.Fatalf("%v\n%s%s", err, lines(d.journal), stand(d))
	}
	proofs := map[string]int{}
	for _, r := range d.journal {
		switch e := r.Event.(type) {
		case engine.CheckEnded:
			if e.Phase == engine.Ratchet {
				proofs[e.Step]++
			}
		case engine.WorkDispatched:
			if e.Step == "a" && e.Attempt > 1 {
				t.Errorf("a is worked on again: %+v", e)
			}
		}
	}
	if proofs["a"] != 1 || proofs["b"] != 1 || proofs["d"] != 1 || proofs["c"] != 1 {
		t.Errorf("proved again at the end: %v", proofs)
	}
}
