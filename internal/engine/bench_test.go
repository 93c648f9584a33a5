package engine_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
)

// BenchmarkRun takes whole runs from their opening to their end, every turn as
// a host does it: Admit, Apply, Decide to the end, Wake, Pending, Rows. What
// counts is the time for one event, which must not grow with the plan.
func BenchmarkRun(b *testing.B) {
	for _, shape := range shapes {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				p := shape.program(b, n)
				b.ReportAllocs()
				events := 0
				for b.Loop() {
					events += pass(b, p)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
			})
		}
	}
}

type shape struct {
	name     string
	parallel int
	step     func(i int, p *engine.Step)
}

// The shapes are those in which a scan, a copy or a queue could hide.
var shapes = []shape{
	{"chain", 4, func(i int, p *engine.Step) {
		if i > 0 {
			p.Needs = []int{i - 1}
		}
	}},
	{"fan-out", 4, func(i int, p *engine.Step) {
		p.Kind = engine.Script
		if i > 0 {
			p.Needs = []int{0}
		}
	}},
	{"wide", 64, func(i int, p *engine.Step) { p.Kind = engine.Script }},
	{"fan-in", 16, func(i int, p *engine.Step) {
		p.Kind = engine.Script
		if i == 0 {
			for n := 1; n < 1000; n++ {
				p.Needs = append(p.Needs, n)
			}
		}
	}},
	{"exclusive agents", 4, func(int, *engine.Step) {}},
	{"one scope", 4, func(i int, p *engine.Step) { p.Kind, p.Writes = engine.Script, []string{"src/"} }},
	{"own scopes", 16, func(i int, p *engine.Step) { p.Writes = []string{"src/" + strconv.Itoa(i) + "/"} }},
}

func (x shape) program(b testing.TB, n int) *engine.Program {
	d := engine.Definition{Plan: "p", Title: "T", Parallel: x.parallel}
	for i := range n {
		p := plain("s" + strconv.Itoa(i))
		p.Number = strconv.Itoa(i + 1)
		x.step(i, &p)
		d.Steps = append(d.Steps, p)
	}
	p, err := engine.NewProgram(d)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// pass runs a program in which everything passes and returns the number of
// events that took.
func pass(b testing.TB, p *engine.Program) int {
	s, now := &engine.State{}, dawn
	turn := func(in engine.Input) {
		es, err := s.Admit(in, now)
		for ; err == nil && len(es) > 0; es = s.Decide(now) {
			for _, e := range es {
				r := engine.Record{Stream: "task", Seq: s.Seq() + 1, At: now, Epoch: 1, Event: e}
				if err = s.Apply(r); err != nil {
					break
				}
			}
		}
		if err != nil {
			b.Fatal(err)
		}
		now = now.Add(time.Millisecond)
		s.Wake()
		s.Rows()
	}
	s.Apply(engine.Record{Stream: "task", Seq: 1, Epoch: 1, Event: begun.EpochBegan})
	turn(engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{
		Run: "r1", Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 64, Ratchet: true, Baseline: true},
	}})
	for n := 0; ; n++ {
		for _, c := range s.Claims() {
			if !c.Held {
				turn(engine.Lease{Step: c.Step.ID, Attempt: c.Attempt})
			}
		}
		keys := s.Pending()
		if len(keys) == 0 {
			break
		}
		turn(success(s.Effect(keys[n%len(keys)])))
	}
	if head := s.Head(); head.Status != engine.Done {
		b.Fatalf("it is %+v", head)
	}
	return int(s.Seq())
}

// A turn asks for memory where it needs any: what a step costs by that adds up.
func TestAllocationsOfAStep(t *testing.T) {
	const steps, most = 1_000, 100
	p := shapes[0].program(t, steps)
	if n := testing.AllocsPerRun(1, func() { pass(t, p) }) / steps; n > most {
		t.Errorf("%.0f allocations for each step; at most %d are all right", n, most)
	}
}

// BenchmarkReplay folds the journal of a whole run.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			journal := recorded(b, shapes[0].program(b, n))
			for b.Loop() {
				if _, err := replay(journal); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(journal)), "ns/event")
		})
	}
}

func recorded(b *testing.B, p *engine.Program) []engine.Record {
	var journal []engine.Record
	s := &engine.State{}
	put := func(es ...engine.Event) {
		for _, e := range es {
			r := engine.Record{Stream: "task", Seq: s.Seq() + 1, At: dawn, Epoch: 1, Event: e}
			if err := s.Apply(r); err != nil {
				b.Fatal(err)
			}
			journal = append(journal, r)
		}
	}
	put(begun.EpochBegan, engine.TaskOpened{Task: "task"}, engine.RunOpened{Run: "r1", Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 64}, Frames: engine.Window{Start: 1, End: 1}})
	for keys := s.Pending(); len(keys) > 0; keys = s.Pending() {
		es, err := s.Admit(success(s.Effect(keys[0])), dawn)
		if err != nil {
			b.Fatal(err)
		}
		for put(es...); len(es) > 0; put(es...) {
			es = s.Decide(dawn)
		}
	}
	return journal
}
