package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
)

// A turn that ends a run and opens the next one tells the rows of both, and
// the second run alone is what it is after the first.
func TestRowsOfTwoRuns(t *testing.T) {
	p, err := engine.NewProgram(two())
	if err != nil {
		t.Fatal(err)
	}
	var s engine.State
	opened := func(id string) engine.RunOpened {
		return engine.RunOpened{Run: id, Program: p.Hash(), Compiled: p, Isolation: "none", Frames: s.Window()}
	}
	var journal []engine.Record
	put := func(events ...engine.Event) {
		t.Helper()
		for _, e := range events {
			r := engine.Record{Stream: "task", Seq: s.Seq() + 1, At: dawn, Epoch: 1, Event: e}
			if err := s.Apply(r); err != nil {
				t.Fatal(err)
			}
			journal = append(journal, r)
		}
	}
	put(begun.EpochBegan, engine.TaskOpened{Task: "task"}, opened("r1"))
	put(s.Decide(dawn)...)
	s.Rows()
	put(engine.RunEnded{Status: engine.Superseded, Left: 2})
	put(opened("r2"))
	rows := s.Rows()
	if len(rows.Earlier) != 1 || len(rows.Steps) != 2 {
		t.Fatalf("rows: %+v", rows)
	}
	old := rows.Earlier[0].Head
	if old.Run != "r1" || old.First != 3 || old.Status != engine.Superseded || !old.Ended || rows.Earlier[0].Earlier != nil {
		t.Errorf("rows of the first run: %+v", old)
	}
	if now := rows.Head; now.Run != "r2" || now.First != 6 || now.Ended || now.Isolation != "none" {
		t.Errorf("rows of the second run: %+v", now)
	}
	if again := s.Rows(); again.Head != nil || again.Earlier != nil {
		t.Errorf("told twice: %+v", again)
	}
	alone := engine.Before(journal[5])
	if err := alone.Apply(journal[5]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(engine.Rows{Head: rows.Head, All: true, Steps: rows.Steps, Marks: rows.Marks}, alone.Rows()); diff != "" {
		t.Errorf("the second run alone (- after the first, + alone):\n%s", diff)
	}
}

// An item names the steps that wait for it, also those that wait for others that
// do, the nearest first and a few at most.
func TestBehind(t *testing.T) {
	asked := plain("a")
	asked.Kind, asked.Checks = engine.Ask, nil
	aside := plain("aside")
	for name, x := range map[string]struct {
		steps []engine.Step
		want  []string
	}{
		"nobody":    {[]engine.Step{asked, aside}, nil},
		"a chain":   {[]engine.Step{asked, after(plain("b"), 0), after(plain("c"), 1), aside}, []string{"b", "c"}},
		"two ways":  {[]engine.Step{asked, after(plain("d"), 2, 3), after(plain("b"), 0), after(plain("c"), 0)}, []string{"b", "c", "d"}},
		"and so on": {[]engine.Step{asked, after(plain("b"), 0), after(plain("c"), 1), after(plain("d"), 2), after(plain("e"), 3), after(plain("f"), 4), after(plain("g"), 5)}, []string{"b", "c", "d", "e", "f", "…"}},
		"five":      {[]engine.Step{asked, after(plain("b"), 0), after(plain("c"), 1), after(plain("d"), 2), after(plain("e"), 3), after(plain("f"), 4, 0)}, []string{"b", "f", "c", "d", "e"}},
	} {
		p, err := engine.NewProgram(engine.Definition{Plan: "p", Title: "T", Parallel: 1, Steps: x.steps})
		if err != nil {
			t.Fatal(err)
		}
		var s engine.State
		events := []engine.Event{begun.EpochBegan, engine.TaskOpened{Task: "task"}, engine.RunOpened{Run: "r1", Program: p.Hash(), Compiled: p, Isolation: "none", Frames: s.Window()}}
		for len(events) > 0 {
			for _, e := range events {
				if err := s.Apply(engine.Record{Stream: "task", Seq: s.Seq() + 1, At: dawn, Epoch: 1, Event: e}); err != nil {
					t.Fatal(err)
				}
			}
			events = s.Decide(dawn)
		}
		rows := s.Rows()
		if len(rows.Items) != 1 {
			t.Fatalf("%s: %+v", name, rows.Items)
		}
		if diff := cmp.Diff(x.want, rows.Items[0].Behind); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestShown(t *testing.T) {
	for _, x := range []struct {
		head engine.HeadRow
		want engine.Status
	}{
		{engine.HeadRow{Status: engine.Running}, engine.Running},
		{engine.HeadRow{Status: engine.Running, Open: 1}, engine.Waiting},
		{engine.HeadRow{Status: engine.Paused, Open: 2}, engine.Waiting},
		{engine.HeadRow{Status: engine.Failed, Open: 1, Ended: true}, engine.Failed},
	} {
		if got := x.head.Shown(); got != x.want {
			t.Errorf("%+v is shown as %s, want %s", x.head, got, x.want)
		}
	}
}
