package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// withRows is a batch of one record.
func withRows(stream string, after, epoch uint64, rows engine.Rows) store.Batch {
	b := batch(stream, after, epoch, 1)
	b.Rows = rows
	return b
}

func headRow(stream, run string, status engine.Status, started time.Time) engine.HeadRow {
	return engine.HeadRow{
		Stream: stream, Run: run, Plan: "plan", Version: 2, Title: "Tïtle <&>", PlanHash: "hash", Status: status,
		Reason: "why", Exit: 3, Started: started, Total: 5, Settled: 1, Active: 2, Open: 1, Proven: 1, Unproven: 1,
		TokensIn: 1 << 40, TokensOut: 2, CostMicros: 3,
	}
}

func heads(t *testing.T, s store.Store) {
	epoch := own(t, s)
	start := store.Micro(began())
	first := headRow("a", "r1", engine.Running, start)
	second := headRow("b", "r2", engine.Failed, start.Add(time.Minute))
	second.Ended, second.Finished = true, start.Add(time.Hour)
	third := headRow("c", "r3", engine.Done, start.Add(time.Second))
	for _, row := range []engine.HeadRow{first, second, third} {
		write(t, s, withRows(row.Stream, 0, epoch, engine.Rows{Head: &row}))
	}
	write(t, s, batch("without", 0, epoch, 1))
	first.Status, first.Active = engine.Waiting, 0
	write(t, s, withRows("a", 1, epoch, engine.Rows{Head: &first}))
	write(t, s, batch("a", 2, epoch, 1)) // no head row: unchanged

	tests := []struct {
		filter store.HeadFilter
		want   []engine.HeadRow
	}{
		{store.HeadFilter{}, []engine.HeadRow{second, third, first}},
		{store.HeadFilter{Limit: 2}, []engine.HeadRow{second, third}},
		{store.HeadFilter{Status: []engine.Status{engine.Waiting, engine.Done}}, []engine.HeadRow{third, first}},
		{store.HeadFilter{Status: []engine.Status{engine.Waiting, engine.Done}, Limit: 1}, []engine.HeadRow{third}},
		{store.HeadFilter{Stream: "a"}, []engine.HeadRow{first}},
		{store.HeadFilter{Stream: "a", Status: []engine.Status{engine.Done}}, nil},
		{store.HeadFilter{Stream: "without"}, nil},
	}
	for _, test := range tests {
		equal(t, "heads", headsOf(t, s, test.filter), test.want)
	}
}

func steps(t *testing.T, s store.Store) {
	epoch := own(t, s)
	start := store.Micro(began())
	full := engine.StepRow{
		Index: 1, ID: "b", Number: "2", Title: "Second", Status: engine.Running, Phase: engine.Verifying,
		Reason: "why", Agent: "coder", Attempts: 2, Verdict: engine.Fail, Baseline: engine.Fail,
		Started: start, Finished: start.Add(time.Second), Needs: []string{"a", "c"},
		Loop: &engine.LoopRow{Iteration: 2, Iterations: 5, Tokens: 7, Context: 9, Exit: engine.MaxIterations, Passed: 1, Checks: 2, Answers: []engine.Verdict{engine.Pass, engine.Fail}},
	}
	plain := engine.StepRow{Index: 10, ID: "k", Status: engine.Pending}
	first := engine.StepRow{Index: 0, ID: "a", Status: engine.Done, Needs: []string{"b"}}
	head, other := headRow("t", "r", engine.Running, start), headRow("other", "r", engine.Running, start)
	write(t, s, withRows("t", 0, epoch, engine.Rows{Head: &head, Steps: []engine.StepRow{plain, full}}))
	write(t, s, withRows("t", 1, epoch, engine.Rows{Head: &head, Steps: []engine.StepRow{first}}))
	write(t, s, withRows("other", 0, epoch, engine.Rows{Head: &other, Steps: []engine.StepRow{{Index: 0, ID: "z"}}}))
	equal(t, "steps", stepsOf(t, s, "t", "r"), []engine.StepRow{first, full, plain})
	full.Status, full.Phase, full.Needs = engine.Done, engine.NoPhase, nil
	write(t, s, withRows("t", 2, epoch, engine.Rows{Head: &head, Steps: []engine.StepRow{full}}))
	equal(t, "steps after a change", stepsOf(t, s, "t", "r"), []engine.StepRow{first, full, plain})
	write(t, s, withRows("t", 3, epoch, engine.Rows{Head: &head, All: true, Steps: []engine.StepRow{full}}))
	equal(t, "steps of a revision with fewer", stepsOf(t, s, "t", "r"), []engine.StepRow{full})
	equal(t, "steps of another task", stepsOf(t, s, "other", "r"), []engine.StepRow{{Index: 0, ID: "z"}})
}

