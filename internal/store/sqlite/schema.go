package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/store"
)

// migrations lead from each version of the schema to the next: the n-th makes
// version n out of n-1. Released ones never change; testdata holds a journal of
// each version.
func migrations() []string {
	return []string{version1, version2}
}

// Ids of events are 1, 2, 3 … without a gap, so that the last id is also their
// count. Texts of JSON are for the reader of one row; columns are what is
// selected or sorted by, or read by the ten thousand.
const version1 = `
CREATE TABLE meta(
	one INTEGER PRIMARY KEY CHECK(one = 1),
	workspace TEXT NOT NULL,
	epoch INTEGER NOT NULL
) STRICT;
INSERT INTO meta VALUES(1, '', 0);
CREATE TABLE event(
	id INTEGER PRIMARY KEY,
	stream TEXT NOT NULL,
	seq INTEGER NOT NULL,
	at INTEGER NOT NULL,
	actor TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	type TEXT NOT NULL,
	body BLOB NOT NULL,
	hash BLOB NOT NULL,
	UNIQUE(stream, seq)
) STRICT;
CREATE TRIGGER event_keeps BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events never change'); END;
CREATE TRIGGER event_stays BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;
CREATE TABLE head(
	stream TEXT PRIMARY KEY,
	seq INTEGER NOT NULL,
	hash BLOB NOT NULL,
	run TEXT NOT NULL DEFAULT '',
	status TEXT NOT NULL DEFAULT '',
	started INTEGER NOT NULL DEFAULT 0,
	row TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE step(
	stream TEXT NOT NULL,
	idx INTEGER NOT NULL,
	id TEXT NOT NULL,
	number TEXT NOT NULL,
	title TEXT NOT NULL,
	status TEXT NOT NULL,
	phase TEXT NOT NULL,
	reason TEXT NOT NULL,
	agent TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	verdict TEXT NOT NULL,
	baseline TEXT NOT NULL,
	started INTEGER NOT NULL,
	finished INTEGER NOT NULL,
	needs TEXT NOT NULL,
	PRIMARY KEY(stream, idx)
) STRICT, WITHOUT ROWID;
CREATE TABLE item(
	stream TEXT NOT NULL,
	item TEXT NOT NULL,
	run TEXT NOT NULL,
	open INTEGER NOT NULL,
	opened INTEGER NOT NULL,
	row TEXT NOT NULL,
	PRIMARY KEY(stream, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_open ON item(opened) WHERE open = 1;
CREATE TABLE object(
	id INTEGER PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,
	size INTEGER NOT NULL,
	body BLOB
) STRICT;
CREATE TABLE snapshot(
	stream TEXT PRIMARY KEY,
	seq INTEGER NOT NULL,
	sum BLOB NOT NULL,
	body BLOB NOT NULL
) STRICT;
`

// version2 keeps a row for each run instead of one for each stream, with the
// steps of each, and one for each plan that waits. What version 1 kept is
// carried over; all else is in the records alone, and rebuild makes it.
const version2 = `
CREATE TABLE run(
	stream TEXT NOT NULL,
	run TEXT NOT NULL,
	n INTEGER NOT NULL,
	status TEXT NOT NULL,
	started INTEGER NOT NULL,
	title TEXT NOT NULL,
	row TEXT NOT NULL,
	PRIMARY KEY(stream, run)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX run_order ON run(stream, n);
CREATE INDEX run_id ON run(run);
CREATE INDEX run_started ON run(started DESC, stream, n DESC);
CREATE INDEX run_status ON run(status, started DESC, stream, n DESC);
INSERT INTO run SELECT stream, run, 1,
	CASE WHEN json_extract(row, '$.open') > 0 AND NOT json_extract(row, '$.ended') THEN 'waiting' ELSE status END,
	started, lower(json_extract(row, '$.title')), row FROM head WHERE row IS NOT NULL;
ALTER TABLE step RENAME TO step1;
CREATE TABLE step(
	stream TEXT NOT NULL,
	run TEXT NOT NULL,
	idx INTEGER NOT NULL,
	id TEXT NOT NULL,
	number TEXT NOT NULL,
	title TEXT NOT NULL,
	status TEXT NOT NULL,
	phase TEXT NOT NULL,
	reason TEXT NOT NULL,
	agent TEXT NOT NULL,
	attempts INTEGER NOT NULL,
	verdict TEXT NOT NULL,
	baseline TEXT NOT NULL,
	proven INTEGER NOT NULL,
	started INTEGER NOT NULL,
	finished INTEGER NOT NULL,
	needs TEXT NOT NULL,
	PRIMARY KEY(stream, run, idx)
) STRICT, WITHOUT ROWID;
INSERT INTO step SELECT s.stream, h.run, s.idx, s.id, s.number, s.title, s.status, s.phase, s.reason, s.agent, s.attempts,
	s.verdict, s.baseline, 0, s.started, s.finished, s.needs FROM step1 s JOIN head h ON h.stream = s.stream WHERE h.row IS NOT NULL;
DROP TABLE step1;
ALTER TABLE head DROP COLUMN run;
ALTER TABLE head DROP COLUMN status;
ALTER TABLE head DROP COLUMN started;
ALTER TABLE head DROP COLUMN row;
CREATE INDEX item_run ON item(run);
CREATE TABLE plan(
	stream TEXT NOT NULL,
	plan TEXT NOT NULL,
	at INTEGER NOT NULL,
	row TEXT NOT NULL,
	PRIMARY KEY(stream, plan)
) STRICT, WITHOUT ROWID;
`

