package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/store"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// Ids of events are 1, 2, 3 … without a gap, so that the last id is also their
// count. Texts of JSON are for the reader of one row; columns are what is
// selected or sorted by, or read by the ten thousand.
const schema = `
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
	hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;
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
	loop TEXT NOT NULL,
	effort TEXT NOT NULL,
	bond TEXT NOT NULL,
	PRIMARY KEY(stream, run, idx)
) STRICT, WITHOUT ROWID;
CREATE TABLE mark(
	stream TEXT NOT NULL,
	step TEXT NOT NULL,
	seq INTEGER NOT NULL,
	frame INTEGER NOT NULL,
	failed INTEGER NOT NULL,
	was TEXT NOT NULL,
	now TEXT NOT NULL,
	PRIMARY KEY(stream, step, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX mark_frame ON mark(stream, frame) WHERE frame > 0;
CREATE INDEX mark_failed ON mark(stream, seq) WHERE failed = 1;
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
CREATE INDEX item_run ON item(run);
CREATE TABLE thing(
	kind TEXT NOT NULL,
	name TEXT NOT NULL,
	owner TEXT NOT NULL,
	seq INTEGER NOT NULL,
	open INTEGER NOT NULL,
	row TEXT NOT NULL,
	PRIMARY KEY(kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX thing_owner ON thing(kind, owner, seq);
CREATE INDEX thing_open ON thing(kind, seq) WHERE open = 1;
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

// schemaVersion marks a file that has this schema. Another text has another number.
func schemaVersion() int { return int(crc32.ChecksumIEEE([]byte(schema)) >> 1) }

func version(ctx context.Context, q querier) (int, error) {
	var v int
	err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

// made reports whether the file has its tables: there are none in an empty one. It
// fails on tables of another version, and where the file does not say the truth.
func (s *Store) made(ctx context.Context) (bool, error) {
	tx, err := s.readers.BeginTx(ctx, nil) // another process may be about to make them
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	v, err := version(ctx, tx)
	if unbegun(err) {
		return false, nil
	}
	if err != nil || v == schemaVersion() {
		return err == nil, err
	}
	got, err := tables(ctx, tx)
	if err != nil || v == 0 && len(got) == 0 {
		return false, err
	}
	want, err := freshTables(ctx)
	switch {
	case err != nil:
		return false, err
	case slices.Equal(got, want):
		return true, fmt.Errorf("%w: %s", store.ErrCorrupt, otherVersion)
	case !slices.Contains(got, "event"):
		return false, fmt.Errorf("%w: it holds no records", store.ErrCorrupt)
	}
	return true, fmt.Errorf("%w: its version is %d, this program writes %d: use the program that wrote it, or move the directory away", store.ErrVersion, v, schemaVersion())
}

// unbegun reports whether a kill cut off who made the file, before its tables were
// durable. Only a writer can undo what there is of them. Later all writes go through
// the write-ahead log, which leaves nothing to undo.
func unbegun(err error) bool {
	db, ok := errors.AsType[*driver.Error](err)
	return ok && db.Code() == codes.SQLITE_READONLY_ROLLBACK
}

const otherVersion = "its version is not that of its tables"

// makeTables runs under the lock.
func (s *Store) makeTables(ctx context.Context) error {
	db, err := openWriter(s.path, s.retry)
	if err != nil {
		return err
	}
	defer db.Close()
	v, err := version(ctx, db)
	if err == nil && v == 0 { // else another process was quicker
		err = addSchema(ctx, db)
	}
	return errors.Join(err, durable.SyncDir(s.dir))
}

func addSchema(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN; %s; PRAGMA user_version = %d; COMMIT", schema, schemaVersion()))
	return err
}

// tables are the names and texts of tables, indexes and triggers.
func tables(ctx context.Context, q querier) ([]string, error) {
	return collect(ctx, q, "SELECT name FROM sqlite_schema UNION ALL SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1", nil, scanText)
}

// freshTables are those of a new file.
func freshTables(ctx context.Context) ([]string, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := addSchema(ctx, db); err != nil {
		return nil, err
	}
	return tables(ctx, db)
}
