package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/piton-dev/piton/internal/durable"
	"github.com/piton-dev/piton/internal/store"
)

// inline is the size up to which an object is a row; a larger one is a file.
const inline = 64 << 10

func isLarge(size int) bool { return size > inline }

// objectKey trusts that the object's hash has been checked.
func objectKey(o store.Object) (key sum) {
	hex.Decode(key[:], []byte(o.Hash))
	return key
}

func (s *Store) objectPath(hash sum) string {
	name := hex.EncodeToString(hash[:])
	return filepath.Join(s.dir, "objects", name[:2], name[2:])
}

// writeLarge makes the files of large objects durable, BEFORE the commit that
// names them. A file with the right name has the right content: it got its
// name after its content was synced.
func (s *Store) writeLarge(objects []store.Object) error {
	for _, o := range objects {
		if !isLarge(len(o.Body)) {
			continue
		}
		if err := s.writeFile(s.objectPath(objectKey(o)), o.Body); err != nil {
			return fmt.Errorf("write object %s: %w", o.Hash, err)
		}
	}
	return nil
}

func (s *Store) writeFile(path string, body []byte) error {
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(body)) {
		return durable.SyncDir(filepath.Dir(path)) // whoever named it may have died before this
	}
	if err := durable.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	err := durable.Replace(path, body, 0o600, stages(s.point, PointObjectWrite, PointObjectRename, PointObjectRenamed))
	if err == nil {
		s.point(PointObjectDone)
	}
	return err
}

// Object implements [store.Store].
func (s *Store) Object(ctx context.Context, hash string) ([]byte, error) {
	var key sum
	if n, err := hex.Decode(key[:], []byte(hash[:min(len(hash), 2*len(key))])); err != nil || n != len(key) || len(hash) != 2*len(key) {
		return nil, fmt.Errorf("journal: read object %q: not a hash: %w", hash, store.ErrNotFound)
	}
	body, err := s.object(ctx, key)
	if err != nil {
		return nil, s.explain(fmt.Sprintf("read object %s from", hash), err)
	}
	return body, nil
}

func (s *Store) object(ctx context.Context, key sum) ([]byte, error) {
	var size int
	var body []byte
	err := s.readers.QueryRowContext(ctx, "SELECT size, body FROM object WHERE hash = ?", key[:]).Scan(&size, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, store.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if isLarge(size) {
		return s.largeObject(key)
	}
	return checked(key, body)
}

func (s *Store) largeObject(key sum) ([]byte, error) {
	body, err := os.ReadFile(s.objectPath(key))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: its file is missing: %w", store.ErrCorrupt, err)
	}
	if err != nil {
		return nil, err
	}
	return checked(key, body)
}

func checked(key sum, body []byte) ([]byte, error) {
	if sha256.Sum256(body) != key {
		return nil, fmt.Errorf("%w: the object's content is not what was stored", store.ErrCorrupt)
	}
	return body, nil
}

// stages tells at of the stages of a file that is replaced, by their names.
func stages(at func(string), begun, synced, renamed string) func(durable.Stage) error {
	return func(s durable.Stage) error {
		at([...]string{durable.Begun: begun, durable.Synced: synced, durable.Renamed: renamed}[s])
		return nil
	}
}
