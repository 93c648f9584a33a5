package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

// Memory is a store that ends with the process. It starts no goroutine and reads no
// clock, so it may be used inside a synctest bubble.
type Memory struct {
	mu        sync.Mutex
	streams   map[string]*memoryStream
	objects   map[string][]byte
	items     map[itemKey]engine.ItemRow
	things    map[thingKey]engine.ThingRow
	records   uint64 // of all streams together
	workspace string
	epoch     uint64
	owned     bool
}

type memoryStream struct {
	records  []memoryRecord
	changed  uint64        // Memory.records after the newest of them
	runs     []*memoryRun  // as they came
	marks    []engine.Mark // in the order of their records
	snapshot []byte
	at       uint64 // what the snapshot stands for
}

// A memoryRun is the rows of a run.
type memoryRun struct {
	head  engine.HeadRow
	steps map[int]engine.StepRow
}

// A memoryRecord holds the event as it would be on disk, so that no caller
// shares memory with the store.
type memoryRecord struct {
	record engine.Record
	typ    string
	body   []byte
}

type itemKey struct{ stream, item string }

type thingKey struct {
	kind engine.Thing
	key  string
}

// NewMemory returns an empty store that nobody owns.
func NewMemory() *Memory {
	return &Memory{
		streams: map[string]*memoryStream{},
		objects: map[string][]byte{},
		items:   map[itemKey]engine.ItemRow{},
		things:  map[thingKey]engine.ThingRow{},
	}
}

// Append implements [store.Store].
func (m *Memory) Append(ctx context.Context, batches ...store.Batch) error {
	encoded := make([][]memoryRecord, len(batches))
	for i, b := range batches {
		if err := b.Valid(); err != nil {
			return fmt.Errorf("append: %w", err)
		}
		records, err := encode(b.Records)
		if err != nil {
			return fmt.Errorf("append to %s: %w", b.Stream, err)
		}
		encoded[i] = records
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	if err := m.admit(batches); err != nil {
		return err
	}
	for i, b := range batches {
		m.write(b, encoded[i])
	}
	return nil
}

func encode(records []engine.Record) ([]memoryRecord, error) {
	encoded := make([]memoryRecord, len(records))
	for i, r := range records {
		body, err := engine.Encode(r.Event)
		if err != nil {
			return nil, err
		}
		encoded[i] = memoryRecord{record: r, typ: r.Event.Type(), body: body}
		encoded[i].record.At = store.Micro(r.At)
		encoded[i].record.Event = nil
	}
	return encoded, nil
}

// admit refuses batches that do not fit the owner or the heads.
func (m *Memory) admit(batches []store.Batch) error {
	heads := map[string]uint64{}
	for _, b := range batches {
		if !m.owned || b.Epoch != m.epoch {
			return fmt.Errorf("append to %s under epoch %d: the newest epoch is %d: %w", b.Stream, b.Epoch, m.epoch, store.ErrFenced)
		}
		head, known := heads[b.Stream]
		if s := m.streams[b.Stream]; !known && s != nil {
			head = uint64(len(s.records))
		}
		if head != b.After {
			return fmt.Errorf("append to %s after %d: its head is %d: %w", b.Stream, b.After, head, store.ErrConflict)
		}
		heads[b.Stream] = b.Last()
	}
	return nil
}

func (m *Memory) write(b store.Batch, records []memoryRecord) {
	s := m.streams[b.Stream]
	if s == nil {
		s = &memoryStream{}
		m.streams[b.Stream] = s
	}
	s.records = append(s.records, records...)
	m.records += uint64(len(records))
	if len(records) > 0 {
		s.changed = m.records
	}
	for _, o := range b.Objects {
		if _, known := m.objects[o.Hash]; !known {
			m.objects[o.Hash] = bytes.Clone(o.Body)
		}
	}
	if b.Snapshot != nil {
		s.snapshot, s.at = bytes.Clone(b.Snapshot), b.Last()
	}
	for _, rows := range store.ByRun(b.Rows) {
		s.setRows(rows)
		if rows.Anew && b.Stream == engine.WorkspaceStream {
			clear(m.things)
		}
		for _, row := range rows.Things {
			m.things[thingKey{row.Kind, row.Key}] = row
		}
		for _, item := range rows.Items {
			m.items[itemKey{item.Stream, item.Item}] = ownItem(item)
		}
	}
}

func (s *memoryStream) setRows(rows engine.Rows) {
	if rows.Head == nil {
		return
	}
	r := s.run(rows.Head.Run)
	if r == nil {
		r = &memoryRun{steps: map[int]engine.StepRow{}}
		s.runs = append(s.runs, r)
	}
	r.head = *rows.Head
	r.head.Started, r.head.Finished = store.Micro(r.head.Started), store.Micro(r.head.Finished)
	if rows.All || rows.Anew {
		clear(r.steps)
	}
	s.setMarks(rows)
	for _, step := range rows.Steps {
		r.steps[step.Index] = ownStep(step)
	}
}

func (s *memoryStream) setMarks(rows engine.Rows) {
	if rows.Anew {
		s.marks = slices.DeleteFunc(s.marks, func(m engine.Mark) bool { return m.Seq >= rows.Head.First })
	}
	for _, m := range rows.Marks {
		m.Was.Loop, m.Is.Loop = ownLoop(m.Was.Loop), ownLoop(m.Is.Loop)
		same := func(o engine.Mark) bool { return o.Seq == m.Seq && o.Step == m.Step }
		s.marks = append(slices.DeleteFunc(s.marks, same), m)
	}
	slices.SortFunc(s.marks, func(a, b engine.Mark) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Step, b.Step)) })
}

