package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

func TestBackup(t *testing.T) {
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
	dir, to := scratch(t), scratch(t)
	sample(t, dir)
	s := openIn(t, dir)
	defer s.Close()
	if err := s.Backup(t.Context(), to); !errors.Is(err, os.ErrExist) {
		t.Errorf("back up to what exists: %v, want os.ErrExist", err)
	}
}

func TestFailedBackupLeavesNothing(t *testing.T) {
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

func TestVersions(t *testing.T) {
	dir := scratch(t)
	sample(t, dir)
	want := contents(t, dir)
	next := sqlite.Config{Dir: dir}.WithNext("ALTER TABLE head ADD COLUMN note TEXT")

	owner, _ := owned(t, dir)
	next.LockRetry = 1
	if _, _, err := sqlite.Open(t.Context(), next); !errors.Is(err, store.ErrOwned) {
		t.Errorf("upgrade under an owner: %v, want ErrOwned", err)
	}
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	late := openIn(t, dir)
	defer late.Close()
	s, _, err := sqlite.Open(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := late.Own(t.Context(), "workspace"); !errors.Is(err, store.ErrNewer) {
		t.Errorf("own what was upgraded meanwhile: %v, want ErrNewer", err)
	}
	if _, err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	write(t, s, settled("a", 20, own(t, s), 1))
	s.Close()

	if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("open a newer version: %v, want ErrNewer", err)
	}
	kept := scratch(t) // the file as it was before
	writeFile(t, filepath.Join(kept, "journal.db"), readFile(t, filepath.Join(dir, "journal.v2.db")))
	if diff := cmp.Diff(want, contents(t, kept)); diff != "" {
		t.Errorf("the kept file's records (- want, + got):\n%s", diff)
	}
}

func TestFailedUpgradeChangesNothing(t *testing.T) {
	dir := scratch(t)
	sample(t, dir)
	broken := sqlite.Config{Dir: dir}.WithNext("ALTER TABLE head ADD COLUMN note TEXT; nonsense")
	if _, _, err := sqlite.Open(t.Context(), broken); err == nil {
		t.Fatal("a broken upgrade succeeded")
	}
	if _, err := inspect(t, dir); err != nil {
		t.Errorf("after a failed upgrade: %v", err)
	}
}
