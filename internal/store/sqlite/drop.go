package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/store"
)

// Drop removes objects and says how many there were and how many bytes they
// had; hashes that are not stored cost little. It is for the owner, between
// appends, and the caller answers for it that nothing will ask for them again.
// The rows are gone, durably, before any file is; files without a row, which a
// crash leaves behind, are removed with them. The file of the journal does not
// become smaller: what is added later fills it.
func (s *Store) Drop(ctx context.Context, hashes []string) (count int, bytes int64, err error) {
	o, err := s.current()
	if err != nil {
		return 0, 0, err
	}
	o.queue.commit.Lock()
	defer o.queue.commit.Unlock()
	if count, bytes, err = o.writer.drop(ctx, hashes); err != nil {
		return 0, 0, s.explain("remove objects from", err)
	}
	if err := s.sweep(ctx); err != nil {
		return count, bytes, s.explain("remove files of objects from", err)
	}
	return count, bytes, nil
}

func (w *writer) drop(ctx context.Context, hashes []string) (count int, bytes int64, err error) {
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	defer tx.Rollback() // nothing, once it is committed
	for _, hash := range hashes {
		key, err := hex.DecodeString(hash)
		if err != nil {
			return 0, 0, fmt.Errorf("%q is no hash: %w", hash, store.ErrNotFound)
		}
		var size int64
		err = tx.QueryRowContext(ctx, "DELETE FROM object WHERE hash = ? RETURNING size", key).Scan(&size)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return 0, 0, err
		default:
			count, bytes = count+1, bytes+size
		}
	}
	return count, bytes, tx.Commit()
}

// sweep removes the files that no row names. Nobody else writes files: the
// caller has the lock.
func (s *Store) sweep(ctx context.Context) error {
	large, err := s.largeObjects(ctx)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, key := range large {
		named[s.objectPath(key)] = true
	}
	return filepath.WalkDir(filepath.Join(s.dir, "objects"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // there never was a large one
		}
		if err != nil || d.IsDir() || named[path] {
			return err
		}
		return os.Remove(path)
	})
}
