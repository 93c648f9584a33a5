//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// TestFenced takes the workspace over as it could happen where locks do not
// hold: the first owner must notice in its next transaction.
func TestFenced(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	first, old := owned(t, dir)
	defer first.Close()
	write(t, first, settled("a", 0, old, 1))
	if err := os.Remove(filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	second, epoch := owned(t, dir)
	defer second.Close()
	for range 2 {
		if err := first.Append(t.Context(), settled("a", 1, old, 1)); !errors.Is(err, store.ErrFenced) {
			t.Errorf("append of the old owner: %v, want ErrFenced", err)
		}
	}
	write(t, second, settled("a", 1, epoch, 1))
	if n := len(read(t, second, "a")); n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

// leaveLockToChild owns a journal, starts a child that has its files, and is gone:
// what happens if an owner dies while a child of it has not yet begun its program.
func leaveLockToChild(args []string) error {
	s, _, err := sqlite.Open(context.Background(), sqlite.Config{Dir: args[0]})
	if err != nil {
		return err
	}
	if _, _, err := s.Own(context.Background(), "workspace"); err != nil {
		return err
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"=hold")
	c.Stdin = os.Stdin
	for n := uintptr(3); n < 64; n++ {
		if fd, err := unix.FcntlInt(n, unix.F_DUPFD_CLOEXEC, 0); err == nil {
			c.ExtraFiles = append(c.ExtraFiles, os.NewFile(uintptr(fd), "inherited"))
		}
	}
	if err := c.Start(); err != nil {
		return err
	}
	fmt.Println("left")
	return nil
}

func holdUntilEOF([]string) error {
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// The child of a dead owner has its files, and not its lock.
func TestOwnAfterADeadOwnerWithAChild(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	openIn(t, dir).Close()
	c := start(t, "leave", dir)
	c.expect(t, "left")
	c.Process.Wait()
	own(t, openIn(t, dir))
	c.in.Close() // the child ends
}

// Two journals of one workspace have one owner at a time.
func TestGuardOfTheWorkspace(t *testing.T) {
	t.Parallel()
	guard := scratch(t)
	open := func() *sqlite.Store {
		s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: scratch(t), Guard: guard})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	first, second := open(), open()
	_, release, err := first.Own(t.Context(), "workspace")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.Own(t.Context(), "workspace"); !errors.Is(err, store.ErrElsewhere) || errors.Is(err, store.ErrOwned) {
		t.Errorf("two owners: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	own(t, second)
}

// An owner whose files were removed writes no anchor beside the journal that
// another one has begun there since.
func TestRemovedUnderItsOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch(t), "state")
	first, epoch := owned(t, dir)
	write(t, first, settled("t", 0, epoch, 9))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	second, epoch := owned(t, dir)
	write(t, second, settled("t", 0, epoch, 1))
	if err := errors.Join(second.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	if err := openIn(t, dir).Close(); err != nil {
		t.Error(err)
	}
}