// run finds the rows of a run, nil for none.
func (s *memoryStream) run(id string) *memoryRun {
	for _, r := range s.runs {
		if r.head.Run == id {
			return r
		}
	}
	return nil
}

func ownStep(step engine.StepRow) engine.StepRow {
	step.Started, step.Finished = store.Micro(step.Started), store.Micro(step.Finished)
	step.Needs = ownList(step.Needs)
	step.Loop = ownLoop(step.Loop)
	return step
}

func ownLoop(l *engine.LoopRow) *engine.LoopRow {
	if l == nil {
		return nil
	}
	own := *l
	own.Answers = slices.Clone(own.Answers)
	return &own
}

func ownItem(item engine.ItemRow) engine.ItemRow {
	item.Opened = store.Micro(item.Opened)
	item.Choices = ownList(item.Choices)
	return item
}

// ownList copies; an empty list comes back as nil, as from any other store.
func ownList(list []string) []string {
	return append([]string(nil), list...)
}

// Read implements [store.Store].
func (m *Memory) Read(ctx context.Context, stream string, after uint64) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for {
			stored, more := m.record(stream, after)
			if !more {
				return
			}
			record, err := stored.decode()
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(engine.Record{}, fmt.Errorf("read %s after %d: %w", stream, after, err))
				return
			}
			if !yield(record, nil) {
				return
			}
			after++
		}
	}
}

func (m *Memory) record(stream string, after uint64) (memoryRecord, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[stream]
	if s == nil || after >= uint64(len(s.records)) {
		return memoryRecord{}, false
	}
	return s.records[after], true
}

func (r memoryRecord) decode() (engine.Record, error) {
	record := r.record
	event, err := engine.Decode(r.typ, r.body)
	record.Event = event
	return record, err
}

// Snapshot implements [store.Store].
func (m *Memory) Snapshot(ctx context.Context, stream string) (uint64, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[stream]
	if s == nil || s.snapshot == nil {
		return 0, nil, ctx.Err()
	}
	return s.at, bytes.Clone(s.snapshot), ctx.Err()
}

// Changed implements [store.Store].
func (m *Memory) Changed(ctx context.Context, token string) ([]string, string, error) {
	var since uint64
	if token != "" {
		n, err := strconv.ParseUint(token, 10, 64)
		if err != nil {
			return nil, "", fmt.Errorf("read what changed: token %q is none of this store's", token)
		}
		since = n
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var streams []string
	for _, name := range slices.Sorted(maps.Keys(m.streams)) {
		if m.streams[name].changed > since {
			streams = append(streams, name)
		}
	}
	return streams, strconv.FormatUint(m.records, 10), ctx.Err()
}

// Heads implements [store.Store].
func (m *Memory) Heads(ctx context.Context, filter store.HeadFilter) ([]engine.HeadRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var heads []engine.HeadRow
	for name, s := range m.streams {
		for _, r := range slices.Backward(s.runs) {
			if runMatches(filter, name, r.head) {
				heads = append(heads, r.head)
			}
		}
	}
	if filter.Stream == "" {
		slices.SortStableFunc(heads, func(a, b engine.HeadRow) int {
			return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.Stream, b.Stream))
		})
	}
	if filter.Limit > 0 && len(heads) > filter.Limit {
		heads = heads[:filter.Limit]
	}
	return heads, ctx.Err()
}

func runMatches(f store.HeadFilter, stream string, head engine.HeadRow) bool {
	return (f.Stream == "" || f.Stream == stream) &&
		(f.Under == "" || strings.HasPrefix(stream, engine.ChildTask(f.Under, ""))) &&
		(!f.Top || head.Parent == engine.Parent{}) &&
		(f.Run == "" || f.Run == head.Run) &&
		strings.HasPrefix(head.Run, f.Prefix) &&
		strings.Contains(store.Fold(head.Title), store.Fold(f.Title)) &&
		(len(f.Status) == 0 || slices.Contains(f.Status, head.Shown()))
}

// Items implements [store.Store].
func (m *Memory) Items(ctx context.Context, filter store.ItemFilter) ([]engine.ItemRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var items []engine.ItemRow
	for _, item := range m.items {
		if itemMatches(filter, item) {
			items = append(items, ownItem(item))
		}
	}
	slices.SortFunc(items, store.CompareItems)
	if filter.Limit > 0 && len(items) > filter.Limit {
		items = items[:filter.Limit]
	}
	return items, ctx.Err()
}

