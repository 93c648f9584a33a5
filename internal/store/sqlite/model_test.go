package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/store/storetest"
)

// TestLikeMemory does the same to both stores, at random, and wants the same
// answers, over reopenings too.
func TestLikeMemory(t *testing.T) {
	t.Parallel()
	top, runs := scratch(t), 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &pair{dir: filepath.Join(top, strconv.Itoa(runs)), memory: storetest.NewMemory()}
		m.open(t)
		defer func() { m.disk.Close() }()
		for range rapid.IntRange(1, 20).Draw(t, "actions") {
			if rapid.IntRange(0, 4).Draw(t, "reopen if 0") == 0 {
				m.reopen(t)
			} else {
				m.append(t)
			}
		}
		m.compare(t)
	})
}

type pair struct {
	dir    string
	memory *storetest.Memory
	disk   *sqlite.Store
	epoch  uint64
}

func (m *pair) open(t *rapid.T) {
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: m.dir})
	if err != nil {
		t.Fatal(err)
	}
	m.disk = s
	inMemory, _, err := m.memory.Own(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	if m.epoch, _, err = s.Own(t.Context(), "w"); err != nil || m.epoch != inMemory {
		t.Fatalf("epoch %d, in memory %d, %v", m.epoch, inMemory, err)
	}
}

func (m *pair) reopen(t *rapid.T) {
	m.compare(t)
	if err := errors.Join(m.disk.Close(), m.memory.Close()); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

func (m *pair) append(t *rapid.T) {
	var batches []store.Batch
	for range rapid.IntRange(0, 3).Draw(t, "batches") {
		batches = append(batches, m.batch(t))
	}
	want, got := m.memory.Append(t.Context(), batches...), m.disk.Append(t.Context(), batches...)
	for _, class := range []error{nil, store.ErrConflict, store.ErrFenced} {
		if errors.Is(want, class) != errors.Is(got, class) {
			t.Fatalf("append: %v, in memory %v", got, want)
		}
	}
}

func (m *pair) batch(t *rapid.T) store.Batch {
	stream := rapid.SampledFrom([]string{"a", "b", engine.WorkspaceStream}).Draw(t, "stream")
	var after uint64
	for r := range m.memory.Read(t.Context(), stream, 0) {
		after = r.Seq
	}
	after += rapid.SampledFrom([]uint64{0, 0, 0, 0, 1}).Draw(t, "ahead")
	epoch := m.epoch - rapid.SampledFrom([]uint64{0, 0, 0, 0, 1}).Draw(t, "older")
	b := settled(stream, after, epoch, rapid.IntRange(0, 3).Draw(t, "records"))
	run := fmt.Sprint("r", rapid.IntRange(1, 2).Draw(t, "run"))
	if rapid.Bool().Draw(t, "has head") {
		status := rapid.SampledFrom([]engine.Status{engine.Running, engine.Done}).Draw(t, "status")
		b.Rows.Head = &engine.HeadRow{Stream: stream, Run: run, Status: status, Total: int(after)}
	}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 0, 3, rapid.ID).Draw(t, "steps") {
		if b.Rows.Head == nil {
			break
		}
		b.Rows.Steps = append(b.Rows.Steps, engine.StepRow{Index: i, ID: fmt.Sprint(i), Attempts: int(after)})
	}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 4), 0, 2, rapid.ID).Draw(t, "items") {
		b.Rows.Items = append(b.Rows.Items, engine.ItemRow{ItemOpened: engine.ItemOpened{Item: fmt.Sprint(i)}, Stream: stream, Run: run, Open: rapid.Bool().Draw(t, "open")})
	}
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 3), 0, 2, rapid.ID).Draw(t, "plans") {
		if stream == engine.WorkspaceStream {
			b.Rows.Things = append(b.Rows.Things, engine.ThingRow{Kind: engine.PlanKept, Key: fmt.Sprint(i), Of: fmt.Sprint(i / 2), Seq: after, Open: rapid.Bool().Draw(t, "waits")})
		}
	}
	if rapid.Bool().Draw(t, "supersedes") {
		b.Rows.Earlier = []engine.Rows{{
			Head:  &engine.HeadRow{Stream: stream, Run: fmt.Sprint("r", rapid.IntRange(0, 2).Draw(t, "earlier")), Status: engine.Superseded, Ended: true},
			Steps: []engine.StepRow{{Index: 0, ID: "e", Attempts: int(after)}},
		}}
	}
	if rapid.Bool().Draw(t, "has snapshot") {
		b.Snapshot = fmt.Append(nil, "after ", b.Last())
	}
	return b
}

// view is all that can be asked of a store.
type view struct {
	Records   map[string][]engine.Record
	Steps     map[string][]engine.StepRow
	Things    []engine.ThingRow
	Waiting   []engine.ThingRow
	Newest    []engine.ThingRow
	Snapshots map[string]string
	Heads     []engine.HeadRow
	Done      []engine.HeadRow
	First     []engine.HeadRow
	Items     []engine.ItemRow
	Open      []engine.ItemRow
	Changed   []string
}

func (m *pair) compare(t *rapid.T) {
	if diff := cmp.Diff(look(t, m.memory), look(t, m.disk)); diff != "" {
		t.Fatalf("(- in memory, + on disk)\n%s", diff)
	}
}

func look(t *rapid.T, s store.Store) view {
	v := view{Records: map[string][]engine.Record{}, Steps: map[string][]engine.StepRow{}, Snapshots: map[string]string{}}
	var failed error
	note := func(err error) { failed = errors.Join(failed, err) }
	for _, stream := range []string{"a", "b", engine.WorkspaceStream} {
		for r, err := range s.Read(t.Context(), stream, 0) {
			note(err)
			v.Records[stream] = append(v.Records[stream], r)
		}
		var err error
		for _, run := range []string{"r1", "r2"} {
			v.Steps[stream+" "+run], err = s.Steps(t.Context(), store.StepFilter{Stream: stream, Run: run})
			note(err)
		}
		seq, body, err := s.Snapshot(t.Context(), stream)
		note(err)
		v.Snapshots[stream] = fmt.Sprintf("%d: %s", seq, body)
	}
	var errs [9]error
	v.Heads, errs[0] = s.Heads(t.Context(), store.HeadFilter{})
	v.Done, errs[1] = s.Heads(t.Context(), store.HeadFilter{Status: []engine.Status{engine.Done}, Limit: 1})
	v.Items, errs[2] = s.Items(t.Context(), store.ItemFilter{})
	v.Open, errs[3] = s.Items(t.Context(), store.ItemFilter{Open: true, Run: "r1"})
	v.Changed, _, errs[4] = s.Changed(t.Context(), "")
	v.First, errs[5] = s.Heads(t.Context(), store.HeadFilter{Prefix: "r1", Limit: 2})
	v.Things, errs[6] = s.Things(t.Context(), store.ThingFilter{})
	v.Waiting, errs[7] = s.Things(t.Context(), store.ThingFilter{Kind: engine.PlanKept, Open: true})
	v.Newest, errs[8] = s.Things(t.Context(), store.ThingFilter{Of: "1", Newest: true})
	if note(errors.Join(errs[:]...)); failed != nil {
		t.Fatal(failed)
	}
	return v
}
