package cli

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/engine"
	"github.com/piton-dev/piton/internal/run"
	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// TestOlderJournal opens a journal that a program of version 1 wrote, which
// kept rows of a plan's newest run only. It holds three runs of one plan.
func TestOlderJournal(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/journal-v1")); err != nil {
		t.Fatal(err)
	}
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Rows: run.Rows})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heads, err := s.Heads(t.Context(), store.HeadFilter{})
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Title  string
		Status engine.Status
		Proven int
	}
	var got []line
	for _, h := range heads {
		got = append(got, line{h.Title, h.Status, h.Proven})
	}
	want := []line{{"Three times over", engine.Failed, 0}, {"Three times", engine.Done, 2}, {"Three times", engine.Failed, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (- want, + got):\n%s", diff)
	}
	steps, err := s.Steps(t.Context(), heads[0].Stream, heads[1].Run)
	if err != nil || len(steps) != 2 || !steps[0].Proven {
		t.Errorf("steps of the second run: %+v, %v", steps, err)
	}
	made, err := run.Rows(t.Context(), s, heads[0].Stream)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := store.Rows(t.Context(), s, heads[0].Stream)
	if diff := cmp.Diff(made, kept); diff != "" || err != nil {
		t.Errorf("%v; rows (- from the records, + kept):\n%s", err, diff)
	}
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOlderJournalWithoutItsPrograms keeps the rows that it had where they
// cannot be made anew.
func TestOlderJournalWithoutItsPrograms(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/journal-v1")); err != nil {
		t.Fatal(err)
	}
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}) // nobody who can replay
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	heads, err := s.Heads(t.Context(), store.HeadFilter{Title: "three TIMES"})
	if err != nil || len(heads) != 1 || heads[0].Title != "Three times over" {
		t.Fatalf("runs: %+v, %v", heads, err)
	}
	steps, err := s.Steps(t.Context(), heads[0].Stream, heads[0].Run)
	ids := slices.Collect(func(yield func(string) bool) {
		for _, s := range steps {
			if !yield(s.ID) {
				return
			}
		}
	})
	if diff := cmp.Diff([]string{"first", "second"}, ids); diff != "" || err != nil {
		t.Errorf("%v; steps (- want, + got):\n%s", err, diff)
	}
}
