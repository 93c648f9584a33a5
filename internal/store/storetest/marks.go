package storetest

import (
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

func marks(t *testing.T, s store.Store) {
	epoch := own(t, s)
	head, next := headRow("t", "r1", engine.Running, store.Micro(began())), headRow("t", "r2", engine.Running, store.Micro(began()))
	head.First, next.First = 1, 4
	loop := &engine.LoopRow{Iteration: 2, Iterations: 5, Answers: []engine.Verdict{engine.Pass}}
	all := []engine.Mark{
		{Seq: 1},
		{Seq: 2, Step: "a", Failed: true, Was: engine.Moment{Status: engine.Running, Attempts: 1, Loop: loop}, Is: engine.Moment{Status: engine.Failed, Attempts: 2}},
		{Seq: 3, Step: "a", Frame: 1},
		{Seq: 4, Step: "b", Frame: 2},
		{Seq: 5, Step: "a", Frame: 3},
	}
	b := batch("t", 0, epoch, 5)
	b.Rows = engine.Rows{Earlier: []engine.Rows{{Head: &head, Marks: all[:3]}}, Head: &next, Marks: all[3:]}
	write(t, s, b)
	equal(t, "rows", stored(t, s, "t"), b.Rows)
	for _, test := range []struct {
		what   string
		filter store.MarkFilter
		want   []uint64
	}{
		{"of a step", store.MarkFilter{Stream: "t", Steps: []string{"a"}}, []uint64{2, 3, 5}},
		{"of a step in a run", store.MarkFilter{Stream: "t", Steps: []string{"a"}, From: 2, Before: 4}, []uint64{2, 3}},
		{"of a step later", store.MarkFilter{Stream: "t", Steps: []string{"a"}, From: 4}, []uint64{5}},
		{"of no step", store.MarkFilter{Stream: "t"}, []uint64{1}},
		{"of a step and of no step", store.MarkFilter{Stream: "t", Steps: []string{"b", ""}}, []uint64{1, 4}},
		{"of frames", store.MarkFilter{Stream: "t", Frames: engine.Window{Start: 2, End: 3}}, []uint64{4}},
		{"of the newest frames", store.MarkFilter{Stream: "t", Newest: 2}, []uint64{4, 5}},
		{"that failed", store.MarkFilter{Stream: "t", Failed: true, From: 1}, []uint64{2}},
		{"of another stream", store.MarkFilter{Stream: "u", Steps: []string{"a"}}, nil},
	} {
		found, err := s.Marked(t.Context(), test.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		for _, m := range found {
			got = append(got, m.Seq)
			equal(t, "record "+test.what, m.Record, records(t, s, "t", m.Seq-1)[0])
			equal(t, "mark "+test.what, m.Mark, all[m.Seq-1])
		}
		equal(t, "records "+test.what, got, test.want)
	}
	some, err := s.Marks(t.Context(), "t", 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "marks", some, all[1:3])
	write(t, s, store.Batch{Stream: "t", After: 5, Epoch: epoch, Rows: engine.Rows{
		Earlier: []engine.Rows{{Head: &head, Marks: all[:2], Anew: true}}, Head: &next, Marks: all[3:4], Anew: true,
	}})
	equal(t, "rows made anew", stored(t, s, "t"), engine.Rows{Earlier: []engine.Rows{{Head: &head, Marks: all[:2]}}, Head: &next, Marks: all[3:4]})
}

func findingSteps(t *testing.T, s store.Store) {
	epoch := own(t, s)
	head := headRow("t", "r", engine.Running, store.Micro(began()))
	counted := engine.Effort{Attempts: 2, WorkMs: 3, CheckMs: 4, Tokens: engine.Told{N: 5, Known: true}, Cost: engine.Told{Silent: 2}}
	bound := engine.Bond{Active: true, Retry: store.Micro(began()), Item: "r/1", Behind: &engine.Holder{Run: "q", Step: "z", Scope: []string{"a"}}}
	write(t, s, withRows("t", 0, epoch, engine.Rows{Head: &head, Steps: []engine.StepRow{
		{Index: 0, ID: "ab", Number: "1", Status: engine.Done, Effort: counted},
		{Index: 1, ID: "abc", Number: "2", Status: engine.Running, Bond: bound},
		{Index: 2, ID: "b", Number: "3", Status: engine.Skipped},
		{Index: 3, ID: "c", Number: "b", Status: engine.Failed},
	}}))
	for _, test := range []struct {
		filter store.StepFilter
		want   []string
		all    int
	}{
		{store.StepFilter{}, []string{"ab", "abc", "b", "c"}, 4},
		{store.StepFilter{Limit: 2}, []string{"ab", "abc"}, 4},
		{store.StepFilter{Word: "ab"}, []string{"ab", "abc"}, 2},
		{store.StepFilter{Word: "b"}, []string{"b", "c"}, 2},
		{store.StepFilter{Word: "2"}, []string{"abc"}, 1},
		{store.StepFilter{IDs: []string{"c", "ab", "d"}}, []string{"ab", "c"}, 2},
		{store.StepFilter{At: []int{3, 1, 9}}, []string{"abc", "c"}, 2},
		{store.StepFilter{Status: engine.Failed}, []string{"c"}, 1},
		{store.StepFilter{Left: true, Limit: 1}, []string{"abc"}, 2},
	} {
		test.filter.Stream, test.filter.Run = "t", "r"
		rows, err := s.Steps(t.Context(), test.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, r.ID)
			if r.ID == "ab" {
				equal(t, "effort", r.Effort, counted)
			}
			if r.ID == "abc" {
				equal(t, "bond", r.Bond, bound)
			}
		}
		equal(t, "steps", got, test.want)
		test.filter.Brief = true
		brief, err := s.Steps(t.Context(), test.filter)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rows {
			equal(t, "a row in brief", brief[i], store.Briefly(r))
		}
		n, err := s.CountSteps(t.Context(), test.filter)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "steps counted", n, test.all)
	}
}
