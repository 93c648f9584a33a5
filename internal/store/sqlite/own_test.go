package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piton-dev/piton/internal/store"
	"github.com/piton-dev/piton/internal/store/sqlite"
)

func TestOwnTellsOfALiveOwnerAtOnce(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	first, _ := owned(t, dir)
	defer first.Close()
	second, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, LockRetry: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	_, _, err = second.Own(t.Context(), "workspace")
	if !errors.Is(err, store.ErrOwned) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("own: %v, want ErrOwned with the owner's number", err)
	}
}

// TestReleaseLeavesNoLog: a log that stays is read whole by each process that
// looks at the journal.
func TestReleaseLeavesNoLog(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	epoch, release, err := s.Own(t.Context(), "workspace")
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, settled("a", 0, epoch, 5))
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if log := readFile(t, filepath.Join(dir, "journal.db-wal")); len(log) > 0 {
		t.Errorf("the log holds %d bytes when nobody owns the journal", len(log))
	}
	if got := read(t, s, "a"); len(got) != 5 {
		t.Errorf("%d records, want 5", len(got))
	}
}

// TestReleaseWaitsForNoReader: whoever reads just then keeps the log, and what
// it sees. To wait for it would have no end.
func TestReleaseWaitsForNoReader(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, LockRetry: time.Hour}) // else it gives up
	if err != nil {
		t.Fatal(err)
	}
	epoch := own(t, s)
	write(t, s, settled("a", 0, epoch, 5))
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "journal.db")))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT seq FROM event ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	write(t, s, settled("a", 5, epoch, 5))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if rows.Err() != nil || n != 5 {
		t.Errorf("the reader saw %d records, want 5: %v", n, rows.Err())
	}
	again := openIn(t, dir)
	defer again.Close()
	if got := read(t, again, "a"); len(got) != 10 {
		t.Errorf("%d records, want 10", len(got))
	}
}

func ownUntilKilled(args []string) error {
	s, _, err := sqlite.Open(context.Background(), sqlite.Config{Dir: args[0]})
	if err != nil {
		return err
	}
	epoch, _, err := s.Own(context.Background(), "workspace")
	if err != nil {
		return err
	}
	if err := s.Append(context.Background(), settled("a", 0, epoch, 5)); err != nil {
		return err
	}
	fmt.Println("owned")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func TestOwnAfterAKilledProcess(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, LockRetry: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := start(t, "own", dir)
	c.expect(t, "owned")
	if _, _, err := s.Own(t.Context(), "workspace"); !errors.Is(err, store.ErrOwned) {
		t.Fatalf("own beside a live process: %v, want ErrOwned", err)
	}
	if n := len(read(t, s, "a")); n != 5 {
		t.Errorf("read %d records beside the owner, want 5", n)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	epoch := own(t, s)
	if epoch != 2 {
		t.Errorf("epoch %d after the first, want 2", epoch)
	}
	write(t, s, settled("a", 5, epoch, 1))
}

// followUntil reads a stream beside its owner, as a watcher does.
func followUntil(args []string) error {
	ctx := context.Background()
	s, _, err := sqlite.Open(ctx, sqlite.Config{Dir: args[0]})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println("open")
	for seen, token := uint64(0), ""; seen < 200; {
		streams, next, err := s.Changed(ctx, token)
		if err != nil {
			return err
		}
		token = next
		for range streams {
			for r, err := range s.Read(ctx, "a", seen) {
				if err != nil {
					return err
				}
				seen = r.Seq
			}
		}
	}
	fmt.Println("all seen")
	return nil
}

func TestReadersInOtherProcesses(t *testing.T) {
	t.Parallel()
	dir := scratch(t)
	s, epoch := owned(t, dir)
	defer s.Close()
	var followers []*child
	for range 2 {
		c := start(t, "follow", dir)
		c.expect(t, "open")
		followers = append(followers, c)
	}
	for n := range uint64(200) {
		write(t, s, settled("a", n, epoch, 1))
	}
	for _, c := range followers {
		c.expect(t, "all seen")
	}
}

func TestOpenIsForThisUserAlone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch(t), "state", "workspace")
	s, _ := owned(t, dir)
	defer s.Close()
	for path, want := range map[string]os.FileMode{
		dir: 0o700, filepath.Dir(dir): 0o700,
		filepath.Join(dir, "journal.db"): 0o600, filepath.Join(dir, "journal.db-wal"): 0o600, filepath.Join(dir, "lock"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want && os.PathSeparator == '/' {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestOpenWithoutADirectoryIsNoInspection(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch(t), "absent")
	if _, _, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Inspect: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("inspect nothing: %v, want os.ErrNotExist", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("inspecting made the directory: %v", err)
	}
}

func TestManyProcessesBegin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratch(t), "state")
	opened := make(chan error)
	for range 8 {
		go func() {
			s, _, err := sqlite.Open(context.Background(), sqlite.Config{Dir: dir})
			if err == nil {
				err = s.Close()
			}
			opened <- err
		}()
	}
	for range 8 {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
}
