package storetest

import (
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
		got, err := s.Heads(t.Context(), test.filter)
		if err != nil {
			t.Fatalf("heads %+v: %v", test.filter, err)
		}
		equal(t, "heads", got, test.want)
	}
}

func steps(t *testing.T, s store.Store) {
	epoch := own(t, s)
	start := store.Micro(began())
	full := engine.StepRow{
		Index: 1, ID: "b", Number: "2", Title: "Second", Status: engine.Running, Phase: engine.Verifying,
		Reason: "why", Agent: "coder", Attempts: 2, Verdict: engine.Fail, Baseline: engine.Fail,
		Started: start, Finished: start.Add(time.Second), Needs: []string{"a", "c"},
	}
	plain := engine.StepRow{Index: 10, ID: "k", Status: engine.Pending}
	first := engine.StepRow{Index: 0, ID: "a", Status: engine.Done, Needs: []string{"b"}}
	write(t, s, withRows("t", 0, epoch, engine.Rows{Steps: []engine.StepRow{plain, full}}))
	write(t, s, withRows("t", 1, epoch, engine.Rows{Steps: []engine.StepRow{first}}))
	write(t, s, withRows("other", 0, epoch, engine.Rows{Steps: []engine.StepRow{{Index: 0, ID: "z"}}}))
	equal(t, "steps", stepsOf(t, s, "t"), []engine.StepRow{first, full, plain})
	full.Status, full.Phase, full.Needs = engine.Done, engine.NoPhase, nil
	write(t, s, withRows("t", 2, epoch, engine.Rows{Steps: []engine.StepRow{full}}))
	equal(t, "steps after a change", stepsOf(t, s, "t"), []engine.StepRow{first, full, plain})
}

func stepsOfTheNextRun(t *testing.T, s store.Store) {
	epoch := own(t, s)
	head := headRow("t", "r1", engine.Running, store.Micro(began()))
	write(t, s, withRows("t", 0, epoch, engine.Rows{Head: &head, Steps: []engine.StepRow{{Index: 0, ID: "a"}, {Index: 1, ID: "b"}}}))
	write(t, s, withRows("t", 1, epoch, engine.Rows{Head: &head, Steps: []engine.StepRow{{Index: 0, ID: "A"}}}))
	equal(t, "steps of one run", stepsOf(t, s, "t"), []engine.StepRow{{Index: 0, ID: "A"}, {Index: 1, ID: "b"}})
	head.Run = "r2"
	write(t, s, withRows("t", 2, epoch, engine.Rows{Head: &head, Steps: []engine.StepRow{{Index: 0, ID: "c"}}}))
	equal(t, "steps of the next run", stepsOf(t, s, "t"), []engine.StepRow{{Index: 0, ID: "c"}})
}

func items(t *testing.T, s store.Store) {
	epoch := own(t, s)
	start := store.Micro(began())
	early := engine.ItemRow{
		Item: "i2", Stream: "a", Run: "r1", Step: "s", Kind: engine.Escalation, Cause: engine.Fail, Question: "Go on?",
		Context: "tail <of> output", Hash: "h", Choices: []string{"retry", "skip"}, Opened: start, Open: true,
	}
	late := engine.ItemRow{Item: "i1", Stream: "b", Run: "r2", Kind: engine.Approval, Opened: start.Add(time.Second), Open: true}
	write(t, s, withRows("b", 0, epoch, engine.Rows{Items: []engine.ItemRow{late}}), withRows("a", 0, epoch, engine.Rows{Items: []engine.ItemRow{early}}))
	equal(t, "open items", itemsOf(t, s, store.ItemFilter{Open: true}), []engine.ItemRow{early, late})

	early.Open = false
	write(t, s, withRows("a", 1, epoch, engine.Rows{Items: []engine.ItemRow{early}}))
	equal(t, "items left", itemsOf(t, s, store.ItemFilter{Open: true}), []engine.ItemRow{late})
	equal(t, "all items", itemsOf(t, s, store.ItemFilter{}), []engine.ItemRow{early, late})
	equal(t, "items of a stream", itemsOf(t, s, store.ItemFilter{Stream: "a"}), []engine.ItemRow{early})
	equal(t, "items of a run", itemsOf(t, s, store.ItemFilter{Run: "r2"}), []engine.ItemRow{late})
	equal(t, "open items of a stream", itemsOf(t, s, store.ItemFilter{Open: true, Stream: "a"}), nil)
}

// rebuild shows that Rebuild passes on rows of the journal, and that it would
// not on others: countRows is as simple as a fold can be.
func rebuild(t *testing.T, s store.Store) {
	epoch := own(t, s)
	for _, stream := range []string{"a", "b"} {
		for after := range uint64(4) {
			b := batch(stream, after, epoch, 1)
			rows := countRows(append(records(t, s, stream, 0), b.Records...))
			rows.Steps = rows.Steps[after:] // changed ones only
			b.Rows = rows
			write(t, s, b)
		}
	}
	Rebuild(t, s, countRows)
}

// countRows makes a step of each record.
func countRows(records []engine.Record) engine.Rows {
	head := engine.HeadRow{Stream: records[0].Stream, Run: "r", Started: records[0].At, Settled: len(records)}
	rows := engine.Rows{Head: &head}
	for i, r := range records {
		settled := r.Event.(engine.StepSettled)
		rows.Steps = append(rows.Steps, engine.StepRow{Index: i, ID: settled.Step, Status: settled.Status, Finished: r.At})
	}
	return rows
}