// CountItems implements [store.Store].
func (m *Memory) CountItems(ctx context.Context, filter store.ItemFilter) (int, error) {
	filter.Limit = 0
	items, err := m.Items(ctx, filter)
	return len(items), err
}

func itemMatches(f store.ItemFilter, item engine.ItemRow) bool {
	return (!f.Open || item.Open) &&
		(f.Stream == "" || f.Stream == item.Stream) &&
		(f.Run == "" || f.Run == item.Run)
}

// Steps implements [store.Store].
func (m *Memory) Steps(ctx context.Context, filter store.StepFilter) ([]engine.StepRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var r *memoryRun
	if s := m.streams[filter.Stream]; s != nil {
		r = s.run(filter.Run)
	}
	if r == nil {
		return nil, ctx.Err()
	}
	var steps []engine.StepRow
	for _, index := range slices.Sorted(maps.Keys(r.steps)) {
		if filter.Fits(r.steps[index]) && (filter.Limit == 0 || len(steps) < filter.Limit) {
			step := ownStep(r.steps[index])
			if filter.Brief {
				step = store.Briefly(step)
			}
			steps = append(steps, step)
		}
	}
	return steps, ctx.Err()
}

// CountSteps implements [store.Store].
func (m *Memory) CountSteps(ctx context.Context, filter store.StepFilter) (int, error) {
	filter.Limit = 0
	steps, err := m.Steps(ctx, filter)
	return len(steps), err
}

// Marks implements [store.Store].
func (m *Memory) Marks(ctx context.Context, stream string, from, before uint64) ([]engine.Mark, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.streams[stream]
	if s == nil {
		return nil, ctx.Err()
	}
	var marks []engine.Mark
	for _, one := range s.marks {
		if one.Seq >= from && (before == 0 || one.Seq < before) {
			one.Was.Loop, one.Is.Loop = ownLoop(one.Was.Loop), ownLoop(one.Is.Loop)
			marks = append(marks, one)
		}
	}
	return marks, ctx.Err()
}

// Marked implements [store.Store].
func (m *Memory) Marked(ctx context.Context, f store.MarkFilter) ([]store.Marked, error) {
	marks, err := m.Marks(ctx, f.Stream, f.From, f.Before)
	if err != nil {
		return nil, err
	}
	var all []store.Marked
	for _, one := range marks {
		wanted := slices.Contains(f.Steps, one.Step) || len(f.Steps) == 0 && one.Step == ""
		if f.Newest > 0 {
			wanted = one.Frame > 0
		} else if f.Failed {
			wanted = one.Failed
		} else if f.Frames.Len() > 0 {
			wanted = one.Frame >= f.Frames.Start && one.Frame < f.Frames.End && one.Frame > 0
		}
		if !wanted {
			continue
		}
		stored, found := m.record(f.Stream, one.Seq-1)
		if !found {
			return nil, fmt.Errorf("read record %d of %s: %w", one.Seq, f.Stream, store.ErrCorrupt)
		}
		record, err := stored.decode()
		if err != nil {
			return nil, err
		}
		all = append(all, store.Marked{Record: record, Mark: one})
	}
	if f.Newest > 0 && len(all) > f.Newest {
		all = all[len(all)-f.Newest:]
	}
	return all, nil
}

// Things implements [store.Store].
func (m *Memory) Things(ctx context.Context, f store.ThingFilter) ([]engine.ThingRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []engine.ThingRow
	for _, r := range m.things {
		if (f.Kind == "" || r.Kind == f.Kind) && (f.Key == "" || r.Key == f.Key) && strings.HasPrefix(r.Key, f.Prefix) && (f.Of == "" || r.Of == f.Of) && (r.Open || !f.Open) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, engine.ThingRow.Compare)
	if f.Newest && len(found) > 1 {
		found = found[len(found)-1:]
	}
	return found, ctx.Err()
}

// Object implements [store.Store].
func (m *Memory) Object(ctx context.Context, hash string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, known := m.objects[hash]
	if !known {
		return nil, fmt.Errorf("read object %q: %w", hash, store.ErrNotFound)
	}
	return bytes.Clone(body), ctx.Err()
}

// Own implements [store.Store].
func (m *Memory) Own(ctx context.Context, workspace string) (uint64, func() error, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return 0, nil, fmt.Errorf("own %s: %w", workspace, ctx.Err())
	case m.owned:
		return 0, nil, fmt.Errorf("own %s: release it first: %w", workspace, store.ErrOwned)
	case m.workspace != "" && m.workspace != workspace:
		return 0, nil, fmt.Errorf("own %s: the store is of the workspace %s", workspace, m.workspace)
	}
	m.workspace, m.owned = workspace, true
	m.epoch++
	return m.epoch, m.releaser(m.epoch), nil
}

func (m *Memory) releaser(epoch uint64) func() error {
	return func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.owned || m.epoch != epoch {
			return errors.New("release: not the owner any more")
		}
		m.owned = false
		return nil
	}
}

// Close implements [store.Store].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owned = false
	return nil
}
