package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/durable"
)

// Backup copies the journal as it is now, with its objects, into a new
// directory at path, and verifies the copy. It may run beside an owner. The
// copy is a journal like any other: Open it there, or move it into the place
// of a lost one. It fails if path exists, and removes what it made if it fails.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return explain("back up to", path, err)
	}
	if err := s.backup(ctx, path); err != nil {
		return errors.Join(explain("back up to", path, err), os.RemoveAll(path))
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) error {
	if err := vacuumInto(ctx, s.readers, filepath.Join(path, "journal.db")); err != nil {
		return err
	}
	copied, _, err := Open(ctx, Config{Dir: path, Inspect: true})
	if err != nil {
		return err
	}
	defer copied.Close()
	if err := s.copyObjects(ctx, copied); err != nil {
		return err
	}
	if err := copied.writeAnchor(ctx); err != nil {
		return err
	}
	if _, err := copied.Verify(ctx); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}

// vacuumInto writes a copy of the file as of one moment, and syncs it.
func vacuumInto(ctx context.Context, db *sql.DB, path string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// A reader may write nothing, not even another file; its file stays
	// opened for reading only.
	if _, err := conn.ExecContext(ctx, "PRAGMA query_only(0)"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "VACUUM INTO ?", path)
	if err == nil {
		err = syncFile(path)
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}

// copyObjects copies the files of the objects that the copy names. They are
// never removed, so all are there.
func (s *Store) copyObjects(ctx context.Context, to *Store) error {
	keys, err := to.largeObjects(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		body, err := s.largeObject(key)
		if err == nil {
			err = to.writeFile(to.objectPath(key), body)
		}
		if err != nil {
			return fmt.Errorf("object %x: %w", key, err)
		}
	}
	return nil
}

func (s *Store) largeObjects(ctx context.Context) ([]sum, error) {
	return collect(ctx, s.readers, "SELECT hash FROM object WHERE size > ? ORDER BY hash", []any{inline},
		func(rows *sql.Rows) (sum, error) {
			var key []byte
			err := rows.Scan(&key)
			return toSum(key), err
		})
}

func (s *Store) writeAnchor(ctx context.Context) error {
	newest, err := lastAnchor(ctx, s.readers)
	if err != nil || newest.ID == 0 {
		return err
	}
	a := anchorer{path: s.anchorPath(), point: s.point, newest: newest}
	return a.close()
}
