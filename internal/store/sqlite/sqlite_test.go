package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/storetest"
)

func TestSQLite(t *testing.T) {
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
