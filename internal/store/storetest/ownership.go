package storetest

import (
	"errors"
	"testing"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/store"
)

func ownership(t *testing.T, s store.Store) {
	if err := s.Append(t.Context(), batch("a", 0, 0, 1)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("append without an owner: %v, want ErrFenced", err)
	}
	first, release, err := s.Own(t.Context(), "w")
	if err != nil || first == 0 {
		t.Fatalf("own: epoch %d, %v", first, err)
	}
	if _, _, err := s.Own(t.Context(), "w"); !errors.Is(err, store.ErrOwned) {
		t.Errorf("own what is owned: %v, want ErrOwned", err)
	}
	write(t, s, batch("a", 0, first, 1))
	if err := release(); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := release(); err == nil {
		t.Error("a second release said nothing")
	}
	if err := s.Append(t.Context(), batch("a", 1, first, 1)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("append after the release: %v, want ErrFenced", err)
	}
	if _, _, err := s.Own(t.Context(), "another"); err == nil {
		t.Error("the store of one workspace was given to another")
	}
	expectLengths(t, s, []string{"a"}, 1)
}

func fencing(t *testing.T, s store.Store) {
	first, release, err := s.Own(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, batch("a", 0, first, 1))
	if err := release(); err != nil {
		t.Fatal(err)
	}
	second, _, err := s.Own(t.Context(), "w")
	if err != nil || second <= first {
		t.Fatalf("second epoch %d after %d, %v", second, first, err)
	}
	for _, epoch := range []uint64{first, second + 1, 0} {
		err := s.Append(t.Context(), batch("b", 0, second, 1), batch("a", 1, epoch, 1))
		if !errors.Is(err, store.ErrFenced) {
			t.Errorf("append under epoch %d: %v, want ErrFenced", epoch, err)
		}
	}
	expectLengths(t, s, []string{"a", "b"}, 1, 0)
	write(t, s, batch("a", 1, second, 1))
	equal(t, "records of two epochs", records(t, s, "a", 0), []engine.Record{record("a", 1, first), record("a", 2, second)})
}

// reopening closes the store twice: owned, and after a release.
func reopening(t *testing.T, open func(t *testing.T) store.Store, reopen func(*testing.T, store.Store) store.Store) {
	s := open(t)
	epoch := own(t, s)
	head := headRow("a", "r", engine.Running, store.Micro(began()))
	small, large := store.NewObject([]byte("small")), store.NewObject(make([]byte, 100<<10))
	b := batch("a", 0, epoch, 3)
	b.Objects = []store.Object{small, large}
	b.Snapshot = []byte("snap")
	b.Rows = engine.Rows{
		Head:  &head,
		Steps: []engine.StepRow{{Index: 0, ID: "s", Needs: []string{"x", "y"}}},
		Items: []engine.ItemRow{{ItemOpened: engine.ItemOpened{Item: "i"}, Stream: "a", Run: "r", Opened: store.Micro(began()), Open: true}},
	}
	write(t, s, b)
	_, token, err := s.Changed(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}

	for range 2 {
		s = reopen(t, s)
		equal(t, "records", records(t, s, "a", 0), b.Records)
		equal(t, "rows", stored(t, s, "a"), b.Rows)
		for _, o := range b.Objects {
			if body, err := s.Object(t.Context(), o.Hash); len(body) != len(o.Body) || err != nil {
				t.Errorf("object: %d bytes, %v", len(body), err)
			}
		}
		if seq, body, err := s.Snapshot(t.Context(), "a"); seq != 3 || string(body) != "snap" || err != nil {
			t.Errorf("snapshot: %d, %q, %v", seq, body, err)
		}
		expectChanged(t, s, token)
		expectChanged(t, s, "", "a")
		next, release, err := s.Own(t.Context(), "workspace")
		if err != nil || next <= epoch {
			t.Fatalf("epoch %d after %d, %v", next, epoch, err)
		}
		epoch = next
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	epoch = own(t, s)
	write(t, s, batch("a", 3, epoch, 1), batch("b", 0, epoch, 1))
	expectChanged(t, s, token, "a", "b")
	expectLengths(t, s, []string{"a", "b"}, 4, 1)
	closing(t, s)
}
