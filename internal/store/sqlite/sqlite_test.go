package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
	"github.com/piton-dev/piton/internal/store/storetest"
)

func TestSQLite(t *testing.T) {
	dirs := map[store.Store]string{}
	open := func(t *testing.T) store.Store {
		dir := filepath.Join(t.TempDir(), "a b?c#d%20", "state")
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

func openIn(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
