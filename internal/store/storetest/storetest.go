// Package storetest judges whether a store keeps the contract of package store.
//
// The one idea: one suite, called with each maker of stores, so that a program
// which works over one of them works over all. [Exercise] is the suite;
// [Rebuild] compares the rows that a store lists with those that its own
// journal gives.
//
// It must never reach for anything of a store but the contract.
package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Exercise runs the suite as subtests of t. open returns a new, empty store
// that nobody owns; the suite closes it. reopen closes s, which may be owned,
// and opens what it stored again; nil if nothing lasts.
func Exercise(t *testing.T, open func(t *testing.T) store.Store, reopen func(t *testing.T, s store.Store) store.Store) {
	tests := []struct {
		name string
		run  func(*testing.T, store.Store)
	}{
		{"empty", empty},
		{"append and read", appendAndRead},
		{"read while appending", readWhileAppending},
		{"conflict", conflict},
		{"several streams", severalStreams},
		{"one stream twice", oneStreamTwice},
		{"invalid batches", invalidBatches},
		{"objects", objects},
		{"no records", noRecords},
		{"heads", heads},
		{"steps", steps},
		{"finding steps", findingSteps},
		{"marks", marks},
		{"runs of one stream", runsOfOneStream},
		{"runs that start together", runsThatStartTogether},
		{"a run superseded in its last batch", superseded},
		{"finding runs", findingRuns},
		{"items", items},
		{"things", things},
		{"snapshots", snapshots},
		{"changed", changed},
		{"nothing is shared", nothingIsShared},
		{"ownership", ownership},
		{"fencing", fencing},
		{"concurrent appends", concurrentAppends},
		{"cancelled contexts", cancelledContexts},
		{"rebuild", rebuild},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := open(t)
			defer closing(t, s)
			test.run(t, s)
		})
	}
	if reopen != nil {
		t.Run("reopen", func(t *testing.T) { reopening(t, open, reopen) })
	}
}

func closing(t *testing.T, s store.Store) {
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// Rebuild reads every stream of s and compares what fold makes of its records
// with the head, the steps and the items of each run that s lists. fold is
// given all records of a stream in order and returns all its rows, those of
// older runs as Earlier, steps by index and items by when they were opened and
// their id. s must have had all
// its rows from the same rules.
func Rebuild(t *testing.T, s store.Store, fold func(records []engine.Record) engine.Rows) {
	t.Helper()
	streams, _, err := s.Changed(t.Context(), "")
	if err != nil {
		t.Fatalf("list streams: %v", err)
	}
	for _, stream := range streams {
		want := fold(records(t, s, stream, 0))
		if diff := cmp.Diff(want, stored(t, s, stream)); diff != "" {
			t.Errorf("rows of %s (- from the journal, + in the store):\n%s", stream, diff)
		}
	}
}

// stored returns the rows of a stream as fold does.
func stored(t *testing.T, s store.Store, stream string) engine.Rows {
	t.Helper()
	rows, err := store.Rows(t.Context(), s, stream)
	if err != nil {
		t.Fatalf("rows of %s: %v", stream, err)
	}
	return rows
}

// began is a time with more digits than a store keeps.
func began() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.UTC) }

// record makes the n-th record of a stream: a step settled.
func record(stream string, seq, epoch uint64) engine.Record {
	return engine.Record{
		Stream: stream, Seq: seq, Epoch: epoch, Actor: engine.Harness,
		At:    store.Micro(began().Add(time.Duration(seq) * time.Second)),
		Event: engine.StepSettled{Step: fmt.Sprintf("step-%d", seq), Attempt: int(seq), Status: engine.Done, Verdict: engine.Pass, Proven: true},
	}
}

// batch makes one of n records.
func batch(stream string, after, epoch uint64, n int) store.Batch {
	b := store.Batch{Stream: stream, After: after, Epoch: epoch}
	for i := range uint64(n) {
		b.Records = append(b.Records, record(stream, after+1+i, epoch))
	}
	return b
}

func own(t *testing.T, s store.Store) uint64 {
	t.Helper()
	epoch, _, err := s.Own(t.Context(), "workspace")
	if err != nil {
		t.Fatalf("own: %v", err)
	}
	return epoch
}

func write(t *testing.T, s store.Store, batches ...store.Batch) {
	t.Helper()
	if err := s.Append(t.Context(), batches...); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func records(t *testing.T, s store.Store, stream string, after uint64) []engine.Record {
	t.Helper()
	var all []engine.Record
	for r, err := range s.Read(t.Context(), stream, after) {
		if err != nil {
			t.Fatalf("read %s after %d: %v", stream, after, err)
		}
		all = append(all, r)
	}
	return all
}

// lengths returns the number of records of each stream.
func lengths(t *testing.T, s store.Store, streams ...string) []int {
	t.Helper()
	counts := make([]int, len(streams))
	for i, stream := range streams {
		counts[i] = len(records(t, s, stream, 0))
	}
	return counts
}

func expectLengths(t *testing.T, s store.Store, streams []string, want ...int) {
	t.Helper()
	if got := lengths(t, s, streams...); !slices.Equal(got, want) {
		t.Errorf("records in %v: %v, want %v", streams, got, want)
	}
}

func stepsOf(t *testing.T, s store.Store, stream, run string) []engine.StepRow {
	t.Helper()
	all, err := s.Steps(t.Context(), store.StepFilter{Stream: stream, Run: run})
	if err != nil {
		t.Fatalf("steps of %s %s: %v", stream, run, err)
	}
	return all
}

func itemsOf(t *testing.T, s store.Store, filter store.ItemFilter) []engine.ItemRow {
	t.Helper()
	all, err := s.Items(t.Context(), filter)
	if err != nil {
		t.Fatalf("items %+v: %v", filter, err)
	}
	if n, err := s.CountItems(t.Context(), filter); err != nil || n != len(all) && filter.Limit == 0 || n < len(all) {
		t.Errorf("items %+v: %d, counted %d, %v", filter, len(all), n, err)
	}
	return all
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (- want, + got):\n%s", what, diff)
	}
}