// runsOfOneStream: each keeps its head and its steps, whatever follows.
func runsOfOneStream(t *testing.T, s store.Store) {
	epoch := own(t, s)
	start := store.Micro(began())
	first := headRow("t", "r1", engine.Running, start)
	write(t, s, withRows("t", 0, epoch, engine.Rows{Head: &first, Steps: []engine.StepRow{{Index: 0, ID: "a"}, {Index: 1, ID: "b"}}}))
	write(t, s, withRows("t", 1, epoch, engine.Rows{Head: &first, Steps: []engine.StepRow{{Index: 0, ID: "A", Proven: true}}}))
	equal(t, "steps of one run", stepsOf(t, s, "t", "r1"), []engine.StepRow{{Index: 0, ID: "A", Proven: true}, {Index: 1, ID: "b"}})
	second := headRow("t", "r2", engine.Running, start.Add(time.Minute))
	write(t, s, withRows("t", 2, epoch, engine.Rows{Head: &second, Steps: []engine.StepRow{{Index: 0, ID: "c"}}}))
	first.Status, first.Ended = engine.Failed, true // it is written late
	write(t, s, withRows("t", 3, epoch, engine.Rows{Head: &first}))
	equal(t, "heads", headsOf(t, s, store.HeadFilter{Stream: "t"}), []engine.HeadRow{second, first})
	equal(t, "steps of the first run", stepsOf(t, s, "t", "r1"), []engine.StepRow{{Index: 0, ID: "A", Proven: true}, {Index: 1, ID: "b"}})
	equal(t, "steps of the second run", stepsOf(t, s, "t", "r2"), []engine.StepRow{{Index: 0, ID: "c"}})
	equal(t, "steps of no run", stepsOf(t, s, "t", "r3"), nil)
	equal(t, "steps of another stream", stepsOf(t, s, "u", "r1"), nil)
}

// runsThatStartTogether: the one that came later is the newer one, however
// often the other is written.
func runsThatStartTogether(t *testing.T, s store.Store) {
	epoch := own(t, s)
	z, a := headRow("t", "z", engine.Done, store.Micro(began())), headRow("t", "a", engine.Done, store.Micro(began()))
	write(t, s, withRows("t", 0, epoch, engine.Rows{Head: &a}), withRows("t", 1, epoch, engine.Rows{Head: &z}))
	write(t, s, withRows("t", 2, epoch, engine.Rows{Head: &a}))
	equal(t, "heads", headsOf(t, s, store.HeadFilter{}), []engine.HeadRow{z, a})
	equal(t, "the newest head", headsOf(t, s, store.HeadFilter{Stream: "t", Limit: 1}), []engine.HeadRow{z})

	b := headRow("t", "b", engine.Done, store.Micro(began()).Add(-time.Hour))
	write(t, s, withRows("t", 3, epoch, engine.Rows{Head: &b}))
	equal(t, "the newest head after a clock was set back", headsOf(t, s, store.HeadFilter{Stream: "t", Limit: 1}), []engine.HeadRow{b})
	equal(t, "all heads of the stream", headsOf(t, s, store.HeadFilter{Stream: "t"}), []engine.HeadRow{b, z, a})
	equal(t, "all heads", headsOf(t, s, store.HeadFilter{}), []engine.HeadRow{z, a, b})
}

// superseded: one batch ends a run and opens the next, which goes on.
func superseded(t *testing.T, s store.Store) {
	epoch := own(t, s)
	start := store.Micro(began())
	old, next := headRow("t", "r1", engine.Running, start), headRow("t", "r2", engine.Running, start.Add(time.Second))
	item := engine.ItemRow{ItemOpened: engine.ItemOpened{Item: "r1/1"}, Stream: "t", Run: "r1", Opened: start, Open: true}
	write(t, s, withRows("t", 0, epoch, engine.Rows{Head: &old, Steps: []engine.StepRow{{Index: 0, ID: "a", Status: engine.Waiting}}, Items: []engine.ItemRow{item}}))
	old.Status, old.Ended, old.Finished = engine.Superseded, true, start.Add(time.Second)
	item.Open = false
	both := engine.Rows{
		Earlier: []engine.Rows{{Head: &old, Steps: []engine.StepRow{{Index: 0, ID: "a", Status: engine.Pending}}, Items: []engine.ItemRow{item}}},
		Head:    &next, Steps: []engine.StepRow{{Index: 0, ID: "b", Status: engine.Ready}},
	}
	write(t, s, withRows("t", 1, epoch, both))
	equal(t, "rows", stored(t, s, "t"), both)
	equal(t, "open items", itemsOf(t, s, store.ItemFilter{Open: true}), nil)
	equal(t, "superseded runs", headsOf(t, s, store.HeadFilter{Status: []engine.Status{engine.Superseded}}), []engine.HeadRow{old})
}

