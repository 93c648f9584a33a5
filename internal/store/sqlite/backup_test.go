package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

func TestBackup(t *testing.T) {
	t.Parallel()
	dir, to := scratch(t), filepath.Join(scratch(t), "copy of #1")
	sample(t, dir)
	want := contents(t, dir)
	s, epoch := owned(t, dir)
	defer s.Close()
	if err := s.Backup(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	write(t, s, settled("a", 20, epoch, 1)) // not in the copy

	if diff := cmp.Diff(want, contents(t, to)); diff != "" {
		t.Errorf("the copy's records (- want, + got):\n%s", diff)
	}
	if report, err := inspect(t, to); err != nil || report.Objects != 21 {
		t.Errorf("the copy: %+v, %v", report, err)
	}
	copied, next := owned(t, to) // it takes the place of a lost one
	defer copied.Close()
	if next <= epoch {
		t.Errorf("the copy goes on with epoch %d, after %d", next, epoch)
	}
	write(t, copied, settled("a", 20, next, 1))
	if _, err := copied.Object(t.Context(), largeObject("large", 0).Hash); err != nil {
		t.Error(err)
	}
}

func TestBackupOverwritesNothing(t *testing.T) {
	t.Parallel()
	dir, to := scratch(t), scratch(t)
	sample(t, dir)
	s := openIn(t, dir)
	defer s.Close()
	if err := s.Backup(t.Context(), to); !errors.Is(err, os.ErrExist) {
		t.Errorf("back up to what exists: %v, want os.ErrExist", err)
	}
}

func TestFailedBackupLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	tamper(t, dir, "UPDATE object SET body = x'78' WHERE id = 3")
	s := openIn(t, dir)
	defer s.Close()
	to := filepath.Join(scratch(t), "copy")
	if err := s.Backup(t.Context(), to); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("back up what is damaged: %v, want ErrCorrupt", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(gone, to); !errors.Is(err, context.Canceled) {
		t.Errorf("back up with a cancelled context: %v", err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is left: %v", err)
	}
}

// A journal of another schema is refused, and left as it is; one whose version
// alone was changed is damaged.
func TestOtherVersions(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	sample(t, dir)
	late := openIn(t, dir)
	defer late.Close()
	tamper(t, dir, "PRAGMA user_version = 7")
	before := readFile(t, filepath.Join(dir, "journal.db"))
	if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("open with another version: %v, want ErrCorrupt", err)
	}
	report, err := inspect(t, dir)
	if !errors.Is(err, store.ErrCorrupt) || len(report.Faults) != 1 || report.Faults[0].What != "its version is not that of its tables" {
		t.Errorf("verify: %v, %v", report.Faults, err)
	}
	if !bytes.Equal(before, readFile(t, filepath.Join(dir, "journal.db"))) {
		t.Error("the file was changed")
	}
	tamper(t, dir, "ALTER TABLE head ADD COLUMN note TEXT")
	for _, look := range []bool{false, true} {
		_, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Inspect: look})
		if !errors.Is(err, store.ErrVersion) || !strings.Contains(err.Error(), "its version is 7") {
			t.Errorf("open with other tables (inspect %t): %v, want ErrVersion", look, err)
		}
	}
	if _, _, err := late.Own(t.Context(), "workspace"); !errors.Is(err, store.ErrVersion) {
		t.Errorf("own what was changed meanwhile: %v, want ErrVersion", err)
	}
}
