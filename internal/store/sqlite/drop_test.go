package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/store"
)

func TestDrop(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, epoch := owned(t, dir)
	small, large, stays := store.NewObject([]byte("small")), store.NewObject(bytes.Repeat([]byte("large"), 100_000)), store.NewObject(bytes.Repeat([]byte("stays"), 100_000))
	b := settled("t", 0, epoch, 1)
	b.Objects = []store.Object{small, large, stays}
	write(t, s, b)
	left := filepath.Join(dir, "objects", "ab", "left-by-a-crash")
	if err := os.MkdirAll(filepath.Dir(left), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, left, []byte("nobody's"))

	count, size, err := s.Drop(t.Context(), []string{small.Hash, large.Hash, store.NewObject(nil).Hash})
	if err != nil || count != 2 || size != int64(len(small.Body)+len(large.Body)) {
		t.Fatalf("Drop = %d, %d, %v", count, size, err)
	}
	for _, o := range []store.Object{small, large} {
		if _, err := s.Object(t.Context(), o.Hash); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("object %.8s: %v", o.Hash, err)
		}
	}
	if body, err := s.Object(t.Context(), stays.Hash); err != nil || !bytes.Equal(body, stays.Body) {
		t.Errorf("the object that was not dropped: %v", err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that no row names is left: %v", err)
	}
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	next := settled("t", 1, epoch, 1)
	next.Objects = []store.Object{small, large} // what was dropped can come again
	write(t, s, next)
	if _, err := s.Object(t.Context(), large.Hash); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheOwnerDrops(t *testing.T) {
	t.Parallel()
	s := openIn(t, scratch(t))
	if _, _, err := s.Drop(t.Context(), nil); !errors.Is(err, store.ErrFenced) {
		t.Errorf("Drop without ownership: %v", err)
	}
}
