package engine_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"pgregory.net/rapid"
)

// lived is a random program with a random history behind it.
func lived(t *rapid.T, steps, ops int) *world {
	w := newWorld(programs(steps).Draw(t, "program"), policies().Draw(t, "policy"))
	for _, o := range histories(ops).Draw(t, "history") {
		w.happen(o)
		if w.broken != nil {
			break
		}
	}
	w.hold = false
	w.decide()
	if err := w.anew(); err != nil {
		w.fail("%w", err)
	}
	if w.broken != nil {
		t.Fatalf("%v\n%s", w.broken, lines(w.journal))
	}
	return w
}

// TestAnyHistory lets anything happen to any program. After every record the
// indexes must equal a scan of all steps, no more steps are under way than
// there is room, and none that conflict. After every turn a replay, a restored
// snapshot, one restored long ago and the rows that were handed out must agree
// with the state, the journal must stand up to the auditor, and something or
// somebody must be able to move the run.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { lived(t, 30, 200) })
}

// TestEveryRunEnds: whatever has happened, once everything passes and people
// say yes the run ends; and a failed one that is taken up again is done.
func TestEveryRunEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := lived(t, 12, 80)
		for round := 0; ; round++ {
			if ended := w.succeed(400); !ended || w.broken != nil {
				t.Fatalf("the run does not end: %v\n%s\n%s", w.broken, lines(w.journal), stand(w.desk))
			}
			head := w.state.Head()
			if head.Status != engine.Failed || round > 2*w.state.Program().Len() {
				if head.Status == engine.Failed {
					t.Fatalf("it fails again and again: %s\n%s", head.Reason, lines(w.journal))
				}
				return
			}
			w.takeUp()
		}
	})
}

// takeUp does what people do with a failed run: one more try for what failed,
// or what was denied or left behind.
func (w *world) takeUp() {
	for i := range w.state.Program().Len() {
		row := w.state.StepRow(i)
		if strings.HasPrefix(row.Reason, "for each: ") {
			w.send(engine.Order{Command: engine.Command{Verb: engine.DoSkip, Step: row.ID, By: "ann", Why: "no items"}})
			continue
		}
		if row.Status == engine.Failed || row.Status == engine.Skipped {
			w.send(engine.Order{Command: engine.Command{Verb: engine.DoRetry, Step: row.ID, By: "ann"}})
		}
	}
	if !w.state.Live() {
		w.send(engine.Order{Command: engine.Command{Verb: engine.DoResume, By: "ann"}})
	}
}

// TestSameHistorySameJournal tells one history twenty times over: no order of
// a map may show. TestAnyHistory holds such histories against the laws.
func TestSameHistorySameJournal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, policy := programs(12).Draw(t, "program"), policies().Draw(t, "policy")
		ops := histories(60).Draw(t, "history")
		var first []byte
		for n := range 20 {
			w := newWorld(p, policy)
			w.unwatched = true
			for _, o := range ops {
				w.happen(o)
			}
			got := wire(t, w.journal)
			if n == 0 {
				first = got
			}
			if !bytes.Equal(got, first) {
				t.Fatalf("telling %d differs:\n%s\n%s", n, first, got)
			}
		}
	})
}

// wire is a journal as bytes.
func wire(t interface{ Fatal(...any) }, journal []engine.Record) []byte {
	var b bytes.Buffer
	for _, r := range journal {
		body, err := engine.Encode(r.Event)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(r.At.String() + " " + r.Actor + " " + r.Event.Type() + " ")
		b.Write(body)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// TestPassingRunIsDone: a run in which everything passes, in whatever order the
// results come, is done without a person's help, each step is dispatched once,
// and each waits for what it needs.
func TestPassingRunIsDone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(programs(30).Draw(t, "program"), policies().Draw(t, "policy"))
		approvals := 0
		for w.state.Live() && w.broken == nil {
			if rows := w.rows.open(); len(rows) > 0 {
				approvals++
				a := saying(rows[0], engine.ChooseApprove)
				if noItems(rows[0]) {
					a.Choice = engine.ChooseSkip
				}
				if err := w.send(engine.Reply{ItemAnswered: a}); err != nil {
					t.Fatalf("%s cannot be answered as it is: %v\n%s", a.Item, err, rows[0].Question)
				}
				continue
			}
			fx := w.state.Effects()
			if len(fx) == 0 {
				t.Fatalf("nothing is wanted:\n%s\n%s", lines(w.journal), stand(w.desk))
			}
			w.send(success(fx[rapid.IntRange(0, len(fx)-1).Draw(t, "next")]))
		}
		w.check()
		if head := w.state.Head(); w.broken != nil || head.Status != engine.Done || head.Settled != head.Total {
			t.Fatalf("%v: %+v", w.broken, head)
		}
		works := 0
		for i := range w.state.Program().Len() {
			if p := w.state.Program().Step(i); p.Kind != engine.Ask && p.Kind != engine.Landing && p.When != "false" && p.Each == nil {
				works++
			}
		}
		if n := dispatches(w.journal); n != works {
			t.Fatalf("%d steps took %d dispatches", works, n)
		}
	})
}

func dispatches(journal []engine.Record) int {
	n := 0
	for _, r := range journal {
		if e, ok := r.Event.(engine.WorkDispatched); ok && e.Kind != engine.ContractWork && e.Kind != engine.MergeWork {
			n++
		}
	}
	return n
}

// TestAuditorSees breaks sound journals in ways that no journal may be broken,
// and asks the auditor, who would be of no use if he let one through.
func TestAuditorSees(t *testing.T) {
	w := newDesk()
	w.begin()
	p, err := engine.NewProgram(engine.Definition{Plan: "p", Parallel: 1, Steps: []engine.Step{plain("a"), after(plain("b"), 0)}})
	if err != nil {
		t.Fatal(err)
	}
	w.admit(engine.Open{By: "ann", Task: &engine.TaskOpened{Task: "task"}, Run: engine.RunOpened{
		Run: "r1", Program: p.Hash(), Compiled: p, Policy: engine.Policy{MaxParallel: 1, Ratchet: true},
	}})
	for fx := w.state.Effects(); len(fx) > 0; fx = w.state.Effects() {
		w.admit(success(fx[0]))
	}
	if err := w.settled(); err != nil || w.state.Head().Status != engine.Done {
		t.Fatalf("%v\n%s", err, lines(w.journal))
	}
	for n, r := range w.journal {
		switch r.Event.(type) {
		case engine.EpochBegan, engine.TaskOpened, engine.RunEnded, engine.LeaseAwaited:
			continue
		}
		without := renumber(slices.Delete(slices.Clone(w.journal), n, n+1))
		if err := audit(without); err == nil {
			t.Errorf("the auditor does not miss record %d: %s", r.Seq, lines([]engine.Record{r}))
		}
		if _, err := replay(without); err == nil {
			t.Errorf("the fold does not miss record %d: %s", r.Seq, lines([]engine.Record{r}))
		}
	}
}

func after(p engine.Step, needs ...int) engine.Step {
	p.Needs = needs
	return p
}

func renumber(journal []engine.Record) []engine.Record {
	for i := range journal {
		journal[i].Seq = uint64(i + 1)
	}
	return journal
}