func findingRuns(t *testing.T, s store.Store) {
	epoch := own(t, s)
	var all []engine.HeadRow // the newest first
	for i, id := range []string{"a1", "a1b", "a2", "b", "A1", "aé"} {
		head := headRow("t", id, engine.Running, store.Micro(began()).Add(time.Duration(i)*time.Second))
		head.Title, head.Open = "Éclair number "+id, 0
		all = append([]engine.HeadRow{head}, all...)
		write(t, s, withRows("t", uint64(i), epoch, engine.Rows{Head: &head}))
	}
	waiting, over := &all[1], &all[2]
	waiting.Open = 1                                          // shown as waiting
	over.Open, over.Ended, over.Status = 1, true, engine.Done // over is over
	write(t, s, withRows("t", 6, epoch, engine.Rows{Head: waiting}), withRows("t", 7, epoch, engine.Rows{Head: over}))
	tests := []struct {
		filter store.HeadFilter
		want   []string
	}{
		{store.HeadFilter{}, []string{"aé", "A1", "b", "a2", "a1b", "a1"}},
		{store.HeadFilter{Prefix: "a1"}, []string{"a1b", "a1"}},
		{store.HeadFilter{Prefix: "a"}, []string{"aé", "a2", "a1b", "a1"}},
		{store.HeadFilter{Prefix: "aé"}, []string{"aé"}},
		{store.HeadFilter{Prefix: "c"}, nil},
		{store.HeadFilter{Run: "a1"}, []string{"a1"}},
		{store.HeadFilter{Run: "a"}, nil},
		{store.HeadFilter{Title: "éCLAIR", Limit: 2}, []string{"aé", "A1"}},
		{store.HeadFilter{Title: "number a1"}, []string{"A1", "a1b", "a1"}},
		{store.HeadFilter{Title: "%"}, nil},
		{store.HeadFilter{Status: []engine.Status{engine.Waiting}}, []string{"A1"}},
		{store.HeadFilter{Status: []engine.Status{engine.Running}, Prefix: "a", Limit: 2}, []string{"aé", "a2"}},
		{store.HeadFilter{Status: []engine.Status{engine.Done, engine.Waiting}}, []string{"A1", "b"}},
	}
	for _, test := range tests {
		var got []string
		for _, head := range headsOf(t, s, test.filter) {
			got = append(got, head.Run)
		}
		equal(t, fmt.Sprintf("runs %+v", test.filter), got, test.want)
	}
}

func headsOf(t *testing.T, s store.Store, filter store.HeadFilter) []engine.HeadRow {
	t.Helper()
	all, err := s.Heads(t.Context(), filter)
	if err != nil {
		t.Fatalf("heads %+v: %v", filter, err)
	}
	return all
}

func items(t *testing.T, s store.Store) {
	epoch := own(t, s)
	start := store.Micro(began())
	early := engine.ItemRow{
		ItemOpened: engine.ItemOpened{
			Item: "i2", Step: "s", Kind: engine.Escalation, Cause: engine.Fail, Question: "Go on?",
			Context: "tail <of> output", Hash: "h", Choices: []string{"retry", "skip"},
		},
		Stream: "a", Run: "r1", Opened: start, Open: true,
	}
	late := engine.ItemRow{ItemOpened: engine.ItemOpened{Item: "i1", Kind: engine.Approval}, Stream: "b", Run: "r2", Opened: start.Add(time.Second), Open: true}
	write(t, s, withRows("b", 0, epoch, engine.Rows{Items: []engine.ItemRow{late}}), withRows("a", 0, epoch, engine.Rows{Items: []engine.ItemRow{early}}))
	equal(t, "open items", itemsOf(t, s, store.ItemFilter{Open: true}), []engine.ItemRow{early, late})

	early.Open = false
	write(t, s, withRows("a", 1, epoch, engine.Rows{Items: []engine.ItemRow{early}}))
	equal(t, "the oldest item", itemsOf(t, s, store.ItemFilter{Limit: 1}), []engine.ItemRow{early})
	equal(t, "items left", itemsOf(t, s, store.ItemFilter{Open: true}), []engine.ItemRow{late})
	equal(t, "all items", itemsOf(t, s, store.ItemFilter{}), []engine.ItemRow{early, late})
	equal(t, "items of a stream", itemsOf(t, s, store.ItemFilter{Stream: "a"}), []engine.ItemRow{early})
	equal(t, "items of a run", itemsOf(t, s, store.ItemFilter{Run: "r2"}), []engine.ItemRow{late})
	equal(t, "open items of a stream", itemsOf(t, s, store.ItemFilter{Open: true, Stream: "a"}), nil)
}

