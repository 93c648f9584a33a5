package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

func empty(t *testing.T, s store.Store) {
	equal(t, "records", records(t, s, "a", 0), nil)
	equal(t, "steps", stepsOf(t, s, "a", "r"), nil)
	equal(t, "items", itemsOf(t, s, store.ItemFilter{}), nil)
	if seq, body, err := s.Snapshot(t.Context(), "a"); seq != 0 || body != nil || err != nil {
		t.Errorf("snapshot of nothing: %d, %q, %v", seq, body, err)
	}
	if streams, _, err := s.Changed(t.Context(), ""); len(streams) > 0 || err != nil {
		t.Errorf("changed: %v, %v", streams, err)
	}
	if heads, err := s.Heads(t.Context(), store.HeadFilter{}); len(heads) > 0 || err != nil {
		t.Errorf("heads: %v, %v", heads, err)
	}
}

func appendAndRead(t *testing.T, s store.Store) {
	epoch := own(t, s)
	var want []engine.Record
	for _, n := range []int{1, 3, 700} {
		b := batch("a", uint64(len(want)), epoch, n)
		write(t, s, b)
		want = append(want, b.Records...)
	}
	equal(t, "all records", records(t, s, "a", 0), want)
	equal(t, "records after 2", records(t, s, "a", 2), want[2:])
	equal(t, "records after the last", records(t, s, "a", 704), nil)
	equal(t, "records far after the last", records(t, s, "a", 9999), nil)
	equal(t, "records of another stream", records(t, s, "b", 0), nil)
	for r := range s.Read(t.Context(), "a", 0) { // stopping early is allowed
		equal(t, "first record", r, want[0])
		break
	}
}

func readWhileAppending(t *testing.T, s store.Store) {
	epoch := own(t, s)
	write(t, s, batch("a", 0, epoch, 3))
	seen := uint64(0)
	for r, err := range s.Read(t.Context(), "a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; r.Seq != seen {
			t.Fatalf("got record %d in the place of %d", r.Seq, seen)
		}
		if seen <= 3 {
			write(t, s, batch("a", 2+seen, epoch, 1))
			expectLengths(t, s, []string{"a"}, int(3+seen))
		}
	}
	if seen < 3 {
		t.Errorf("read %d records, want the 3 that were there, or more", seen)
	}
}

func conflict(t *testing.T, s store.Store) {
	epoch := own(t, s)
	write(t, s, batch("a", 0, epoch, 2))
	object := store.NewObject([]byte("of a batch that is refused"))
	for _, after := range []uint64{0, 1, 3} {
		fits := batch("b", 0, epoch, 1)
		fits.Objects = []store.Object{object}
		err := s.Append(t.Context(), fits, batch("a", after, epoch, 1))
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("append after %d: %v, want ErrConflict", after, err)
		}
	}
	expectLengths(t, s, []string{"a", "b"}, 2, 0)
	if _, err := s.Object(t.Context(), object.Hash); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("object of a refused batch: %v, want ErrNotFound", err)
	}
	write(t, s, batch("a", 2, epoch, 1)) // a refusal harms nobody
}

func severalStreams(t *testing.T, s store.Store) {
	epoch := own(t, s)
	write(t, s, batch("a", 0, epoch, 2), batch("b", 0, epoch, 1), batch(engine.WorkspaceStream, 0, epoch, 3))
	expectLengths(t, s, []string{"a", "b", engine.WorkspaceStream}, 2, 1, 3)
}

func oneStreamTwice(t *testing.T, s store.Store) {
	epoch := own(t, s)
	write(t, s, batch("a", 0, epoch, 2), batch("a", 2, epoch, 1))
	err := s.Append(t.Context(), batch("a", 3, epoch, 2), batch("a", 3, epoch, 1))
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("a second batch after the same record: %v, want ErrConflict", err)
	}
	expectLengths(t, s, []string{"a"}, 3)
}

