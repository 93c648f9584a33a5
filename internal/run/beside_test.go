package run_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
)

// scoped is a script that writes below a directory of its own name.
func scoped(id string, needs ...int) engine.Step {
	s := script(id, needs...)
	s.Writes = []string{id + "/"}
	return s
}

// leased opens and starts the run of a task whose steps ask for what they write.
func (s *stage) leased(stream string, in engine.Open, steps ...engine.Step) {
	s.t.Helper()
	if err := s.host.Submit(s.t.Context(), stream, in, program(s.t, stream, steps)); err != nil {
		s.t.Fatal(err)
	}
	s.activate(stream)
}

// look lets a preparation end well that has seen the workspace.
func (s *stage) look(name string) {
	s.t.Helper()
	p := s.play(name)
	a := good(p.effect)
	in, _ := a.Input.(engine.Prepared)
	in.Dispatch.Tree = "before"
	a.Input = in
	p.answer <- a
	s.passes()
}

// passes lets time go by in which nothing happens.
func (s *stage) passes() {
	synctest.Wait()
	s.slept.Add(int64(time.Second))
}

// whole lets a step be done.
func (s *stage) whole(step string) {
	s.t.Helper()
	s.look(step + " 1 prepare 1")
	s.pass(step + " 1 work 1")
	s.pass(step + " 1 verify 1")
	s.passes()
}

// dies is kill -9: nothing more gets to the disk, and a new process comes.
func (s *stage) dies() {
	s.t.Helper()
	s.store.breakWith(store.ErrFull)
	s.stop()
	if err := <-s.ended; len(s.plays) > 0 && !errors.Is(err, store.ErrFull) {
		s.t.Fatalf("the loop ended with %v", err)
	}
	s.close()
	s.store.breakWith(nil)
	s.open()
	s.loop(stay)
	s.passes()
}

func (s *stage) wantBeside(name string, want ...[]string) {
	s.t.Helper()
	var scopes [][]string
	for _, n := range s.play(name).report.Beside() {
		scopes = append(scopes, n.Writes)
	}
	byName := func(a, b []string) int { return slices.Compare(a, b) }
	slices.SortFunc(scopes, byName)
	slices.SortFunc(want, byName)
	if diff := cmp.Diff(want, scopes); diff != "" {
		s.t.Errorf("beside %s (-want +got):\n%s", name, diff)
	}
}

// TestBesideOtherRuns: whoever had a part of the workspace while work was cut off
// answers for it, also a step of another run, whether it is done, was cut off as
// well and is carried out by nobody, or began only after the restart.
func TestBesideOtherRuns(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		before, done, other, cut := []engine.Step{scoped("before")}, []engine.Step{scoped("done")}, []engine.Step{scoped("other"), scoped("later", 0)}, []engine.Step{scoped("cut")}
		s.leased("a", opening(t, "a", before), before...)
		s.whole("a before")
		s.leased("t", opening(t, "t", cut), cut...)
		s.look("t cut 1 prepare 1")
		in := opening(t, "b", done)
		s.leased("b", in, done...)
		s.whole("b done")
		s.leased("c", opening(t, "c", other), other...)
		s.look("c other 1 prepare 1")
		s.leased("d", opening(t, "d", []engine.Step{scoped("ready")}), scoped("ready")) // it never begins
		s.dies()

		s.activate("t")
		s.wantBeside("t cut 1 prepare 2", []string{"other/"}, []string{"done/"})
		s.dies() // once more, and another run is taken up before this one
		s.activate("c")
		s.look("c other 1 prepare 2")
		s.pass("c other 1 work 2")
		s.pass("c other 1 verify 2")
		s.look("c later 1 prepare 1")
		s.activate("t")
		s.wantBeside("t cut 1 prepare 2", []string{"other/"}, []string{"later/"}, []string{"done/"})
	})
}

// TestBesideNobody: work that ended with its owner before ours began, and nobody
// took up again, is not at work beside it. Nor is what is in another tree.
func TestBesideNobody(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		gone, cut := []engine.Step{scoped("gone")}, []engine.Step{scoped("cut")}
		s.leased("a", opening(t, "a", gone), gone...)
		s.look("a gone 1 prepare 1")
		s.dies()
		elsewhere := opening(t, "b", []engine.Step{scoped("elsewhere")})
		elsewhere.Run.Within = []string{"b-r1"}
		s.leased("b", elsewhere, scoped("elsewhere"))
		s.leased("t", opening(t, "t", cut), cut...)
		s.look("t cut 1 prepare 1")
		s.look("b elsewhere 1 prepare 1")
		s.dies()
		s.activate("a") // only now it is told that its work was lost
		s.activate("t")
		s.wantBeside("t cut 1 prepare 2")
	})
}

// TestBesideAnEarlierRun: a task that has a newer run had another one before.
func TestBesideAnEarlierRun(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		first, second, cut := []engine.Step{scoped("first")}, []engine.Step{scoped("second")}, []engine.Step{scoped("cut")}
		s.leased("t", opening(t, "t", cut), cut...)
		s.look("t cut 1 prepare 1")
		s.leased("a", opening(t, "a", first), first...)
		s.whole("a first")
		next := opening(t, "a", second)
		next.Task, next.Run.Run = nil, "a-r2"
		s.leased("a", next, second...)
		s.look("a second 1 prepare 1")
		s.dies()
		s.activate("t")
		s.wantBeside("t cut 1 prepare 2", []string{"second/"}, []string{"first/"})
	})
}

