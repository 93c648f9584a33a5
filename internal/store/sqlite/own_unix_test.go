//go:build unix

package sqlite_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

// TestFenced takes the workspace over as it could happen where locks do not
// hold: the first owner must notice in its next transaction.
func TestFenced(t *testing.T) {
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

// leaveLockToChild takes the lock, gives it to a child and is gone: what
// happens if an owner dies while a child of it has not yet begun its program.
func leaveLockToChild(args []string) error {
	lock, err := os.OpenFile(filepath.Join(args[0], "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	if _, err := lock.WriteString(sqlite.Self() + "\n"); err != nil {
		return err
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"=hold")
	c.Stdin, c.ExtraFiles = os.Stdin, []*os.File{lock}
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

func TestOwnWaitsForTheChildOfADeadOwner(t *testing.T) {
	dir := scratch(t)
	openIn(t, dir).Close()
	c := start(t, "leave", dir)
	c.expect(t, "left")
	c.Process.Wait()

	short, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, LockRetry: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	began := time.Now()
	if _, _, err := short.Own(t.Context(), "workspace"); !errors.Is(err, store.ErrOwned) || time.Since(began) < 50*time.Millisecond {
		t.Errorf("own: %v after %s, want ErrOwned after 50ms", err, time.Since(began))
	}

	patient, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, LockRetry: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer patient.Close()
	result := make(chan error)
	go func() {
		_, _, err := patient.Own(t.Context(), "workspace")
		result <- err
	}()
	c.in.Close() // the child ends
	if err := <-result; err != nil {
		t.Errorf("own once the child is gone: %v", err)
	}
}