func invalidBatches(t *testing.T, s store.Store) {
	epoch := own(t, s)
	tests := map[string]func(*store.Batch){
		"no stream":               func(b *store.Batch) { b.Stream = "" },
		"a gap":                   func(b *store.Batch) { b.Records[1].Seq++ },
		"another stream's record": func(b *store.Batch) { b.Records[1].Stream = "b" },
		"another epoch's record":  func(b *store.Batch) { b.Records[1].Epoch++ },
		"no event":                func(b *store.Batch) { b.Records[1].Event = nil },
		"another stream's head":   func(b *store.Batch) { b.Rows.Head = &engine.HeadRow{Stream: "b"} },
		"an earlier head of another stream": func(b *store.Batch) {
			b.Rows.Earlier = []engine.Rows{{Head: &engine.HeadRow{Stream: "b"}}}
		},
		"steps of no run": func(b *store.Batch) { b.Rows.Steps = []engine.StepRow{{ID: "s"}} },
		"another stream's item": func(b *store.Batch) {
			b.Rows.Items = []engine.ItemRow{{Stream: "b", ItemOpened: engine.ItemOpened{Item: "i"}}}
		},
		"an object of a false hash": func(b *store.Batch) { b.Objects = []store.Object{{Hash: strings.Repeat("0", 64)}} },
	}
	for name, spoil := range tests {
		b := batch("a", 0, epoch, 2)
		spoil(&b)
		if err := s.Append(t.Context(), b); err == nil {
			t.Errorf("%s: was appended", name)
		}
	}
	expectLengths(t, s, []string{"a"}, 0)
	write(t, s, batch("a", 0, epoch, 1))
}

func objects(t *testing.T, s store.Store) {
	epoch := own(t, s)
	var all []store.Object
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 300 << 10} {
		all = append(all, store.NewObject(bytes.Repeat([]byte{byte(size), 7}, size)[:size]))
	}
	b := batch("a", 0, epoch, 1)
	b.Objects = append(slices.Clone(all), all...) // each twice
	write(t, s, b)
	b = batch("b", 0, epoch, 1)
	b.Objects = all // and once more
	write(t, s, b)
	for _, o := range all {
		body, err := s.Object(t.Context(), o.Hash)
		if err != nil || !bytes.Equal(body, o.Body) {
			t.Errorf("object of %d bytes: got %d bytes, %v", len(o.Body), len(body), err)
		}
	}
	for _, hash := range []string{"", "x", "../../lock", store.NewObject([]byte("absent")).Hash, all[0].Hash + "00"} {
		if _, err := s.Object(t.Context(), hash); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("object %q: %v, want ErrNotFound", hash, err)
		}
	}
}

func noRecords(t *testing.T, s store.Store) {
	epoch := own(t, s)
	object := store.NewObject([]byte("alone"))
	write(t, s, store.Batch{Stream: "a", Epoch: epoch, Objects: []store.Object{object}})
	if _, err := s.Object(t.Context(), object.Hash); err != nil {
		t.Error(err)
	}
	write(t, s, batch("a", 0, epoch, 2))
	write(t, s, store.Batch{Stream: "a", After: 2, Epoch: epoch, Snapshot: []byte("two"), Rows: engine.Rows{Head: &engine.HeadRow{Stream: "a", Run: "r"}}})
	if seq, body, err := s.Snapshot(t.Context(), "a"); seq != 2 || string(body) != "two" || err != nil {
		t.Errorf("snapshot: %d, %q, %v", seq, body, err)
	}
	if err := s.Append(t.Context(), store.Batch{Stream: "a", After: 1, Epoch: epoch}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("no records after 1: %v, want ErrConflict", err)
	}
	write(t, s, batch("a", 2, epoch, 1))
	write(t, s) // nothing at all
}

func snapshots(t *testing.T, s store.Store) {
	epoch := own(t, s)
	for i, text := range []string{"one", "", "three"} {
		b := batch("a", uint64(i), epoch, 1)
		if text != "" {
			b.Snapshot = []byte(text)
		}
		write(t, s, b)
		want, at := text, uint64(i+1)
		if text == "" {
			want, at = "one", 1
		}
		if seq, body, err := s.Snapshot(t.Context(), "a"); seq != at || string(body) != want || err != nil {
			t.Errorf("snapshot after record %d: %d, %q, %v; want %d, %q", i+1, seq, body, err, at, want)
		}
	}
	if seq, body, err := s.Snapshot(t.Context(), "b"); seq != 0 || body != nil || err != nil {
		t.Errorf("snapshot of another stream: %d, %q, %v", seq, body, err)
	}
}

func changed(t *testing.T, s store.Store) {
	epoch := own(t, s)
	_, start, err := s.Changed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, batch("a", 0, epoch, 2), batch("b", 0, epoch, 1))
	middle := expectChanged(t, s, start, "a", "b")
	expectChanged(t, s, "", "a", "b")
	expectChanged(t, s, middle)
	write(t, s, batch("b", 1, epoch, 1))
	end := expectChanged(t, s, middle, "b")
	expectChanged(t, s, start, "a", "b")
	expectChanged(t, s, end)
	if _, _, err := s.Changed(t.Context(), "no token"); err == nil {
		t.Error("a token of nobody was taken")
	}
}

