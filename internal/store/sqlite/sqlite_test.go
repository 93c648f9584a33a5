package sqlite_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

func TestSQLite(t *testing.T) {
	t.Parallel()
	dirs := map[store.Store]string{}
	open := func(t *testing.T) store.Store {
		dir := filepath.Join(scratch(t), "a b#c%20d&e", "state")
		s := openIn(t, dir)
		dirs[s] = dir
		return s
	}
	storetest.Exercise(t, open, func(t *testing.T, s store.Store) store.Store {
		dir := dirs[s]
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openIn(t, dir)
		dirs[s] = dir
		return s
	})
}

// TestItemsInOrder: all items, and the oldest of them, come in the order that
// they were opened in.
func TestItemsInOrder(t *testing.T) {
	t.Parallel()
	const n = 2_500
	s, epoch := owned(t, scratch(t))
	defer s.Close()
	waiting(t, s, epoch, n)
	for _, filter := range []store.ItemFilter{{}, {Open: true}, {Open: true, Limit: n}, {Open: true, Limit: 1_100}} {
		items, err := s.Items(t.Context(), filter)
		if want := cmp.Or(filter.Limit, n); err != nil || len(items) != want {
			t.Fatalf("%+v: %d items, %v", filter, len(items), err)
		}
		for i, it := range items {
			if want := fmt.Sprintf("r/%d", i+1); it.Item != want || it.Step != fmt.Sprintf("step-%d", i) {
				t.Fatalf("%+v: item %d is %s of %s, want %s", filter, i, it.Item, it.Step, want)
			}
		}
	}
}