func version(ctx context.Context, db *sql.DB) (int, error) {
	var v int
	err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

// upgrade brings the file to the newest version. Only who holds the lock may
// change the schema, so it waits for a short while for a process that does the
// same; an owner of an older version that stays is an error.
func (s *Store) upgrade(ctx context.Context) error {
	v, err := version(ctx, s.readers)
	switch known := len(s.migrations); {
	case err != nil:
		return s.explain("open", err)
	case v < 0:
		return s.explain("open", fmt.Errorf("%w: it has version %d", store.ErrCorrupt, v))
	case v == known:
		return nil
	case v > known:
		return fmt.Errorf("journal: open %s: it has version %d, this program knows up to %d: use a newer program: %w", s.path, v, known, store.ErrNewer)
	case s.inspect:
		return fmt.Errorf("journal: inspect %s: it has version %d instead of %d: open it once to bring it up to date", s.path, v, known)
	}
	held, err := s.lockForUpgrade(ctx)
	if err != nil || held == nil {
		return err
	}
	defer held.release()
	if err := s.migrate(ctx); err != nil {
		return s.explain("upgrade", err)
	}
	return nil
}

// lockForUpgrade returns no lock where another process did the work meanwhile.
func (s *Store) lockForUpgrade(ctx context.Context) (*lock, error) {
	deadline := time.Now().Add(s.retry)
	for {
		held, err := acquire(ctx, s.lockPath(), s.retry)
		if !errors.Is(err, store.ErrOwned) || time.Now().After(deadline) {
			return held, err
		}
		if v, err := version(ctx, s.readers); err == nil && v == len(s.migrations) {
			return nil, nil
		}
		if err := pause(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}

// migrate runs under the lock.
func (s *Store) migrate(ctx context.Context) error {
	db, err := openWriter(s.path)
	if err != nil {
		return err
	}
	defer db.Close()
	v, err := version(ctx, db)
	if err != nil {
		return err
	}
	if v > 0 && v < len(s.migrations) {
		if err := s.keepOld(ctx, db, v); err != nil {
			return err
		}
	}
	if err := s.steps(ctx, db, v); err != nil {
		return err
	}
	return durable.SyncDir(s.dir)
}

// steps leads from version v to the newest in one transaction, and makes the
// rows of an older journal anew.
func (s *Store) steps(ctx context.Context, db *sql.DB, v int) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for to := v + 1; to <= len(s.migrations); to++ {
		if err := step(ctx, tx, s.migrations[to-1], to); err != nil {
			return fmt.Errorf("from version %d to %d: %w", to-1, to, err)
		}
	}
	if v > 0 {
		if err := s.rebuild(ctx, conn, tx); err != nil {
			return fmt.Errorf("make the lists anew: %w", err)
		}
	}
	return tx.Commit()
}

func step(ctx context.Context, tx *sql.Tx, migration string, to int) error {
	if _, err := tx.ExecContext(ctx, migration); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", to))
	return err
}

// keepOld leaves a copy of the file as it is, named after its version. A copy
// that was interrupted is made again.
func (s *Store) keepOld(ctx context.Context, db *sql.DB, v int) error {
	kept := filepath.Join(s.dir, fmt.Sprintf("journal.v%d.db", v))
	unfinished := kept + ".part"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := vacuumInto(ctx, db, unfinished); err != nil {
		return err
	}
	if err := os.Rename(unfinished, kept); err != nil {
		return err
	}
	return durable.SyncDir(s.dir)
}
