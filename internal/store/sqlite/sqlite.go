// Package sqlite keeps a journal in one SQLite file.
//
// The one idea: one process owns the directory and is the only one that opens
// the file for writing; every other reads beside it. The owner commits with
// FULL synchronisation and takes whatever queued during the last sync into the
// next transaction. Records are chained by hashes within each stream; a second
// file, the anchor, names the newest record, so that a cut tail shows.
//
// A directory holds
//
//	journal.db, -wal, -shm   the records, rows and objects up to 64 KiB
//	objects/ab/cdef…         larger objects, one file each
//	anchor                   the newest record as of at most a second ago
//	lock                     held by the owner
//
// It must never acknowledge before the commit is synced, go on after a failed
// commit, change a record, or open the database's files by other means than
// SQLite while it is open: closing such a file drops SQLite's locks.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/store"
)

// Config says where a journal is and how to open it. Only Dir is needed.
type Config struct {
	// Dir is the directory. Open makes it, for this user alone, where it is
	// missing. Agents must not be able to see it: who can read it can lock it.
	Dir string
	// Workspace is the one whose journal it must be, "" for any.
	Workspace string
	// Guard is a file or directory of the workspace that the owner locks too, so
	// that two with different directories do not work in one workspace. "" is none.
	Guard string
	// Inspect opens what is there without judging or changing it, for Verify
	// on a journal that Open refuses. Own then fails.
	Inspect bool
	// LockRetry is how long Open waits for another process that makes the file, and a
	// connection for another one. 0 means 5 seconds.
	LockRetry time.Duration
	// Point is called with each of [Points] as it is reached, from several
	// goroutines. It is for tests that stop the process there; nil otherwise.
	Point func(name string)
}

// Store is a journal in a directory. It implements [store.Store].
type Store struct {
	dir     string
	path    string
	retry   time.Duration
	inspect bool
	point   func(string)
	readers *sql.DB

	workspace string // Config.Workspace
	guard     string // Config.Guard

	mu    sync.Mutex
	owner *owner // nil without ownership
	fatal error  // the first failed commit
}

var _ store.Store = (*Store)(nil)

const readerCount = 4

// Open opens the journal in a directory, or begins one. It refuses one of another
// version with store.ErrVersion. It checks the anchor and the newest records, in
// time that does not depend on the journal's length; Verify checks all. warning is
// for a person, and empty unless the directory's file system is known to be
// unsafe. Errors wrap store.ErrCorrupt, ErrReadOnly or ErrFull.
func Open(ctx context.Context, config Config) (s *Store, warning string, err error) {
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return nil, "", fmt.Errorf("journal: open %s: %w", config.Dir, err)
	}
	s = &Store{
		dir:     dir,
		path:    filepath.Join(dir, "journal.db"),
		retry:   cmp.Or(config.LockRetry, 5*time.Second),
		inspect: config.Inspect,
		point:   config.Point,

		workspace: config.Workspace,
		guard:     config.Guard,
	}
	if s.point == nil {
		s.point = func(string) {}
	}
	if err := s.create(ctx); err != nil {
		return nil, "", err
	}
	if err := s.open(ctx); err != nil {
		s.closeReaders()
		return nil, "", err
	}
	return s, networkWarning(dir), nil
}

// networkWarning says what a person should know of where a directory lies.
func networkWarning(dir string) string {
	if v, ok := durable.VolumeOf(dir); ok && v.Network {
		return fmt.Sprintf("%s is on a %s file system: its locks and syncs may not hold; put the state on a local disk", dir, v.Kind)
	}
	return ""
}

// create makes the directory and an empty file, unless there is a file.
func (s *Store) create(ctx context.Context) error {
	_, err := os.Stat(s.path)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, os.ErrNotExist):
		return explain("open", s.path, err)
	}
	if err := s.missing(); err != nil {
		return err
	}
	if s.inspect {
		return explain("open", s.path, err)
	}
	if err := durable.MakeDir(s.dir); err != nil {
		return explain("make", s.dir, err)
	}
	return s.begin(ctx, s.exists)
}

func (s *Store) exists() bool {
	_, err := os.Stat(s.path)
	return err == nil
}

// missing refuses to begin a journal where one has been.
func (s *Store) missing() error {
	a, err := s.readAnchor()
	if err != nil || a.ID == 0 {
		return err
	}
	return s.explain("open", fmt.Errorf("%w: the file is gone, and the anchor names record %d", store.ErrCorrupt, a.ID))
}