// TestBesideSiblings: the runs of two items answer for each other, and the steps
// that they carry out for nothing.
func TestBesideSiblings(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		sub := delegated("sub")
		sub.Each = items("a", "b")
		steps := []engine.Step{sub}
		s.leased("t", opening(t, "t", steps), steps...)
		s.ready("t sub.1 1 prepare 1", "c1", scoped("one"))
		s.ready("t sub.2 1 prepare 1", "c2", scoped("two"))
		s.look("t/sub.1 one 1 prepare 1")
		s.look("t/sub.2 two 1 prepare 1")
		s.dies()
		s.activate("t")
		s.wantBeside("t/sub.1 one 1 prepare 2", []string{"two/"})
		s.wantBeside("t/sub.2 two 1 prepare 2", []string{"one/"})
	})
}

// TestBesideASubPlan: what a step changes that is delegated, the steps below do.
func TestBesideASubPlan(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		steps := []engine.Step{delegated("sub"), scoped("own")}
		s.leased("t", opening(t, "t", steps), steps...)
		s.ready("t sub 1 prepare 1", "c1", scoped("below"))
		s.look("t own 1 prepare 1")
		s.look("t/sub below 1 prepare 1")
		s.dies()
		s.activate("t")
		s.wantBeside("t own 1 prepare 2", []string{"below/"})
		s.wantBeside("t/sub below 1 prepare 2", []string{"own/"})
	})
}

// unread is a store of which one stream cannot be read.
type unread struct {
	store.Store
	stream string
}

func (u unread) Snapshot(ctx context.Context, stream string) (uint64, []byte, error) {
	if stream == u.stream {
		return 0, nil, store.ErrCorrupt
	}
	return u.Store.Snapshot(ctx, stream)
}

func (u unread) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	if stream == u.stream {
		return func(yield func(engine.Record, error) bool) { yield(engine.Record{}, store.ErrCorrupt) }
	}
	return u.Store.Read(ctx, stream, after)
}

// TestBesideUnread: a run that cannot be read covers nothing, and keeps no other
// one from going on.
func TestBesideUnread(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		for _, stream := range []string{"t", "a", "b"} {
			steps := []engine.Step{scoped("of-" + stream)}
			s.leased(stream, opening(t, stream, steps), steps...)
			s.look(stream + " of-" + stream + " 1 prepare 1")
		}
		s.over = unread{s.store, "a"}
		s.dies()
		s.activate("t")
		s.wantBeside("t of-t 1 prepare 2", []string{"of-b/"})
	})
}

// strays lets work end that changed these paths outside of all scopes.
func (s *stage) strays(name string, paths ...string) {
	s.t.Helper()
	p := s.play(name)
	end := engine.WorkEnded{How: engine.Exited}
	for _, path := range paths {
		end.OutOfScope = append(end.OutOfScope, engine.Change{Path: path, What: "added"})
	}
	p.answer <- run.Answer{Input: engine.Ended{Key: p.effect.Key, WorkEnded: end}}
	s.passes()
}

// TestBesideWork: work under way is told of whoever was at work since it began, of
// its own run and of others, and of whoever is; but not of those before.
func TestBesideWork(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		before, mine, other := []engine.Step{scoped("before")}, []engine.Step{scoped("one"), scoped("two")}, []engine.Step{scoped("gone"), scoped("live")}
		s.leased("a", opening(t, "a", before), before...)
		s.whole("a before")
		s.leased("t", opening(t, "t", mine), mine...)
		s.leased("b", opening(t, "b", other), other...)
		s.look("b gone 1 prepare 1")
		s.look("b live 1 prepare 1")
		s.look("t two 1 prepare 1")
		s.strays("b gone 1 work 1", "stray")
		s.look("t one 1 prepare 1") // which had its lease, and may have looked, while gone was at work
		one := s.play("t one 1 work 1")
		s.pass("t two 1 work 1")
		s.pass("t two 1 verify 1")
		want := []engine.Neighbour{
			{Run: "b-r1", Step: "gone", Writes: []string{"gone/"}, Strays: []engine.Change{{Path: "stray", What: "added"}}},
			{Run: "b-r1", Step: "live", Writes: []string{"live/"}, Live: true},
			{Run: "t-r1", Step: "two", Writes: []string{"two/"}},
		}
		if diff := cmp.Diff(want, one.report.Beside()); diff != "" {
			t.Errorf("beside one (-want +got):\n%s", diff)
		}
	})
}

// TestBesideBlamedOnce: a stray that two share is not handed on to who begins
// after the first of them has ended.
func TestBesideBlamedOnce(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		steps := []engine.Step{scoped("a"), scoped("b"), scoped("c")}
		s.leased("t", opening(t, "t", steps), steps...)
		s.look("t a 1 prepare 1")
		s.look("t b 1 prepare 1")
		s.strays("t a 1 work 1", "stray")
		s.look("t c 1 prepare 1")
		s.strays("t b 1 work 1", "stray")
		for _, n := range s.play("t c 1 work 1").report.Beside() {
			if len(n.Strays) > 0 {
				t.Errorf("%s hands on %v", n.Step, n.Strays)
			}
		}
	})
}

// TestBesideAfterTheEnd: who asks when no turn comes any more is answered.
func TestBesideAfterTheEnd(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		s.loop(stay)
		s.task("t", script("one"))
		p := s.play("t one 1 prepare 1")
		s.store.breakWith(store.ErrFull)
		s.pass("t one 1 prepare 1")
		if err := <-s.ended; !errors.Is(err, store.ErrFull) {
			t.Fatal(err)
		}
		if beside := p.report.Beside(); beside != nil {
			t.Errorf("beside %v", beside)
		}
	})
}