func things(t *testing.T, s store.Store) {
	epoch := own(t, s)
	row := func(kind engine.Thing, key, of string, seq uint64, open bool) engine.ThingRow {
		return engine.ThingRow{Kind: kind, Key: key, Of: of, Seq: seq, Open: open, Row: `{"Title":"Tïtle <a>"}`}
	}
	after := uint64(0)
	put := func(rows engine.Rows) {
		t.Helper()
		write(t, s, withRows(engine.WorkspaceStream, after, epoch, rows))
		after++
	}
	want := func(what string, f store.ThingFilter, want ...engine.ThingRow) {
		t.Helper()
		got, err := s.Things(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, what, got, want)
	}
	want("nothing", store.ThingFilter{})
	a, b, c := row("plan", "p-a", "i1", 7, true), row("plan", "p-b", "i1", 3, true), row("plan", "q", "i2", 9, true)
	e := row("errand", "p-a", "i1", 8, false)
	put(engine.Rows{Things: []engine.ThingRow{a, b, c, e}})
	equal(t, "all", stored(t, s, engine.WorkspaceStream), engine.Rows{Things: []engine.ThingRow{e, b, a, c}})
	want("a kind", store.ThingFilter{Kind: "plan"}, b, a, c)
	want("one", store.ThingFilter{Kind: "plan", Key: "p-a"}, a)
	want("a beginning", store.ThingFilter{Kind: "plan", Prefix: "p-"}, b, a)
	want("what belongs to it", store.ThingFilter{Kind: "plan", Of: "i1"}, b, a)
	want("the last of them", store.ThingFilter{Kind: "plan", Of: "i1", Newest: true}, a)
	want("no last", store.ThingFilter{Kind: "plan", Of: "i3", Newest: true})
	want("those that are open", store.ThingFilter{Open: true}, b, a, c)
	closed, moved := row("plan", "p-b", "i1", 3, false), row("plan", "p-a", "i2", 7, true)
	put(engine.Rows{Things: []engine.ThingRow{closed, moved}})
	want("those that are open still", store.ThingFilter{Kind: "plan", Open: true}, moved, c)
	want("what belongs to it now", store.ThingFilter{Kind: "plan", Of: "i1"}, closed)
	put(engine.Rows{Things: []engine.ThingRow{b}})
	want("one that is open again", store.ThingFilter{Kind: "plan", Open: true}, b, moved, c)
	put(engine.Rows{Anew: true, Things: []engine.ThingRow{c}})
	want("all there are", store.ThingFilter{}, c)
	if err := s.Append(t.Context(), withRows("other", 0, epoch, engine.Rows{Things: []engine.ThingRow{a}})); err == nil {
		t.Error("another stream has things")
	}
}

// rebuild shows that Rebuild passes on rows of the journal, and that it would
// not on others: countRows is as simple as a fold can be.
func rebuild(t *testing.T, s store.Store) {
	epoch := own(t, s)
	for _, stream := range []string{"a", "b"} {
		for after := range uint64(8) {
			b := batch(stream, after, epoch, 1)
			rows := countRows(append(records(t, s, stream, 0), b.Records...))
			if n := len(rows.Steps); n > 1 {
				rows.Earlier, rows.Steps = nil, rows.Steps[n-1:] // what changed only
			}
			b.Rows = rows
			write(t, s, b)
		}
	}
	Rebuild(t, s, countRows)
}

// countRows makes a step of each record, and a run of every three.
func countRows(records []engine.Record) engine.Rows {
	var all []engine.Rows
	for i, r := range records {
		if i%3 == 0 {
			head := engine.HeadRow{Stream: r.Stream, Run: fmt.Sprint("r", i), First: r.Seq, Started: r.At}
			all = append(all, engine.Rows{Head: &head})
		}
		rows, settled := &all[len(all)-1], r.Event.(engine.StepSettled)
		rows.Head.Settled++
		rows.Steps = append(rows.Steps, engine.StepRow{Index: i % 3, ID: settled.Step, Status: settled.Status, Finished: r.At})
		rows.Items = []engine.ItemRow{{ItemOpened: engine.ItemOpened{Item: rows.Head.Run + "/1"}, Stream: r.Stream, Run: rows.Head.Run, Opened: rows.Head.Started, Open: i%3 < 2}}
	}
	newest := all[len(all)-1]
	if len(all) > 1 {
		newest.Earlier = all[:len(all)-1]
	}
	return newest
}