// expectChanged is strict where the contract lets a store name too many: none
// of ours does, and a follower's cost rests on it.
func expectChanged(t *testing.T, s store.Store, token string, want ...string) string {
	t.Helper()
	streams, next, err := s.Changed(t.Context(), token)
	if err != nil || !slices.Equal(streams, want) {
		t.Errorf("changed since %q: %v, %v; want %v", token, streams, err, want)
	}
	return next
}

// nothingIsShared changes what was given to and got from the store.
func nothingIsShared(t *testing.T, s store.Store) {
	epoch := own(t, s)
	body, snapshot, needs, choices := []byte("body"), []byte("snap"), []string{"x"}, []string{"yes"}
	b := batch("a", 0, epoch, 1)
	b.Objects = []store.Object{store.NewObject(body)}
	b.Snapshot = snapshot
	b.Rows.Head = &engine.HeadRow{Stream: "a", Run: "r"}
	b.Rows.Steps = []engine.StepRow{{Index: 0, ID: "s", Needs: needs}}
	b.Rows.Items = []engine.ItemRow{{Stream: "a", ItemOpened: engine.ItemOpened{Item: "i", Choices: choices}}}
	write(t, s, b)
	hash := b.Objects[0].Hash
	spoil := func() { body[0], snapshot[0], needs[0], choices[0] = 'X', 'X', "X", "X" }
	for range 2 {
		spoil()
		var err error
		if body, err = s.Object(t.Context(), hash); string(body) != "body" || err != nil {
			t.Errorf("object: %q, %v", body, err)
		}
		if _, snapshot, err = s.Snapshot(t.Context(), "a"); string(snapshot) != "snap" || err != nil {
			t.Errorf("snapshot: %q, %v", snapshot, err)
		}
		needs = stepsOf(t, s, "a", "r")[0].Needs
		choices = itemsOf(t, s, store.ItemFilter{})[0].Choices
		equal(t, "needs", needs, []string{"x"})
		equal(t, "choices", choices, []string{"yes"})
	}
}

// concurrentAppends lets writers of many streams, and several of one stream,
// append at once; those of one stream take turns by way of conflicts.
func concurrentAppends(t *testing.T, s store.Store) {
	epoch := own(t, s)
	const alone, each, together = 8, 20, 4
	var group sync.WaitGroup
	for i := range alone {
		group.Go(func() {
			for n := range uint64(each) {
				if err := s.Append(t.Context(), batch(fmt.Sprintf("own-%d", i), n, epoch, 1)); err != nil {
					t.Errorf("append to own-%d after %d: %v", i, n, err)
				}
			}
		})
	}
	for range together {
		group.Go(func() { contend(t, s, epoch, each) })
	}
	group.Wait()
	for i := range alone {
		expectLengths(t, s, []string{fmt.Sprintf("own-%d", i)}, each)
	}
	for i, r := range records(t, s, "shared", 0) {
		if r.Seq != uint64(i+1) {
			t.Fatalf("record %d has seq %d", i+1, r.Seq)
		}
	}
	expectLengths(t, s, []string{"shared"}, together*each)
}

func contend(t *testing.T, s store.Store, epoch uint64, n int) {
	for head := uint64(0); n > 0; {
		err := s.Append(t.Context(), batch("shared", head, epoch, 1))
		switch {
		case err == nil:
			n--
			head++
		case errors.Is(err, store.ErrConflict):
			for r, err := range s.Read(t.Context(), "shared", head) {
				if err != nil {
					t.Error(err)
					return
				}
				head = r.Seq
			}
		default:
			t.Error(err)
			return
		}
	}
}

func cancelledContexts(t *testing.T, s store.Store) {
	epoch := own(t, s)
	write(t, s, batch("a", 0, epoch, 1))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Append(gone, batch("a", 1, epoch, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v, want context.Canceled", err)
	}
	var got error
	for _, err := range s.Read(gone, "a", 0) {
		got = err
	}
	if !errors.Is(got, context.Canceled) {
		t.Errorf("read: %v, want context.Canceled", got)
	}
	expectLengths(t, s, []string{"a"}, 1)
	write(t, s, batch("a", 1, epoch, 1)) // a caller that gave up harms nobody
}