// begin makes the file with its tables, under the lock. Another process may hold that
// to do the same: begun says whether it has come as far as is needed.
func (s *Store) begin(ctx context.Context, begun func() bool) error {
	deadline := time.Now().Add(s.retry)
	held, err := acquire(s.lockPath())
	for errors.Is(err, store.ErrOwned) && time.Now().Before(deadline) {
		if begun() {
			return nil
		}
		if err := pause(ctx, lockPause); err != nil {
			return err
		}
		held, err = acquire(s.lockPath())
	}
	if err != nil {
		return err
	}
	defer held.release()
	err = s.touch()
	if err == nil {
		err = s.makeTables(ctx)
	}
	if err != nil {
		return s.explain("begin", err)
	}
	return nil
}

// touch makes the file, before SQLite opens it, for this user alone. SQLite
// gives the files beside it the same mode. A file that is there is not opened.
func (s *Store) touch() error {
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (s *Store) open(ctx context.Context) error {
	if err := s.openReaders(ctx); err != nil {
		return s.explain("open", err)
	}
	made, err := s.made(ctx)
	switch {
	case s.inspect && made && errors.Is(err, store.ErrCorrupt):
		return nil // for Verify to tell
	case err != nil:
		return s.explain("open", err)
	case made && s.inspect:
		return nil
	case !made:
		if err := s.missing(); err != nil {
			return err
		}
		begun := func() bool { made, err := s.made(ctx); return made && err == nil }
		if err := s.begin(ctx, begun); err != nil {
			return err
		}
	}
	if err := s.checkWorkspace(ctx); err != nil {
		return s.explain("open", err)
	}
	return s.checkTail(ctx)
}

// checkWorkspace fails where the journal is of another workspace than it should be.
func (s *Store) checkWorkspace(ctx context.Context) error {
	if s.workspace == "" {
		return nil
	}
	var is string
	err := s.readers.QueryRowContext(ctx, "SELECT workspace FROM meta").Scan(&is)
	if err == nil && is != "" {
		err = sameWorkspace(is, s.workspace)
	}
	return err
}

func sameWorkspace(is, want string) error {
	if is == want {
		return nil
	}
	return fmt.Errorf("%w: it is of the workspace %s, not of %s", store.ErrCorrupt, is, want)
}

// openReaders opens the file for reading. Where nothing may be written beside
// it, and no log waits there, SQLite is told that nobody changes it.
func (s *Store) openReaders(ctx context.Context) error {
	var err error
	if s.readers, err = openReadOnly(s.path, s.retry, false); err != nil {
		return err
	}
	switch _, err = version(ctx, s.readers); {
	case unbegun(err):
		return nil // for made to tell
	case err == nil || s.hasLog() || canCreateIn(s.dir):
		return err
	}
	if err := s.closeReaders(); err != nil {
		return err
	}
	s.readers, err = openReadOnly(s.path, s.retry, true)
	return err
}

func (s *Store) hasLog() bool {
	info, err := os.Stat(s.path + "-wal")
	return err == nil && info.Size() > 0
}

func canCreateIn(dir string) bool {
	f, err := os.CreateTemp(dir, ".writable.*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

func openReadOnly(path string, busy time.Duration, immutable bool) (*sql.DB, error) {
	q := url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}}
	if immutable {
		q.Set("immutable", "1")
	}
	db, err := openDB(path, busy, q)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(readerCount)
	db.SetMaxIdleConns(readerCount)
	return db, nil
}

// openWriter opens the file for writing, making it where it is missing. Only
// the holder of the lock may do so.
func openWriter(path string, busy time.Duration) (*sql.DB, error) {
	db, err := openDB(path, busy, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)", "wal_autocheckpoint(4000)", "cache_size(-16384)"},
	})
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	var mode string
	if err := db.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if mode != "wal" {
		return nil, errors.Join(fmt.Errorf("the file system allows no write-ahead log, only %q", mode), db.Close())
	}
	return db, nil
}

// openDB opens no file yet; the first use does.
func openDB(path string, busy time.Duration, q url.Values) (*sql.DB, error) {
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()))
	q.Add("_pragma", "trusted_schema(0)")
	q.Add("_pragma", "cell_size_check(1)")
	q.Set("_defensive", "1")
	return sql.Open("sqlite", dsn(path, q))
}

// dsn escapes what a URI gives a meaning to. A drive's letter needs a slash
// before it.
func dsn(path string, q url.Values) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

func (s *Store) lockPath() string { return filepath.Join(s.dir, "lock") }

func (s *Store) closeReaders() error {
	if s.readers == nil {
		return nil
	}
	return s.readers.Close()
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.mu.Lock()
	o := s.owner
	s.owner = nil
	s.mu.Unlock()
	err := s.closeReaders()
	if o == nil {
		return err
	}
	return errors.Join(err, s.end(o))
}
